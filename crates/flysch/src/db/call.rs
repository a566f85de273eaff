//! What one call has done so far, so that a call that commits a row does no more than it promises.
//!
//! A commit pays for what others did before: it flushes, erases a block ahead, moves rows out of
//! blocks with much that is dead, and copies blocks that are worn less than others. Each of these
//! can wait for the next commit.

use flysch_nand::Nand;

use super::Db;
use crate::log::PROGRAMS_MAX;
use crate::media::Counts;

/// Programs that a step of work takes at the most: a page and what follows from it, or a flush.
const STEP_PROGRAMS: u64 = 2;
/// Reads of a call from which on a step of compaction may wait. A step takes some ten.
const READS_CALM: u32 = 10;
/// Reads of a call from which on no step is done that may wait.
const READS_MAX: u32 = 30;

/// How far a call goes with what may wait.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limit {
    programs: u64,
    reads: u32,
}

/// What the session had done when the call began.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Begun {
    /// The write number.
    write: u64,
    reads: u32,
    erases: u32,
}

impl Limit {
    /// That of what a call does ahead of its own rows.
    pub(super) const AHEAD: Self = Self { programs: 1, reads: READS_MAX / 2 };
}

impl<N: Nand> Db<'_, '_, N> {
    /// Note that a call begins: what its transaction does and what it pays for others is counted
    /// from here on.
    pub(super) fn begin_call(&mut self) {
        debug_assert!(self.under_way.is_none(), "a transaction begins within its call");
        let Counts { reads, erases, .. } = self.media.counts;
        self.begun = Begun { write: self.media.write, reads, erases };
    }

    /// Pages that were programmed since the call began.
    pub(super) const fn programs_of_call(&self) -> u64 {
        debug_assert!(self.begun.write <= self.media.write, "write numbers ascend");
        self.media.write - self.begun.write
    }

    /// Reads since the call began.
    const fn reads_of_call(&self) -> u32 {
        self.media.counts.reads.wrapping_sub(self.begun.reads)
    }

    /// Whether a block was erased since the call began. A call that commits a row erases at
    /// most one.
    pub(super) const fn has_erased(&self) -> bool {
        self.media.counts.erases != self.begun.erases
    }

    /// How far a call goes that has done what its own rows take.
    pub(super) fn limit_of_call(&self) -> Limit {
        let (programs, reads) = (self.programs_of_call(), self.reads_of_call());
        // Rows that are longer than a page, and several rows, take more by themselves.
        let programs = if programs > PROGRAMS_MAX { 2 * programs } else { PROGRAMS_MAX };
        debug_assert!(programs >= PROGRAMS_MAX, "a call may do what its documentation says");
        Limit { programs, reads: READS_MAX.max(2 * reads) }
    }

    /// Whether the call has come to its limit, or has erased a block.
    pub(super) fn is_at(&self, limit: Limit) -> bool {
        let has_programmed = self.programs_of_call() >= limit.programs;
        has_programmed || self.has_erased() || self.reads_of_call() >= limit.reads
    }

    /// Whether the next step of compaction might take the call to its limit, or have it read twice
    /// as much as others.
    pub(super) fn is_near(&self, limit: Limit) -> bool {
        let has_programmed = self.programs_of_call() + STEP_PROGRAMS > limit.programs;
        has_programmed || self.has_erased() || self.reads_of_call() > READS_CALM
    }
}
