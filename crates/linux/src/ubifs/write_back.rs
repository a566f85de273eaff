//! Write-back: dirty pages are written as data nodes, and dirty inodes as inode nodes.

use super::Ubifs;
use super::fault::Fault;
use super::inode::Dirt;
use super::journal::Block;
use super::writers::Writer;
use crate::cache::PageCache;
use crate::filesystem::{CACHE_PAGE_SIZE, FsError, Ino, PageBytes};

const PAGE: u64 = CACHE_PAGE_SIZE as u64;

impl Ubifs {
    /// Make a file durable: write its dirty pages, then its inode. With `data_only`, an inode of
    /// which only the times changed is not written.
    pub(super) fn fsync_file(
        &mut self,
        cache: &mut PageCache,
        ino: u32,
        data_only: bool,
    ) -> Result<(), FsError> {
        let least = if data_only { Dirt::Size } else { Dirt::Times };
        self.write_back_for_fsync(cache, ino)?;
        if self.inode(ino)?.dirt() >= least {
            self.write_dirty_inode(ino)?;
        }
        self.sync_heads_of(ino)?;
        Ok(())
    }

    pub(super) fn write_back_pages(
        &mut self,
        cache: &mut PageCache,
        ino: u32,
    ) -> Result<(), FsError> {
        let mut writer = Writer::new(ino);
        while self.write_next(cache, &mut writer)? {}
        if let Some(inode) = self.inodes.get_mut(ino)
            && inode.dirt() == Dirt::None
        {
            inode.dirty_since_ns = None;
        }
        Ok(())
    }

    /// Mark a page that has been written clean, and run the threads that do not need the page
    /// cache.
    pub(super) fn end_page(
        &mut self,
        cache: &mut PageCache,
        ino: u32,
        index: u32,
    ) -> Result<(), Fault> {
        cache.set_clean(Ino(ino), index);
        self.release_page(ino, index);
        self.count_written();
        self.run_threads()
    }

    /// Compress a page, ready to be written. `None` if it lies behind the end of the file.
    pub(super) fn pack_page(
        &mut self,
        ino: u32,
        index: u32,
        page: &PageBytes,
    ) -> Result<Option<Block>, Fault> {
        let _scope = self.recorder.scope("ubifs_write_page");
        let inode = self.inode(ino)?;
        let (size, synced) = (inode.node.size, inode.synced_size);
        let offset = u64::from(index) * PAGE;
        if offset >= size {
            return Ok(None);
        }
        let len = usize::try_from((size - offset).min(PAGE)).expect("within a page");
        let is_partial = (len as u64) < PAGE;
        // The inode is written first, so that after a power cut no data lies behind the file's end.
        if (is_partial && size > synced) || (!is_partial && offset / PAGE >= synced / PAGE) {
            self.write_dirty_inode(ino)?;
        }
        self.pack_block(ino, index, &page[..len]).map(Some)
    }

    pub(super) fn write_back_all(&mut self, cache: &mut PageCache) -> Result<(), FsError> {
        for ino in cache.dirty_inodes() {
            self.write_back_pages(cache, ino.0)?;
        }
        for ino in self.inodes.dirty().collect::<Vec<_>>() {
            self.write_back_inode(ino)?;
        }
        Ok(())
    }

    pub(super) fn write_back_inode(&mut self, ino: u32) -> Result<(), Fault> {
        self.write_dirty_inode(ino)?;
        self.inode(ino)?.dirty_since_ns = None;
        Ok(())
    }

    /// Make everything durable: write all dirty pages and inodes, flush the buffers, and commit.
    pub(super) fn sync_all(&mut self, cache: &mut PageCache) -> Result<(), FsError> {
        self.write_back_all(cache)?;
        self.sync_heads()?;
        self.commit()?;
        Ok(())
    }
}
