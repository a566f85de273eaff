//! The end of a node: it becomes obsolete, and its block may become worth collecting.

use super::Jffs2;
use super::blocks::{List, Share, is_dirty};
use super::nodes::{NodeId, NodeState};

impl Jffs2 {
    /// Make a node obsolete. On NAND only memory knows it.
    pub(super) fn mark_obsolete(&mut self, id: NodeId) {
        let node = self.nodes.node_mut(id);
        let (offset, len) = (node.offset, node.len);
        let share = match std::mem::replace(&mut node.state, NodeState::Obsolete) {
            NodeState::Unchecked => Share::Unchecked,
            NodeState::Pristine | NodeState::Normal => Share::Used,
            NodeState::Obsolete => return,
        };
        let block = self.blocks.of(offset);
        let before = self.blocks.block(block).share(Share::Dirty);
        self.book_dead(block, share, len);
        self.refile(block, before);
    }

    /// Count dead space as dirty once its block is worth collecting, and as wasted before.
    fn book_dead(&mut self, block: u32, share: Share, len: u32) {
        let state = self.blocks.block(block);
        let counts = state.share(Share::Dirty) > 0 || is_dirty(state.share(Share::Wasted) + len);
        if counts && self.blocks.next_block != Some(block) {
            self.blocks.shift(block, share, Share::Dirty, len);
            self.blocks.shift_all(block, Share::Wasted, Share::Dirty);
        } else {
            self.blocks.shift(block, share, Share::Wasted, len);
        }
    }

    /// Move a block to another list of full blocks if its dead space has grown enough.
    fn refile(&mut self, block: u32, dirty_before: u32) {
        if self.blocks.next_block == Some(block) {
            return;
        }
        if self.blocks.block(block).is_dead() {
            if self.blocks.gc_block == Some(block) {
                self.blocks.gc_block = None;
            }
            return self.file_dead(block);
        }
        if self.blocks.gc_block == Some(block) {
            return;
        }
        let dirty = self.blocks.block(block).share(Share::Dirty);
        let half = self.blocks.block_size / 2;
        let list = self.blocks.block(block).list;
        if list == List::Clean && is_dirty(dirty) && !is_dirty(dirty_before) {
            self.blocks.file(block, List::Dirty);
        } else if matches!(list, List::Clean | List::Dirty) && dirty >= half && dirty_before < half
        {
            self.blocks.file(block, List::VeryDirty);
        }
    }

    /// Put a block without valid nodes onto a list to be erased. One block in 128 is left for
    /// later. A block is not erased as long as nodes that supersede its own are in the write
    /// buffer.
    pub(super) fn file_dead(&mut self, block: u32) {
        let list = if self.wbuf.holds_nodes() {
            List::ErasablePendingWbuf
        } else if self.prng.below(128) == 0 {
            List::Erasable
        } else {
            List::ErasePending
        };
        self.blocks.file(block, list);
        if list == List::ErasePending {
            self.signal_collector();
        }
    }
}
