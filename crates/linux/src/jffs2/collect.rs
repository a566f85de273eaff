//! Garbage collection: each pass chooses a block if it has none, and moves or drops one node of it.
//!
//! Which list the block comes from is drawn at random; the kernel draws from its jiffies. Most
//! often it is a very dirty block, sometimes a dirty one, and in 2 of 128 draws a clean one. This
//! last draw is the only wear levelling that JFFS2 has.

use super::Jffs2;
use super::blocks::{List, Share};
use super::nodes::{NodeId, NodeState};
use crate::cache::PageCache;
use crate::filesystem::FsError;

impl Jffs2 {
    /// Make one pass: check one inode, or erase one waiting block, or deal with one node.
    ///
    /// # Errors
    /// [`FsError::NoSpace`] if there is nothing to collect.
    pub(super) fn collect(&mut self, cache: &mut PageCache) -> Result<(), FsError> {
        let _scope = self.recorder.scope("collect");
        if self.blocks.sum(Share::Unchecked) > 0 {
            return self.check_next_inode();
        }
        if !self.blocks.is_list_empty(List::ErasePending) {
            return self.erase_one();
        }
        if self.blocks.gc_block.is_none() {
            self.blocks.gc_block = self.choose_victim()?;
        }
        let Some(block) = self.blocks.gc_block else { return Ok(()) };
        match self.next_living(block) {
            Some(id) => self.move_node(cache, id)?,
            None => assert!(self.blocks.block(block).is_dead(), "living nodes are all listed"),
        }
        self.finish_if_dead(block);
        Ok(())
    }

    /// Take a block out of collection once its last node is gone, and treat it as any other dead
    /// block.
    fn finish_if_dead(&mut self, block: u32) {
        if self.blocks.gc_block == Some(block) && self.blocks.block(block).is_dead() {
            self.blocks.gc_block = None;
            self.file_dead(block);
        }
    }

    /// The next node of the block that is not obsolete.
    fn next_living(&mut self, block: u32) -> Option<NodeId> {
        let nodes = &self.nodes;
        let state = self.blocks.block_mut(block);
        while let Some(&id) = state.nodes.get(state.gc_cursor) {
            if nodes.node(id).state != NodeState::Obsolete {
                return Some(id);
            }
            state.gc_cursor += 1;
        }
        None
    }

    /// Choose the next block to collect. `None` if this pass flushed the write buffer instead, so
    /// that dead blocks can be erased.
    fn choose_victim(&mut self) -> Result<Option<u32>, FsError> {
        let drawn = self.prng.below(128);
        if let Some(list) = self.victim_list(drawn) {
            let block = self.blocks.take_first(list).expect("a list that is not empty");
            self.blocks.shift_all(block, Share::Wasted, Share::Dirty);
            self.blocks.block_mut(block).gc_cursor = 0;
            return Ok(Some(block));
        }
        if self.blocks.is_list_empty(List::ErasablePendingWbuf) {
            return Err(FsError::NoSpace);
        }
        self.flush_wbuf().map(|()| None)
    }

    fn victim_list(&self, drawn: u64) -> Option<List> {
        let has = |list| !self.blocks.is_list_empty(list);
        let enough = self.blocks.free_count > self.limits.gc_bad;
        let choices = [
            (List::BadUsed, enough),
            (List::Erasable, drawn < 50),
            (List::VeryDirty, drawn < 110),
            (List::Dirty, drawn < 126),
            (List::Clean, true),
            (List::Dirty, true),
            (List::VeryDirty, true),
            (List::Erasable, true),
        ];
        choices.into_iter().find(|&(list, chosen)| chosen && has(list)).map(|(list, _)| list)
    }

    /// Check the data of one inode that the mount scan found.
    fn check_next_inode(&mut self) -> Result<(), FsError> {
        let _scope = self.recorder.scope("check_inode");
        let unchecked = |ino: &u32| {
            let nodes = self.inodes[ino].nodes.iter();
            nodes.map(|&id| self.nodes.node(id).state).any(|state| state == NodeState::Unchecked)
        };
        let from = self.unchecked_from;
        let next = self.inodes.range(from..).map(|(&ino, _)| ino).find(unchecked);
        let ino = next.expect("unchecked bytes belong to an inode");
        self.unchecked_from = ino;
        let outcome = self.load_inode(ino).and_then(|()| self.restore_holes(ino));
        if self.inodes[&ino].links > 0 && outcome.is_ok() {
            // It was loaded for the check alone. A later user of the inode loads it again.
            self.cache_of(ino).unload();
        }
        match outcome {
            Err(FsError::PowerLost) => Err(FsError::PowerLost),
            Ok(()) | Err(_) => Ok(()),
        }
    }
}
