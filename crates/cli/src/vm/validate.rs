//! `flysch vm validate`: compares the simulator with the kernel.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use flysch_kernel::validate::cell::{Cell, Counts, Key, Overhead, means, of_json, of_run};
use flysch_kernel::validate::page;
use flysch_kernel::validate::plan::{
    FULL, MicroPlan, PLATFORM, QUICK, read_arguments, read_scenarios,
};
use flysch_kernel::validate::recorded;
use flysch_kernel::validate::verdict::{MICRO, Spreads, beyond, beyond_read_ahead, spreads, worst};
use flysch_kernel::vm::guest::Guest;
use flysch_kernel::vm::qemu;
use flysch_kernel::vm::store::Store;
use flysch_lab::bench::scenario::Scenario;
use flysch_lab::machine::platform::Platform;
use serde_json::Value;

use super::{GuestOptions, failure, reference};
use crate::failure::Failure;
use crate::output::{self, Format};
use crate::progress::{carry_out, tell};

/// The columns of the table and of CSV.
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
/// The columns of the summary.
const SUMMARY: [&str; 8] = [
    "cells",
    "number",
    "programs.median",
    "programs.percentile_95",
    "programs.max",
    "reads.median",
    "reads.percentile_95",
    "reads.max",
];
/// How many of the cells with the largest errors are printed.
const WORST: usize = 5;

/// What `flysch vm validate` prints.
#[derive(Clone, Copy, Debug, Default, clap::ValueEnum)]
enum Show {
    /// Every cell with its counts
    #[default]
    Cells,
    /// The distribution of the errors, by file system and workload
    Summary,
}

/// Arguments of `flysch vm validate`.
#[derive(Debug, clap::Args)]
pub(super) struct Validate {
    /// Run 12 cells instead of 160, without the read-ahead grid
    #[arg(long)]
    quick: bool,
    /// CSV of an earlier run with the kernel's counts, to be used instead of a guest
    #[arg(long, value_name = "FILE")]
    kernel_counts: Option<PathBuf>,
    /// Compare with a table of docs/reference instead, row by row
    #[arg(long, value_name = "FILE", conflicts_with_all = ["quick", "kernel_counts", "show", "csv", "page"])]
    reference: Option<PathBuf>,
    /// What to print
    #[arg(long, value_enum, default_value_t, value_name = "WHAT")]
    show: Show,
    /// File for all cells, as CSV
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// File for the page with the charts
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
    /// Replace existing files
    #[arg(long)]
    force: bool,
    /// How to print the cells
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    #[command(flatten)]
    guest: GuestOptions,
}

impl Validate {
    /// Run the cells on the kernel and on the simulator, and print the cells and the verdict.
    pub(super) fn run(&self) -> Result<(), Failure> {
        if let Some(path) = &self.reference {
            return reference::run(path, self.format);
        }
        self.csv.iter().try_for_each(|path| output::check_writable(path, self.force))?;
        self.page.iter().try_for_each(|path| output::check_report(path, self.force))?;
        let platform = Platform::named(PLATFORM).map_err(|error| Failure::of(&error))?;
        let Kernel { runs, reads, overhead } = match &self.kernel_counts {
            Some(path) => Kernel::recorded(path)?,
            None => self.in_guest()?,
        };
        let platform = Arc::new(platform);
        let cells = compared(runs, &self.plan().scenarios(&platform))?;
        let reads =
            if self.quick { Vec::new() } else { compared(reads, &read_scenarios(&platform))? };
        let mut broken = beyond(&cells, &MICRO);
        broken.extend(beyond_read_ahead(&reads));
        self.write(&cells, &reads, &broken)?;
        for line in verdict(&cells, &reads).into_iter().chain(overhead.map(text_of_overhead)) {
            tell(&line);
        }
        if broken.is_empty() { Ok(()) } else { Err(Failure::Beyond(broken.join("; "))) }
    }

    const fn plan(&self) -> MicroPlan {
        if self.quick { QUICK } else { FULL }
    }

