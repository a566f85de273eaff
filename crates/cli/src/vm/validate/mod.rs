//! `flysch vm validate`: compares the simulator with the kernel.

mod workloads;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flysch_kernel::validate::cell::{
    Cell, Counts, Key, Overhead, Sample, of_json, of_run, samples,
};
use flysch_kernel::validate::draw::{self, Line};
use flysch_kernel::validate::page;
use flysch_kernel::validate::plan::{
    FULL, MicroPlan, PLATFORM, QUICK, read_arguments, read_scenarios,
};
use flysch_kernel::validate::recorded;
use flysch_kernel::validate::verdict::{Compared, Spreads, title, worst};
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
const COLUMNS: [&str; 42] = [
    "fs",
    "workload",
    "record_size",
    "requests",
    "pattern",
    "read_ahead",
    "options",
    "kernel.page_reads",
    "flysch.page_reads",
    "read_error",
    "kernel.page_programs",
    "flysch.page_programs",
    "program_error",
    "kernel.block_erases",
    "flysch.block_erases",
    "erase_error",
    "kernel.page_reads_at_open",
    "flysch.page_reads_at_open",
    "kernel.time_ms",
    "flysch.time_ms",
    "time_error",
    "kernel.median_us",
    "flysch.median_us",
    "median_error",
    "kernel.percentile_99_us",
    "flysch.percentile_99_us",
    "percentile_99_error",
    "kernel.stopped_at",
    "flysch.stopped_at",
    "meets",
    "kernel_least.page_reads",
    "kernel_most.page_reads",
    "flysch_least.page_reads",
    "flysch_most.page_reads",
    "kernel_least.page_programs",
    "kernel_most.page_programs",
    "flysch_least.page_programs",
    "flysch_most.page_programs",
    "kernel_least.block_erases",
    "kernel_most.block_erases",
    "flysch_least.block_erases",
    "flysch_most.block_erases",
];
/// The columns of the summary.
const SUMMARY: [&str; 21] = [
    "cells",
    "number",
    "programs.median",
    "programs.percentile_95",
    "programs.max",
    "reads.median",
    "reads.percentile_95",
    "reads.max",
    "erases.median",
    "erases.percentile_95",
    "erases.max",
    "times.median",
    "times.percentile_95",
    "times.max",
    "time_bias",
    "medians.median",
    "medians.percentile_95",
    "medians.max",
    "percentiles_99.median",
    "percentiles_99.percentile_95",
    "percentiles_99.max",
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

/// A group of cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Group {
    /// The grid of the micro-benchmark
    Micro,
    /// The read-ahead grid
    Reads,
    /// What users run: fixed cells, and as many drawn ones as --draw says
    Workloads,
}

/// Arguments of `flysch vm validate`.
#[derive(Debug, clap::Args)]
pub(super) struct Validate {
    /// Run few cells: 12 of the micro-benchmark, and 6 of what users run
    #[arg(long)]
    quick: bool,
    /// Groups of cells: micro, reads, workloads [default: all]
    #[arg(long, value_enum, value_name = "GROUP", value_delimiter = ',')]
    group: Vec<Group>,
    /// Number of cells of what users run that are drawn
    #[arg(long, value_name = "N", default_value_t = 48, value_parser = clap::value_parser!(u32).range(..=i64::from(draw::CELLS_MAX)))]
    draw: u32,
    /// Seed of the drawn cells
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
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
        let recorded = self.kernel_counts.as_deref().map(|path| self.recorded(path)).transpose()?;
        let lines = recorded.as_ref().map_or_else(|| self.lines(), Kernel::own_lines);
        if recorded.is_none() {
            self.guest.store().version().map_err(failure)?;
        }
        // The simulator goes first: it takes little time, and a cell that cannot be is found early.
        let flysch = samples(workloads::simulated(&lines)?);
        let kernel = recorded.map_or_else(|| self.in_guest(&lines), Ok)?;
        let Kernel { runs, reads, lines, overhead } = kernel;
        let platform = Arc::new(platform);
        let micro = if self.has(Group::Micro) {
            compared(runs, &simulated(&self.plan().scenarios(&platform))?)?
        } else {
            Vec::new()
        };
        let reads = if self.has(Group::Reads) {
            compared(reads, &simulated(&read_scenarios(&platform))?)?
        } else {
            Vec::new()
        };
        let workloads = compared(lines, &flysch)?;
        let compared = Compared { micro, reads, workloads };
        let broken = compared.beyond();
        self.write(&compared, &broken)?;
        for line in verdict(&compared).into_iter().chain(overhead.map(text_of_overhead)) {
            tell(&line);
        }
        if broken.is_empty() { Ok(()) } else { Err(Failure::Beyond(broken.join("; "))) }
    }

    /// Whether the cells of a group are compared.
    fn has(&self, group: Group) -> bool {
        let is_asked = self.group.is_empty() || self.group.contains(&group);
        is_asked && !(self.quick && group == Group::Reads)
    }

    const fn plan(&self) -> MicroPlan {
        if self.quick { QUICK } else { FULL }
    }

    /// The cells of what users run.
    fn lines(&self) -> Vec<Line> {
        if !self.has(Group::Workloads) {
            return Vec::new();
        }
        if self.quick {
            return draw::quick();
        }
        let mut all = draw::fixed();
        all.extend(draw::drawn(self.seed, self.draw));
        all
    }

    /// The counts of an earlier run that belong to the groups that are compared.
    fn recorded(&self, path: &Path) -> Result<Kernel, Failure> {
        let all = recorded::read(path).map_err(|error| Failure::of_file(path, error))?;
        let (lines, grids): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|(key, _)| !key.options.is_empty());
        let (reads, runs) = grids.into_iter().partition(|(key, _)| key.workload == "read");
        let has_lines = self.has(Group::Workloads) && !self.quick;
        let lines = if has_lines { lines } else { Vec::new() };
        Ok(Kernel { runs, reads, lines, overhead: None })
    }

    /// Run the cells on the kernel, in guests.
    fn in_guest(&self, lines: &[Line]) -> Result<Kernel, Failure> {
        let (store, guest, plan) = (self.guest.store(), self.guest.guest()?, self.plan());
        let mut kernel = Kernel::default();
        if self.has(Group::Micro) {
            let mut traced = in_guest(&store, &guest, plan.arguments())?;
            let mut untraced = plan.untraced().arguments();
            untraced.push("--untraced".to_owned());
            let untraced = in_guest(&store, &guest, untraced)?;
            kernel.overhead = Overhead::of(&traced, &untraced);
            if let Some(arguments) = plan.repetition() {
                traced.extend(in_guest(&store, &guest, arguments)?);
            }
            kernel.runs = in_order(counts(&traced)?);
        }
        if self.has(Group::Reads) {
            kernel.reads = in_order(counts(&in_guest(&store, &guest, read_arguments())?)?);
        }
        kernel.lines = in_order(workloads::in_guests(&store, &guest, lines)?);
        Ok(kernel)
    }

    fn write(&self, compared: &Compared, broken: &[String]) -> Result<(), Failure> {
        let every = compared.cells();
        if let Some(path) = &self.csv {
            output::write_file(path, &output::rows(&COLUMNS, &every, Format::Csv), self.force)?;
        }
        if let Some(path) = &self.page {
            let subtitle = format!("{} cells, Linux 6.1 with nandsim in a VM", every.len());
            output::write_report(path, &page::html(compared, broken, &subtitle), self.force)?;
        }
        output::print(&match self.show {
            Show::Cells => output::rows(&COLUMNS, &every, self.format),
            Show::Summary => output::rows(&SUMMARY, &compared.spreads(), self.format),
        })
    }
}

