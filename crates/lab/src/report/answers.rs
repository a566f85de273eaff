//! Report section: the results in sentences. Every ratio is computed from the runs shown.

use std::collections::{BTreeMap, BTreeSet};

use flysch_charts::escape::escape;
use flysch_charts::number::{duration, percent, real, significant, thousands, years};
use flysch_charts::statistics::Spread;

use super::cases::{Case, Cases};
use super::headline::counted;
use super::metrics::{ERASES_PER_KB, PROGRAMS_PER_KB, READS_PER_KB};
use crate::bench::life::{Life, Rate};
use crate::bench::run::Run;
use crate::machine::standing::Standing;

/// A question about the runs. The series with the lowest value is the answer.
struct Question {
    title: &'static str,
    of: fn(&Run) -> u64,
    text: fn(u64) -> String,
    /// Verb and phrase for the series with higher values: they "take" 3 times "as long".
    more: (&'static str, &'static str),
    /// The noun for the sentence that says that the value is zero everywhere.
    nothing: &'static str,
}

const QUESTIONS: [Question; 3] = [
    Question {
        title: "Fastest",
        of: |run| run.time_ns,
        text: duration,
        more: ("takes", "as long"),
        nothing: "time",
    },
    Question {
        title: "Programs least",
        of: |run| run.operations.page_programs,
        text: |count| format!("{} page programs", thousands(count)),
        more: ("programs", "as many"),
        nothing: "page programs",
    },
    Question {
        title: "Erases least",
        of: |run| run.operations.block_erases,
        text: |count| format!("{} block erases", thousands(count)),
        more: ("erases", "as many"),
        nothing: "block erases",
    },
];

impl Question {
    /// The mean over all seeds, rounded to the nearest integer.
    fn mean(&self, case: &Case<'_>) -> u64 {
        let count = case.seeds.len() as u64;
        let sum: u64 = case.seeds.iter().map(|run| (self.of)(run)).sum();
        (sum + count / 2) / count
    }
}

/// A ranking with more entries than this is shortened to the first and the last.
const TOLD: usize = 3;

/// The runs of one workload, grouped by record size and number of requests. Only groups in which
/// every series has a run are compared.
struct Field<'a> {
    /// The series, as indexes into [`Cases::series`].
    styles: BTreeSet<usize>,
    /// The complete groups: for each, the case of each series.
    cases: Vec<BTreeMap<usize, &'a Case<'a>>>,
}

/// Write the answers for each workload, with its life at a rate.
pub(super) fn answers(cases: &Cases<'_>, rate: Rate) -> String {
    let mut html = "<div class=\"answers\">\n".to_owned();
    for workload in &cases.workloads {
        let field = field(&cases.of_workload(workload));
        let mut points = match (field.styles.len(), field.cases.as_slice()) {
            (1, [group]) => group.values().flat_map(|case| alone(case.run)).collect(),
            (1, _) => span(&field),
            (_, []) => vec!["No case was run on every stack: nothing to compare.".to_owned()],
            _ => QUESTIONS.iter().map(|question| answer(question, &field, cases)).collect(),
        };
        points.extend(lifetimes(&field, cases, rate));
        html.push_str(&format!("<article><h3>{}</h3>\n<ul>\n", escape(workload)));
        for point in points {
            html.push_str(&format!("<li>{point}</li>\n"));
        }
        html.push_str("</ul></article>\n");
    }
    html + "</div>\n"
}

/// The cases to compare. Stacks that only serve for comparison (in RAM, or with memory that the
/// platform lacks) are left out, unless there are no others.
fn field<'a>(cases: &[&'a Case<'a>]) -> Field<'a> {
    let is_answer = |case: &&&Case<'a>| case.run.inputs.standing == Standing::Answer;
    let answers: Vec<&'a Case<'a>> = cases.iter().filter(is_answer).copied().collect();
    let cases = if answers.is_empty() { cases } else { answers.as_slice() };
    let styles: BTreeSet<usize> = cases.iter().map(|case| case.style).collect();
    let mut by_size: BTreeMap<(u32, u32), BTreeMap<usize, &Case<'a>>> = BTreeMap::new();
    for case in cases {
        let size = (case.run.inputs.record_size, case.run.inputs.requests);
        by_size.entry(size).or_default().insert(case.style, case);
    }
    let complete = by_size.into_values().filter(|runs| runs.len() == styles.len()).collect();
    Field { styles, cases: complete }
}

/// A sentence that says which series has the lowest total, and how much more the others have.
fn answer(question: &Question, field: &Field<'_>, cases: &Cases<'_>) -> String {
    let mut totals: Vec<(u64, usize)> = field
        .styles
        .iter()
        .map(|style| (field.cases.iter().map(|group| question.mean(group[style])).sum(), *style))
        .collect();
    totals.sort_unstable();
    let title = question.title;
    let least = totals[0].0;
    if totals.iter().all(|total| total.0 == least) {
        return match least {
            0 => format!("<b>{title}:</b> all alike, no {}.", question.nothing),
            _ => format!("<b>{title}:</b> all alike, {}.", (question.text)(least)),
        };
    }
    let best: Vec<&(u64, usize)> = totals.iter().filter(|total| total.0 == least).collect();
    let names: Vec<String> = best.iter().map(|(_, style)| bold(cases, *style)).collect();
    let mut said = format!("<b>{title}:</b> {}, {}", list(&names), (question.text)(least));
    if field.cases.len() > 1 {
        let won = field.cases.iter().filter(|case| is_least(question, case, totals[0].1)).count();
        said.push_str(&format!(" over {}", counted(field.cases.len(), "case")));
        if won == field.cases.len() {
            said.push_str(", least in each of them");
        } else {
            said.push_str(&format!(", least in {} of them", thousands(won as u64)));
        }
    }
    said.push('.');
    for &(total, style) in next_and_last(&totals[best.len()..]) {
        said.push_str(&more(question, least, total, &bold(cases, style)));
    }
    said
}

