//! The content of files. It is changed in memory, and written before the commit that refers to it.

use super::inode::{Inode, Kind};
use super::pointers::BLOCKS_MAX;
use super::{Page, Plainfs};
use crate::block_device::BlockError;
use crate::cache::PageCache;
use crate::filesystem::{CACHE_PAGE_SIZE, FsError, Ino, byte_in_page, page_parts};

const PAGE_SIZE: u64 = CACHE_PAGE_SIZE as u64;
const SIZE_MAX: u64 = BLOCKS_MAX as u64 * PAGE_SIZE;
/// Number of blocks that a new page of a file may take: one for itself, and two of pointers.
const BLOCKS_PER_PAGE: u32 = 3;

impl Plainfs {
    /// Read an inode. A free one is not found.
    pub(super) fn inode(&mut self, ino: u32) -> Result<Inode, FsError> {
        if ino == 0 || ino > self.layout.inode_count {
            return Err(FsError::NotFound);
        }
        let (block, at) = self.layout.inode(ino);
        let inode = Inode::parse(&self.buffers.page(block)?[at..]);
        let damaged = FsError::Damaged { ino: Ino(ino), offset: 0 };
        let inode = inode.filter(|inode| inode.size <= SIZE_MAX).ok_or(damaged)?;
        if inode.kind == Kind::Free { Err(FsError::NotFound) } else { Ok(inode) }
    }

    pub(super) fn store_inode(&mut self, ino: u32, inode: &Inode) -> Result<(), FsError> {
        let (block, at) = self.layout.inode(ino);
        let bytes = inode.emit();
        self.buffers.page_mut(block)?[at..at + bytes.len()].copy_from_slice(&bytes);
        Ok(())
    }

    pub(super) fn read_file_page(
        &mut self,
        ino: u32,
        index: u32,
        page: &mut Page,
    ) -> Result<(), FsError> {
        if let Some(dirty) = self.dirty.get(&(ino, index)) {
            page.copy_from_slice(&**dirty);
            return Ok(());
        }
        let inode = self.inode(ino)?;
        let Some(block) = self.find_block(ino, &inode, index)? else {
            page.fill(0);
            return Ok(());
        };
        let offset = u64::from(index) * PAGE_SIZE;
        self.buffers.read(block, page).map_err(|error| match error {
            BlockError::Damaged { .. } => FsError::Damaged { ino: Ino(ino), offset },
            other => other.into(),
        })?;
        let kept = usize::try_from(inode.size.saturating_sub(offset)).unwrap_or(CACHE_PAGE_SIZE);
        page[kept.min(CACHE_PAGE_SIZE)..].fill(0);
        Ok(())
    }

    pub(super) fn write_file(
        &mut self,
        cache: &mut PageCache,
        ino: u32,
        offset: u64,
        bytes: &[u8],
    ) -> Result<(), FsError> {
        let end = offset.checked_add(bytes.len() as u64).filter(|&end| end <= SIZE_MAX);
        end.ok_or(FsError::TooLong)?;
        page_parts(offset, bytes).try_for_each(|(at, part)| self.write_piece(cache, ino, at, part))
    }

    /// Write the bytes of a request that lie in one page.
    fn write_piece(
        &mut self,
        cache: &mut PageCache,
        ino: u32,
        offset: u64,
        bytes: &[u8],
    ) -> Result<(), FsError> {
        let index = u32::try_from(offset / PAGE_SIZE).expect("below the largest file");
        let mut inode = self.inode(ino)?;
        let known = self.find_block(ino, &inode, index)?;
        self.begin(if known.is_some() { 0 } else { BLOCKS_PER_PAGE })?;
        let mut page = self.page_to_change(cache, ino, index, bytes.len())?;
        let column = byte_in_page(offset);
        page[column..column + bytes.len()].copy_from_slice(bytes);
        if known.is_none() {
            self.add_block(ino, &mut inode, index)?;
        }
        let end = offset + bytes.len() as u64;
        if offset > inode.size {
            self.clear_tail(ino, &inode)?;
        }
        let now_s = self.now_s();
        if known.is_none() || end > inode.size {
            self.resized.insert(ino);
        }
        if known.is_none() || end > inode.size || now_s != inode.mtime_s {
            inode.size = inode.size.max(end);
            inode.mtime_s = now_s;
            self.store_inode(ino, &inode)?;
        }
        match cache.get_mut(Ino(ino), index) {
            Some(cached) => cached.copy_from_slice(&*page),
            None => cache.insert(Ino(ino), index, page.clone()),
        }
        self.dirty.insert((ino, index), page);
        Ok(())
    }