    /// Run the cells on the kernel, in a guest.
    fn in_guest(&self) -> Result<Kernel, Failure> {
        let (store, guest, plan) = (self.guest.store(), self.guest.guest()?, self.plan());
        let mut traced = in_guest(&store, &guest, plan.arguments())?;
        let mut untraced = plan.untraced().arguments();
        untraced.push("--untraced".to_owned());
        let untraced = in_guest(&store, &guest, untraced)?;
        let overhead = Overhead::of(&traced, &untraced);
        if let Some(arguments) = plan.repetition() {
            traced.extend(in_guest(&store, &guest, arguments)?);
        }
        let reads =
            if self.quick { Vec::new() } else { in_guest(&store, &guest, read_arguments())? };
        Ok(Kernel { runs: counts(&traced)?, reads: counts(&reads)?, overhead })
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
        output::print(&match self.show {
            Show::Cells => output::rows(&COLUMNS, &every, self.format),
            Show::Summary => output::rows(&SUMMARY, &spreads(cells, reads), self.format),
        })
    }
}

/// The counts of the kernel.
struct Kernel {
    runs: Vec<(Key, Counts)>,
    /// The counts of the read-ahead grid.
    reads: Vec<(Key, Counts)>,
    overhead: Option<Overhead>,
}

impl Kernel {
    /// Read the kernel's counts from the CSV of an earlier run.
    fn recorded(path: &Path) -> Result<Self, Failure> {
        let all = recorded::read(path).map_err(|error| Failure::of_file(path, error))?;
        let (reads, runs) = all.into_iter().partition(|(key, _)| key.workload == "read");
        Ok(Self { runs, reads, overhead: None })
    }
}

fn counts(runs: &[Value]) -> Result<Vec<(Key, Counts)>, Failure> {
    let counts: Option<_> = runs.iter().map(of_json).collect();
    counts.ok_or_else(|| Failure::Message("the guest's answer lacks a count".to_owned()))
}

/// Run `flysch bench` in a guest and return its runs.
fn in_guest(store: &Store, guest: &Guest, arguments: Vec<String>) -> Result<Vec<Value>, Failure> {
    let mut words = vec!["flysch".to_owned(), "bench".to_owned()];
    words.extend(arguments);
    let place = ["--platform", PLATFORM, "--mtd", "mtd0", "--format", "json"];
    words.extend(place.map(str::to_owned));
    let answer = qemu::run(store, guest, &words, &mut tell).map_err(failure)?;
    serde_json::from_str(&answer.text).map_err(|error| {
        Failure::Message(format!("the guest's answer is no list of runs: {error}"))
    })
}

/// The overhead of the tracer as a line of text.
fn text_of_overhead(overhead: Overhead) -> String {
    let Overhead { share, event_ns, events } = overhead;
    format!(
        "tracing added {:.1} % to the guest's time, {:.1} us to each of {events:.0} events, none lost",
        share * 100.0,
        event_ns / 1e3
    )
}

/// Run the same cells on the simulator and pair the counts with the kernel's. Both are means over
/// the seeds.
fn compared(kernel: Vec<(Key, Counts)>, scenarios: &[Scenario]) -> Result<Vec<Cell>, Failure> {
    let mut left = means(kernel.iter().cloned());
    let flysch = means(carry_out(scenarios)?.iter().map(of_run));
    if let Some(key) = flysch.keys().find(|key| !left.contains_key(key)) {
        let Key { fs, workload, record_size, requests, .. } = key;
        let cell = format!("{fs} {workload} {record_size} B x {requests}");
        return Err(Failure::Message(format!("the kernel's counts lack the cell {cell}")));
    }
    let cells = kernel.into_iter().filter_map(|(key, _)| left.remove_entry(&key));
    let cell = |(key, kernel)| {
        let absent = || Failure::Message(format!("no simulation answers to {key:?}"));
        let flysch = *flysch.get(&key).ok_or_else(absent)?;
        Ok(Cell::new(key, kernel, flysch))
    };
    cells.map(cell).collect()
}

/// Lines that say how large the errors are, and in which cells they are largest.
fn verdict(cells: &[Cell], reads: &[Cell]) -> Vec<String> {
    let percent = |share: f64| format!("{:.1} %", share * 100.0);
    let mut lines = Vec::new();
    for (name, cells) in [("micro-benchmark", cells), ("read-ahead grid", reads)] {
        if cells.is_empty() {
            continue;
        }
        let Spreads { reads, programs, .. } = Spreads::of(name, cells);
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
