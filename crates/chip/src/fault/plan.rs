//! The plan of the faults that will happen to a chip.

use std::collections::{BTreeMap, BTreeSet};

use flysch_nand::{BlockAddr, PageAddr};

/// Faults to inject. The default plan has none. The same plan always gives the same faults.
///
/// Operations are numbered from zero when the plan is armed. Each read, program and erase counts as
/// one, also those of the OOB area alone and those of a bad-block mark. Rates are in parts per
/// million of the operations they concern.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FaultPlan {
    /// Seed of all random choices.
    pub seed: u64,
    /// Number of the operation during which power is cut.
    pub cut_at: Option<u64>,
    /// Number of the change during which power is cut: a program, erase or bad-block mark, or a
    /// write to a memory on the same supply.
    pub cut_at_change: Option<u64>,
    /// How the operation at the power cut ends. If it is `None`, the seed decides.
    pub ending: Option<Ending>,
    /// Rate of programs that fail, parts per million.
    pub program_failures_ppm: u32,
    pub failing_pages: BTreeSet<PageAddr>,
    /// Rate of erases that fail, parts per million.
    pub erase_failures_ppm: u32,
    /// Blocks that go bad, each with the number of the operation from which on its programs and
    /// erases fail.
    pub grown_bad_blocks: BTreeMap<BlockAddr, u64>,
    /// Rate of reads of data with bit errors that do not occur at the next read, parts per million.
    pub read_errors_ppm: u32,
    /// Largest number of bit errors in such a read. All of them are in one sector.
    pub read_error_bits_max: u16,
    /// Pages with a number of bit errors that every read of data meets, in the first sector it
    /// reads.
    pub flawed_pages: BTreeMap<PageAddr, u16>,
    /// Reads of a block after which a page beside the one that was read has a bit error in some
    /// sector (read disturb). There is at most one in a sector, so that ECC corrects it.
    pub read_disturb: Option<u32>,
    /// On a part with two bits in a cell, each page shares its cells with the one that is so many
    /// pages before it. A cut while the later page is programmed may take the earlier one with it.
    pub paired_distance: Option<u32>,
}

/// How an operation ends during which power is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The operation did not begin: no cell has changed and no time has passed.
    NotBegun,
    /// The operation is half done. After a program the bytes up to some place have changed, and the
    /// sectors touched may have bit errors. After an erase some pages are blank and the others keep
    /// their data; some pages of both kinds have bit errors.
    Torn,
    /// The operation is complete, although it returned an error.
    Complete,
    /// All cells look as if the operation were complete, but some are between two states. After a
    /// program its sectors have more bit errors than ECC corrects. After an erase some of the blank
    /// pages have such errors.
    Marginal,
    /// Some sectors, and the OOB bytes or not, are as if the operation were complete, and the
    /// others as if it had not begun. After an erase that holds for pages. ECC finds no error.
    Scattered,
    /// Bits are between the states before and after, and ECC finds no error: behind some place of
    /// a program not all bits are cleared; of an erase's pages some keep bits that are not set.
    Noisy,
    /// No bit that can be seen has changed, and yet the cells are not as before: a program of them
    /// is a breach of the rules. An erase did not begin.
    Unseen,
    /// Each read decides anew: the cells look as after the operation, as before it, or like noise
    /// that ECC does not correct. An erase of the block ends that.
    Unsteady,
    /// The cells look as after the operation for a few reads, and from then on like noise that ECC
    /// does not correct. A page that an erase left so becomes noise even where it was programmed
    /// meanwhile. A complete erase of the block ends that.
    Fading,
}

impl Ending {
    /// The ways that a storage stack for Linux is expected to survive.
    pub const ALL: [Self; 4] = [Self::NotBegun, Self::Torn, Self::Complete, Self::Marginal];
    /// Every way: a driver that believes nothing but its own checksums survives all of them.
    pub const EVERY: [Self; 8] = [
        Self::NotBegun,
        Self::Torn,
        Self::Complete,
        Self::Marginal,
        Self::Scattered,
        Self::Noisy,
        Self::Unseen,
        Self::Unsteady,
    ];
    /// All that are known, the youngest last. Draws from [`Self::EVERY`] stay as they are.
    pub const KNOWN: [Self; 9] = [
        Self::NotBegun,
        Self::Torn,
        Self::Complete,
        Self::Marginal,
        Self::Scattered,
        Self::Noisy,
        Self::Unseen,
        Self::Unsteady,
        Self::Fading,
    ];
}
