//! Regular files: whole chunks are read, and writes go through the cache for short operations.

use super::Yaffs2;
use super::blocks::Owner;
use super::chunks::Reserve;
use super::format::{Kind, Tags};
use super::headers::Change;
use crate::cache::{PageCache, page_to_fill};
use crate::cpu::Unit;
use crate::filesystem::{
    CACHE_PAGE_SIZE, FsError, Ino, PAGE_SIZE, PageBytes, byte_in_page, page_parts,
};

/// Highest number of a chunk in a file.
pub(super) const CHUNK_MAX: u32 = 0x000F_FFFF;

impl Yaffs2 {
    /// The number of the chunk that holds byte `offset`, and the offset in this chunk.
    pub(super) fn place_of(&self, offset: u64) -> Result<(u32, usize), FsError> {
        let size = self.chunk_size() as u64;
        let number = u32::try_from(offset / size + 1).map_err(|_| FsError::TooLong)?;
        let place = usize::try_from(offset % size).expect("below a chunk");
        if number > CHUNK_MAX { Err(FsError::TooLong) } else { Ok((number, place)) }
    }

    /// How many bytes of a file of `size` bytes lie in chunk `number`.
    fn len_in_chunk(&self, size: u64, number: u32) -> usize {
        let start = u64::from(number - 1) * self.chunk_size() as u64;
        let len = size.saturating_sub(start).min(self.chunk_size() as u64);
        usize::try_from(len).expect("a chunk at most")
    }

    /// Read a page of a file. Each chunk of it that is not in the cache for short operations costs
    /// one read.
    pub(super) fn read_file_page(
        &mut self,
        id: u32,
        index: u32,
        page: &mut PageBytes,
    ) -> Result<(), FsError> {
        let start = u64::from(index) * u64::from(PAGE_SIZE);
        let size = self.objects.object(id).size;
        let mut done = 0;
        while done < CACHE_PAGE_SIZE && start + (done as u64) < size {
            let (number, place) = self.place_of(start + done as u64)?;
            let len = (self.chunk_size() - place).min(CACHE_PAGE_SIZE - done);
            let target = &mut page[done..done + len];
            if !self.read_in_chunk(id, number, place, target)? {
                return Err(FsError::Damaged { ino: Ino(id), offset: start + done as u64 });
            }
            done += len;
        }
        let kept = usize::try_from(size.saturating_sub(start)).unwrap_or(CACHE_PAGE_SIZE);
        page[kept.min(CACHE_PAGE_SIZE)..].fill(0);
        Ok(())
    }

    fn read_in_chunk(
        &mut self,
        id: u32,
        number: u32,
        place: usize,
        target: &mut [u8],
    ) -> Result<bool, FsError> {
        if self.short_ops.find(id, number).is_none() {
            if target.len() == self.chunk_size() {
                return self.read_file_chunk(id, number, target);
            }
            if !self.short_ops.is_used() {
                let mut data = vec![0; self.chunk_size()];
                let is_good = self.read_file_chunk(id, number, &mut data)?;
                target.copy_from_slice(&data[place..place + target.len()]);
                return Ok(is_good);
            }
            if !self.bring_in(id, number)? {
                return Ok(false);
            }
        }
        let entry = self.short_ops.touch(id, number).expect("it is there");
        target.copy_from_slice(&entry.data[place..place + target.len()]);
        self.cpu.copy(target.len());
        Ok(true)
    }

    /// Read a chunk of a file from flash. A chunk that does not exist reads as zeros. Returns
    /// whether ECC could correct it.
    pub(super) fn read_file_chunk(
        &mut self,
        id: u32,
        number: u32,
        data: &mut [u8],
    ) -> Result<bool, FsError> {
        if let Some(&chunk) = self.objects.object(id).chunks.get(&number) {
            return self.read_chunk(chunk, data);
        }
        data.fill(0);
        Ok(true)
    }

    /// Bring a chunk into the cache for short operations. Returns whether it could be read.
    fn bring_in(&mut self, id: u32, number: u32) -> Result<bool, FsError> {
        if let Some((object, chunk)) = self.short_ops.must_leave() {
            if self.options.profile.bypasses_cache() {
                if self.short_ops.find(object, chunk).is_some_and(|entry| entry.is_dirty) {
                    self.flush_cached(Some(object))?;
                }
            } else {
                self.flush_chunk(object, chunk)?;
            }
            self.short_ops.remove(object, chunk);
        }
        let mut data = vec![0; self.chunk_size()];
        let is_good = self.read_file_chunk(id, number, &mut data)?;
        if is_good {
            self.short_ops.insert(id, number, data);
        }
        Ok(is_good)
    }

    /// Write the dirty chunks of an object, or those of all objects.
    pub(super) fn flush_cached(&mut self, id: Option<u32>) -> Result<(), FsError> {
        let dirty = self.short_ops.dirty(id);
        dirty.into_iter().try_for_each(|(object, chunk)| self.flush_chunk(object, chunk))
    }

    fn flush_chunk(&mut self, id: u32, number: u32) -> Result<(), FsError> {
        let Some(entry) = self.short_ops.find(id, number).filter(|entry| entry.is_dirty) else {
            return Ok(());
        };
        let (data, len) = (entry.data.clone(), entry.len);
        self.write_file_chunk(id, number, &data, len, Reserve::Use)?;
        if let Some(entry) = self.short_ops.touch(id, number) {
            entry.is_dirty = false;
        }
        Ok(())
    }

