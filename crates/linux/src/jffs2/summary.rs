//! Summaries: the nodes of a block are listed while it is being filled, and the list is its last
//! node.

use super::Jffs2;
use super::append::Writer;
use super::format::{SUMMARY_FRAME_SIZE, SummaryEntry, padded, summary_node};
use super::nodes::NodeState;
use crate::filesystem::FsError;

/// The list of the nodes in the block being filled.
#[derive(Clone, Debug)]
pub(super) struct Collector {
    /// Whether this block gets a summary. It gets none if it was begun before the mount, or if it
    /// failed.
    active: bool,
    entries: Vec<u8>,
    count: u32,
}

impl Collector {
    /// A list for no block: it stays empty until a block is begun.
    pub(super) const fn idle() -> Self {
        Self { active: false, entries: Vec::new(), count: 0 }
    }

    /// Begin the list of a new block. `active` says whether the block gets a summary.
    pub(super) fn begin(&mut self, active: bool) {
        *self = Self { active, ..Self::idle() };
    }

    /// Bytes to reserve at the end of the block for its summary, if one more entry is added.
    pub(super) fn reserved(&self, entry_size: u32) -> u32 {
        let listed = u32::try_from(self.entries.len()).expect("shorter than its block");
        if self.active { padded(listed + entry_size + SUMMARY_FRAME_SIZE) } else { 0 }
    }

    /// Add a node that was written at byte `offset` of the block.
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
    /// End the block being filled with its summary, which takes the rest of the block. Returns
    /// false if there is nothing to list, or no room for it.
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
