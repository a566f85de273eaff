//! Files: blocks are read from flash, bytes are written to the page cache, sizes change.

use super::Ubifs;
use super::budget::Change;
use super::compress::{of_number, unpack};
use super::fault::Fault;
use super::format::DataNode;
use super::inode::Dirt;
use super::key::Key;
use super::tnc::Place;
use crate::cache::{PageCache, page_to_fill};
use crate::filesystem::{CACHE_PAGE_SIZE, FsError, Ino, PageBytes, byte_in_page, page_parts};

const PAGE: u64 = CACHE_PAGE_SIZE as u64;

impl Ubifs {
    /// Read a block of a file into `page`. A hole reads as zeros. Returns whether there is a block.
    pub(super) fn read_block(
        &mut self,
        ino: u32,
        block: u32,
        page: &mut PageBytes,
    ) -> Result<bool, Fault> {
        let Some(place) = self.find(Key::data(ino, block))? else {
            page.fill(0);
            return Ok(false);
        };
        let _scope = self.recorder.scope("ubifs_read_data");
        let bytes = self.read_node(place)?;
        self.unpack_block(place, &bytes, page)?;
        Ok(true)
    }

    /// Decompress the data node that was read from `place` into the front of `page`. Zeros follow.
    pub(super) fn unpack_block(
        &self,
        place: Place,
        bytes: &[u8],
        page: &mut PageBytes,
    ) -> Result<(), Fault> {
        let damaged = Fault::Damaged { lnum: place.lnum, offset: place.offset };
        let node = DataNode::parse(bytes).ok_or(damaged)?;
        let size = node.size as usize;
        let compressor = of_number(node.compression).filter(|_| (1..=page.len()).contains(&size));
        let data = compressor.and_then(|it| unpack(it, node.stored, size, &self.cpu));
        let data = data.ok_or(damaged)?;
        let (front, rest) = page.split_at_mut(data.len());
        front.copy_from_slice(&data);
        rest.fill(0);
        Ok(())
    }

    /// Read a page of a file. Returns whether flash holds anything of it.
    pub(super) fn load_page(
        &mut self,
        ino: u32,
        index: u32,
        page: &mut PageBytes,
    ) -> Result<bool, FsError> {
        let offset = u64::from(index) * PAGE;
        let size = self.inode(ino)?.node.size;
        if offset >= size {
            page.fill(0);
            return Ok(false);
        }
        let is_there =
            self.read_block(ino, index, page).map_err(|fault| fault.in_file(ino, offset))?;
        clip(page, index, size);
        Ok(is_there)
    }

    pub(super) fn write_file(
        &mut self,
        cache: &mut PageCache,
        ino: u32,
        offset: u64,
        bytes: &[u8],
    ) -> Result<(), FsError> {
        self.inode(ino)?;
        self.look_for_capability(ino)?;
        if self.inode(ino)?.node.mtime_ns != self.file_time_ns() {
            self.afford_inode(cache)?;
        }
        for (at, part) in page_parts(offset, bytes) {
            self.write_page_part(cache, ino, at, part)?;
        }
        if cache.is_crowded() {
            self.write_back_all(cache)?;
        }
        Ok(())
    }

    /// Search the index for the file's capability attribute, as the kernel does before each write
    /// in order to remove it. No file in the model has one, but the search reads the index up to
    /// the file's last key.
    fn look_for_capability(&mut self, ino: u32) -> Result<(), Fault> {
        self.find(Key::attribute(ino, b"security.capability")).map(drop)
    }

    fn write_page_part(
        &mut self,
        cache: &mut PageCache,
        ino: u32,
        at: u64,
        bytes: &[u8],
    ) -> Result<(), FsError> {
        let index = u32::try_from(at / PAGE).map_err(|_| FsError::TooLong)?;
        let from = byte_in_page(at);
        let end = at + bytes.len() as u64;
        let grows = end > self.inode(ino)?.node.size;
        let mut is_new = false;
        if !cache.contains(Ino(ino), index) {
            let mut page = page_to_fill();
            // A page that is written as a whole is not looked for on flash.
            is_new = bytes.len() == CACHE_PAGE_SIZE || !self.load_page(ino, index, &mut page)?;
            cache.insert(Ino(ino), index, page);
        }
        self.afford_page(cache, (ino, index), Change { is_new, grows })?;
        let page = cache.get_mut(Ino(ino), index).expect("just put there");
        page[from..from + bytes.len()].copy_from_slice(bytes);
        cache.set_dirty(Ino(ino), index);
        if grows {
            self.inode(ino)?.node.size = end;
        }
        Ok(self.touch(ino, if grows { Dirt::Size } else { Dirt::Times })?)
    }

    pub(super) fn truncate_file(
        &mut self,
        cache: &mut PageCache,
        ino: u32,
        size: u64,
    ) -> Result<(), FsError> {
        let old_size = self.inode(ino)?.node.size;
        if size >= old_size {
            self.inode(ino)?.node.size = size;
            return Ok(self.touch(ino, Dirt::Size)?);
        }
        let last = u32::try_from(size / PAGE).map_err(|_| FsError::TooLong)?;
        self.inode(ino)?.node.size = size;
        if !size.is_multiple_of(PAGE) && cache.set_clean(Ino(ino), last) {
            let kept = byte_in_page(size);
            let page = *cache.get(Ino(ino), last).expect("it was dirty");
            self.write_data(ino, last, &page[..kept])?;
            self.release_page(ino, last);
        }
        self.release_pages_from(ino, u32::try_from(size.div_ceil(PAGE)).unwrap_or(u32::MAX));
        self.touch(ino, Dirt::Size)?;
        Ok(self.write_truncation(ino, old_size)?)
    }
}

/// Clear the part of page `index` that lies behind the end of a file of `size` bytes.
pub(super) fn clip(page: &mut PageBytes, index: u32, size: u64) {
    let kept = size.saturating_sub(u64::from(index) * PAGE).min(PAGE);
    page[usize::try_from(kept).expect("within a page")..].fill(0);
}
