//! Background tasks: the thread of the garbage collector, and the timer that flushes the write
//! buffer.
//!
//! The thread sleeps between its passes, but every write signals it, and a signal ends the sleep.
//! While the foreground works, the thread therefore runs as often as the fair scheduler lets it,
//! and the scheduler decides that at its ticks. A thread that is woken gets the CPU at the next
//! tick, if the foreground has had it for a slice by then (`check_preempt_tick`). Three rules
//! follow from the kernel's code, and traces of Linux 6.1 show them:
//!
//! 1. A pass that moves a node holds the allocation lock. The foreground soon needs this lock and
//!    sleeps on it, so the pass runs to its end despite its low priority. When the foreground
//!    wakes, the scheduler makes up for at most half its latency; the next pass is therefore due
//!    after one slice of the foreground.
//! 2. The pass needs the allocation lock, too. If a writer holds it when the thread gets the CPU,
//!    the thread sleeps until the writer gives it back. By the time the thread gets the CPU again,
//!    after another slice of the foreground, the writer may have the lock for its next node. Then
//!    it hands it to the thread when it gives it back (`MUTEX_FLAG_HANDOFF`).
//! 3. An erase, and the read of the block after it, hold no lock. The thread runs for a tick. Then
//!    the foreground runs for longer, by the ratio of the weights of nice 0 and nice 10, and the
//!    thread goes on with its read. So a block of 128 KiB takes it eight turns of 40 ms.
//!
//! No number here is fitted: the weights, the latency, the granularity and the tick are those of
//! the scheduler.

use std::ops::Range;

use super::Jffs2;
use super::blocks::{List, Share};
use crate::cache::PageCache;
use crate::filesystem::FsError;
use crate::timer::{TICK_NS, writeback_ns};

/// How long the thread sleeps before each pass if nothing signals it, nanoseconds.
const COLLECTOR_SLEEP_NS: u64 = 50_000_000;
/// Weights of the scheduler for nice 0 and for nice 10 (`sched_prio_to_weight`, since 2.6.23).
const FOREGROUND_WEIGHT: u64 = 1024;
const COLLECTOR_WEIGHT: u64 = 110;

/// How long the foreground runs at a stretch while the thread wants to run, nanoseconds. It is the
/// foreground's share of the scheduler's latency of 6 ms (`sysctl_sched_latency` on one CPU).
const SLICE_NS: u64 = 6_000_000 * FOREGROUND_WEIGHT / (FOREGROUND_WEIGHT + COLLECTOR_WEIGHT);

/// How long a task runs at least before a tick ends its turn, nanoseconds
/// (`sysctl_sched_min_granularity` on one CPU).
const TURN_MIN_NS: u64 = 750_000;

/// The tick that ends a turn of the thread which begins at `now_ns`.
const fn turn_end_ns(now_ns: u64) -> u64 {
    (now_ns + TURN_MIN_NS).next_multiple_of(TICK_NS)
}

/// The tick that ends a slice of the foreground which begins at `now_ns`.
const fn slice_end_ns(now_ns: u64) -> u64 {
    (now_ns + SLICE_NS).next_multiple_of(TICK_NS)
}

/// When each task is due. `None` means that it sleeps until something wakes it.
#[derive(Clone, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts of the thread")]
pub(super) struct Tasks {
    collector_ns: Option<u64>,
    /// Whether the thread makes a pass, or was interrupted within one.
    is_in_pass: bool,
    /// When the thread's turn ends, while it has the CPU and the foreground wants it.
    turn_end_ns: Option<u64>,
    /// Whether a signal came during the pass. It is blocked until the pass ends, and then makes
    /// another one.
    is_signalled: bool,
    /// Until when the foreground has the CPU to itself if it works, because the thread has had its
    /// share.
    owed_until_ns: u64,
    /// Whether the thread waits for the allocation lock and gets it at the next hand-over.
    is_next: bool,
    /// The time in which a writer held the allocation lock last.
    lock_held_ns: Range<u64>,
    flush_ns: Option<u64>,
}

impl Tasks {
    pub(super) fn next_ns(&self) -> Option<u64> {
        [self.collector_ns, self.flush_ns].into_iter().flatten().min()
    }

    /// Until when whoever runs now can go on without a lock.
    pub(super) fn turn_end_ns(&self) -> u64 {
        self.turn_end_ns.unwrap_or(u64::MAX)
    }

