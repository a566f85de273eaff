//! `flysch bench`: workloads on stacks, every parameter exposed.

use std::path::PathBuf;

use flysch_lab::run::Run;
use flysch_lab::stack::Stack;
use flysch_lab::workload::Workload;
use flysch_lab::{report, trace};

use crate::failure::Failure;
use crate::output::{self, Destination, Format};
use crate::parameters::Parameters;
use crate::progress::carry_out;

/// Columns of the table and of CSV; JSON has all fields.
const COLUMNS: [&str; 17] = [
    "workload",
    "on",
    "platform",
    "record_size",
    "requests",
    "seed",
    "time_ns",
    "cpu_ns",
    "begin_ns",
    "end_ns",
    "latency_ns.p50",
    "latency_ns.max",
    "page_reads",
    "page_programs",
    "block_erases",
    "throughput_kb_s",
    "energy_mj",
];

/// Arguments of `flysch bench`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  flysch bench insert --on sqlite/jffs2 --requests 1000 --record-size 600
  flysch bench select,update --on sqlite/jffs2 --requests 100..5000:100 --record-size 150,600 --format csv
  flysch bench update --trace update.trace && flysch trace update.trace causes")]
pub(crate) struct Args {
    /// Workloads: insert, select, join, update
    #[arg(value_name = "WORKLOAD", value_delimiter = ',', required = true)]
    workloads: Vec<Workload>,
    /// Stacks, from the engine down: sqlite/jffs2, sqlite/tmpfs
    #[arg(long, value_name = "STACK", value_delimiter = ',', default_value = "sqlite/jffs2")]
    on: Vec<Stack>,
    #[command(flatten)]
    parameters: Parameters,
    /// How to print the figures
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    #[command(flatten)]
    destination: Destination,
    /// Save the trace of the measured interval (one run only)
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Write the report page as well
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
}

/// Run the workloads and print what they cost.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let grid = args.parameters.grid(args.workloads.clone(), args.on.clone(), &[1000])?;
    let scenarios = grid.scenarios();
    let force = args.destination.force;
    if args.trace.is_some() && scenarios.len() > 1 {
        let runs = scenarios.len();
        return Err(Failure::Message(format!("--trace is for one run, and these are {runs}")));
    }
    for path in args.trace.iter().chain(&args.destination.out) {
        output::check_writable(path, force)?;
    }
    args.report.iter().try_for_each(|path| output::check_report(path, force))?;
    let runs = carry_out(&scenarios)?;
    if let (Some(path), [run]) = (&args.trace, runs.as_slice()) {
        trace::save(&run.trace, path, force).map_err(|error| Failure::of_file(path, error))?;
    }
    if let Some(path) = &args.report {
        output::write_report(path, &page(&runs), force)?;
    }
    args.destination.deliver(&output::rows(&COLUMNS, &runs, args.format))
}

fn page(runs: &[Run]) -> String {
    let subtitle = format!("{} runs of flysch bench", runs.len());
    report::html("What SQLite costs on flash", &subtitle, runs)
}
