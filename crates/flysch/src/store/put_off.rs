//! A large merge that is put off while a small one makes room for new runs.
//!
//! A large merge may take as long as hundreds of flushes. What is flushed meanwhile is merged by
//! small merges in between, so that no insert has to wait for the large one. The job that is put
//! off is kept as the state in a log record has it.
//!
//! 1. Only a large merge is put off, and one at a time.
//! 2. The state knows of the large merge alone: a small one begins anew after a mount.

use super::Store;
use super::bytes::{Parser, Writer};
use super::group::Drops;
use super::job::{Due, Job};
use super::merge::INPUTS_MAX;
use super::run::{Head, IN_JOB, IN_ROUND, MERGED, OPEN, PUT_OFF, RECENT, Run};

/// Bytes of a job, at most.
pub(crate) const JOB_SIZE: usize = 224;
/// Entries of a recent run that a small merge writes, at most.
const ENTRIES_MAX: u32 = 30_000;

/// Pages that a large merge writes before it is put off again.
const TURN_PAGES: u32 = 4;

/// The job that is put off.
#[derive(Clone, Debug)]
pub(crate) struct PutOff {
    bytes: [u8; JOB_SIZE],
    len: u8,
}

impl PutOff {
    pub(crate) const fn new() -> Self {
        Self { bytes: [0; JOB_SIZE], len: 0 }
    }

    /// What the state has of it; nothing where there is none.
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
    /// The small merge that has to come before the large one under way.
    pub(crate) fn is_small_due(&self) -> bool {
        let is_free = |marks: u8| marks & (OPEN | IN_ROUND) == 0;
        let recents = || self.runs.recents().filter(|(_, head)| is_free(head.marks));
        let fresh = recents().filter(|(_, head)| !head.is(MERGED)).count();
        let from = self.small_from(OPEN | IN_ROUND);
        let count = recents().filter(|(slot, _)| *slot >= from).count();
        let is_crowded = self.runs.room() <= 2;
        fresh >= usize::from(self.config.fan) || is_crowded && (fresh > 1 || count > 2)
    }

    /// Where the runs begin that a small merge takes: the newest ones without any of these marks,
    /// as many as one run may hold.
    #[inline(never)]
    fn small_from(&self, without: u8) -> usize {
        let (mut from, mut entries) = (self.runs.slots().end, 0);
        let recents = self.runs.slots().rev().take_while(|&slot| self.runs.head(slot).is_recent());
        for slot in recents.filter(|&slot| self.runs.head(slot).marks & without == 0) {
            entries += self.runs.run(slot).entries;
            if entries > ENTRIES_MAX {
                break;
            }
            from = slot;
        }
        from
    }

    /// Whether a job may be put off: where there is little room for runs, or it has come on since
    /// it was put off before, so that both merges get their turn.
    pub(crate) fn may_put_off(&self, job: &Job) -> bool {
        let turn = TURN_PAGES * self.config.layout.cells;
        self.runs.room() <= 2 || job.out.run.units >= self.taken_up_at + turn
    }

    /// Marks of runs that a small merge leaves alone: those of other merges, and as long as there
    /// are others those that one has written.
    pub(crate) fn left_alone(&self) -> u8 {
        let is_fresh = |marks: u8| marks & (OPEN | MERGED | IN_ROUND) == 0;
        let fresh = self.runs.recents().filter(|(_, head)| is_fresh(head.marks)).count();
        if fresh > 1 { OPEN | MERGED | IN_ROUND } else { OPEN | IN_ROUND }
    }

    /// Put off the job under way.
    #[inline(never)]
    pub(crate) fn put_off(&mut self, job: &Job) {
        debug_assert!(job.index.is_some(), "a small merge is never put off");
        debug_assert!(!self.put_off.is_some(), "one merge is put off at a time");
        let mut bytes = [0; JOB_SIZE];
        let mut out = Writer::new(&mut bytes);
        self.limits().emit_job(job, &mut out);
        let len = out.at as u8;
        debug_assert!(usize::from(len) == out.at && out.at <= JOB_SIZE, "the job fits its bytes");
        self.put_off = PutOff { bytes, len };
        self.turn_marks(IN_JOB, PUT_OFF);
        self.job = None;
        self.inputs.clear();
    }

    /// Go on with the job that was put off.
    #[inline(never)]
    pub(crate) fn take_up(&mut self) {
        self.job = self.parse_put_off();
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

    fn parse_put_off(&self) -> Option<Job> {
        let (kind, bytes) = self.put_off.bytes().split_first()?;
        self.limits().parse_job(*kind, &mut Parser { bytes })
    }

    /// What the job that was put off has written.
    #[inline(never)]
    pub(crate) fn put_off_run(&self) -> Option<Run> {
        self.parse_put_off().map(|job| job.out.run)
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
        let from = self.small_from(without);
        let flags = self.mark_oldest((from, INPUTS_MAX), IN_JOB, without);
        let drops = Drops { keeps_all: self.keeps_all, is_bottom: false };
        let head = Head { level: RECENT, marks: MERGED, flags, ..Head::default() };
        self.begin(None, drops, head);
    }

    /// What is to be begun or gone on with, while a large merge is put off.
    pub(crate) fn due_before(&self) -> Option<Due> {
        self.put_off.is_some().then(|| if self.is_small_due() { Due::Small } else { Due::PutOff })
    }
}
