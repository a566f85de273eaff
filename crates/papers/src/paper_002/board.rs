//! The paper's board, runs on it, and the savings without read-ahead.

use std::sync::Arc;

use flysch_lab::bench::grid::{Axes, Grid, ReadAheadOption};
use flysch_lab::bench::run::Run;
use flysch_lab::bench::scenario::Scenario;
use flysch_lab::machine::platform::Platform;
use flysch_lab::machine::stack::{Main, Stack};
use flysch_lab::workload::{Pattern, Read, Workload};

use crate::paper::{Cause, Trial};

/// The simulated platform of the paper's board.
pub(super) const PLATFORM: &str = "omap3evm-2.6.37";
/// Progress steps of a run on a file of 5 MiB.
pub(super) const READ_STEPS: u64 = 5;
/// File systems of the paper.
pub(super) const FILE_SYSTEMS: [Main; 2] = [Main::Jffs2, Main::Yaffs2];
/// Orders of requests in the paper.
pub(super) const PATTERNS: [Pattern; 2] = [Pattern::Sequential, Pattern::Random];

/// Runs with and without read-ahead that are otherwise the same, with all seeds.
pub(super) struct Pair {
    /// The runs with read-ahead.
    pub(super) on: Vec<Run>,
    /// The runs without read-ahead.
    pub(super) off: Vec<Run>,
}

/// A workload on the platform, with the platform's values for all parameters.
pub(super) fn grid(workload: Workload, stack: Stack) -> Result<Grid, Cause> {
    Ok(Grid::new(workload, stack, Arc::new(Platform::named(PLATFORM)?)))
}

/// Reads of a file of random bytes. JFFS2 does not compress it here: compressors would gain
/// nothing, so it gives the same nodes, but the simulation is much faster.
pub(super) fn reads(read: Read, main: Main) -> Result<Grid, Cause> {
    let mut grid = grid(Workload::Read(read), Stack::file(main))?;
    grid.axes.compressions = vec!["none".parse()?];
    Ok(grid)
}

/// Run several grids in parallel and report `steps` for each run. The results are grouped by grid.
pub(super) fn carry_out(
    trial: &Trial<'_>,
    grids: &[Grid],
    steps: u64,
) -> Result<Vec<Vec<Run>>, Cause> {
    let scenarios: Vec<Vec<Scenario>> = grids.iter().map(Grid::scenarios).collect();
    let mut runs = trial.run_all(&scenarios.concat(), steps)?.into_iter();
    Ok(scenarios.iter().map(|of| runs.by_ref().take(of.len()).collect()).collect())
}

/// Run each grid with the platform's read-ahead and without it. Each grid has one number of
/// requests.
pub(super) fn pairs(trial: &Trial<'_>, grids: &[Grid], steps: u64) -> Result<Vec<Pair>, Cause> {
    let with = |choice| {
        let with_it = |grid: &Grid| {
            let axes = Axes { read_ahead: vec![choice], ..grid.axes.clone() };
            Grid { axes, ..grid.clone() }
        };
        grids.iter().map(with_it).collect::<Vec<_>>()
    };
    let both = [with(ReadAheadOption::On), with(ReadAheadOption::Off)].concat();
    let mut on = carry_out(trial, &both, steps)?;
    let off = on.split_off(grids.len());
    Ok(on.into_iter().zip(off).map(|(on, off)| Pair { on, off }).collect())
}

impl Pair {
    /// The percentage by which a figure is lower without read-ahead, over all seeds.
    pub(super) fn saved(&self, of: impl Fn(&Run) -> f64) -> f64 {
        let sum = |runs: &[Run]| runs.iter().map(&of).sum::<f64>();
        (1.0 - sum(&self.off) / sum(&self.on)) * 100.0
    }

    /// Percentage of time saved without read-ahead.
    pub(super) fn time_saved(&self) -> f64 {
        self.saved(|run| exact(run.time_ns))
    }

    /// Percentage of page reads saved without read-ahead.
    pub(super) fn reads_saved(&self) -> f64 {
        self.saved(|run| exact(run.operations.page_reads))
    }

    /// Percentage of energy saved without read-ahead.
    pub(super) fn energy_saved(&self) -> f64 {
        self.saved(|run| run.energy_mj)
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts and times of one run, far below 2^52")]
pub(super) fn exact(count: u64) -> f64 {
    count as f64
}

pub(super) fn greatest(numbers: &[f64]) -> f64 {
    numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

pub(super) fn least(numbers: &[f64]) -> f64 {
    numbers.iter().copied().fold(f64::INFINITY, f64::min)
}
