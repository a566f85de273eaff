//! The plan of the faults that will happen to a chip.

use std::collections::{BTreeMap, BTreeSet};

use flysch_nand::{BlockAddr, PageAddr};

/// Faults to inject. The default plan has none. The same plan always gives the same faults.
///
/// Operations are numbered from zero when the plan is armed. Each read, program and erase counts as
/// one, including those of OOB bytes alone and of bad-block marks. Rates are in parts per million
/// of the operations that they are for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FaultPlan {
    /// Seed of all random choices.
    pub seed: u64,
    /// Number of the operation during which power is cut.
    pub cut_at: Option<u64>,
    /// Number of the change during which power is cut. Changes are programs, erases and bad-block
    /// marks, and writes to a memory on the same supply.
    pub cut_at_change: Option<u64>,
    /// The state in which a power cut leaves the operation. If it is `None`, the seed decides.
    pub ending: Option<Ending>,
    /// Rate of programs that fail, parts per million.
    pub program_failures_ppm: u32,
    pub failing_pages: BTreeSet<PageAddr>,
    /// Rate of erases that fail, parts per million.
    pub erase_failures_ppm: u32,
    /// Blocks that go bad. For each, the number of the operation from which on its programs and
    /// erases fail.
    pub grown_bad_blocks: BTreeMap<BlockAddr, u64>,
    /// Rate of reads with bit errors that a repeated read does not have, parts per million.
    pub read_errors_ppm: u32,
    /// Largest number of bit errors in such a read. All of them are in one sector.
    pub read_error_bits_max: u16,
    /// Pages with this many bit errors in each read of data, in the first sector that it reads.
    pub flawed_pages: BTreeMap<PageAddr, u16>,
    /// Read disturb: after this many reads of a block, another page of it gets a bit error in some
    /// sector. A sector gets at most one, so ECC corrects it. None: no read disturb.
    pub read_disturb: Option<u32>,
    /// Paired pages of parts with two bits in a cell: each page shares its cells with the one this
    /// many pages before it. If power is cut while the later page is programmed, the earlier one
    /// may be damaged. None: no paired pages.
    pub paired_distance: Option<u32>,
}

/// The state in which an operation leaves the cells when power is cut during it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The operation did not begin: no cell has changed, and no time has passed.
    NotBegun,
    /// The operation is half done. After a program, the bytes up to some place have changed, and
    /// the programmed sectors may have bit errors. After an erase, some pages are blank and the
    /// others keep their data; some pages of both kinds have bit errors.
    Torn,
    /// The operation is complete, although it returned an error.
    Complete,
    /// All cells read as if the operation were complete, but some are between two states. After a
    /// program, its sectors have more bit errors than ECC corrects. After an erase, some of the
    /// blank pages have such errors.
    Marginal,
    /// Each sector, and the OOB bytes, are either as after the complete operation or as before it.
    /// For an erase, each page is. ECC finds no error.
    Scattered,
    /// Bits are between the states before and after, but ECC finds no error. After a program, not
    /// all bits are cleared from some place on. After an erase, some pages keep bits that are not
    /// set.
    Noisy,
    /// No visible bit has changed, but the cells are not as before: programming them again breaks
    /// the rules. An erase did not begin.
    Unseen,
    /// Each read is different: the page reads as after the operation, as before it, or as noise
    /// that ECC does not correct. Erasing the block ends this.
    Unsteady,
    /// The cells read as after the operation for a few reads. From then on they read as noise that
    /// ECC does not correct. After such an erase, this happens to a page even if it was programmed
    /// in the meantime. A complete erase of the block ends this.
    Fading,
}

impl Ending {
    /// The endings that a storage stack of Linux is expected to survive.
    pub const ALL: [Self; 4] = [Self::NotBegun, Self::Torn, Self::Complete, Self::Marginal];
    /// The endings that a driver survives if it only believes its own checksums.
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
    /// All known endings, the newest last. [`Self::EVERY`] is kept without it, so that random draws
    /// from that list do not change.
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
