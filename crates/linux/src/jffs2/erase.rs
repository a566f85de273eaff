//! Erasing dead blocks: the block is erased, read back to verify it, and marked as erased.

use std::collections::BTreeSet;

use super::Jffs2;
use super::blocks::List;
use super::nodes::NodeState;
use crate::filesystem::FsError;
use crate::mtd::{MtdError, ReadQuality};

/// Bytes read in one request while an erased block is verified (`PAGE_SIZE`).
const VERIFY_SIZE: u32 = 4096;

/// The cleanmarker, which says that a block's erase was completed. It is a node header of that type
/// and length, and stands in the OOB area of the block's first page.
pub(super) const CLEANMARKER: [u8; 8] = [0x85, 0x19, 0x03, 0x20, 8, 0, 0, 0];

impl Jffs2 {
    /// Erase one block that waits for it. This costs one erase, a read of each page of the block,
    /// and one OOB program.
    pub(super) fn erase_one(&mut self) -> Result<(), FsError> {
        let Some(block) = self.blocks.take_first(List::ErasePending) else { return Ok(()) };
        let _scope = self.recorder.scope("erase_block");
        self.forget_nodes(block);
        if self.blocks.block(block).failed {
            return self.retire(block);
        }
        match self.erase_and_mark(block) {
            Ok(true) => {
                self.blocks.clear(block);
                self.blocks.file(block, List::Free);
                // The thread is to mark the block as free, which the caller has done here.
                self.signal_collector();
                Ok(())
            }
            Ok(false) => self.retire(block),
            Err(error) => Err(error),
        }
    }

    /// Erase a block, verify and mark it. Returns false if the block cannot be used any more.
    fn erase_and_mark(&self, block: u32) -> Result<bool, FsError> {
        match self.mtd.erase(block) {
            Ok(()) => {}
            Err(MtdError::EraseFailed(_) | MtdError::ProgramFailed(_)) => return Ok(false),
            Err(MtdError::PowerLost) => return Err(FsError::PowerLost),
        }
        if !self.is_blank(block)? {
            return Ok(false);
        }
        match self.mtd.write_oob(self.blocks.start(block), &CLEANMARKER) {
            Ok(()) => Ok(true),
            Err(MtdError::PowerLost) => Err(FsError::PowerLost),
            Err(MtdError::ProgramFailed(_) | MtdError::EraseFailed(_)) => Ok(false),
        }
    }

    fn is_blank(&self, block: u32) -> Result<bool, FsError> {
        let _scope = self.recorder.scope("verify_erased");
        let start = self.blocks.start(block);
        let size = VERIFY_SIZE.min(self.blocks.block_size);
        let (mut bytes, blank) = (vec![0; size as usize], vec![0xFF; size as usize]);
        for offset in (start..start + self.blocks.block_size).step_by(size as usize) {
            let quality = self.mtd.read(offset, &mut bytes).map_err(FsError::from)?;
            let damaged = matches!(quality, ReadQuality::Damaged(_));
            if damaged || bytes != blank {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Mark a block bad, so that it is never used again.
    pub(super) fn retire(&mut self, block: u32) -> Result<(), FsError> {
        self.forget_nodes(block);
        self.mtd.mark_bad(block).map_err(FsError::from)?;
        self.blocks.file(block, List::Bad);
        Ok(())
    }

    /// Drop the references to the nodes of a block before it is erased. All of them are obsolete.
    fn forget_nodes(&mut self, block: u32) {
        let ids = std::mem::take(&mut self.blocks.block_mut(block).nodes);
        let mut owners = BTreeSet::new();
        for &id in &ids {
            let node = self.nodes.node(id);
            assert_eq!(node.state, NodeState::Obsolete, "only dead nodes are erased");
            owners.extend(node.ino);
        }
        let (nodes, blocks) = (&self.nodes, &self.blocks);
        for ino in owners {
            let cache = self.inodes.get_mut(&ino).expect("a node's inode is known");
            cache.nodes.retain(|&id| blocks.of(nodes.node(id).offset) != block);
            if cache.is_gone() {
                self.inodes.remove(&ino);
            }
        }
        for id in ids {
            self.nodes.remove(id);
        }
        assert!(self.blocks.block(block).is_dead(), "a block with valid nodes is not erased");
    }
}
