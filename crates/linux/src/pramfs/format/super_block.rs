//! The super block: the sizes chosen when the memory was formatted.
//!
//! ```text
//! 0..2 CRC  2..4 version  4..8 magic  8..12 size  12..16 block size  16..20 inodes
//! ```

use super::{POINTER_SIZE, RECORD_SIZE, TABLE_ADDR};
use crate::crc16::crc16;

const MAGIC: u32 = 0x5052_4D46;
const VERSION: u16 = 1;

/// The sizes of a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SuperBlock {
    /// Bytes of memory that it takes.
    pub(crate) size: u32,
    pub(crate) block_size: u32,
    pub(crate) inode_count: u32,
}

impl SuperBlock {
    /// Parse a super block. `None` if it is invalid, or needs more than `size_max` bytes of memory.
    pub(crate) fn parse(bytes: &[u8], size_max: u32) -> Option<Self> {
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("a word"));
        let half = |at: usize| u16::from_le_bytes(bytes[at..at + 2].try_into().expect("a half"));
        let is_ours = half(0) == crc16(0, &bytes[2..]) && half(2) == VERSION && word(4) == MAGIC;
        let shape = Self { size: word(8), block_size: word(12), inode_count: word(16) };
        (is_ours && shape.size <= size_max && shape.is_possible()).then_some(shape)
    }

    pub(crate) fn emit(&self) -> [u8; RECORD_SIZE as usize] {
        let mut bytes = [0; RECORD_SIZE as usize];
        bytes[2..4].copy_from_slice(&VERSION.to_le_bytes());
        let words = [MAGIC, self.size, self.block_size, self.inode_count];
        for (place, word) in bytes[4..].chunks_mut(4).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        let crc = crc16(0, &bytes[2..]);
        bytes[..2].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// Whether the tables leave room for at least a few blocks.
    pub(crate) fn is_possible(&self) -> bool {
        let sizes = [512, 1024, 2048, 4096];
        let table = u64::from(self.inode_count) * u64::from(RECORD_SIZE) + u64::from(TABLE_ADDR);
        sizes.contains(&self.block_size)
            && self.inode_count >= 2
            && table + u64::from(self.size / self.block_size) + 4 * u64::from(self.block_size)
                <= u64::from(self.size)
    }

    /// Address of the bitmap.
    pub(crate) const fn bitmap_addr(&self) -> u32 {
        TABLE_ADDR + self.inode_count * RECORD_SIZE
    }

    /// Bytes of the bitmap, which has a bit for each block that there could be.
    pub(crate) const fn bitmap_size(&self) -> u32 {
        (self.size / self.block_size).div_ceil(8)
    }

    pub(crate) const fn block_count(&self) -> u32 {
        (self.size - self.data_addr()) / self.block_size
    }

    /// Address of a block.
    pub(crate) const fn block_addr(&self, block: u32) -> u32 {
        self.data_addr() + block * self.block_size
    }

    /// Number of pointers in a block of pointers.
    pub(crate) const fn fanout(&self) -> u32 {
        self.block_size / POINTER_SIZE
    }

    /// Size of the largest file, bytes. It follows from two levels of pointers.
    pub(crate) fn file_size_max(&self) -> u64 {
        u64::from(self.fanout()) * u64::from(self.fanout()) * u64::from(self.block_size)
    }

    const fn data_addr(&self) -> u32 {
        (self.bitmap_addr() + self.bitmap_size()).next_multiple_of(self.block_size)
    }
}