/// The counts of the kernel.
#[derive(Default)]
struct Kernel {
    runs: Vec<(Key, Sample)>,
    /// The counts of the read-ahead grid.
    reads: Vec<(Key, Sample)>,
    /// The counts of what users run.
    lines: Vec<(Key, Sample)>,
    overhead: Option<Overhead>,
}

impl Kernel {
    /// The cells of what users run.
    fn own_lines(&self) -> Vec<Line> {
        let line = |(key, _): &(Key, Sample)| {
            let Key { fs, workload, options, .. } = key.clone();
            Line { fs, workload, options }
        };
        self.lines.iter().map(line).collect()
    }
}

/// The runs of each cell put together, in the order of the first run of each.
fn in_order(runs: Vec<(Key, Counts)>) -> Vec<(Key, Sample)> {
    let mut left = samples(runs.iter().cloned());
    runs.into_iter().filter_map(|(key, _)| left.remove_entry(&key)).collect()
}

fn counts(runs: &[Value]) -> Result<Vec<(Key, Counts)>, Failure> {
    let counts: Option<_> = runs.iter().map(of_json).collect();
    counts.ok_or_else(|| Failure::Message("the guest's answer lacks a count".to_owned()))
}

/// Run the cells of a grid on the simulator.
fn simulated(scenarios: &[Scenario]) -> Result<BTreeMap<Key, Sample>, Failure> {
    Ok(samples(carry_out(scenarios)?.iter().map(of_run)))
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

/// Pair the counts of both sides.
fn compared(
    kernel: Vec<(Key, Sample)>,
    flysch: &BTreeMap<Key, Sample>,
) -> Result<Vec<Cell>, Failure> {
    let is_there = |wanted: &&Key| !kernel.iter().any(|(key, _)| key == *wanted);
    if let Some(key) = flysch.keys().find(is_there) {
        let cell = title(key);
        return Err(Failure::Message(format!("the kernel's counts lack the cell {cell}")));
    }
    let cell = |(key, kernel): (Key, Sample)| Some((*flysch.get(&key)?, key, kernel));
    let pairs = kernel.into_iter().filter_map(cell);
    Ok(pairs.map(|(flysch, key, kernel)| Cell::new(key, &kernel, &flysch)).collect())
}

/// Lines that say how large the errors are, and in which cells they are largest.
fn verdict(compared: &Compared) -> Vec<String> {
    let percent = |share: f64| format!("{:.1} %", share * 100.0);
    let mut lines = Vec::new();
    for (name, cells) in compared.groups() {
        if cells.is_empty() {
            continue;
        }
        let Spreads { reads, programs, erases, .. } = Spreads::of(name, cells);
        let counts = [("page reads", reads), ("page programs", programs), ("block erases", erases)];
        for (what, spread) in counts {
            let (median, high) = (percent(spread.median), percent(spread.percentile_95));
            let max = percent(spread.max);
            lines.push(format!(
                "{name}, {what}: median {median}, 95th percentile {high}, worst {max}"
            ));
        }
        for cell in worst(cells, WORST) {
            lines.push(format!("{}: {}", title(&cell.key), percent(cell.worst())));
        }
    }
    lines
}
