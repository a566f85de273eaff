//! Sweeps: one kind of request on both file systems, over record sizes and numbers of requests.

use std::sync::Arc;

use rayon::prelude::*;

use crate::grid::Grid;
use crate::platform::Platform;
use crate::repro::paper::{Cause, Effort, Trial};
use crate::run::Run;
use crate::scenario::Scenario;
use crate::stack::Stack;
use crate::workload::Micro;

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

/// The numbers of requests of the figures. Reading runs share a machine and are all run in any case.
pub(super) fn requests(kind: Micro, effort: Effort) -> Vec<u32> {
    match effort {
        Effort::Quick if !kind.is_reading() => vec![100, 500, 1000, 2000, 3500, 5000],
        Effort::Quick | Effort::Full => (100..=5000).step_by(100).collect(),
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
    grid.record_sizes = vec![record_size];
    grid.requests = vec![requests];
    Ok(grid.scenarios().swap_remove(0))
}

impl Sweep {
    /// How many runs a sweep is.
    pub(super) fn run_count(requests: &[u32]) -> u64 {
        (STACKS.len() * SIZES.len() * requests.len()) as u64
    }

    /// Carry a sweep out on all cores; one step for each run.
    ///
    /// # Errors
    /// That of the first run that fails.
    pub(super) fn carry_out(
        kind: Micro,
        requests: Vec<u32>,
        trial: &Trial<'_>,
    ) -> Result<Self, Cause> {
        let pairs = STACKS.iter().flat_map(|&stack| SIZES.map(|size| (stack, size)));
        let lists: Vec<Vec<u32>> = if kind.is_reading() {
            vec![requests.clone()]
        } else {
            requests.iter().map(|&requests| vec![requests]).collect()
        };
        let mut tasks = Vec::new();
        for (stack, size) in pairs {
            for list in &lists {
                tasks.push((scenario(kind, stack, size, requests[0])?, list));
            }
        }
        let one = |(scenario, list): &(Scenario, &Vec<u32>)| {
            let runs = scenario.run_for_each(list);
            (trial.done)(list.len() as u64);
            runs.map_err(Cause::from)
        };
        let runs: Vec<Vec<Run>> =
            tasks.par_iter().with_max_len(1).map(one).collect::<Result<_, Cause>>()?;
        Ok(Self { requests, runs: runs.into_iter().flatten().collect() })
    }

    /// The runs of one stack and record size, by requests.
    pub(super) fn of(&self, stack: Stack, size: u32) -> &[Run] {
        let place = |found: Option<usize>| found.expect("it is one of the sweep's");
        let stack = place(STACKS.iter().position(|other| *other == stack));
        let size = place(SIZES.iter().position(|other| *other == size));
        let first = (stack * SIZES.len() + size) * self.requests.len();
        &self.runs[first..first + self.requests.len()]
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
