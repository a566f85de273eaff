//! Which blocks are in use. The bitmap in the memory has a copy in RAM, which is searched.

use super::Pramfs;
use crate::filesystem::FsError;

#[derive(Clone, Debug, Default)]
pub(super) struct Bitmap {
    /// One bit for each block, the lowest block first.
    pub(super) bytes: Vec<u8>,
    pub(super) free_count: u32,
    /// Block at which the search for a free block begins.
    pub(super) hint: u32,
}

impl Bitmap {
    pub(super) fn has(&self, block: u32) -> bool {
        self.bytes[block as usize / 8] & bit(block) != 0
    }
}

pub(super) const fn bit(block: u32) -> u8 {
    1 << (block % 8)
}

impl Pramfs {
    /// Take a free block, which writes one byte of the bitmap.
    pub(super) fn take_block(&mut self) -> Result<u32, FsError> {
        let count = self.shape.block_count();
        let start = self.bitmap.hint;
        let found = (start..count).chain(0..start).find(|&block| !self.bitmap.has(block));
        let block = found.ok_or(FsError::NoSpace)?;
        self.bitmap.hint = block;
        self.bitmap.free_count -= 1;
        self.bitmap.bytes[block as usize / 8] |= bit(block);
        self.store_bitmap(block / 8, block / 8)?;
        Ok(block)
    }

    /// Free blocks. Neighbouring bytes of the bitmap are written together.
    pub(super) fn free_blocks(&mut self, mut blocks: Vec<u32>) -> Result<(), FsError> {
        blocks.sort_unstable();
        for &block in &blocks {
            debug_assert!(self.bitmap.has(block), "block {block} is in use");
            self.bitmap.bytes[block as usize / 8] &= !bit(block);
            self.bitmap.free_count += 1;
        }
        for run in blocks.chunk_by(|a, b| b / 8 - a / 8 <= 1) {
            self.store_bitmap(run[0] / 8, run[run.len() - 1] / 8)?;
        }
        Ok(())
    }

    fn store_bitmap(&mut self, first: u32, last: u32) -> Result<(), FsError> {
        let bytes = &self.bitmap.bytes[first as usize..=last as usize];
        Ok(self.memory.write(self.shape.bitmap_addr() + first, bytes)?)
    }
}
