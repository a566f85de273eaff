//! `flysch advise`: which configuration lets the flash live longest under a workload.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use flysch_lab::advice::{
    Advice, Configuration, Demand, Measurement, Safety, Space, Subject, advise,
};
use flysch_lab::machine::stack::{Engine, Journals, Main, Stack};
use flysch_lab::recording::Recording;
use flysch_lab::workload::Workload;
use rayon::prelude::*;

use crate::failure::Failure;
use crate::numbers::once;
use crate::output::{self, Destination, Format};
use crate::parameters::{Hardware, SqliteOptions};

/// The columns of the ranking.
const COLUMNS: [&str; 7] = [
    "configuration",
    "years",
    "programs_per_transaction",
    "p50_ms",
    "p99_ms",
    "energy_mj",
    "survives",
];
/// Requests of a workload, unless the user sets their number.
const REQUESTS: u32 = 200;
/// The most rows of the ranking in a table.
const ROWS_MAX: usize = 12;
/// The stacks to choose from by default: on raw NAND and on a card. Stacks with PRAM must be asked
/// for, because a board need not have PRAM.
const STACKS: [Stack; 4] = [Stack::JFFS2, Stack::YAFFS2, Stack::UBIFS, Stack::FTL];

/// Records of a workload before its requests, or as many as it has requests if these are more.
const FILL: u32 = 1000;

/// Arguments of `flysch advise`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  flysch advise app.rec --part w25n01gv --per-day 100000
  flysch advise app.rec --part w25n01gv --per-day 100000 --p99 50 --format json
  flysch advise schema.sql --database my.db --per-day 2000 --on sqlite/ubifs,sqlite/ubifs+pramfs
  flysch advise commit --requests 200 --per-day 86400 --exhaustive --format csv")]
pub(crate) struct Args {
    /// A recording (.rec), an SQL script, or a workload of flysch bench
    #[arg(value_name = "FILE|WORKLOAD")]
    subject: String,
    /// Transactions that the device executes in a day
    #[arg(long, value_name = "N", value_parser = per_day)]
    per_day: f64,
    /// Upper limit for the 99th percentile of transaction times, milliseconds
    #[arg(long, value_name = "MS", value_parser = milliseconds)]
    p99: Option<f64>,
    /// Stacks to choose from [default: sqlite/jffs2, sqlite/yaffs2, sqlite/ubifs, sqlite/ftl]
    #[arg(long, value_name = "STACK", value_delimiter = ',')]
    on: Vec<Stack>,
    /// The stack in use today [default: that of the recording, or the first of --on]
    #[arg(long, value_name = "STACK")]
    today: Option<Stack>,
    /// Files that the databases begin with
    #[arg(long, value_name = "FILE", value_delimiter = ',')]
    database: Vec<PathBuf>,
    /// Number of requests, if the subject is a workload [default: 200]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    requests: Option<u32>,
    /// Run every configuration, not only those that a search picks
    #[arg(long, conflicts_with_all = ["time_limit", "p99", "today"])]
    exhaustive: bool,
    /// Seconds after which no further configuration is tried
    #[arg(long, value_name = "SECONDS", default_value_t = 300,
          value_parser = clap::value_parser!(u64).range(1..=86_400))]
    time_limit: u64,
    #[command(flatten)]
    hardware: Hardware,
    /// How to print the advice
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    #[command(flatten)]
    destination: Destination,
}

fn per_day(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(count) if (1e-3..=1e12).contains(&count) => Ok(count),
        _ => Err("a number of transactions a day".to_owned()),
    }
}

fn milliseconds(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(ms) if (0.0..=1e9).contains(&ms) => Ok(ms),
        _ => Err("a time in milliseconds".to_owned()),
    }
}

/// Find the best configuration and print what it costs.
#[expect(clippy::disallowed_methods, reason = "the user's patience is of the host's time")]
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    args.destination.check()?;
    let (demand, stacks, today) = args.demand()?;
    let space = Space::of(&stacks);
    if args.exhaustive {
        let all = exhaustive(&demand, &space)?;
        return args.destination.deliver(&output::rows(&COLUMNS, &all, args.format));
    }
    let (began, limit) = (Instant::now(), Duration::from_secs(args.time_limit));
    let found = advise(&demand, &space, Configuration::plain(today), &|| began.elapsed() < limit);
    let advice = found.map_err(Failure::Message)?;
    let bytes = match args.format {
        Format::Json => output::json(&advice),
        Format::Csv => output::rows(&COLUMNS, &advice.ranking, Format::Csv),
        Format::Table => text(&advice, &demand).into_bytes(),
    };
    args.destination.deliver(&bytes)
}

/// Measure every configuration that can run, and sort them by life, longest first.
fn exhaustive(demand: &Demand, space: &Space) -> Result<Vec<Measurement>, Failure> {
    let all = space.all();
    let runs = all.par_iter().with_max_len(1).filter_map(|what| demand.measure(*what).ok());
    let mut runs: Vec<Measurement> = runs.collect();
    runs.sort_by(|one, other| other.life().total_cmp(&one.life()));
    if runs.is_empty() {
        return Err(Failure::Message("no configuration can be run".to_owned()));
    }
    Ok(runs)
}

