//! Reservation: where the next node goes, and what must happen before it may.
//!
//! Writers leave a reserve of free blocks to the collector and collect garbage themselves while it
//! is touched; deletions may dig deeper, as they free space in the end.

use super::Jffs2;
use super::blocks::{Blocks, List, Share};
use super::file::DATA_LEN_MIN;
use super::format::{Dirent, INODE_SIZE, SUMMARY_INODE_SIZE, padded, summary_dirent_size};
use crate::cache::PageCache;
use crate::filesystem::FsError;

/// Limits that trigger collection, from the partition's size (`jffs2_calc_trigger_levels`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Limits {
    /// Free blocks that a deletion must leave.
    pub deletion: u32,
    /// Free blocks that a write must leave.
    pub write: u32,
    /// Free blocks below which the background task collects.
    pub gc_trigger: u32,
    /// Free blocks from which on the collector merges fragments.
    pub gc_merge: u32,
    /// Free blocks that must be there before blocks that failed a program are emptied.
    pub gc_bad: u32,
    /// Collectable bytes below which a writer is out of space instead of collecting.
    pub no_space_dirty: u64,
    /// Very dirty blocks at which the background task collects.
    pub very_dirty_trigger: u32,
}

impl Limits {
    /// Work the limits out for `block_count` blocks of `block_size` bytes.
    pub(super) fn of(block_count: u32, block_size: u32) -> Self {
        let flash_size = u64::from(block_count) * u64::from(block_size);
        let deletion = 2;
        // Two per cent of the flash, and a hundred bytes per block for node overheads.
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

/// How much space a node needs: in itself, and for its entry in the block's summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Need {
    /// Bytes of the node, at the least.
    pub len: u32,
    /// Bytes of its entry.
    pub entry: u32,
}

impl Need {
    /// An inode node without data.
    pub(super) const METADATA: Self = Self { len: INODE_SIZE, entry: SUMMARY_INODE_SIZE };
    /// An inode node with the least data that one is begun for.
    pub(super) const DATA: Self =
        Self { len: INODE_SIZE + DATA_LEN_MIN, entry: SUMMARY_INODE_SIZE };

    /// A dirent.
    pub(super) fn dirent(dirent: &Dirent) -> Self {
        let name_len = u32::try_from(dirent.name.len()).expect("a name is at most 254 bytes");
        Self { len: dirent.total_len(), entry: summary_dirent_size(name_len) }
    }
}

/// Who asks for space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// New data.
    Write,
    /// Deleting or truncating: may use more of the reserve.
    Deletion,
}

impl Jffs2 {
    /// Make room for a node; tell how long it may be.
    ///
    /// # Errors
    /// No space, or the device's.
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

    /// Whether collecting would not bring enough.
    fn is_full(&self, needed: u32) -> bool {
        let unchecked = self.blocks.sum(Share::Unchecked);
        let dirty = self.blocks.collectable() + unchecked;
        let available = self.blocks.sum(Share::Free)
            + dirty
            + u64::from(self.blocks.erasing_count) * u64::from(self.blocks.block_size);
        dirty < self.limits.no_space_dirty
            || available / u64::from(self.blocks.block_size) <= u64::from(needed)
    }

    /// Make room for a node of the collector's own.
    pub(super) fn reserve_for_gc(&mut self, need: Need) -> Result<u32, FsError> {
        loop {
            if let Some(room) = self.allocate(need)? {
                return Ok(room);
            }
        }
    }

    /// Find room in the block being filled, or begin another; `None`: try again.
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
                // The padding may use up what is left, or the block may be given up meanwhile.
                self.flush_wbuf()?;
                return Ok(None);
            }
            self.blocks.shift_all(block, Share::Free, Share::Wasted);
            self.close_next_block();
        }
        self.begin_next_block(need)
    }

    /// File the block being filled: it is full, or given up.
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
        if self.blocks.erasing_count == 0
            && let Some(block) = self.blocks.take_first(List::Erasable)
        {
            self.blocks.file(block, List::ErasePending);
        }
        if self.blocks.erasing_count > 0 {
            return self.erase_one();
        }
        let waits = !self.blocks.is_list_empty(List::ErasablePendingWbuf);
        if waits && self.wbuf.pages_in_limbo == 0 {
            return self.flush_wbuf();
        }
        Err(FsError::NoSpace)
    }
}

impl Blocks {
    /// Where the next node goes in the block being filled.
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
        // Figures of the kernel for 400 blocks of 128 KiB.
        let limits = Limits::of(400, 131_072);
        assert_eq!((limits.write, limits.gc_trigger, limits.gc_merge), (11, 12, 3));
        assert_eq!(limits.no_space_dirty, 655_360);
        assert_eq!(limits.very_dirty_trigger, 12);
    }
}
