//! Reservation: where the next node goes, and what must happen before it can be written.
//!
//! Writers leave some free blocks to the collector. If there are fewer, they collect garbage
//! themselves before they write. Deletions may use more of this reserve, because they free space in
//! the end.

use super::Jffs2;
use super::blocks::{Blocks, List, Share};
use super::file::DATA_LEN_MIN;
use super::format::{Dirent, INODE_SIZE, SUMMARY_INODE_SIZE, padded, summary_dirent_size};
use crate::cache::PageCache;
use crate::filesystem::FsError;

/// Limits that trigger collection. They follow from the partition's size
/// (`jffs2_calc_trigger_levels`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Limits {
    /// Free blocks that must be left for a deletion to be written.
    pub deletion: u32,
    /// Free blocks that must be left for data to be written.
    pub write: u32,
    /// If fewer blocks than this are free, the background task collects.
    pub gc_trigger: u32,
    /// If more blocks than this are free, the collector merges fragments.
    pub gc_merge: u32,
    /// If more blocks than this are free, blocks that failed a program are emptied first.
    pub gc_bad: u32,
    /// If fewer bytes than this can be collected, a writer reports that there is no space instead
    /// of collecting.
    pub no_space_dirty: u64,
    /// The background task collects if at least this many blocks are very dirty.
    pub very_dirty_trigger: u32,
}

impl Limits {
    /// The limits for `block_count` blocks of `block_size` bytes.
    pub(super) fn of(block_count: u32, block_size: u32) -> Self {
        let flash_size = u64::from(block_count) * u64::from(block_size);
        let deletion = 2;
        // Reserve two per cent of the flash, and 100 bytes per block for the overhead of nodes.
        let extra = flash_size / 50 + u64::from(block_count) * 100 + u64::from(block_size) - 1;
        let write = deletion + u32::try_from(extra / u64::from(block_size)).expect("few blocks");
        Self {
            deletion,
            write,
            gc_trigger: write + 1,
            gc_merge: deletion + 1,
            gc_bad: 0,
            no_space_dirty: u64::from(block_size) + flash_size / 100,
            very_dirty_trigger: write + 1,
        }
    }
}

/// The space that a node needs: for itself, and for its entry in the block's summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Need {
    /// Least length of the node, bytes.
    pub len: u32,
    /// Length of its summary entry, bytes.
    pub entry: u32,
}

impl Need {
    pub(super) const METADATA: Self = Self { len: INODE_SIZE, entry: SUMMARY_INODE_SIZE };
    /// An inode node with the least data for which one is begun.
    pub(super) const DATA: Self =
        Self { len: INODE_SIZE + DATA_LEN_MIN, entry: SUMMARY_INODE_SIZE };

    pub(super) fn dirent(dirent: &Dirent) -> Self {
        let name_len = u32::try_from(dirent.name.len()).expect("a name is at most 254 bytes");
        Self { len: dirent.total_len(), entry: summary_dirent_size(name_len) }
    }
}

/// What the space is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    Write,
    /// A deletion or truncation, which may use more of the reserve.
    Deletion,
}

impl Jffs2 {
    /// Make room for a node. Returns how long the node may be, bytes.
    pub(super) fn reserve(
        &mut self,
        cache: &mut PageCache,
        need: Need,
        purpose: Purpose,
    ) -> Result<u32, FsError> {
        let needed = match purpose {
            Purpose::Write => self.limits.write,
            Purpose::Deletion => self.limits.deletion,
        };
        loop {
            while self.blocks.free_count + self.blocks.erasing_count < needed {
                if self.is_full(needed) {
                    match purpose {
                        Purpose::Write => return Err(FsError::NoSpace),
                        Purpose::Deletion => break,
                    }
                }
                let _scope = self.recorder.scope("foreground_gc");
                self.collect(cache)?;
            }
            if let Some(room) = self.allocate(need)? {
                return Ok(room);
            }
        }
    }

    /// Whether collecting all garbage would not free enough blocks.
    fn is_full(&self, needed: u32) -> bool {
        let unchecked = self.blocks.sum(Share::Unchecked);
        let dirty = self.blocks.collectable() + unchecked;
        let available = self.blocks.sum(Share::Free)
            + dirty
            + u64::from(self.blocks.erasing_count) * u64::from(self.blocks.block_size);
        dirty < self.limits.no_space_dirty
            || available / u64::from(self.blocks.block_size) <= u64::from(needed)
    }

    /// Make room for a node of the collector, which may use all free blocks.
    pub(super) fn reserve_for_gc(&mut self, need: Need) -> Result<u32, FsError> {
        loop {
            if let Some(room) = self.allocate(need)? {
                return Ok(room);
            }
        }
    }

    /// Find room in the block being filled, or begin another block. `None` asks the caller to try
    /// again.
    fn allocate(&mut self, need: Need) -> Result<Option<u32>, FsError> {
        if let Some(block) = self.blocks.next_block {
            let free = self.blocks.block(block).share(Share::Free);
            let reserved = self.summary.reserved(need.entry);
            if padded(need.len) + reserved <= free {
                return Ok(Some(free - reserved));
            }
            if reserved > 0 {
                self.write_summary()?;
                return Ok(None);
            }
            if self.wbuf.is_dirty() {
                // The padding may use up the rest of the block, or the flush may give the block up.
                self.flush_wbuf()?;
                return Ok(None);
            }
            self.blocks.shift_all(block, Share::Free, Share::Wasted);
            self.close_next_block();
        }
        self.begin_next_block(need)
    }

    /// Put the block being filled onto a list, because it is full or given up.
    pub(super) fn close_next_block(&mut self) {
        if let Some(block) = self.blocks.next_block.take() {
            if self.blocks.block(block).is_dead() {
                self.file_dead(block);
            } else {
                self.blocks.file_by_dirt(block);
            }
        }
    }

    fn begin_next_block(&mut self, need: Need) -> Result<Option<u32>, FsError> {
        let Some(block) = self.blocks.take_first(List::Free) else {
            self.free_a_block()?;
            return Ok(None);
        };
        self.blocks.next_block = Some(block);
        self.summary.begin(self.options.summaries);
        let free = self.blocks.block(block).share(Share::Free);
        Ok(Some(free - self.summary.reserved(need.entry)))
    }

    fn free_a_block(&mut self) -> Result<(), FsError> {
        let waits_for_erase = |blocks: &Blocks| !blocks.is_list_empty(List::ErasePending);
        if !waits_for_erase(&self.blocks)
            && let Some(block) = self.blocks.take_first(List::Erasable)
        {
            self.blocks.file(block, List::ErasePending);
        }
        if waits_for_erase(&self.blocks) {
            return self.erase_one();
        }
        if self.check.is_some() {
            return self.finish_check();
        }
        let waits = !self.blocks.is_list_empty(List::ErasablePendingWbuf);
        if waits && self.wbuf.pages_in_limbo == 0 {
            return self.flush_wbuf();
        }
        Err(FsError::NoSpace)
    }
}

impl Blocks {
    /// Where in the partition the next node goes, if a block is being filled.
    pub(super) fn write_offset(&self) -> Option<u32> {
        let block = self.next_block?;
        let used = self.block_size - self.block(block).share(Share::Free);
        Some(self.start(block) + used)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_of_a_50_mib_partition() {
        // The kernel's figures for 400 blocks of 128 KiB.
        let limits = Limits::of(400, 131_072);
        assert_eq!((limits.write, limits.gc_trigger, limits.gc_merge), (11, 12, 3));
        assert_eq!(limits.no_space_dirty, 655_360);
        assert_eq!(limits.very_dirty_trigger, 12);
    }
}
