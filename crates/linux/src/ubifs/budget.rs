//! Budgeting: whether what is dirty in memory will find space on flash.

use super::Ubifs;
use super::fault::Fault;
use super::format::{DATA_NODE_SIZE_MAX, aligned, index_size};
use crate::cache::PageCache;
use crate::filesystem::{FsError, Ino};

/// Index nodes live in this many times the space they need.
const INDEX_SHARE: u64 = 3;
const INDEX_LEBS_MIN: u32 = 2;
/// LEBs kept beside those of the index: the collector's, one for deletions, the journal heads'.
const KEPT_LEBS: u32 = 4;
/// Tries at making space.
const TRIES: u32 = 3;
/// Space for an operation on names: entries, inodes and index nodes.
const METADATA_SIZE: u64 = 2048;

impl Ubifs {
    /// LEBs that the index may come to need.
    pub(super) fn index_lebs_needed(&self) -> u32 {
        let node = u64::from(aligned(index_size(self.geometry.fanout)));
        let size = self.tnc.size_committed + self.tnc.dirty_count * node;
        let lebs = size * INDEX_SHARE / (u64::from(self.geometry.leb_size) - node) + 1;
        u32::try_from(lebs).unwrap_or(u32::MAX).max(INDEX_LEBS_MIN)
    }

    /// Bytes that new data may take.
    fn available(&self) -> u64 {
        let leb_size = u64::from(self.geometry.leb_size);
        let index = self.index_lebs_needed();
        let mut taken = self.sums.used + self.sums.dead + self.sums.dark;
        taken += u64::from(index + KEPT_LEBS) * leb_size;
        taken += u64::from(self.sums.index_lebs.saturating_sub(index)) * leb_size;
        (u64::from(self.geometry.main_lebs) * leb_size).saturating_sub(taken)
    }

    fn fits(&self, cache: &PageCache, more: u64) -> bool {
        let node = u64::from(aligned(index_size(self.geometry.fanout)));
        let page = u64::from(aligned(DATA_NODE_SIZE_MAX)) + node;
        cache.dirty_count() as u64 * page + more <= self.available()
    }

    /// Make sure that one more page may become dirty: where space is short, write back, collect
    /// and commit first.
    pub(super) fn afford_page(
        &mut self,
        cache: &mut PageCache,
        ino: u32,
        index: u32,
    ) -> Result<(), FsError> {
        if cache.is_dirty(Ino(ino), index) {
            return Ok(());
        }
        let page = 2 * u64::from(aligned(DATA_NODE_SIZE_MAX));
        for _ in 0..TRIES {
            if self.fits(cache, page) {
                return Ok(());
            }
            let _scope = self.recorder.scope("ubifs_make_space");
            self.write_back_all(cache)?;
            match self.collect() {
                Ok(()) | Err(Fault::NoSpace) => {}
                Err(fault) => return Err(fault.into()),
            }
            self.commit()?;
        }
        if self.fits(cache, page) { Ok(()) } else { Err(FsError::NoSpace) }
    }

    /// Make sure that an operation on names finds space. Removing names needs no leave.
    pub(super) fn afford_metadata(&mut self) -> Result<(), Fault> {
        if METADATA_SIZE <= self.available() {
            return Ok(());
        }
        match self.collect() {
            Ok(()) | Err(Fault::NoSpace) => {}
            Err(fault) => return Err(fault),
        }
        self.commit()?;
        if METADATA_SIZE <= self.available() { Ok(()) } else { Err(Fault::NoSpace) }
    }
}
