//! Report section: which runs were made, and a table of all of them.

use std::collections::{BTreeMap, BTreeSet};

use flysch_charts::escape::escape;
use flysch_charts::number::thousands;
use flysch_charts::table::Table;

use super::cases::{Case, Cases};
use super::metrics::SUMMARY;
use crate::bench::run::Run;

/// The position of the column with the number of requests.
const REQUESTS: usize = 3;
/// If a parameter has more values than this, they are shown as a range.
const VALUES_MAX: usize = 6;

/// A list of the parameters that all runs share, and of those that vary.
pub(super) fn facts(cases: &Cases<'_>) -> String {
    let runs: Vec<&Run> = cases.runs().map(|(_, run)| run).collect();
    let mut facts = vec![
        ("Runs", thousands(runs.len() as u64)),
        ("Workloads", cases.workloads.join(", ")),
        ("Stacks", distinct(&runs, |run| run.inputs.on.clone())),
        ("Record sizes", format!("{} B", numbers(&cases.record_sizes))),
        ("Requests", numbers(&cases.requests)),
        ("Platform", distinct(&runs, |run| run.inputs.platform.clone())),
        ("Part", distinct(&runs, |run| run.inputs.part.clone())),
        ("Chip", distinct(&runs, chip)),
        ("Partition", distinct(&runs, |run| counted(run.by_block.len(), "block"))),
        ("Seed", distinct(&runs, |run| run.inputs.seed.to_string())),
    ];
    let parameters = parameters(&runs);
    facts.extend(parameters.iter().map(|(name, value)| (*name, value.clone())));
    let mut html = "<dl class=\"facts\">\n".to_owned();
    for (name, value) in facts {
        let (name, value) = (escape(name), escape(&value));
        html.push_str(&format!("<div><dt>{name}</dt><dd>{value}</dd></div>\n"));
    }
    html + "</dl>\n"
}

/// A table with one row for every run.
pub(super) fn summary(cases: &Cases<'_>) -> String {
    let mut head: Vec<String> =
        ["Workload", "Stack", "Record, B", "Requests"].map(str::to_owned).to_vec();
    head.extend(SUMMARY.iter().map(|metric| metric.name.to_owned()));
    if cases.has_seeds() {
        head.insert(REQUESTS + 1, "Seed".to_owned());
    }
    let row = |(case, run): (&Case<'_>, &Run)| {
        let mut row = vec![run.inputs.workload.clone(), cases.name(case).to_owned()];
        row.push(thousands(run.inputs.record_size.into()));
        row.push(thousands(run.inputs.requests.into()));
        row.extend(cases.has_seeds().then(|| run.inputs.seed.to_string()));
        row.extend(SUMMARY.iter().map(|metric| metric.text(run)));
        row
    };
    let rows = cases.runs().map(row).collect();
    let caption = "Every run. A click on a heading sorts by it.".to_owned();
    Table { caption, head, names: 2, rows, is_sortable: true }.html()
}

fn chip(run: &Run) -> String {
    let geometry = run.trace.geometry;
    format!(
        "{} + {} B pages, {} per block, {}",
        thousands(geometry.page_size.into()),
        thousands(geometry.oob_size.into()),
        thousands(geometry.pages_per_block.into()),
        counted(geometry.block_count as usize, "block"),
    )
}

/// The parameters by name, each with all its values.
fn parameters<'a>(runs: &[&'a Run]) -> BTreeMap<&'a str, String> {
    let names: BTreeSet<&str> =
        runs.iter().flat_map(|run| run.inputs.parameters.keys().copied()).collect();
    let values = |name| {
        let having: Vec<&Run> =
            runs.iter().copied().filter(|run| run.inputs.parameters.contains_key(name)).collect();
        distinct(&having, |run| run.inputs.parameters[name].to_string())
    };
    names.into_iter().map(|name| (name, values(name))).collect()
}

/// The distinct values of a parameter in the runs, in order of appearance, as text.
fn distinct(runs: &[&Run], of: impl Fn(&Run) -> String) -> String {
    let mut values: Vec<String> = Vec::new();
    for run in runs {
        let value = of(run);
        if !values.contains(&value) {
            values.push(value);
        }
    }
    values.join("; ")
}

fn numbers(values: &[u32]) -> String {
    let texts: Vec<String> = values.iter().map(|&value| thousands(value.into())).collect();
    match texts.as_slice() {
        [first, .., last] if texts.len() > VALUES_MAX => {
            format!("{first} to {last} ({} values)", texts.len())
        }
        _ => texts.join(", "),
    }
}

/// A count with its noun, in the singular or the plural.
pub(super) fn counted(count: usize, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", thousands(count as u64))
}
