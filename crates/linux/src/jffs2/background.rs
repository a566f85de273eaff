//! Background tasks: the garbage collector's thread, and the timer that flushes the write buffer.

use super::Jffs2;
use super::blocks::{List, Share};
use crate::cache::PageCache;
use crate::filesystem::FsError;

/// The thread sleeps this long before each pass, so as not to be in the way, nanoseconds.
const COLLECTOR_SLEEP_NS: u64 = 50_000_000;
/// From the first unflushed node to the flush (`dirty_writeback_interval`), nanoseconds.
const FLUSH_DELAY_NS: u64 = 5_000_000_000;

/// When each task is due; `None` while it sleeps until woken.
#[derive(Debug, Default)]
pub(super) struct Tasks {
    collector_ns: Option<u64>,
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
        let due = self.recorder.clock().now_ns() + FLUSH_DELAY_NS;
        self.background.flush_ns.get_or_insert(due);
    }

    /// Wake the collector's thread if there is work for it.
    pub(super) fn wake_collector(&mut self) {
        if self.background.collector_ns.is_none() && self.collector_has_work() {
            self.background.collector_ns =
                Some(self.recorder.clock().now_ns() + COLLECTOR_SLEEP_NS);
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
        if self.background.collector_ns.is_some_and(|due| due <= now) {
            self.background.collector_ns = None;
            self.run_collector(cache)?;
            self.wake_collector();
        }
        Ok(())
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
