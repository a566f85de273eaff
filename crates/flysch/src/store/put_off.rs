//! Putting off a large merge while small ones make room for new runs.
//!
//! A large merge may take as long as hundreds of flushes. Runs that are flushed meanwhile are
//! merged by small merges in between, so that no insert has to wait for the large one. The job that
//! is put off is kept in the form that it has in a log record.
//!
//! 1. Only a large merge is put off, and only one at a time.
//! 2. The state holds the large merge alone. A small merge begins anew after a mount.

use super::bytes::{Parser, Writer};
use super::group::Drops;
use super::job::{Due, Job};
use super::merge::INPUTS_MAX;
use super::run::{Head, IN_JOB, IN_ROUND, MERGED, OPEN, PUT_OFF, RECENT, Run};
use super::state::Limits;
use super::{Reach, Store};

/// Greatest number of bytes of an encoded job.
pub(crate) const JOB_SIZE: usize = 224;
/// Greatest number of entries of a recent run that a small merge writes.
const ENTRIES_MAX: u32 = 30_000;

/// The table of runs is filling up where so many times the free places are taken.
const FILLING: usize = 2;

/// Pages that a large merge writes before it may be put off again.
const TURN_PAGES: u32 = 4;

/// The encoded job that is put off.
#[derive(Clone, Debug)]
pub(crate) struct PutOff {
    bytes: [u8; JOB_SIZE],
    len: u8,
}

impl PutOff {
    /// No job is put off.
    pub(crate) const NONE: Self = Self { bytes: [0; JOB_SIZE], len: 0 };

    /// The bytes of the job; none where no job is put off.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }

    pub(crate) const fn clear(&mut self) {
        self.len = 0;
    }

    pub(crate) const fn is_some(&self) -> bool {
        self.len > 0
    }
}