    /// Signal the collector's thread.
    fn signal(&mut self, now_ns: u64) {
        if self.is_in_pass {
            self.is_signalled = true;
            return;
        }
        // A woken thread does not preempt a writer of higher priority, but the writer's slice began
        // when it got the CPU, and not now. If that is longer ago than a slice, the next tick ends
        // it; otherwise `owed_until_ns` does.
        let due = now_ns.next_multiple_of(TICK_NS);
        self.collector_ns = Some(self.collector_ns.map_or(due, |earlier| earlier.min(due)));
    }

    /// Let the thread, which has work to do, try for the CPU and the allocation lock while the
    /// foreground works. Returns whether it gets both.
    fn takes_turn(&mut self, now_ns: u64) -> bool {
        let tries_at = self.owed_until_ns.max(self.collector_ns.unwrap_or(now_ns));
        if tries_at > now_ns {
            return false;
        }
        // Within a pass, it was interrupted where it needs no lock.
        let needs_lock = !self.is_in_pass && !self.is_next;
        if needs_lock && self.lock_held_ns.contains(&tries_at) {
            let woken_ns = self.lock_held_ns.end.next_multiple_of(TICK_NS);
            self.owed_until_ns = slice_end_ns(tries_at).max(woken_ns);
            self.is_next = self.owed_until_ns > now_ns;
            return !self.is_next;
        }
        self.is_next = false;
        true
    }
}

impl Jffs2 {
    /// Start the timer that flushes the write buffer, which holds data that is not on flash.
    pub(super) fn arm_flush_timer(&mut self) {
        let due_ns = writeback_ns(self.recorder.clock().now_ns());
        self.background.flush_ns.get_or_insert(due_ns);
    }

    /// Stop the timer, because a sync of the whole file system flushes the buffer.
    pub(super) fn disarm_flush_timer(&mut self) {
        self.background.flush_ns = None;
    }

    /// Signal the collector's thread if there is work for it.
    pub(super) fn wake_collector(&mut self) {
        if self.collector_has_work() {
            self.signal_collector();
        }
    }

    /// Signal the collector's thread, which makes a pass then.
    pub(super) fn signal_collector(&mut self) {
        self.background.signal(self.recorder.clock().now_ns());
    }

    fn collector_has_work(&self) -> bool {
        let blocks = &self.blocks;
        let scarce = blocks.free_count + blocks.erasing_count < self.limits.gc_trigger
            && blocks.collectable() > self.limits.no_space_dirty;
        let very_dirty = blocks.list(List::VeryDirty).len();
        !blocks.is_list_empty(List::ErasePending)
            || blocks.sum(Share::Unchecked) > 0
            || scarce
            || very_dirty >= self.limits.very_dirty_trigger as usize
    }

    /// Run each task that is due once.
    pub(super) fn run_tasks(&mut self, cache: &mut PageCache) -> Result<(), FsError> {
        let now = self.recorder.clock().now_ns();
        if self.background.flush_ns.is_some_and(|due| due <= now) {
            self.background.flush_ns = None;
            let _task = self.recorder.task("kworker");
            let _scope = self.recorder.scope("flush_timer");
            self.flush_wbuf_by_gc(cache, None)?;
        }
        let tasks = &mut self.background;
        if tasks.collector_ns.is_some_and(|due| due <= now) {
            if self.cpu.is_idle() {
                tasks.is_next = false;
            } else if !tasks.takes_turn(now) {
                return Ok(());
            }
            tasks.collector_ns = None;
            let is_erase = self.check.is_some() || !self.blocks.is_list_empty(List::ErasePending);
            self.background.is_in_pass = true;
            self.background.turn_end_ns = (!self.cpu.is_idle()).then(|| turn_end_ns(now));
            let passed = self.run_collector(cache);
            self.background.turn_end_ns = None;
            self.background.is_in_pass = self.check.is_some();
            passed?;
            self.rest_collector(now, is_erase);
        }
        Ok(())
    }

