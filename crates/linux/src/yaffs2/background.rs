//! The background thread: it writes directories' times each second, and collects garbage more
//! often the more of it there is.

use super::Yaffs2;
use crate::filesystem::FsError;

const SECOND_NS: u64 = 1_000_000_000;

/// When the thread does what.
#[derive(Debug, Default)]
#[expect(clippy::struct_field_names, reason = "each is a time, and says its unit")]
pub(super) struct Tasks {
    directories_ns: u64,
    collection_ns: u64,
    wakeup_ns: u64,
}

impl Tasks {
    /// Begin now.
    pub(super) const fn new(now_ns: u64) -> Self {
        Self { directories_ns: now_ns, collection_ns: now_ns, wakeup_ns: now_ns }
    }

    pub(super) const fn next_ns(&self) -> u64 {
        self.wakeup_ns
    }
}

impl Yaffs2 {
    /// How badly garbage wants collecting: 0, 1 or 2.
    pub(super) fn urgency(&self) -> u32 {
        let erased = self.blocks.erased_count * self.blocks.chunks_per_block;
        let free = self.blocks.free_chunks;
        let scattered = free.saturating_sub(erased);
        let is_calm =
            !self.options.profile.has_thread() || scattered < 2 * self.blocks.chunks_per_block;
        match () {
            () if is_calm || erased > free / 2 => 0,
            () if erased > free / 4 => 1,
            () => 2,
        }
    }

    /// Run the thread once, if it is due.
    pub(super) fn run_thread(&mut self) -> Result<(), FsError> {
        let now = self.recorder.clock().now_ns();
        if now < self.tasks.wakeup_ns {
            return Ok(());
        }
        let _task = self.recorder.task("yaffs-bg-1");
        let mut outcome = Ok(());
        if now >= self.tasks.directories_ns {
            let _scope = self.recorder.scope("yaffs_update_directories");
            outcome = self.update_directories();
            self.tasks.directories_ns = now + SECOND_NS;
        }
        if now >= self.tasks.collection_ns {
            if self.checkpoint.is_valid {
                self.tasks.collection_ns = self.tasks.directories_ns;
            } else {
                let _scope = self.recorder.scope("background_gc");
                self.tasks.collection_ns = now
                    + match self.urgency() {
                        0 => 2 * SECOND_NS,
                        1 => SECOND_NS / 10,
                        _ => SECOND_NS / 20,
                    };
                outcome = outcome.and(self.collect(true));
            }
        }
        let next = self.tasks.directories_ns.min(self.tasks.collection_ns);
        self.tasks.wakeup_ns = next.max(now + 1);
        outcome
    }
}
