//! Erasing dead blocks: the block is erased, read back to verify it, and marked as erased.
//!
//! Nobody holds a lock while a block is read back. So the foreground interrupts the thread of the
//! collector there, and the thread goes on where it was.

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

/// A block that was erased, and what of it is still to be read back.
#[derive(Clone, Copy, Debug)]
pub(super) struct Check {
    block: u32,
    /// Where the next read begins, bytes from the start of the partition.
    next: u32,
}

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
        match self.mtd.erase(block) {
            Ok(()) => {}
            Err(MtdError::EraseFailed(_) | MtdError::ProgramFailed(_)) => {
                return self.retire(block);
            }
            Err(MtdError::PowerLost) => return Err(FsError::PowerLost),
        }
        self.blocks.file(block, List::Checking);
        // The thread is to read the block back, which the caller does here.
        self.signal_collector();
        let until_ns = self.background.turn_end_ns();
        self.read_back(Check { block, next: self.blocks.start(block) }, until_ns)
    }

    /// Go on with a check that was interrupted, until `until_ns`.
    pub(super) fn continue_check(&mut self, until_ns: u64) -> Result<(), FsError> {
        let Some(check) = self.check.take() else { return Ok(()) };
        let _scope = self.recorder.scope("erase_block");
        self.read_back(check, until_ns)
    }

    /// Wait until the thread has read its block back.
    pub(super) fn finish_check(&mut self) -> Result<(), FsError> {
        self.continue_check(u64::MAX)
    }

    /// Read a block back until `until_ns`. If its end is reached, mark it as erased.
    fn read_back(&mut self, mut check: Check, until_ns: u64) -> Result<(), FsError> {
        let block = check.block;
        match self.is_blank(&mut check, until_ns)? {
            None => {
                self.check = Some(check);
                Ok(())
            }
            Some(true) if self.mark_erased(block)? => {
                self.blocks.clear(block);
                self.blocks.file(block, List::Free);
                self.signal_collector();
                Ok(())
            }
            Some(_) => self.retire(block),
        }
    }

    /// Write a block's cleanmarker. Returns false if the block cannot be used any more.
    fn mark_erased(&self, block: u32) -> Result<bool, FsError> {
        match self.mtd.write_oob(self.blocks.start(block), &CLEANMARKER) {
            Ok(()) => Ok(true),
            Err(MtdError::PowerLost) => Err(FsError::PowerLost),
            Err(MtdError::ProgramFailed(_) | MtdError::EraseFailed(_)) => Ok(false),
        }
    }

    /// Whether all of a block is blank. `None` if there was not enough time to read it.
    fn is_blank(&self, check: &mut Check, until_ns: u64) -> Result<Option<bool>, FsError> {
        let _scope = self.recorder.scope("verify_erased");
        let end = self.blocks.start(check.block) + self.blocks.block_size;
        let size = VERIFY_SIZE.min(self.blocks.block_size);
        let (mut bytes, blank) = (vec![0; size as usize], vec![0xFF; size as usize]);
        while check.next < end {
            if self.recorder.clock().now_ns() >= until_ns {
                return Ok(None);
            }
            let quality = self.mtd.read(check.next, &mut bytes).map_err(FsError::from)?;
            let damaged = matches!(quality, ReadQuality::Damaged(_));
            if damaged || bytes != blank {
                return Ok(Some(false));
            }
            check.next += size;
        }
        Ok(Some(true))
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