impl Args {
    /// The workload with its limits, the stacks to choose from, and the stack in use today.
    fn demand(&self) -> Result<(Demand, Vec<Stack>, Stack), Failure> {
        let stacks = if self.on.is_empty() { STACKS.to_vec() } else { self.on.clone() };
        let on = stacks.iter().map(|stack| ("on", stack));
        once("--on", &self.on)?;
        for (option, stack) in on.chain(self.today.iter().map(|stack| ("today", stack))) {
            let is_floor = stack.main == Main::Tmpfs || stack.journals == Some(Journals::Tmpfs);
            if stack.engine != Engine::Sqlite || is_floor {
                return Err(Failure::Message(format!(
                    "--{option} {stack}: it is no stack that SQLite can rely on"
                )));
            }
        }
        let path = PathBuf::from(&self.subject);
        self.check_subject(path.is_file())?;
        let (subject, workload, recorded) = if path.is_file() {
            let recording = Recording::read(&path).map_err(|error| Failure::of(&error))?;
            let sources = recording.sources(&self.database).map_err(Failure::Message)?;
            let recorded = recording.origin.on.parse().ok();
            (Subject::Recording(Box::new(recording), sources), Workload::Program, recorded)
        } else {
            let workload: Workload = self.subject.parse().map_err(|error| {
                Failure::Message(format!("{}: no such file, and {error}", self.subject))
            })?;
            if !workload.runs_on(Engine::Sqlite) {
                return Err(Failure::Message(format!("{}: it has no SQLite", self.subject)));
            }
            (Subject::Workload, workload, None)
        };
        let recorded = recorded.filter(|stack: &Stack| stack.main != Main::Tmpfs);
        let today = self.today.or(recorded).unwrap_or(stacks[0]);
        let mut scenarios = self.hardware.scenarios(vec![today], &SqliteOptions::default())?;
        let [scenario] = scenarios.as_mut_slice() else {
            let message = "advice is for one machine: options with one value each".to_owned();
            return Err(Failure::Message(message));
        };
        let mut scenario = scenario.clone();
        scenario.keeps_trace = false;
        if workload != Workload::Program {
            let requests = self.requests.unwrap_or(REQUESTS);
            let fill = FILL.max(requests);
            (scenario.workload, scenario.requests, scenario.fill) = (workload, requests, fill);
            scenario.record_size = workload.record_size().unwrap_or(200);
        }
        let (transactions_per_day, p99_ms) = (self.per_day, self.p99);
        Ok((Demand { subject, scenario, transactions_per_day, p99_ms }, stacks, today))
    }

    /// Refuse an option that is for the other kind of subject.
    fn check_subject(&self, is_file: bool) -> Result<(), Failure> {
        let refuse = |message: &str| Err(Failure::Message(message.to_owned()));
        if is_file && self.requests.is_some() {
            return refuse("--requests is for workloads");
        }
        if !is_file && !self.database.is_empty() {
            return refuse("--database is for recordings and scripts");
        }
        Ok(())
    }
}

fn years(it: &Measurement) -> String {
    it.years.map_or_else(|| "no wear".to_owned(), |years| format!("{years:.1} years"))
}

fn text(advice: &Advice, demand: &Demand) -> String {
    let today = &advice.today;
    let mut lines = Vec::new();
    if let Some(best) = &advice.best {
        let factor = best.life() / today.life();
        lines.push(format!(
            "{}: {} at your rate, {factor:.1}x today's {}; it costs {:.1} ms a transaction \
                 instead of {:.1}, and {:.1} ms for one in a hundred.",
            best.configuration,
            years(best),
            years(today),
            best.p50_ms,
            today.p50_ms,
            best.p99_ms
        ));
        lines.push(format!("A power cut leaves {}.", best.survives.words()));
    } else {
        let why = demand.p99_ms.map_or(String::new(), |ms| format!(" within {ms} ms"));
        lines.push(format!("Nothing that was tried keeps what was acknowledged{why}."));
    }
    lines.push(format!(
        "Today, {}: {}; a power cut leaves {}.",
        today.configuration,
        years(today),
        today.survives.words()
    ));
    lines.push("What matters most, each alone:".to_owned());
    let effect = |what: &str, it: &Measurement| {
        let factor = it.life() / today.life();
        let warns = if it.survives > Safety::Whole {
            format!("; a power cut leaves {}", it.survives.words())
        } else {
            String::new()
        };
        format!("- {what}: {}, {factor:.1}x{warns}", years(it))
    };
    lines.extend(advice.changes.iter().map(|change| effect(&change.what, &change.result)));
    lines.extend(advice.together.iter().map(|all| effect("together", all)));
    let rows = &advice.ranking[..advice.ranking.len().min(ROWS_MAX)];
    let table = output::rows(&COLUMNS, rows, Format::Table);
    lines.push(format!("\n{} runs, the longest life first:\n", advice.runs));
    lines.push(String::from_utf8_lossy(&table).trim_end().to_owned());
    lines.push(
        "\nNot modelled: other programs on the flash, wear that is not spread evenly, age of the \
         data, heat. Years are the part's rated cycles, used up by page programs."
            .to_owned(),
    );
    lines.join("\n") + "\n"
}
