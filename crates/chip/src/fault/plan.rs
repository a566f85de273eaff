//! What shall happen to a chip: a plan, as data.

use std::collections::{BTreeMap, BTreeSet};

use flysch_nand::{BlockAddr, PageAddr};

/// Faults to inject. The default plan injects none; the same plan injects the same faults.
///
/// Operations are numbered from zero when the plan is armed: reads, programs and erases, those of
/// the OOB area alone, and looking at or setting a bad-block mark count one each. Rates are in
/// parts per million of the operations they concern.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FaultPlan {
    /// Seed of everything the plan leaves to chance.
    pub seed: u64,
    /// The power is cut during this operation.
    pub cut_at: Option<u64>,
    /// How the operation under way at the cut ends; the seed decides where it is `None`.
    pub ending: Option<Ending>,
    /// Rate of programs that fail.
    pub program_failures_ppm: u32,
    /// Pages whose programs fail.
    pub failing_pages: BTreeSet<PageAddr>,
    /// Rate of erases that fail.
    pub erase_failures_ppm: u32,
    /// Blocks that go bad: from this operation on their programs and erases fail.
    pub grown_bad_blocks: BTreeMap<BlockAddr, u64>,
    /// Rate of reads of data that meet bit errors, which are gone at the next read.
    pub read_errors_ppm: u32,
    /// Bit errors of such a read: one up to this many, in one sector.
    pub read_error_bits_max: u16,
    /// Pages of which each read of data meets so many bit errors, in the first sector it touches.
    pub flawed_pages: BTreeMap<PageAddr, u16>,
}

/// How an operation ends that was under way when the power was cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It had not begun: no cell has changed and no time has passed.
    NotBegun,
    /// Program: the bytes up to some place have changed, and the sectors touched may have bit
    /// errors. Erase: some pages are blank, others keep their data, some of either have bit errors.
    Torn,
    /// It is complete, though nobody was told.
    Complete,
    /// All cells look as if complete, but some lie between two states: program: the sectors have
    /// more bit errors than ECC corrects. Erase: some of the blank pages have.
    Marginal,
}

impl Ending {
    /// Every ending.
    pub const ALL: [Self; 4] = [Self::NotBegun, Self::Torn, Self::Complete, Self::Marginal];
}
