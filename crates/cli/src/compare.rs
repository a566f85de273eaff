//! `flysch compare`: runs one set of workloads on every stack, and shows the costs as a table and
//! as a page.

use std::path::PathBuf;

use flysch_lab::bench::grid::Axes;
use flysch_lab::bench::run::Run;
use flysch_lab::bench::scenario::Scenario;
use flysch_lab::machine::stack::{Engine, Main, Stack};
use flysch_lab::report;
use flysch_lab::workload::{Micro, Workload};

use crate::failure::Failure;
use crate::output::{self, Format};
use crate::parameters::Parameters;
use crate::progress::carry_out;

/// The columns of the table and of CSV. JSON has all fields.
const COLUMNS: [&str; 11] = [
    "workload",
    "on",
    "record_size",
    "requests",
    "time_ns",
    "throughput_kb_s",
    "page_reads",
    "page_programs",
    "block_erases",
    "energy_mj",
    "wear.max_erase_count",
];

/// The numbers of requests if the user gives none. Four points are enough to draw lines.
const REQUESTS: [u32; 4] = [100, 500, 1000, 2000];

/// Arguments of `flysch compare`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  flysch compare
  flysch compare --workload logger --record-size 40 --requests 1000
  flysch compare --aged-fill 70 --aged-invalid 15 --aged-erases 1000
  flysch compare --platform apf27-2.6.29 --record-size 150,600 --report apf27.html")]
pub(crate) struct Args {
    /// Workloads [default: all micro-benchmarks]
    #[arg(long, value_name = "WORKLOAD", value_delimiter = ',')]
    workload: Vec<Workload>,
    /// Stacks, from the engine down [default: all, and the engine beside them]
    #[arg(long, value_name = "STACK", value_delimiter = ',')]
    on: Vec<Stack>,
    #[command(flatten)]
    parameters: Parameters,
    /// How to print the figures
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Where the report page goes
    #[arg(long, value_name = "FILE", default_value = "report.html")]
    report: PathBuf,
    /// Replace the report even if it is another's file
    #[arg(long)]
    force: bool,
}

/// Run every combination, print the table and write the page.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let workloads = or_all(&args.workload, &Micro::ALL.map(Workload::from));
    let scenarios = args.scenarios(&workloads)?;
    output::check_report(&args.report, args.force)?;
    let runs = carry_out(&scenarios)?;
    let page = report::html("SQLite on flash: every stack compared", &subtitle(&runs), &runs);
    output::write_report(&args.report, &page, args.force)?;
    let shown = if args.format == Format::Table { largest(&runs) } else { runs.iter().collect() };
    output::print(&output::rows(&COLUMNS, &shown, args.format))?;
    match args.format {
        Format::Table => output::print(format!("\nreport: {}\n", args.report.display()).as_bytes()),
        Format::Csv | Format::Json => Ok(()),
    }
}

impl Args {
    /// Every workload on every stack asked for. Without any it is each stack of SQLite that keeps
    /// what the workloads need, and beside them the engine as far as it takes the workloads.
    fn scenarios(&self, workloads: &[Workload]) -> Result<Vec<Scenario>, Failure> {
        let mut stacks = or_all(&self.on, &Stack::ALL);
        if self.on.is_empty() && workloads.iter().any(|it| matches!(it, Workload::Mount(_))) {
            stacks.retain(|stack| stack.main != Main::Tmpfs);
        }
        let grid = self.parameters.grid(workloads.to_vec(), stacks, &REQUESTS)?;
        let mut scenarios = grid.scenarios();
        let Axes { aged_fills, aged_invalids, .. } = &grid.axes;
        let has_others = aged_fills.iter().chain(aged_invalids).any(|&percent| percent > 0);
        let taken = workloads.iter().copied().filter(|it| it.runs_on(Engine::Flysch));
        let taken: Vec<Workload> = taken.collect();
        if self.on.is_empty() && !has_others && !taken.is_empty() {
            let beside = self.parameters.grid(taken, vec![Stack::FLYSCH], &REQUESTS)?;
            scenarios.extend(beside.scenarios());
        }
        Ok(scenarios)
    }
}

fn or_all<T: Copy>(asked: &[T], all: &[T]) -> Vec<T> {
    if asked.is_empty() { all.to_vec() } else { asked.to_vec() }
}

fn subtitle(runs: &[Run]) -> String {
    let platforms: std::collections::BTreeSet<&str> =
        runs.iter().map(|run| run.platform.as_str()).collect();
    let platforms: Vec<&str> = platforms.into_iter().collect();
    format!("{} runs on {}", runs.len(), platforms.join(", "))
}

/// The runs with the most requests. A terminal has no room for the others.
fn largest(runs: &[Run]) -> Vec<&Run> {
    let most = runs.iter().map(|run| run.requests).max();
    runs.iter().filter(|run| Some(run.requests) == most).collect()
}