    /// The present content of a page. If all of it will be overwritten, the content does not matter
    /// and is not read.
    fn page_to_change(
        &mut self,
        cache: &PageCache,
        ino: u32,
        index: u32,
        len: usize,
    ) -> Result<Box<Page>, FsError> {
        let mut page = Box::new([0; CACHE_PAGE_SIZE]);
        if len == CACHE_PAGE_SIZE {
            return Ok(page);
        }
        match cache.get(Ino(ino), index) {
            Some(cached) => page.copy_from_slice(cached),
            None => self.read_file_page(ino, index, &mut page)?,
        }
        Ok(page)
    }

    pub(super) fn resize_file(&mut self, ino: u32, size: u64) -> Result<(), FsError> {
        if size > SIZE_MAX {
            return Err(FsError::TooLong);
        }
        self.begin(0)?;
        let mut inode = self.inode(ino)?;
        if size < inode.size {
            self.cut_file(ino, &mut inode, size)?;
        } else if size > inode.size {
            self.clear_tail(ino, &inode)?;
        }
        inode.size = size;
        inode.mtime_s = self.now_s();
        self.resized.insert(ino);
        self.store_inode(ino, &inode)
    }

    /// Zero what lies behind the end of a file in its last page, because the file is about to grow
    /// over it. A write that a power cut ended may have left bytes there.
    fn clear_tail(&mut self, ino: u32, inode: &Inode) -> Result<(), FsError> {
        let last = u32::try_from(inode.size / PAGE_SIZE).expect("below the largest file");
        let is_here = self.dirty.contains_key(&(ino, last));
        if byte_in_page(inode.size) == 0 || is_here || self.find_block(ino, inode, last)?.is_none()
        {
            return Ok(());
        }
        let mut page = Box::new([0; CACHE_PAGE_SIZE]);
        self.read_file_page(ino, last, &mut page)?;
        self.dirty.insert((ino, last), page);
        Ok(())
    }

    /// Free the blocks behind `size`, and zero the rest of the last page.
    fn cut_file(&mut self, ino: u32, inode: &mut Inode, size: u64) -> Result<(), FsError> {
        let first = u32::try_from(size.div_ceil(PAGE_SIZE)).expect("below the largest file");
        let kept = byte_in_page(size);
        if kept > 0 && self.find_block(ino, inode, first - 1)?.is_some() {
            let mut page = Box::new([0; CACHE_PAGE_SIZE]);
            self.read_file_page(ino, first - 1, &mut page)?;
            page[kept..].fill(0);
            self.dirty.insert((ino, first - 1), page);
        }
        let gone = self.dirty.range((ino, first)..=(ino, u32::MAX)).map(|(&key, _)| key);
        for key in gone.collect::<Vec<_>>() {
            self.dirty.remove(&key);
        }
        self.cut_blocks(ino, inode, first)
    }

    /// Free an inode that has no name, with its blocks.
    pub(super) fn free_inode(&mut self, ino: u32) -> Result<(), FsError> {
        self.begin(0)?;
        let mut inode = self.inode(ino)?;
        if inode.kind == Kind::File {
            self.cut_file(ino, &mut inode, 0)?;
        } else {
            self.free_directory(ino, &inode)?;
        }
        self.resized.remove(&ino);
        self.store_inode(ino, &Inode::FREE)
    }

    /// Write the dirty pages of one file, or those of all files.
    pub(super) fn write_back_files(&mut self, only: Option<u32>) -> Result<(), FsError> {
        let _scope = self.recorder.clone().scope("plainfs_write_back");
        let range = only.map_or((0, 0)..=(u32::MAX, u32::MAX), |ino| (ino, 0)..=(ino, u32::MAX));
        let keys: Vec<(u32, u32)> = self.dirty.range(range).map(|(&key, _)| key).collect();
        for (ino, index) in keys {
            let inode = self.inode(ino)?;
            let damaged = FsError::Damaged { ino: Ino(ino), offset: u64::from(index) * PAGE_SIZE };
            let block = self.find_block(ino, &inode, index)?.ok_or(damaged)?;
            let page = self.dirty.remove(&(ino, index)).expect("just listed");
            if let Err(error) = self.buffers.write_data((ino, index), block, &page) {
                self.dirty.insert((ino, index), page);
                return Err(error.into());
            }
        }
        Ok(())
    }
}
