//! Budgeting: before a page may become dirty, it must be certain that flash has space for it.

use super::Ubifs;
use super::fault::Fault;
use super::format::{DATA_NODE_SIZE_MAX, aligned, index_size};
use crate::cache::PageCache;
use crate::filesystem::{FsError, Ino};

/// Index nodes get this many times the space that they need, since old and new ones are on flash at
/// once.
const INDEX_SHARE: u64 = 3;
const INDEX_LEBS_MIN: u32 = 2;
/// LEBs kept apart from those of the index: one for the collector, one for deletions, and two for
/// journal heads.
const KEPT_LEBS: u32 = 4;
/// How often space is sought before a call fails.
const TRIES: u32 = 3;
/// Space for an operation on names, bytes: entries, inodes and index nodes.
const METADATA_SIZE: u64 = 2048;

impl Ubifs {
    /// Number of LEBs that the index may come to need.
    pub(super) fn index_lebs_needed(&self) -> u32 {
        let node = u64::from(aligned(index_size(self.geometry.fanout)));
        let size = self.tnc.size_committed + self.tnc.dirty_count * node;
        let lebs = size * INDEX_SHARE / (u64::from(self.geometry.leb_size) - node) + 1;
        u32::try_from(lebs).unwrap_or(u32::MAX).max(INDEX_LEBS_MIN)
    }

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

    /// Make sure that one more page may become dirty. If space is short, dirty pages are written,
    /// garbage is collected, and the index is committed first.
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

    /// Make sure that an operation on names finds space. Removing a name needs no such check.
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
