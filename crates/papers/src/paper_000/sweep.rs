//! Sweeps: one kind of request on both file systems, over record sizes and numbers of requests.

use std::sync::Arc;

use flysch_lab::bench::grid::Grid;
use flysch_lab::bench::run::Run;
use flysch_lab::bench::scenario::Scenario;
use flysch_lab::machine::platform::Platform;
use flysch_lab::machine::stack::Stack;
use flysch_lab::workload::Micro;

use crate::paper::{Cause, Effort, Trial};

/// The board and kernel of the paper.
pub(super) const PLATFORM: &str = "apf27-2.6.29";
/// Record sizes of the paper in bytes.
pub(super) const SIZES: [u32; 4] = [150, 300, 450, 600];
/// File systems of the paper, JFFS2 first.
pub(super) const STACKS: [Stack; 2] = [Stack::JFFS2, Stack::UBIFS];

/// The runs of one kind of request.
pub(super) struct Sweep {
    /// The numbers of requests in ascending order.
    pub(super) requests: Vec<u32>,
    /// The runs, ordered by stack, record size and number of requests.
    runs: Vec<Run>,
}

/// The numbers of requests of the figures. Up to 1000, a quick sweep of reads has as many points as
/// a full one, because the paper makes claims about small numbers of requests.
fn requests(kind: Micro, effort: Effort) -> Vec<u32> {
    match effort {
        Effort::Full => (100..=5000).step_by(100).collect(),
        Effort::Quick if kind.is_reading() => {
            (100..1000).step_by(100).chain([1000, 1200, 1500, 2000, 3000, 4000, 5000]).collect()
        }
        Effort::Quick => vec![100, 500, 1000, 2500, 5000],
    }
}

/// One run on the platform of the paper.
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
    /// How many runs the sweep of a kind has.
    pub(super) fn run_count(kind: Micro, effort: Effort) -> u64 {
        (STACKS.len() * SIZES.len() * requests(kind, effort).len()) as u64
    }

    /// Run a sweep on all cores and report one step for each run.
    ///
    /// # Errors
    /// Returns the error of the first run that failed.
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
        Ok(Self { runs: trial.run_all(&scenarios, 1)?, requests })
    }

    /// The runs of one stack and record size, by number of requests.
    pub(super) fn of(&self, stack: Stack, size: u32) -> &[Run] {
        let place = |found: Option<usize>| found.expect("it is one of the sweep's");
        let stack = place(STACKS.iter().position(|other| *other == stack));
        let size = place(SIZES.iter().position(|other| *other == size));
        let first = (stack * SIZES.len() + size) * self.requests.len();
        &self.runs[first..first + self.requests.len()]
    }

    /// The run of one stack, record size and number of requests.
    pub(super) fn at(&self, stack: Stack, size: u32, requests: u32) -> &Run {
        let found = self.of(stack, size).iter().find(|run| run.inputs.requests == requests);
        found.expect("it is one of the sweep's")
    }

    /// The runs of all stacks and sizes.
    pub(super) fn all(&self) -> &[Run] {
        &self.runs
    }

    /// The run with the most requests of one stack and record size.
    pub(super) fn last(&self, stack: Stack, size: u32) -> &Run {
        self.of(stack, size).last().expect("a sweep has runs")
    }

    /// The ratio of a figure for JFFS2 to that for UBIFS, for each size and number of requests that
    /// `chosen` accepts.
    pub(super) fn ratios(&self, of: fn(&Run) -> f64, chosen: impl Fn(&Run) -> bool) -> Vec<f64> {
        let of_size = |size: u32| {
            let pairs = self.of(STACKS[0], size).iter().zip(self.of(STACKS[1], size));
            pairs.filter(|(run, _)| chosen(run)).map(|(one, other)| of(one) / of(other))
        };
        SIZES.into_iter().flat_map(of_size).collect()
    }
}
