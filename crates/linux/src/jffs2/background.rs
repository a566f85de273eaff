//! Background tasks: the garbage collector's thread, and the timer that flushes the write buffer.
//!
//! The thread sleeps between its passes, but every write signals it, and a signal ends the sleep.
//! While the foreground works the thread therefore runs as often as the fair scheduler lets it. It
//! is nice 10, so a pass is paid for by its weight. A pass that outlasts a tick is another matter: it
//! is preempted while it holds the chip, on which the foreground then sleeps; a sleeper is given back
//! at most half the scheduler's latency, so that the two go on in turns of whole ticks. And before
//! each pass the thread waits for the allocation lock, which a writer holds most of the time: its
//! first try fails, and after the writer's turn the lock is handed over.
//!
//! The weights, the slice and the tick are the scheduler's own. That the lock costs one turn, and not
//! half or one and a half, was chosen after comparing with the reference runs of the kernel.

use super::Jffs2;
use super::blocks::{List, Share};
use crate::cache::PageCache;
use crate::filesystem::FsError;

/// The thread sleeps this long before each pass unless it is signalled, nanoseconds.
const COLLECTOR_SLEEP_NS: u64 = 50_000_000;
/// Weights of the scheduler for nice 0 and for nice 10 (`sched_prio_to_weight`, since 2.6.23).
const FOREGROUND_WEIGHT: u64 = 1024;
const COLLECTOR_WEIGHT: u64 = 110;

/// Time between two looks of the scheduler (`CONFIG_HZ=250`), nanoseconds.
const TICK_NS: u64 = 4_000_000;
/// From the first unflushed node to the flush (`dirty_writeback_interval`, 5 s), ticks.
const FLUSH_DELAY_TICKS: u64 = 1250;
/// Timers of 504 to 4031 ticks end at the next whole multiple of this (the timer wheel since 4.8), so
/// that a busy file system flushes every 5.12 s.
const FLUSH_GRAIN_TICKS: u64 = 64;
/// Ticks that the foreground has in turn with one of the collector's: its slice, 1024/1134 of the
/// latency of 6 ms, ends in the second.
const FOREGROUND_TICKS: u64 = 2;
/// A turn of the foreground, nanoseconds.
const FOREGROUND_TURN_NS: u64 = FOREGROUND_TICKS * TICK_NS;

/// When each task is due; `None` while it sleeps until woken.
#[derive(Debug, Default)]
#[expect(clippy::struct_field_names, reason = "each is a time, and says its unit")]
pub(super) struct Tasks {
    collector_ns: Option<u64>,
    /// Until when the foreground, if it works, has the CPU to itself: the thread had its share.
    owed_until_ns: u64,
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
        let due = self.recorder.clock().now_ns() / TICK_NS + FLUSH_DELAY_TICKS;
        let due = (due / FLUSH_GRAIN_TICKS + 1) * FLUSH_GRAIN_TICKS;
        self.background.flush_ns.get_or_insert(due * TICK_NS);
    }

    /// Flush no more for what was written so far: a sync of the whole file system does it now.
    pub(super) fn disarm_flush_timer(&mut self) {
        self.background.flush_ns = None;
    }

    /// Signal the collector's thread if there is work for it.
    pub(super) fn wake_collector(&mut self) {
        if self.collector_has_work() {
            // Waking does not preempt a writer of higher priority: its turn ends first.
            let due = self.recorder.clock().now_ns() + FOREGROUND_TURN_NS;
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
        let may_run = self.cpu.is_idle() || self.background.owed_until_ns <= now;
        if may_run && self.background.collector_ns.is_some_and(|due| due <= now) {
            self.background.collector_ns = None;
            self.run_collector(cache)?;
            self.rest_collector(now);
        }
        Ok(())
    }

    /// After a pass that began at `began_ns`: sleep, and leave the foreground its share.
    fn rest_collector(&mut self, began_ns: u64) {
        let now = self.recorder.clock().now_ns();
        let took = now - began_ns;
        let fair = took * FOREGROUND_WEIGHT / COLLECTOR_WEIGHT;
        let owed = if took > TICK_NS { took * FOREGROUND_TICKS } else { fair };
        self.background.owed_until_ns = now + owed + FOREGROUND_TURN_NS;
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