/// The entries of a ranking to show: all if it is short, else the first and the last.
fn next_and_last<T>(ranked: &[T]) -> impl Iterator<Item = &T> {
    let last = ranked.len() - 1;
    let is_told = move |place: &usize| last < TOLD || *place == 0 || *place == last;
    ranked.iter().enumerate().filter(move |(place, _)| is_told(place)).map(|(_, ranked)| ranked)
}

/// Join names to a list with commas and "and".
fn list(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

fn is_least(question: &Question, group: &BTreeMap<usize, &Case<'_>>, style: usize) -> bool {
    let own = question.mean(group[&style]);
    group.values().all(|case| question.mean(case) >= own)
}

fn more(question: &Question, least: u64, total: u64, name: &str) -> String {
    let ((verb, times), text) = (question.more, (question.text)(total));
    if least == 0 {
        return format!(" {name}: {text}.");
    }
    let ratio = significant(real(total) / real(least));
    format!(" {name} {verb} {ratio}\u{202f}\u{d7} {times} ({text}).")
}

/// Sentences about a run that cannot be compared with others.
fn alone(run: &Run) -> Vec<String> {
    let flash_ns = super::causes::flash_ns(run);
    let mut said = vec![
        format!(
            "{} of {} took <b>{}</b>: {} KB/s of record data.",
            counted(run.inputs.requests as usize, "request"),
            counted(run.inputs.record_size as usize, "byte"),
            duration(run.time_ns),
            significant(run.throughput_kb_s)
        ),
        format!(
            "The CPU worked for {} of the time, the flash for {}.",
            percent(run.cpu_ns, run.time_ns),
            percent(flash_ns, run.time_ns)
        ),
        format!(
            "Each KB of record data cost {} page reads, {} page programs and {} block erases.",
            significant((READS_PER_KB.of)(run)),
            significant((PROGRAMS_PER_KB.of)(run)),
            significant((ERASES_PER_KB.of)(run))
        ),
    ];
    let latency = run.latency_ns;
    if !run.request_ns.is_empty() {
        said.push(format!(
            "Half of the requests answered within {}, 99 of 100 within {}, the slowest in {}.",
            duration(latency.p50),
            duration(latency.p99),
            duration(latency.max)
        ));
    }
    let costliest = run.by_cause.iter().max_by_key(|(path, spent)| (spent.flash_ns, *path));
    if let Some((path, spent)) = costliest.filter(|(_, spent)| spent.flash_ns > 0) {
        said.push(format!(
            "The costliest cause, {} of the flash's time: {}.",
            percent(spent.flash_ns, flash_ns),
            escape(path)
        ));
    }
    said
}

/// A sentence with the range of throughput of one stack over all its cases.
fn span(field: &Field<'_>) -> Vec<String> {
    let runs = || field.cases.iter().flat_map(|group| group.values().flat_map(|case| &case.seeds));
    let slowest = runs().map(|run| run.throughput_kb_s).fold(f64::INFINITY, f64::min);
    let fastest = runs().map(|run| run.throughput_kb_s).fold(0.0, f64::max);
    let cases = counted(field.cases.len(), "case");
    let (slowest, fastest) = (significant(slowest), significant(fastest));
    vec![format!("{cases}: from {slowest} to {fastest} KB/s of record data.")]
}

/// A sentence on how long the partition lasts at a rate, for each series that programs pages. None
/// if none does.
fn lifetimes(field: &Field<'_>, cases: &Cases<'_>, rate: Rate) -> Option<String> {
    let lives = |style: &usize| {
        let lives = field.cases.iter().filter_map(|group| life(group[style], rate));
        let ends = lives
            .map(|years| (years, years))
            .reduce(|(least, most), (years, _)| (least.min(years), most.max(years)));
        ends.map(|ends| (ends, *style))
    };
    let mut ranked: Vec<((f64, f64), usize)> = field.styles.iter().filter_map(lives).collect();
    if ranked.is_empty() {
        return None;
    }
    ranked.sort_by(|((one, _), _), ((other, _), _)| other.total_cmp(one));
    let said: Vec<String> = next_and_last(&ranked)
        .map(|&((least, most), style)| {
            let (least, most) = (years(least), years(most));
            let range = if least == most { least } else { format!("{least} to {most}") };
            format!("{} on {}", escape(&range), bold(cases, style))
        })
        .collect();
    let runs = field.cases.iter().flat_map(|group| group.values().flat_map(|case| &case.seeds));
    let rate = rate.words(&runs.map(|run| run.inputs.amount.unit).collect());
    Some(format!(
        "<b>Lifetime</b> at {rate}, until the rated erases of the partition are used up with even \
         wear: {}.",
        list(&said)
    ))
}

/// The life that the runs of a case tell, in years: the mean over the seeds.
fn life(case: &Case<'_>, rate: Rate) -> Option<f64> {
    let lives: Option<Vec<Life>> = case.seeds.iter().map(|run| Life::of(run, rate)).collect();
    let years: Vec<f64> = lives?.iter().map(|life| life.years).collect();
    Some(Spread::of(&years).mean)
}

fn bold(cases: &Cases<'_>, style: usize) -> String {
    format!("<b>{}</b>", escape(&cases.series[style]))
}
