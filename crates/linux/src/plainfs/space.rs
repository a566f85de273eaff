//! The block bitmap, which says which blocks are free.

use super::Plainfs;
use super::layout::BITS;
use crate::block_device::BlockError;
use crate::filesystem::FsError;

impl Plainfs {
    /// Take a free block near the one taken last. [`Plainfs::begin`] has made sure that there is
    /// one.
    pub(super) fn take_block(&mut self) -> Result<u32, FsError> {
        let (first, end) = (self.layout.data(), self.layout.block_count);
        let start = self.hint.clamp(first, end);
        for block in (start..end).chain(first..start) {
            if self.is_used(block)? || self.freed.contains(&block) || self.revoked.contains(&block)
            {
                continue;
            }
            self.flip(block)?;
            self.hint = block + 1;
            self.free_count = self.free_count.saturating_sub(1);
            return Ok(block);
        }
        Err(FsError::NoSpace)
    }

    /// Free a block that held data.
    pub(super) fn free_block(&mut self, block: u32) -> Result<(), FsError> {
        if self.is_used(block)? {
            self.flip(block)?;
            self.freed.insert(block);
        }
        Ok(())
    }

    /// Free a block that held metadata.
    pub(super) fn free_metadata(&mut self, block: u32) -> Result<(), FsError> {
        if self.is_used(block)? {
            self.flip(block)?;
            self.revoked.insert(block);
        }
        self.buffers.forget(block);
        Ok(())
    }

    pub(super) fn count_free(&mut self) -> Result<u32, BlockError> {
        let mut count = 0;
        for block in self.layout.data()..self.layout.block_count {
            count += u32::from(!self.is_used(block)?);
        }
        Ok(count)
    }

    fn is_used(&mut self, block: u32) -> Result<bool, BlockError> {
        let (page, byte, bit) = self.bit_of(block);
        Ok(self.buffers.page(page)?[byte] & bit != 0)
    }

    fn flip(&mut self, block: u32) -> Result<(), BlockError> {
        let (page, byte, bit) = self.bit_of(block);
        self.buffers.page_mut(page)?[byte] ^= bit;
        Ok(())
    }

    const fn bit_of(&self, block: u32) -> (u32, usize, u8) {
        let page = self.layout.bitmap() + block / BITS;
        (page, (block % BITS) as usize / 8, 1 << (block % 8))
    }
}
