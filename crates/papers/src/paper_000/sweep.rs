//! Sweeps: one kind of request on both file systems, over record sizes and numbers of requests.

use std::sync::Arc;

use flysch_lab::bench::grid::Grid;
use flysch_lab::bench::run::Run;
use flysch_lab::bench::scenario::Scenario;
use flysch_lab::machine::platform::Platform;
use flysch_lab::machine::stack::Stack;
use flysch_lab::workload::Micro;

use crate::paper::{Cause, Effort, Trial};

/// The paper's board and kernel.
pub(super) const PLATFORM: &str = "apf27-2.6.29";
/// The paper's record sizes, bytes.
pub(super) const SIZES: [u32; 4] = [150, 300, 450, 600];
/// The paper's file systems, JFFS2 first.
pub(super) const STACKS: [Stack; 2] = [Stack::JFFS2, Stack::UBIFS];

/// Runs of one kind of request.
pub(super) struct Sweep {
    /// Its numbers of requests, ascending.
    pub(super) requests: Vec<u32>,
    /// By stack, by record size, by requests.
    runs: Vec<Run>,
}

/// The numbers of requests of the figures. A quick sweep of runs that read is as dense as a full one
/// up to the most requests for which the paper tells JFFS2's reads apart.
fn requests(kind: Micro, effort: Effort) -> Vec<u32> {
    match effort {
        Effort::Full => (100..=5000).step_by(100).collect(),
        Effort::Quick if kind.is_reading() => {
            (100..1000).step_by(100).chain([1000, 1200, 1500, 2000, 3000, 4000, 5000]).collect()
        }
        Effort::Quick => vec![100, 500, 1000, 2500, 5000],
    }
}

/// One run of the paper's platform.
pub(super) fn scenario(
    kind: Micro,
    stack: Stack,
    record_size: u32,
    requests: u32,
) -> Result<Scenario, Cause> {
    let platform = Platform::named(PLATFORM)?;
    let mut grid = Grid::new(kind, stack, Arc::new(platform));
    grid.axes.record_sizes = vec![record_size];
    grid.axes.requests = vec![requests];
    Ok(grid.scenarios().swap_remove(0))
}

impl Sweep {
    /// How many runs the sweep of a kind is.
    pub(super) fn run_count(kind: Micro, effort: Effort) -> u64 {
        (STACKS.len() * SIZES.len() * requests(kind, effort).len()) as u64
    }

    /// Carry a sweep out on all cores; one step for each run.
    ///
    /// # Errors
    /// That of the first run that fails.
    pub(super) fn carry_out(kind: Micro, trial: &Trial<'_>) -> Result<Self, Cause> {
        let requests = requests(kind, trial.effort);
        let mut scenarios = Vec::new();
        for stack in STACKS {
            for size in SIZES {
                for &requests in &requests {
                    scenarios.push(scenario(kind, stack, size, requests)?);
                }
            }
        }
        Ok(Self { runs: trial.run_all(&scenarios)?, requests })
    }

    /// The runs of one stack and record size, by requests.
    pub(super) fn of(&self, stack: Stack, size: u32) -> &[Run] {
        let place = |found: Option<usize>| found.expect("it is one of the sweep's");
        let stack = place(STACKS.iter().position(|other| *other == stack));
        let size = place(SIZES.iter().position(|other| *other == size));
        let first = (stack * SIZES.len() + size) * self.requests.len();
        &self.runs[first..first + self.requests.len()]
    }

    /// The run of one stack, record size and number of requests of the sweep.
    pub(super) fn at(&self, stack: Stack, size: u32, requests: u32) -> &Run {
        let found = self.of(stack, size).iter().find(|run| run.requests == requests);
        found.expect("it is one of the sweep's")
    }

    /// All runs.
    pub(super) fn all(&self) -> &[Run] {
        &self.runs
    }

    /// The run with the most requests of one stack and record size.
    pub(super) fn last(&self, stack: Stack, size: u32) -> &Run {
        self.of(stack, size).last().expect("a sweep has runs")
    }

    /// A number of JFFS2's run over that of UBIFS's, for each size and number of requests that
    /// `chosen` takes.
    pub(super) fn ratios(&self, of: fn(&Run) -> f64, chosen: impl Fn(&Run) -> bool) -> Vec<f64> {
        let of_size = |size: u32| {
            let pairs = self.of(STACKS[0], size).iter().zip(self.of(STACKS[1], size));
            pairs.filter(|(run, _)| chosen(run)).map(|(one, other)| of(one) / of(other))
        };
        SIZES.into_iter().flat_map(of_size).collect()
    }
}
