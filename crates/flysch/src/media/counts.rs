//! Counts of operations, and why pages were programmed.

use super::{Kind, OF_SORT, Space};

/// Why a page was programmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A record of the log: a commit, or a checkpoint with its block table.
    Log,
    /// A page of rows, or the summary of a block of them.
    Rows,
    /// A page of a run that will be merged soon: entries that left the memory table.
    Run,
    /// A page of a run that stays: the output of a merge.
    Merge,
    /// A root, its confirm page, a list of log blocks, or the names of root blocks.
    Root,
    /// A page of a block that is copied: bits were corrected there, or other blocks are worn more.
    Scrub,
    /// A page that a sort keeps while it lasts.
    Sort,
}

impl Cause {
    /// All causes, in the order of the declaration.
    pub const ALL: [Self; 7] =
        [Self::Log, Self::Rows, Self::Run, Self::Merge, Self::Root, Self::Scrub, Self::Sort];

    /// The cause for a page of this kind. Pages of runs differ by their space, and by their owner.
    pub(super) const fn of(kind: Kind, owner: u8, space: Option<Space>) -> Self {
        match kind {
            Kind::Run if owner == OF_SORT => Self::Sort,
            Kind::Root | Kind::Confirm | Kind::Name | Kind::Anchor => Self::Root,
            Kind::Record | Kind::Table => Self::Log,
            Kind::Rows | Kind::More | Kind::Summary => Self::Rows,
            Kind::Run if matches!(space, Some(Space::Young)) => Self::Run,
            Kind::Run => Self::Merge,
        }
    }
}

/// Operations on the chip since the database was opened or created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Reads of the array, those of bad-block marks among them.
    pub reads: u32,
    /// Programs, each under its cause.
    pub programs: [u32; Cause::ALL.len()],
    /// Blocks erased.
    pub erases: u32,
    /// Pages that read back differently after they were programmed.
    pub misprogrammed: u32,
}

impl Counts {
    /// Number of programs for a cause.
    pub const fn programs_for(&self, cause: Cause) -> u32 {
        self.programs[cause as usize]
    }

    /// Number of all programs.
    pub fn programs_in_all(&self) -> u32 {
        self.programs.iter().sum()
    }
}
