//! The layout of the device: the super block, and where the other parts begin.
//!
//! ```text
//! 0 super  1 journal header  journal  bitmap  inode table  data
//! super: 0..4 CRC  4..8 magic  8..12 blocks  12..16 journal blocks  16..20 inodes
//! ```

use crate::filesystem::CACHE_PAGE_SIZE;

use super::inode::INODE_SIZE;
use super::{PAGE_SIZE, Page};

const MAGIC: u32 = 0x4C50_5346;
/// Bytes of the super block that are used. They fit in one sector of any size.
const USED: usize = 20;

/// Block of the journal's header.
pub(super) const HEADER: u32 = 1;
/// First block of the journal itself.
pub(super) const JOURNAL: u32 = 2;
/// Fewest blocks of a journal, so that the largest transaction fits in half of it.
const JOURNAL_MIN: u32 = 64;
const JOURNAL_MAX: u32 = 1024;
/// Number of blocks that one block of the bitmap covers.
pub(super) const BITS: u32 = 8 * PAGE_SIZE;
const INODES: u32 = PAGE_SIZE / INODE_SIZE;

/// The sizes from which the layout follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_field_names, reason = "three numbers of things")]
pub(super) struct Layout {
    pub(super) block_count: u32,
    pub(super) journal_count: u32,
    pub(super) inode_count: u32,
}

impl Layout {
    /// The layout of a device of `block_count` blocks. `None` if the device is too small.
    pub(super) fn of(block_count: u32) -> Option<Self> {
        let journal_count = (block_count / 32).clamp(JOURNAL_MIN, JOURNAL_MAX);
        let inode_count = (block_count / 16).next_multiple_of(INODES).max(INODES);
        let layout = Self { block_count, journal_count, inode_count };
        layout.is_possible().then_some(layout)
    }

    fn is_possible(&self) -> bool {
        let parts = [
            JOURNAL,
            self.journal_count,
            self.block_count.div_ceil(BITS),
            self.inode_count.div_ceil(INODES),
            8,
        ];
        let needed: u64 = parts.into_iter().map(u64::from).sum();
        let has_journal = (JOURNAL_MIN..=JOURNAL_MAX).contains(&self.journal_count);
        has_journal && self.inode_count > 0 && needed <= u64::from(self.block_count)
    }

    /// Parse the super block of a device of `block_count` blocks. `None` if it is not one.
    pub(super) fn parse(page: &Page, block_count: u32) -> Option<Self> {
        let word = |at: usize| u32::from_le_bytes(page[at..at + 4].try_into().expect("a word"));
        let is_ours = word(0) == crc32fast::hash(&page[4..USED]) && word(4) == MAGIC;
        let layout = Self { block_count: word(8), journal_count: word(12), inode_count: word(16) };
        let fits = layout.block_count <= block_count && layout.is_possible();
        (is_ours && fits).then_some(layout)
    }

    pub(super) fn emit(&self) -> Box<Page> {
        let mut page = Box::new([0; CACHE_PAGE_SIZE]);
        let words = [MAGIC, self.block_count, self.journal_count, self.inode_count];
        for (place, word) in page[4..].chunks_mut(4).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        let crc = crc32fast::hash(&page[4..USED]);
        page[..4].copy_from_slice(&crc.to_le_bytes());
        page
    }

    pub(super) const fn bitmap(&self) -> u32 {
        JOURNAL + self.journal_count
    }

    pub(super) const fn table(&self) -> u32 {
        self.bitmap() + self.block_count.div_ceil(BITS)
    }

    pub(super) const fn data(&self) -> u32 {
        self.table() + self.inode_count.div_ceil(INODES)
    }

    /// Where an inode is: its block, and the offset in the block.
    pub(super) const fn inode(&self, ino: u32) -> (u32, usize) {
        let at = ino - 1;
        (self.table() + at / INODES, ((at % INODES) * INODE_SIZE) as usize)
    }
}
