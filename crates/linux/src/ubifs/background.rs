//! Background tasks: the flusher, UBIFS's own thread, and UBI's.

use super::Ubifs;
use super::fault::Fault;
use super::inode::Dirt;
use super::wbuf::Head;
use crate::cache::PageCache;
use crate::filesystem::FsError;

/// The flusher looks for old dirty pages this often (`dirty_writeback_interval`), nanoseconds.
const FLUSHER_PERIOD_NS: u64 = 5_000_000_000;
/// Dirty pages older than this are written (`dirty_expire_interval`), nanoseconds.
const EXPIRY_NS: u64 = 30_000_000_000;

/// What the tasks wait for.
#[derive(Debug, Default)]
pub(super) struct Tasks {
    /// The journal is nearly full.
    pub commit_wanted: bool,
    flusher_ns: u64,
}

impl Ubifs {
    /// When the next task is due.
    pub(super) fn next_task_ns(&self) -> Option<u64> {
        if self.read_only {
            return None;
        }
        if self.tasks.commit_wanted || self.ubi.has_work() {
            return Some(self.recorder.clock().now_ns());
        }
        let buffers = self.heads.iter().filter_map(|wbuf| wbuf.due_ns).min();
        let oldest = self.inodes.values().filter_map(|inode| inode.dirty_since_ns).min();
        let flusher = oldest.map(|since| (since + EXPIRY_NS).max(self.tasks.flusher_ns));
        [buffers, flusher].into_iter().flatten().min()
    }

    /// Let the tasks that are due run.
    pub(super) fn run_tasks(&mut self, cache: &mut PageCache) -> Result<(), FsError> {
        self.run_flusher(cache)?;
        Ok(self.run_threads()?)
    }

    /// Let the two threads run that do not need the page cache.
    pub(super) fn run_threads(&mut self) -> Result<(), Fault> {
        self.run_ubifs_thread()?;
        if self.ubi.has_work() {
            let _task = self.recorder.task("ubi_bgt0d");
            while self.ubi.has_work() {
                self.ubi.work()?;
            }
        }
        Ok(())
    }

    fn run_ubifs_thread(&mut self) -> Result<(), Fault> {
        let now = self.recorder.clock().now_ns();
        let is_due = |fs: &Self, head| fs.head(head).due_ns.is_some_and(|due| due <= now);
        let due = Head::ALL.into_iter().any(|head| is_due(self, head));
        if !due && !self.tasks.commit_wanted {
            return Ok(());
        }
        let _task = self.recorder.task("ubifs_bgt0_0");
        let _scope = self.recorder.scope("ubifs_background");
        for head in Head::ALL {
            if is_due(self, head) {
                self.sync_head(head)?;
            }
        }
        if self.tasks.commit_wanted { self.commit() } else { Ok(()) }
    }

    fn run_flusher(&mut self, cache: &mut PageCache) -> Result<(), FsError> {
        let now = self.recorder.clock().now_ns();
        if now < self.tasks.flusher_ns {
            return Ok(());
        }
        let is_old = |since: u64| since + EXPIRY_NS <= now;
        let old = self.inodes.iter().filter(|(_, inode)| inode.dirty_since_ns.is_some_and(is_old));
        let old: Vec<u32> = old.map(|(&ino, _)| ino).collect();
        if old.is_empty() {
            return Ok(());
        }
        self.tasks.flusher_ns = now + FLUSHER_PERIOD_NS;
        let _task = self.recorder.task("flush-ubifs_0_0");
        let _scope = self.recorder.scope("write_back");
        for ino in old {
            self.write_back_pages(cache, ino)?;
            if self.inode(ino)?.dirt != Dirt::None {
                self.write_back_inode(ino)?;
            }
            self.inode(ino)?.dirty_since_ns = None;
        }
        Ok(())
    }
}