    /// Run what fell due during a long call. The loss of power is the only failure that the call
    /// has to know.
    pub(super) fn run_due_tasks(&mut self, cache: &mut PageCache) -> Result<(), FsError> {
        let now = self.recorder.clock().now_ns();
        if self.background.next_ns().is_none_or(|due| due > now) {
            return Ok(());
        }
        match self.run_tasks(cache) {
            Err(FsError::PowerLost) => Err(FsError::PowerLost),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Note that the foreground has held the allocation lock from `since_ns` until this moment.
    pub(super) fn note_lock_held(&mut self, since_ns: u64) {
        self.background.lock_held_ns = since_ns..self.recorder.clock().now_ns();
    }

    /// Put the thread to sleep after a pass that began at `began_ns`, unless it was interrupted,
    /// and give the foreground its share of the CPU.
    fn rest_collector(&mut self, began_ns: u64, is_erase: bool) {
        let now = self.recorder.clock().now_ns();
        let fair_ns = (now - began_ns) * FOREGROUND_WEIGHT / COLLECTOR_WEIGHT;
        self.background.owed_until_ns = if is_erase { now + fair_ns } else { slice_end_ns(now) };
        let goes_on = self.background.is_in_pass;
        if goes_on || std::mem::take(&mut self.background.is_signalled) {
            self.background.collector_ns = Some(now);
        } else if self.collector_has_work() {
            self.background.collector_ns = Some(now + COLLECTOR_SLEEP_NS);
        }
    }

    /// Make one pass of the thread. It does not look again at what it was woken for: if the
    /// foreground has meanwhile erased the block that waited, the pass moves a node instead
    /// (`jffs2_garbage_collect_thread`).
    fn run_collector(&mut self, cache: &mut PageCache) -> Result<(), FsError> {
        let _task = self.recorder.task("jffs2_gcd_mtd0");
        let _scope = self.recorder.scope("background_gc");
        let passed = if self.check.is_some() {
            let _scope = self.recorder.scope("collect");
            self.continue_check(self.background.turn_end_ns())
        } else {
            self.collect(cache)
        };
        match passed {
            Err(FsError::PowerLost) => Err(FsError::PowerLost),
            // The thread has no caller to report to. The next writer meets the same error and
            // reports it.
            Ok(()) | Err(_) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// Traces of overwriting a file on Linux 6.1 show a pass after every second page, of which each
    /// takes longer to compress than a slice.
    #[test]
    fn a_lock_that_is_held_for_long_is_handed_over_at_the_second_end() {
        let mut tasks = Tasks { collector_ns: Some(8 * MS), ..Tasks::default() };
        tasks.lock_held_ns = 0..29 * MS;
        assert!(!tasks.takes_turn(29 * MS), "it sleeps on the lock");
        tasks.lock_held_ns = 29 * MS..58 * MS;
        assert!(tasks.takes_turn(58 * MS), "the writer hands it over");
        assert!(!tasks.is_next);
    }

    #[test]
    fn a_lock_that_is_held_shortly_is_free_after_a_slice() {
        let mut tasks = Tasks { collector_ns: Some(8 * MS), ..Tasks::default() };
        tasks.lock_held_ns = 7 * MS..9 * MS;
        assert!(!tasks.takes_turn(9 * MS));
        assert!(!tasks.takes_turn(15 * MS), "the foreground's slice");
        assert!(tasks.takes_turn(16 * MS));
    }

    /// Traces of Linux 6.1 show eight reads of an erased block in a turn, and 36 ms between turns.
    #[test]
    fn a_check_that_was_interrupted_goes_on_whoever_holds_the_lock() {
        assert_eq!((turn_end_ns(MS), turn_end_ns(3_500_000)), (4 * MS, 8 * MS));
        let mut tasks = Tasks { is_in_pass: true, collector_ns: Some(0), ..Tasks::default() };
        tasks.owed_until_ns = 40 * MS;
        tasks.lock_held_ns = 39 * MS..45 * MS;
        assert!(!tasks.takes_turn(39 * MS), "the foreground's share");
        assert!(tasks.takes_turn(41 * MS));
    }

    /// `jffs2_garbage_collect_thread` blocks the signal during a pass, and does not lose it.
    #[test]
    fn a_signal_during_a_pass_makes_another() {
        let mut tasks = Tasks { is_in_pass: true, ..Tasks::default() };
        tasks.signal(5 * MS);
        assert_eq!((tasks.collector_ns, tasks.is_signalled), (None, true));
        tasks.is_in_pass = false;
        tasks.signal(5 * MS);
        assert_eq!(tasks.collector_ns, Some(8 * MS), "the next tick");
    }
}
