//! `flysch vm validate`: the simulator beside the kernel.

use std::path::PathBuf;
use std::sync::Arc;

use flysch_lab::platform::Platform;
use flysch_lab::scenario::Scenario;
use flysch_lab::validate::cell::{Cell, Counts, Key, Overhead, means, of_json, of_run};
use flysch_lab::validate::page;
use flysch_lab::validate::plan::{FULL, PLATFORM, QUICK, read_arguments, read_scenarios};
use flysch_lab::validate::verdict::{MICRO, beyond, beyond_read_ahead, spreads, worst};
use flysch_lab::vm::guest::Guest;
use flysch_lab::vm::qemu;
use flysch_lab::vm::store::Store;
use serde_json::Value;

use super::{GuestOptions, failure};
use crate::failure::Failure;
use crate::output::{self, Format};
use crate::progress::{carry_out, tell};

/// Columns of the table and of CSV.
const COLUMNS: [&str; 14] = [
    "fs",
    "workload",
    "record_size",
    "requests",
    "pattern",
    "read_ahead",
    "kernel.page_reads",
    "flysch.page_reads",
    "read_error",
    "kernel.page_programs",
    "flysch.page_programs",
    "program_error",
    "kernel.block_erases",
    "flysch.block_erases",
];
/// How many of the worst cells are told.
const WORST: usize = 5;

/// Arguments of `flysch vm validate`.
#[derive(Debug, clap::Args)]
pub(super) struct Validate {
    /// 12 cells instead of 160 and the read-ahead grid
    #[arg(long)]
    quick: bool,
    /// File for every cell, as CSV
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// File for the page
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
    /// Replace files that exist
    #[arg(long)]
    force: bool,
    /// How to print the cells
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    #[command(flatten)]
    guest: GuestOptions,
}

impl Validate {
    /// Run both sides, print the cells and the verdict.
    pub(super) fn run(&self) -> Result<(), Failure> {
        self.csv.iter().try_for_each(|path| output::check_writable(path, self.force))?;
        self.page.iter().try_for_each(|path| output::check_report(path, self.force))?;
        let platform = Platform::named(PLATFORM).map_err(|error| Failure::of(&error))?;
        let platform = Arc::new(platform);
        let (store, guest) = (self.guest.store(), self.guest.guest()?);
        let plan = if self.quick { QUICK } else { FULL };
        let mut kernel = in_guest(&store, &guest, plan.arguments())?;
        let mut untraced = plan.untraced().arguments();
        untraced.push("--untraced".to_owned());
        let untraced = in_guest(&store, &guest, untraced)?;
        let overhead = Overhead::of(&kernel, &untraced);
        if let Some(arguments) = plan.repetition() {
            kernel.extend(in_guest(&store, &guest, arguments)?);
        }
        let cells = beside(&kernel, &plan.scenarios(&platform))?;
        let mut reads = Vec::new();
        if !self.quick {
            let kernel = in_guest(&store, &guest, read_arguments())?;
            reads = beside(&kernel, &read_scenarios(&platform))?;
        }
        let mut broken = beyond(&cells, &MICRO);
        broken.extend(beyond_read_ahead(&reads));
        self.write(&cells, &reads, &broken)?;
        for line in verdict(&cells, &reads).into_iter().chain(overhead.map(told)) {
            tell(&line);
        }
        if broken.is_empty() { Ok(()) } else { Err(Failure::Beyond(broken.join("; "))) }
    }

    fn write(&self, cells: &[Cell], reads: &[Cell], broken: &[String]) -> Result<(), Failure> {
        let every: Vec<Cell> = cells.iter().chain(reads).cloned().collect();
        if let Some(path) = &self.csv {
            output::write_file(path, &output::rows(&COLUMNS, &every, Format::Csv), self.force)?;
        }
        if let Some(path) = &self.page {
            let subtitle = format!("{} cells, Linux 6.1 with nandsim in a VM", every.len());
            output::write_report(path, &page::html(cells, reads, broken, &subtitle), self.force)?;
        }
        output::print(&output::rows(&COLUMNS, &every, self.format))
    }
}

/// The kernel's runs.
fn in_guest(store: &Store, guest: &Guest, arguments: Vec<String>) -> Result<Vec<Value>, Failure> {
    let mut words = vec!["flysch".to_owned(), "bench".to_owned()];
    words.extend(arguments);
    words.extend(["--mtd", "mtd0", "--format", "json"].map(str::to_owned));
    let answer = qemu::run(store, guest, &words, &mut tell).map_err(failure)?;
    serde_json::from_str(&answer.text).map_err(|error| {
        Failure::Message(format!("the guest's answer is no list of runs: {error}"))
    })
}

/// What the tracer took, as a line.
fn told(overhead: Overhead) -> String {
    let Overhead { share, event_ns, events } = overhead;
    format!(
        "tracing added {:.1} % to the guest's time, {:.1} us to each of {events:.0} events, none lost",
        share * 100.0,
        event_ns / 1e3
    )
}

/// The same cells on the simulator, beside the kernel's: the means of runs that differ in nothing
/// but their seed.
fn beside(kernel: &[Value], scenarios: &[Scenario]) -> Result<Vec<Cell>, Failure> {
    let lacks = || Failure::Message("the guest's answer lacks a count".to_owned());
    let runs: Option<Vec<(Key, Counts)>> = kernel.iter().map(of_json).collect();
    let runs = runs.ok_or_else(lacks)?;
    let mut left = means(runs.iter().cloned());
    let flysch = means(carry_out(scenarios)?.iter().map(of_run));
    let cells = runs.into_iter().filter_map(|(key, _)| left.remove_entry(&key));
    let cell = |(key, kernel)| {
        let absent = || Failure::Message(format!("no simulation answers to {key:?}"));
        let flysch = *flysch.get(&key).ok_or_else(absent)?;
        Ok(Cell::new(key, kernel, flysch))
    };
    cells.map(cell).collect()
}

/// How the errors are spread, and where they are largest.
fn verdict(cells: &[Cell], reads: &[Cell]) -> Vec<String> {
    let percent = |share: f64| format!("{:.1} %", share * 100.0);
    let mut lines = Vec::new();
    for (name, cells) in [("micro-benchmark", cells), ("read-ahead grid", reads)] {
        if cells.is_empty() {
            continue;
        }
        let (reads, programs) = spreads(cells);
        for (what, spread) in [("page reads", reads), ("page programs", programs)] {
            let (median, high) = (percent(spread.median), percent(spread.percentile_95));
            let max = percent(spread.max);
            lines.push(format!(
                "{name}, {what}: median {median}, 95th percentile {high}, worst {max}"
            ));
        }
        for cell in worst(cells, WORST) {
            let Key { fs, workload, record_size, requests, .. } = &cell.key;
            let worst = percent(cell.worst());
            lines.push(format!("{fs} {workload} {record_size} B x {requests}: {worst}"));
        }
    }
    lines
}