    /// Program a chunk of a file, and make its older version obsolete.
    pub(super) fn write_file_chunk(
        &mut self,
        id: u32,
        number: u32,
        data: &[u8],
        len: u32,
        reserve: Reserve,
    ) -> Result<(), FsError> {
        self.collect_in_foreground()?;
        let tags = Tags { sequence: 0, object: id, chunk: number, bytes: len, extra: None };
        let chunk = self.write_new_chunk(data, &tags, reserve)?;
        debug_assert_eq!(self.blocks.owner(chunk), Owner::Object { object: id, chunk: number });
        let end = u64::from(number - 1) * self.chunk_size() as u64 + u64::from(len);
        let object = self.objects.object_mut(id);
        object.stored_size = object.stored_size.max(end);
        let old = object.chunks.insert(number, chunk);
        old.map_or(Ok(()), |old| self.delete_chunk(old))
    }

    /// Write to a file, one page of the cache after the other.
    pub(super) fn write_file(
        &mut self,
        cache: &mut PageCache,
        id: u32,
        offset: u64,
        bytes: &[u8],
    ) -> Result<(), FsError> {
        self.place_of(offset + bytes.len() as u64)?;
        for (at, part) in page_parts(offset, bytes) {
            let index = u32::try_from(at / u64::from(PAGE_SIZE)).map_err(|_| FsError::TooLong)?;
            let place = byte_in_page(at);
            self.cpu.charge(Unit::Page, 1);
            if !cache.contains(Ino(id), index) {
                let mut page = page_to_fill();
                self.read_file_page(id, index, &mut page)?;
                cache.insert(Ino(id), index, page);
            }
            if let Err(error) = self.write_bytes(id, at, part) {
                cache.remove(Ino(id), index);
                return Err(error);
            }
            let page = cache.get_mut(Ino(id), index).expect("it was just there");
            page[place..place + part.len()].copy_from_slice(part);
        }
        Ok(())
    }

    /// Write bytes of a file, one chunk after the other.
    fn write_bytes(&mut self, id: u32, offset: u64, bytes: &[u8]) -> Result<(), FsError> {
        if offset > self.objects.object(id).size {
            self.make_hole(id, offset)?;
        }
        self.write_pieces(id, offset, bytes)
    }

    pub(super) fn write_pieces(
        &mut self,
        id: u32,
        offset: u64,
        bytes: &[u8],
    ) -> Result<(), FsError> {
        let mut rest = bytes;
        let mut at = offset;
        while !rest.is_empty() {
            let (number, place) = self.place_of(at)?;
            let (part, tail) = rest.split_at(rest.len().min(self.chunk_size() - place));
            self.write_in_chunk(id, number, place, part)?;
            at += part.len() as u64;
            rest = tail;
            let now = self.now_s();
            let object = self.objects.object_mut(id);
            object.size = object.size.max(at);
            object.is_dirty = true;
            object.mtime = now;
        }
        Ok(())
    }

    fn write_in_chunk(
        &mut self,
        id: u32,
        number: u32,
        place: usize,
        bytes: &[u8],
    ) -> Result<(), FsError> {
        let is_whole = bytes.len() == self.chunk_size();
        let had = self.len_in_chunk(self.objects.object(id).size, number);
        let len = had.max(place + bytes.len());
        let len = u32::try_from(len).expect("a chunk at most");
        if is_whole && self.options.profile.bypasses_cache() {
            self.write_file_chunk(id, number, bytes, len, Reserve::Keep)?;
            self.short_ops.remove(id, number);
            return Ok(());
        }
        let damaged = FsError::Damaged { ino: Ino(id), offset: 0 };
        if !self.short_ops.is_used() {
            let mut data = vec![0; self.chunk_size()];
            if !self.read_file_chunk(id, number, &mut data)? && !is_whole {
                return Err(damaged);
            }
            data[place..place + bytes.len()].copy_from_slice(bytes);
            return self.write_file_chunk(id, number, &data, len, Reserve::Keep);
        }
        let is_dirty = self.short_ops.find(id, number).map(|entry| entry.is_dirty);
        if is_dirty != Some(true) && !self.has_room(1) {
            return Err(FsError::NoSpace);
        }
        if is_dirty.is_none() && !self.bring_in(id, number)? {
            return Err(damaged);
        }
        let entry = self.short_ops.touch(id, number).expect("it is there");
        entry.data[place..place + bytes.len()].copy_from_slice(bytes);
        entry.len = len;
        entry.is_dirty = true;
        self.cpu.copy(bytes.len());
        Ok(())
    }

    /// Make an object durable: its dirty chunks, and its header unless `data_only`.
    pub(super) fn flush_object(&mut self, id: u32, data_only: bool) -> Result<(), FsError> {
        let Some(object) = self.objects.get(id) else { return Ok(()) };
        if !object.is_dirty {
            return Ok(());
        }
        debug_assert!(object.kind != Kind::Directory || object.chunks.is_empty());
        self.flush_cached(Some(id))?;
        if data_only { Ok(()) } else { self.write_header(id, Change::default()) }
    }
}
