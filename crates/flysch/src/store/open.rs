//! Runs of an open transaction, and the merges among them.
//!
//! A transaction whose entries outgrow the memory table flushes them as runs of its own. So that it
//! may have any number of entries, its runs are merged to larger ones as those of committed entries
//! are, but with each other alone.
//!
//! 1. A job reads runs of the transaction or committed runs, never both. So a rollback leaves no
//!    job with half of its inputs.
//! 2. The runs of the transaction are the newest ones. Committed entries that are flushed meanwhile
//!    are listed before them.

use super::Store;
use super::run::{Head, IN_JOB, MERGED, OPEN};

/// Places of the table of runs that a transaction leaves.
const OPEN_ROOM: usize = 3;

impl Store<'_> {
    /// Whether the table of runs has no more places than a transaction leaves for its commit: for
    /// its last entries, for committed ones that were still in RAM, and for the output of a job.
    fn is_nearly_full(&self) -> bool {
        self.runs.room() <= OPEN_ROOM
    }

    /// Whether a small job of the transaction's runs is to be begun, where no other job is due.
    /// That is only where the table of runs is nearly full: most transactions end before that.
    pub(crate) fn is_open_due(&self) -> bool {
        self.is_nearly_full() && self.runs.slots().end - self.small_from(OPEN, self.open_left()) > 1
    }

    /// Whether the transaction may not flush entries any more: its commit would find no place in
    /// the table of runs, and there is nothing to merge, nor will there be once fewer places are
    /// left.
    pub(crate) fn is_open_full(&self) -> bool {
        let is_merged = self.recents().count == 0 && self.job.is_none() && self.due().is_none();
        self.is_nearly_full() && self.has_opens() && is_merged
    }

    pub(super) fn has_opens(&self) -> bool {
        self.runs.heads().any(|(_, head)| head.is(OPEN))
    }

    /// Whether the merge under way has to end before the transaction flushes again.
    pub(crate) fn is_open_late(&self) -> bool {
        self.runs.room() < OPEN_ROOM && self.job.is_some() && self.has_opens()
    }

    /// Begin a small job of the transaction's runs.
    pub(crate) fn start_open(&mut self) {
        debug_assert!(self.is_open_due(), "there are runs to merge");
        let without = self.open_left();
        self.start_small_from(self.small_from(OPEN, without), without);
    }

    /// The mark of runs of the transaction that its next job leaves alone: outputs of such jobs, as
    /// long as there are enough others.
    fn open_left(&self) -> u8 {
        let is_fresh = |head: Head| head.is(OPEN) && !head.is(MERGED);
        let has_others = self.runs.heads().filter(|(_, head)| is_fresh(*head)).count() > 1;
        if has_others { MERGED } else { 0 }
    }

    /// Drop the runs of the transaction, and the job that reads them.
    pub(crate) fn drop_opens(&mut self) {
        if self.runs.heads().any(|(_, head)| head.is(OPEN | IN_JOB)) {
            debug_assert!(self.job.as_ref().is_some_and(|job| job.index.is_none()));
            self.job = None;
            self.inputs.clear();
        }
        self.drop_runs(|head| head.is(OPEN));
    }
}
