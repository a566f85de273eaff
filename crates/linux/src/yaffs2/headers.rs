//! Object headers: one is read to learn an object's name, and written whenever something about the
//! object changes.

use super::Yaffs2;
use super::chunks::Reserve;
use super::format::{Extra, Header, Kind, Tags, attributes_of};
use super::objects::{LOST_AND_FOUND, ROOT};
use crate::filesystem::{Attributes, FsError, Ino};

/// What a new header says besides the fields of its object.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Change {
    /// Whether it makes older chunks behind the file's end obsolete.
    pub is_shrink: bool,
    /// The object whose name it takes over, or 0.
    pub shadows: u32,
}

impl Yaffs2 {
    /// Write an object's header. This costs one program, and one read of the old header if there is
    /// one.
    pub(super) fn write_header(&mut self, id: u32, change: Change) -> Result<(), FsError> {
        let is_written = id == ROOT || id > LOST_AND_FOUND;
        if !is_written {
            self.objects.object_mut(id).is_dirty = false;
            return Ok(());
        }
        self.collect_in_foreground()?;
        let mut data = vec![0xFF; self.chunk_size()];
        let old = self.objects.object(id).header;
        if let Some(old) = old {
            let is_good = self.read_chunk(old, &mut data)?;
            if !is_good || Header::parse(&data).is_none() {
                data.fill(0xFF);
            }
        }
        let tags = self.fill_header(id, change, &mut data);
        let reserve = if old.is_some() { Reserve::Use } else { Reserve::Keep };
        let chunk = self.write_new_chunk(&data, &tags, reserve)?;
        if change.is_shrink {
            let block = self.blocks.of(chunk);
            self.blocks.block_mut(block).has_shrink_header = true;
        }
        self.move_header(id, chunk)?;
        if self.short_ops.dirty(Some(id)).is_empty() {
            self.objects.object_mut(id).is_dirty = false;
        }
        Ok(())
    }

    /// Note that an object's header is at `chunk` from here on.
    pub(super) fn move_header(&mut self, id: u32, chunk: u32) -> Result<(), FsError> {
        let old = self.objects.object_mut(id).header.replace(chunk);
        old.map_or(Ok(()), |old| self.delete_chunk(old))
    }

    /// Write an object's header into the bytes of a chunk. Returns the tags that go with it.
    pub(super) fn fill_header(&self, id: u32, change: Change, data: &mut [u8]) -> Tags {
        let object = self.objects.object(id);
        let is_sized = object.kind == Kind::File && object.is_named();
        let size = if is_sized { object.stored_size } else { 0 };
        let header = Header {
            kind: object.kind,
            parent: object.parent,
            name: object.name.clone(),
            mode: object.mode,
            mtime: object.mtime,
            size,
            shadows: change.shadows,
            is_shrink: change.is_shrink,
        };
        header.emit(data);
        let size = u32::try_from(size).unwrap_or(u32::MAX);
        let extra = Extra {
            parent: object.parent,
            kind: object.kind,
            size,
            is_shrink: change.is_shrink,
            shadows: change.shadows != 0,
        };
        Tags { sequence: 0, object: id, chunk: 0, bytes: size, extra: Some(extra) }
    }

    /// Read what an object's header says of its owner and of a link's target. This costs one read.
    /// `None` for a directory that exists without a header.
    pub(super) fn read_attributes(&mut self, id: u32) -> Result<Option<Attributes>, FsError> {
        let object = self.objects.get(id).ok_or(FsError::NotFound)?;
        let Some(chunk) = object.header else { return Ok(None) };
        let mut data = vec![0; self.chunk_size()];
        let is_good = self.read_chunk(chunk, &mut data)?;
        let damaged = FsError::Damaged { ino: Ino(id), offset: 0 };
        if is_good && Header::parse(&data).is_some() {
            Ok(Some(attributes_of(&data)))
        } else {
            Err(damaged)
        }
    }

    /// Read an object's name from its header, unless it is known. This costs one read.
    pub(super) fn load_details(&mut self, id: u32) -> Result<(), FsError> {
        let object = self.objects.object(id);
        let Some(chunk) = object.header.filter(|_| !object.is_loaded) else { return Ok(()) };
        let mut data = vec![0; self.chunk_size()];
        let is_good = self.read_chunk(chunk, &mut data)?;
        let header = Header::parse(&data).filter(|_| is_good);
        let object = self.objects.object_mut(id);
        object.is_loaded = true;
        match header {
            Some(header) if !header.name.is_empty() => {
                object.name = header.name;
                object.mode = header.mode;
                object.mtime = header.mtime;
            }
            _ => object.name = format!("obj{id}").into_bytes(),
        }
        Ok(())
    }
}
