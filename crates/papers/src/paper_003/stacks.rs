//! The paper's runs, and the comparison of its two stacks.

use std::sync::Arc;

use flysch_lab::bench::grid::Grid;
use flysch_lab::bench::run::Run;
use flysch_lab::bench::scenario::Scenario;
use flysch_lab::machine::platform::Platform;
use flysch_lab::machine::stack::{Journals, Stack};
use flysch_lab::tpcc::{Files, Pace, Scale};
use flysch_lab::trace::Operations;
use flysch_lab::workload::Tpcc;
use rayon::prelude::*;

use super::paper::{Cause, Trial};

/// The board of the paper.
pub(super) const PLATFORM: &str = "kaist-2.6.19";
/// The stack of the conventional database.
pub(super) const NAND: Stack = Stack::YAFFS2;
/// The stack of the proposed database.
pub(super) const HYBRID: Stack = Stack::YAFFS2.with(Journals::Pramfs);
/// Number of terminals of a warehouse (clause 4.2.2), as in DBT-2. Most of the time all of them
/// wait for the database. So a transaction of any kind waits for the others, and gains when they
/// become faster.
const TERMINALS: u32 = 10;

/// A database of the specification's size divided by `divisor`.
pub(super) const fn tpcc(divisor: u32) -> Tpcc {
    Tpcc {
        scale: Scale { warehouses: 1, divisor },
        terminals: TERMINALS,
        pace: Pace::None,
        rollback_percent: 1,
        files: Files::One,
    }
}

/// One run on the board of the paper.
pub(super) fn scenario(tpcc: Tpcc, stack: Stack, transactions: u32) -> Result<Scenario, Cause> {
    let platform = Arc::new(Platform::named(PLATFORM)?);
    let mut grid = Grid::new(flysch_lab::workload::Workload::Tpcc(tpcc), stack, platform);
    grid.axes.requests = vec![transactions];
    Ok(grid.scenarios().swap_remove(0))
}

/// Resize the partition so that the database fills `percent` of it.
pub(super) fn fill(scenario: &mut Scenario, tpcc: Tpcc, percent: u32) -> Result<(), Cause> {
    let bytes = tpcc.scale.bytes(scenario.settings.page_size) * 100 / u64::from(percent);
    let block_size = u64::from(scenario.build.part.geometry.block_size());
    scenario.build.partition_blocks = u32::try_from(bytes / block_size)?;
    Ok(())
}

/// Run scenarios on all cores. Each comes with its number of progress steps.
pub(super) fn run_all(trial: &Trial<'_>, all: &[(Scenario, u64)]) -> Result<Vec<Run>, Cause> {
    let one = |(scenario, steps): &(Scenario, u64)| {
        let seed = trial.seed_of(scenario.seed);
        let outcome = Scenario { seed, ..scenario.clone() }.run().map_err(Cause::from);
        (trial.done)(*steps);
        outcome
    };
    all.par_iter().with_max_len(1).map(one).collect()
}

/// The same workload on two stacks.
pub(super) struct Pair {
    /// The conventional database, with its journal on NAND.
    pub(super) nand: Run,
    /// The proposed database, with its journal on PRAM.
    pub(super) hybrid: Run,
}

impl Pair {
    /// The ratio of a figure of the proposed database to that of the conventional one.
    pub(super) fn ratio(&self, figure: impl Fn(&Run) -> f64) -> f64 {
        figure(&self.hybrid) / figure(&self.nand)
    }
}

/// Number of page programs, which the paper calls writes.
#[expect(clippy::cast_precision_loss, reason = "a count far below 2^52")]
pub(super) fn writes(run: &Run) -> f64 {
    run.operations.page_programs as f64
}

/// Number of block erases.
#[expect(clippy::cast_precision_loss, reason = "a count far below 2^52")]
pub(super) fn erases(run: &Run) -> f64 {
    run.operations.block_erases as f64
}

/// Seconds of virtual time.
#[expect(clippy::cast_precision_loss, reason = "figures for people, far below 2^52")]
fn seconds(run: &Run) -> f64 {
    run.time_ns as f64 / 1e9
}

/// The operations in all scopes with this label, including the scopes inside them.
pub(super) fn under(run: &Run, label: &str) -> Operations {
    let mut sum = Operations::default();
    for (path, operations) in &run.by_cause {
        if path.split(" > ").any(|scope| scope == label) {
            sum += *operations;
        }
    }
    sum
}

/// Mean response time, milliseconds.
pub(super) fn response_ms(run: &Run) -> f64 {
    run.figures["response_ns_mean"] / 1e6
}

/// Number of New-Order transactions per minute.
pub(super) fn per_minute(run: &Run) -> f64 {
    run.figures["new_orders_per_minute"]
}

/// Page programs per second. With them, tests of equal duration can be compared, such as those of
/// DBT-2.
pub(super) fn writes_per_second(run: &Run) -> f64 {
    writes(run) / seconds(run)
}

/// Block erases per second.
pub(super) fn erases_per_second(run: &Run) -> f64 {
    erases(run) / seconds(run)
}