impl Store<'_> {
    /// Whether so many entries are recent that the large merges go before all else.
    ///
    /// A session of few rows ends before the filters are learnt and a small merge is done, and the
    /// next one begins both anew. Without this the large merges would never get their turn, and the
    /// recent runs would grow without end.
    pub(crate) fn is_behind(&self) -> bool {
        self.is_behind_by(self.recents().entries)
    }

    /// Whether so many recent entries are too many.
    pub(crate) const fn is_behind_by(&self, entries: u32) -> bool {
        entries / 2 > self.config.recents_max
    }

    /// Whether the table of runs is filling up, and the session is one that may end before the
    /// next flush: sessions of few rows would learn filters, and never merge.
    pub(crate) fn is_cut_short(&self) -> bool {
        self.reach < Reach::Flush && self.runs.room() * FILLING <= self.runs.recents().count()
    }

    /// Whether such a session has to program a page of a merge before all else.
    ///
    /// A mount forgets the page that was being filled. So sessions of few rows do not come further
    /// with a merge unless each fills a page. The table of runs would become full, and one insert
    /// had to do whole merges.
    pub(crate) fn is_page_owed(&self) -> bool {
        self.reach == Reach::Mount && self.is_cut_short() && self.is_merging()
    }

    /// Whether a small merge has to run before the large one goes on.
    pub(crate) fn is_small_due(&self) -> bool {
        if self.is_held_up() {
            return self.is_small_due_beside_lost();
        }
        let (is_behind, is_full) = (self.is_behind(), self.is_crowded());
        if is_behind && !is_full {
            return false;
        }
        let is_free = |marks: u8| marks & (OPEN | IN_ROUND) == 0;
        let recents = || self.runs.recents().filter(|(_, head)| is_free(head.marks));
        let fresh = recents().filter(|(_, head)| !head.is(MERGED)).count();
        let from = self.small_from(0, OPEN | IN_ROUND);
        let count = recents().filter(|(slot, _)| *slot >= from).count();
        let is_filling = self.runs.room() <= 2;
        // A merge of two runs makes room for the next one, or the flush would wait for all that is
        // left of the large merge. It comes again for each run, and must not hold that up for good.
        fresh >= usize::from(self.config.fan)
            || is_filling && (fresh > 1 || count > 2)
            || is_full && count > 1 && (!is_behind || self.has_had_turn(from))
    }

    /// Whether the large merge has written as much since it was continued as a small one of the
    /// runs from a place on will write. So the two share the work evenly.
    fn has_had_turn(&self, from: usize) -> bool {
        let small: u32 = (from..self.runs.slots().end).map(|slot| self.runs.run(slot).units).sum();
        let has_written = |job: &Job| job.out.run.units >= self.taken_up_at + small;
        self.job.as_ref().is_none_or(has_written)
    }

    /// The place of the first run that a small merge takes. It takes the newest runs that have the
    /// marks `with` and none of the marks `without`, as many as fit one run and follow each other
    /// in age. Others lie between them where a run had lost pages, or where a transaction merged
    /// its own: what is merged around such a run would be older and newer than it.
    #[inline(never)]
    pub(crate) fn small_from(&self, with: u8, without: u8) -> usize {
        let (mut from, mut entries) = (self.runs.slots().end, 0);
        let is_recent = |slot: &usize| self.runs.head(*slot).is_recent();
        let recents = self.runs.slots().rev().take_while(is_recent);
        let recents = recents.take_while(|slot| !self.is_shunned(*slot));
        let is_wanted = |slot: &usize| {
            let marks = self.runs.head(*slot).marks;
            marks & without == 0 && marks & with == with
        };
        for slot in recents.skip_while(|slot| !is_wanted(slot)).take_while(is_wanted) {
            entries += self.runs.entries(slot);
            if entries > ENTRIES_MAX {
                break;
            }
            from = slot;
        }
        from
    }

    /// Whether a job may be put off: it must have written enough since it was continued, so that
    /// both merges get their turn, unless the table of runs is nearly full.
    pub(crate) fn may_put_off(&self, job: &Job) -> bool {
        let turn = TURN_PAGES * self.config.layout.cells;
        self.runs.room() <= 2 || job.out.run.units >= self.taken_up_at + turn
    }

    /// Marks of runs that a small merge does not take: inputs of other merges and, as long as it
    /// has others, outputs of small merges.
    pub(crate) fn left_alone(&self) -> u8 {
        if self.is_held_up() {
            return OPEN | IN_ROUND;
        }
        let is_fresh = |marks: u8| marks & (OPEN | MERGED | IN_ROUND) == 0;
        let fresh = self.runs.recents().filter(|(_, head)| is_fresh(head.marks)).count();
        if fresh > 1 { OPEN | MERGED | IN_ROUND } else { OPEN | IN_ROUND }
    }

    /// Put off the job under way.
    #[inline(never)]
    pub(crate) fn put_off(&mut self) {
        let Some(job) = &self.job else { return };
        debug_assert!(job.index.is_some(), "a small merge is never put off");
        debug_assert!(!self.put_off.is_some(), "one merge is put off at a time");
        let mut out = Writer::new(&mut self.put_off.bytes);
        Limits { config: &self.config, shapes: &self.shapes }.emit_job(job, &mut out);
        let len = out.at as u8;
        debug_assert!(usize::from(len) == out.at && out.at <= JOB_SIZE, "the job fits its bytes");
        self.put_off.len = len;
        self.turn_marks(IN_JOB, PUT_OFF);
        self.job = None;
        self.inputs.clear();
    }

    /// Continue the job that was put off.
    #[inline(never)]
    pub(crate) fn take_up(&mut self) {
        let Some((kind, bytes)) = self.put_off.bytes().split_first() else { return };
        let limits = Limits { config: &self.config, shapes: &self.shapes };
        let job = self.job.insert(Job::NONE);
        if limits.parse_job(*kind, &mut Parser { bytes }, job).is_none() {
            self.job = None;
        }
        debug_assert!(self.job.is_some(), "what was put off is a job");
        self.put_off.clear();
        self.taken_up_at = self.job.as_ref().map_or(0, |job| job.out.run.units);
        debug_assert!(
            self.job.as_ref().is_some_and(|job| job.index.is_some()),
            "it is a large one"
        );
        self.turn_marks(PUT_OFF, IN_JOB);
        self.inputs.clear();
    }

    /// The output of the job that was put off, as far as it was written; None where there is none.
    #[inline(never)]
    pub(crate) fn put_off_run(&self) -> Option<Run> {
        // The kind and what may be dropped stand before it.
        let (_, bytes) = self.put_off.bytes().split_at_checked(2)?;
        let mut run = Run::EMPTY;
        self.limits().parse(&mut Parser { bytes }, &mut run)?;
        Some(run)
    }

    fn turn_marks(&mut self, from: u8, to: u8) {
        self.runs.change(|head| {
            if head.is(from) {
                head.marks = head.marks & !from | to;
            }
        });
    }

    /// Begin the small merge that is due.
    #[inline(never)]
    pub(crate) fn start_small(&mut self) {
        let without = self.left_alone();
        self.start_small_from(self.small_from(0, without), without);
    }

    /// Begin a small merge of the recent runs from a place of the table on that have none of these
    /// marks.
    pub(crate) fn start_small_from(&mut self, from: usize, without: u8) {
        let flags = self.mark_oldest((from, INPUTS_MAX), IN_JOB, without);
        debug_assert!(self.are_together(), "inputs follow each other in age");
        let drops = Drops { keeps_all: self.keeps_all, is_bottom: false };
        let head = Head { level: RECENT, marks: MERGED, flags, ..Head::default() };
        self.begin(None, drops, head);
    }

    /// Whether no run lies between those that are marked as inputs.
    fn are_together(&self) -> bool {
        let inputs = || self.runs.slots().filter(|&slot| self.runs.head(slot).is(IN_JOB));
        inputs()
            .last()
            .zip(inputs().next())
            .is_none_or(|(last, first)| (first..=last).all(|slot| self.runs.head(slot).is(IN_JOB)))
    }

    /// The job to begin or continue while a large merge is put off; None where there is none.
    pub(crate) fn due_before(&self) -> Option<Due> {
        self.put_off.is_some().then(|| if self.is_small_due() { Due::Small } else { Due::PutOff })
    }
}
