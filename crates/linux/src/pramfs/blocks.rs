//! Which blocks are in use: a bitmap in the memory, with a copy in RAM to search.

use super::Pramfs;
use crate::filesystem::FsError;

/// The bitmap in RAM.
#[derive(Debug, Default)]
pub(super) struct Bitmap {
    /// A bit for each block, the lowest first.
    pub(super) bytes: Vec<u8>,
    pub(super) free_count: u32,
    /// Where the search for a free block goes on.
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
    /// Take a free block: one byte of the bitmap is written.
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

    /// Give blocks back: runs of the bitmap's bytes are written.
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
