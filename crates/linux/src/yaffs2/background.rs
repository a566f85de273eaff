//! The background thread: it collects garbage, and the more often, the more garbage there is.

use super::Yaffs2;
use crate::filesystem::FsError;

const SECOND_NS: u64 = 1_000_000_000;

impl Yaffs2 {
    /// How urgent it is to collect garbage: 0, 1 or 2.
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

    pub(super) fn run_thread(&mut self) -> Result<(), FsError> {
        let now = self.recorder.clock().now_ns();
        if now < self.thread_due_ns {
            return Ok(());
        }
        let pause = match self.urgency() {
            // While there is a checkpoint, the thread looks once a second whether it is still
            // valid.
            _ if self.checkpoint.is_valid => SECOND_NS,
            0 => 2 * SECOND_NS,
            1 => SECOND_NS / 10,
            _ => SECOND_NS / 20,
        };
        self.thread_due_ns = now + pause;
        if self.checkpoint.is_valid {
            return Ok(());
        }
        let _task = self.recorder.task("yaffs-bg-1");
        let _scope = self.recorder.scope("background_gc");
        self.collect(true)
    }
}
