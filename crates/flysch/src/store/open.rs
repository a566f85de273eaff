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
//! 3. Runs that small jobs wrote are older than the recent runs that none wrote. Small jobs leave
//!    the former alone, and what they read has to follow each other in age.

use super::Store;
use super::run::{Head, IN_JOB, MERGED, OPEN};

impl Store<'_> {
    /// Whether a small job of the transaction's runs is to be begun, where no other job is due: only
    /// where the table of runs is nearly full, for most transactions end before that.
    pub(crate) fn is_open_due(&self) -> bool {
        self.is_crowded() && self.runs.slots().end - self.open_from() > 1
    }

    /// Begin a small job of the transaction's runs.
    pub(crate) fn start_open(&mut self) {
        debug_assert!(self.is_open_due(), "there are runs to merge");
        self.start_small_from(self.open_from(), 0);
    }

    /// Runs of the transaction that no merge wrote.
    fn fresh_opens(&self) -> usize {
        let is_fresh = |head: Head| head.is(OPEN) && !head.is(MERGED);
        self.runs.heads().filter(|(_, head)| is_fresh(*head)).count()
    }

    /// The place of the first run that the next job of the transaction takes. Outputs of such jobs
    /// are left alone as long as there are enough others.
    fn open_from(&self) -> usize {
        let has_others = self.fresh_opens() > 1;
        self.small_from(OPEN, if has_others { MERGED } else { 0 })
    }

    /// Make the runs of the transaction committed ones. Where a job wrote some of them, or is about
    /// to, what is older counts as written by one as well.
    pub(crate) fn commit_opens(&mut self) {
        let is_written = |head: Head| head.is(OPEN | MERGED) || head.is(OPEN | IN_JOB);
        let written = self.runs.heads().filter(|(_, head)| is_written(*head));
        let end = written.map(|(slot, _)| slot).last().unwrap_or(0);
        for slot in 0..end {
            if self.runs.head(slot).is_recent() {
                self.mark(slot, MERGED);
            }
        }
        self.runs.change(|head| head.marks &= !OPEN);
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
