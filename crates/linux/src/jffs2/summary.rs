//! Collecting a block's summary while the block is being filled, and writing it as its last node.

use super::Jffs2;
use super::append::Writer;
use super::format::{SUMMARY_FRAME_SIZE, SummaryEntry, padded, summary_node};
use super::nodes::NodeState;
use crate::filesystem::FsError;

/// What is listed of the block being filled.
#[derive(Debug)]
pub(super) struct Collector {
    /// Whether this block gets a summary: not if it was begun before the mount, or failed.
    active: bool,
    entries: Vec<u8>,
    count: u32,
}

impl Collector {
    /// A collector that lists nothing until a block is begun.
    pub(super) const fn idle() -> Self {
        Self { active: false, entries: Vec::new(), count: 0 }
    }

    /// Begin a block; `active` if summaries are wanted.
    pub(super) fn begin(&mut self, active: bool) {
        *self = Self { active, ..Self::idle() };
    }

    /// Bytes at the end of the block to keep for the summary if one more entry is added.
    pub(super) fn reserved(&self, entry_size: u32) -> u32 {
        let listed = u32::try_from(self.entries.len()).expect("shorter than its block");
        if self.active { padded(listed + entry_size + SUMMARY_FRAME_SIZE) } else { 0 }
    }

    /// List a node written at byte `offset` of the block.
    pub(super) fn list(&mut self, node: &[u8], offset: u32) {
        if !self.active {
            return;
        }
        if let Some(entry) = SummaryEntry::of(node, offset) {
            entry.emit(&mut self.entries);
            self.count += 1;
        }
    }
}

impl Jffs2 {
    /// End the block being filled with its summary, which takes all that is left of it; whether
    /// there was one to write.
    pub(super) fn write_summary(&mut self) -> Result<bool, FsError> {
        let (Some(at), Some(block)) = (self.blocks.write_offset(), self.blocks.next_block) else {
            return Ok(false);
        };
        let offset = at - self.blocks.start(block);
        let len = self.blocks.block_size - offset;
        if self.summary.count == 0 || len < self.summary.reserved(0) {
            self.summary.begin(false);
            return Ok(false);
        }
        let _scope = self.recorder.scope("write_summary");
        let node = summary_node(&self.summary.entries, self.summary.count, len, offset);
        self.summary.begin(false);
        self.append(&node, None, NodeState::Normal, Writer::Collector)?;
        Ok(true)
    }
}
