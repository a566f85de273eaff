//! Background tasks: the threads of UBIFS and of UBI. The kernel's flusher is in `flusher.rs`.

use super::Ubifs;
use super::fault::Fault;
use super::wbuf::Head;
use crate::cache::PageCache;
use crate::filesystem::FsError;

/// Work that waits for UBIFS's thread.
#[derive(Clone, Debug, Default)]
pub(super) struct Tasks {
    /// Whether the journal is so full that the thread must commit.
    pub commit_wanted: bool,
}

impl Ubifs {
    /// When the next task is due, nanoseconds; at once if there is work.
    pub(super) fn next_task_ns(&self) -> Option<u64> {
        if self.read_only {
            return None;
        }
        let is_at_work = self.flusher.work.is_some();
        if is_at_work || self.tasks.commit_wanted || self.ubi.has_work() {
            return Some(self.recorder.clock().now_ns());
        }
        let buffers = self.heads.iter().filter_map(|wbuf| wbuf.due_ns).min();
        [buffers, self.flusher.due_ns].into_iter().flatten().min()
    }

    /// Run all tasks that are due.
    pub(super) fn run_tasks(&mut self, cache: &mut PageCache) -> Result<(), FsError> {
        self.run_flusher(cache)?;
        Ok(self.run_threads()?)
    }

    /// Run the two threads that do not need the page cache.
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
}
