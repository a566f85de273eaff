//! Background tasks: the garbage collector's thread, and the timer that flushes the write buffer.
//!
//! The thread sleeps between its passes, but every write signals it, and a signal ends the sleep.
//! While the foreground works the thread therefore runs as often as the fair scheduler lets it, which
//! is decided at the ticks. Three things follow from its code, and were seen in traces of 6.1:
//!
//! 1. A pass that moves a node holds the allocation lock. The foreground soon wants it and sleeps,
//!    so that the pass runs on at whatever nice; and a sleeper is given back at most half the
//!    scheduler's latency, so that the next pass is due after one slice of the foreground.
//! 2. The pass needs that lock too. Where a writer holds it when the thread has the CPU, the thread
//!    sleeps, and after another slice the lock is handed over.
//! 3. An erase, and the reading of the block after it, hold no lock: the thread has a tick, then the
//!    foreground what a tick of nice 10 weighs.
//!
//! No number here is fitted: the weights, the latency and the tick are the scheduler's own.

use std::ops::Range;

use super::Jffs2;
use super::blocks::{List, Share};
use crate::cache::PageCache;
use crate::filesystem::FsError;
use crate::timer::{TICK_NS, writeback_ns};

/// The thread sleeps this long before each pass unless it is signalled, nanoseconds.
const COLLECTOR_SLEEP_NS: u64 = 50_000_000;
/// Weights of the scheduler for nice 0 and for nice 10 (`sched_prio_to_weight`, since 2.6.23).
const FOREGROUND_WEIGHT: u64 = 1024;
const COLLECTOR_WEIGHT: u64 = 110;

/// The foreground's slice beside the thread: its share of the scheduler's latency of 6 ms
/// (`sysctl_sched_latency` on one CPU), nanoseconds.
const SLICE_NS: u64 = 6_000_000 * FOREGROUND_WEIGHT / (FOREGROUND_WEIGHT + COLLECTOR_WEIGHT);

/// The tick at which a slice of the foreground's that begins at `now_ns` ends.
const fn slice_end_ns(now_ns: u64) -> u64 {
    (now_ns + SLICE_NS).next_multiple_of(TICK_NS)
}

/// When each task is due; `None` while it sleeps until woken.
#[derive(Debug, Default)]
pub(super) struct Tasks {
    collector_ns: Option<u64>,
    /// Until when the foreground, if it works, has the CPU to itself: the thread had its share.
    owed_until_ns: u64,
    /// Whether the thread waits for the allocation lock, and will have it next.
    is_next: bool,
    /// When a writer held the allocation lock last.
    lock_held_ns: Range<u64>,
    flush_ns: Option<u64>,
}

impl Tasks {
    pub(super) fn next_ns(&self) -> Option<u64> {
        [self.collector_ns, self.flush_ns].into_iter().flatten().min()
    }
}

impl Jffs2 {
    /// Flush the write buffer before long, now that it holds what only it has.
    pub(super) fn arm_flush_timer(&mut self) {
        let due_ns = writeback_ns(self.recorder.clock().now_ns());
        self.background.flush_ns.get_or_insert(due_ns);
    }

    /// Flush no more for what was written so far: a sync of the whole file system does it now.
    pub(super) fn disarm_flush_timer(&mut self) {
        self.background.flush_ns = None;
    }

    /// Signal the collector's thread if there is work for it.
    pub(super) fn wake_collector(&mut self) {
        if self.collector_has_work() {
            // Waking does not preempt a writer of higher priority: its slice ends first.
            let due = slice_end_ns(self.recorder.clock().now_ns());
            let due = self.background.collector_ns.map_or(due, |earlier| earlier.min(due));
            self.background.collector_ns = Some(due);
        }
    }

    fn collector_has_work(&self) -> bool {
        let blocks = &self.blocks;
        let scarce = blocks.free_count + blocks.erasing_count < self.limits.gc_trigger
            && blocks.collectable() > self.limits.no_space_dirty;
        let very_dirty = blocks.list(List::VeryDirty).len();
        blocks.erasing_count > 0
            || blocks.sum(Share::Unchecked) > 0
            || scarce
            || very_dirty >= self.limits.very_dirty_trigger as usize
    }

    /// Let the tasks that are due run, each once.
    pub(super) fn run_tasks(&mut self, cache: &mut PageCache) -> Result<(), FsError> {
        let now = self.recorder.clock().now_ns();
        if self.background.flush_ns.is_some_and(|due| due <= now) {
            self.background.flush_ns = None;
            let _task = self.recorder.task("kworker");
            let _scope = self.recorder.scope("flush_timer");
            self.flush_wbuf_by_gc(cache, None)?;
        }
        if self.background.collector_ns.is_some_and(|due| due <= now) && self.takes_turn(now) {
            self.background.collector_ns = None;
            let is_erase = self.blocks.erasing_count > 0;
            self.run_collector(cache)?;
            self.rest_collector(now, is_erase);
        }
        Ok(())
    }

    /// Note that the foreground has held the allocation lock since `since_ns`.
    pub(super) fn note_lock_held(&mut self, since_ns: u64) {
        self.background.lock_held_ns = since_ns..self.recorder.clock().now_ns();
    }

    /// Let the thread, which has something to do, try for the CPU and the allocation lock; tell whether
    /// it has both.
    fn takes_turn(&mut self, now: u64) -> bool {
        let tasks = &mut self.background;
        if self.cpu.is_idle() {
            tasks.is_next = false;
            return true;
        }
        let tries_at = tasks.owed_until_ns.max(tasks.collector_ns.unwrap_or(now));
        if tries_at > now {
            return false;
        }
        if !tasks.is_next && tasks.lock_held_ns.contains(&tries_at) {
            tasks.owed_until_ns = slice_end_ns(tries_at);
            tasks.is_next = tasks.owed_until_ns > now;
            return !tasks.is_next;
        }
        tasks.is_next = false;
        true
    }

    /// After a pass that began at `began_ns`: sleep, and leave the foreground its share.
    fn rest_collector(&mut self, began_ns: u64, is_erase: bool) {
        let now = self.recorder.clock().now_ns();
        let fair_ns = (now - began_ns) * FOREGROUND_WEIGHT / COLLECTOR_WEIGHT;
        self.background.owed_until_ns = if is_erase { now + fair_ns } else { slice_end_ns(now) };
        if self.collector_has_work() {
            self.background.collector_ns = Some(now + COLLECTOR_SLEEP_NS);
        }
    }

    fn run_collector(&mut self, cache: &mut PageCache) -> Result<(), FsError> {
        if !self.collector_has_work() {
            return Ok(());
        }
        let _task = self.recorder.task("jffs2_gcd_mtd0");
        let _scope = self.recorder.scope("background_gc");
        match self.collect(cache) {
            Err(FsError::PowerLost) => Err(FsError::PowerLost),
            // The thread has no one to tell; the next writer meets the same and says so.
            Ok(()) | Err(_) => Ok(()),
        }
    }
}
