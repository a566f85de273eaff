//! `flysch vm validate`: compares the simulator with the kernel.

mod against;
mod guests;
mod kept;
mod workloads;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flysch_kernel::validate::cell::{self, Key, Overhead, Sample, of_run, samples};
use flysch_kernel::validate::draw::{self, Line};
use flysch_kernel::validate::page;
use flysch_kernel::validate::plan::{FULL, MicroPlan, PLATFORM, QUICK, read_scenarios};
use flysch_kernel::validate::verdict::{Compared, Spreads, title, worst};
use flysch_lab::bench::scenario::Scenario;
use flysch_lab::machine::platform::Platform;

use self::guests::Cells;
use self::kept::Kept;
use super::{GuestOptions, failure, reference};
use crate::failure::Failure;
use crate::output::{self, Format};
use crate::progress::{carry_out, tell};

/// The columns that tell what a cell is.
const KEY_COLUMNS: [&str; 7] =
    ["fs", "workload", "record_size", "requests", "pattern", "read_ahead", "options"];
/// The columns behind those in the table and in CSV.
const COLUMNS: [&str; 35] = [
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

impl From<cell::Group> for Group {
    fn from(group: cell::Group) -> Self {
        match group {
            cell::Group::Micro => Self::Micro,
            cell::Group::Reads => Self::Reads,
            cell::Group::Workloads => Self::Workloads,
        }
    }
}

/// Where the cells are kept.
#[derive(Debug, clap::Args)]
struct CellsFile {
    /// File for all cells, as CSV; each is kept there as soon as a guest has measured it
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Go on from the file of --csv, if it exists: its cells are not measured again
    #[arg(long, requires = "csv", conflicts_with_all = ["force", "kernel_counts"])]
    resume: bool,
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
    /// Measure the cells of what users run in this CSV once more on the kernel, each in a guest of
    /// its own that idles first for a time that --seed draws
    #[arg(long, value_name = "FILE", conflicts_with_all = ["quick", "group", "draw", "kernel_counts"])]
    again: Option<PathBuf>,
    /// Compare the counts of --kernel-counts with those of a second run of the kernel in this CSV,
    /// and not with the simulator's; the seeds may differ
    #[arg(long, value_name = "FILE", requires = "kernel_counts", conflicts_with_all = ["quick", "csv", "page"])]
    against: Option<PathBuf>,
    /// Compare with a table of docs/reference instead, row by row
    #[arg(long, value_name = "FILE", conflicts_with_all = ["quick", "kernel_counts", "show", "csv", "page", "again"])]
    reference: Option<PathBuf>,
    /// What to print
    #[arg(long, value_enum, default_value_t, value_name = "WHAT")]
    show: Show,
    #[command(flatten)]
    cells: CellsFile,
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
        if let (Some(first), Some(second)) = (&self.kernel_counts, &self.against) {
            return self.run_against(first, second);
        }
        let replaces = self.force || self.cells.resume;
        self.cells.csv.iter().try_for_each(|path| output::check_writable(path, replaces))?;
        self.page.iter().try_for_each(|path| output::check_report(path, self.force))?;
        let mut kept = match &self.kernel_counts {
            Some(path) => self.recorded(path)?,
            None => self.begun()?,
        };
        let overhead = self.measure(&mut kept)?;
        kept.write()?;
        let compared = Compared::of(kept.cells());
        self.write(&compared, &compared.beyond())?;
        judge(&compared, overhead)
    }

    /// Compare two tables of the kernel's counts, by the bands that the simulator is judged by.
    fn run_against(&self, first: &Path, second: &Path) -> Result<(), Failure> {
        let cells = against::pairs(first, second, |group| self.has(group.into()))?;
        let compared = Compared::of(cells);
        let every = compared.cells();
        let pairs: Vec<against::Pair<'_>> = every.iter().map(Into::into).collect();
        output::print(&match self.show {
            Show::Cells => output::rows(&columns(&against::COLUMNS), &pairs, self.format),
            Show::Summary => output::rows(&SUMMARY, &compared.spreads(), self.format),
        })?;
        judge(&compared, None)
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

    /// The scenarios of the grids that are compared.
    fn grids(&self) -> Result<Vec<Scenario>, Failure> {
        let platform = platform()?;
        let mut all = Vec::new();
        if self.has(Group::Micro) {
            all.extend(self.plan().scenarios(&platform));
        }
        if self.has(Group::Reads) {
            all.extend(read_scenarios(&platform));
        }
        Ok(all)
    }

    /// The cells of an earlier run that belong to the groups that are compared, in its order.
    fn recorded(&self, path: &Path) -> Result<Kept, Failure> {
        let has_lines = self.has(Group::Workloads) && !self.quick;
        let is_of = |group: cell::Group| match group {
            cell::Group::Workloads => has_lines,
            cell::Group::Micro | cell::Group::Reads => self.has(group.into()),
        };
        let mut rows = kept::read(path)?;
        rows.retain(|(key, _)| is_of(key.group()));
        let of_users = rows.iter().filter(|(key, _)| key.group() == cell::Group::Workloads);
        let lines: Vec<Line> = of_users.map(|(key, _)| Line::from(key)).collect();
        let flysch = simulated(&self.grids()?, &lines)?;
        let is_there = |wanted: &&Key| rows.iter().any(|(key, _)| key == *wanted);
        if let Some(key) = flysch.keys().find(|key| !is_there(key)) {
            let cell = title(key);
            return Err(Failure::Message(format!("the kernel's counts lack the cell {cell}")));
        }
        rows.retain(|(key, _)| flysch.contains_key(key));
        let order = rows.iter().map(|(key, _)| key.clone()).collect();
        Ok(Kept::new(order, rows, flysch, self.file()))
    }

    /// The cells that are asked for, with what an interrupted run has measured of them.
    fn begun(&self) -> Result<Kept, Failure> {
        let (lines, grids) = match &self.again {
            Some(path) => (lines_of(path)?, Vec::new()),
            None => (self.lines(), self.grids()?),
        };
        let of_grids = grids.iter().map(|scenario| Key::from(&scenario.inputs()));
        let mut order: Vec<Key> = Vec::new();
        for key in of_grids.chain(lines.iter().map(Key::from)) {
            if !order.contains(&key) {
                order.push(key);
            }
        }
        let earlier = self.cells.csv.as_ref().filter(|_| self.cells.resume);
        let rows = earlier.map(|path| kept::resumed(path, &order)).transpose()?;
        let rows = rows.unwrap_or_default();
        if rows.len() < order.len() {
            self.guest.store().version().map_err(failure)?;
        }
        // The simulator goes first: it takes little time, and a cell that cannot be is found early.
        let flysch = simulated(&grids, &lines)?;
        Ok(Kept::new(order, rows, flysch, self.file()))
    }

    /// The file for the cells, and whether it may be replaced.
    fn file(&self) -> Option<(PathBuf, bool)> {
        Some((self.cells.csv.clone()?, self.force || self.cells.resume))
    }

    /// Run the cells that are missing on the kernel, in guests.
    fn measure(&self, kept: &mut Kept) -> Result<Option<Overhead>, Failure> {
        let missing = kept.missing();
        if missing.is_empty() {
            return Ok(None);
        }
        let (store, guest, plan) = (self.guest.store(), self.guest.guest()?, self.plan());
        let apart = self.again.as_ref().map(|_| self.seed);
        let cells = |keys: &[Key]| Cells::new(keys, &plan, guest.partition_blocks).apart(apart);
        let outcome =
            cells(&missing).measure(&store, &guest, &mut |key, sample| kept.take(key, sample));
        if outcome.is_err() {
            kept.tell_rest();
        }
        outcome?;
        let untraced = plan.untraced().scenarios(&platform()?);
        let untraced: Vec<Key> =
            untraced.iter().map(|scenario| Key::from(&scenario.inputs())).collect();
        if !untraced.iter().any(|key| missing.contains(key)) {
            return Ok(None);
        }
        let mut without = BTreeMap::new();
        cells(&untraced).with("--untraced").measure(&store, &guest, &mut |key, sample| {
            without.insert(key, *sample);
            Ok(())
        })?;
        Ok(Overhead::of(kept.kernel(), &without))
    }

    fn write(&self, compared: &Compared, broken: &[String]) -> Result<(), Failure> {
        let every = compared.cells();
        if let Some(path) = &self.page {
            let subtitle = format!("{} cells, Linux 6.1 with nandsim in a VM", every.len());
            output::write_report(path, &page::html(compared, broken, &subtitle), self.force)?;
        }
        output::print(&match self.show {
            Show::Cells => output::rows(&columns(&COLUMNS), &every, self.format),
            Show::Summary => output::rows(&SUMMARY, &compared.spreads(), self.format),
        })
    }
}

/// The columns of a table of cells: what each is, and then these.
fn columns(more: &[&'static str]) -> Vec<&'static str> {
    [&KEY_COLUMNS, more].concat()
}

/// The cells of what users run in the file of an earlier comparison.
fn lines_of(path: &Path) -> Result<Vec<Line>, Failure> {
    let mut keys: Vec<Key> = kept::read(path)?.into_iter().map(|(key, _)| key).collect();
    keys.retain(|key| key.group() == cell::Group::Workloads);
    if keys.is_empty() {
        return Err(Failure::of_file(path, "has no cell of what users run"));
    }
    Ok(keys.iter().map(Line::from).collect())
}

/// The platform that corresponds to the guest.
fn platform() -> Result<Arc<Platform>, Failure> {
    Platform::named(PLATFORM).map(Arc::new).map_err(|error| Failure::of(&error))
}

/// Run the cells of grids and those of what users run on the simulator.
fn simulated(grids: &[Scenario], lines: &[Line]) -> Result<BTreeMap<Key, Sample>, Failure> {
    let runs = carry_out(grids)?;
    Ok(samples(runs.iter().map(of_run).chain(workloads::simulated(lines)?)))
}

/// Say how large the errors are. Fails if they exceed a band.
fn judge(compared: &Compared, overhead: Option<Overhead>) -> Result<(), Failure> {
    for line in verdict(compared).into_iter().chain(overhead.map(text_of_overhead)) {
        tell(&line);
    }
    let broken = compared.beyond();
    if broken.is_empty() { Ok(()) } else { Err(Failure::Beyond(broken.join("; "))) }
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
