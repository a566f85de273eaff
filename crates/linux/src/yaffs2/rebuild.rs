//! Rebuilding the objects from tags. Chunks are visited from the newest to the oldest: the first
//! that claims a place is valid, and what a header makes obsolete comes after it.

use std::collections::BTreeMap;

use super::Yaffs2;
use super::blocks::Owner;
use super::file::CHUNK_MAX;
use super::format::{Extra, Header, Kind, Tags};
use super::objects::{DELETED, LOST_AND_FOUND, OBJECT_MAX, Object, ROOT, UNLINKED};
use super::scan::ScannedBlock;
use crate::filesystem::FsError;

/// The objects while they are being rebuilt.
pub(super) struct Rebuild<'a> {
    fs: &'a mut Yaffs2,
    clues: BTreeMap<u32, Clue>,
}

/// What the scan has found out about an object, besides its fields.
#[derive(Clone, Copy, Debug)]
struct Clue {
    /// Whether the scan has visited the newest header of the object.
    has_header: bool,
    /// The chunks at this byte and behind it are obsolete, except the ones that the scan has
    /// already visited.
    shrunk_to: u64,
}

impl<'a> Rebuild<'a> {
    pub(super) fn new(fs: &'a mut Yaffs2) -> Self {
        let clue = Clue { has_header: true, shrunk_to: u64::MAX };
        let mut clues: BTreeMap<u32, Clue> = fs.objects.all.keys().map(|&id| (id, clue)).collect();
        clues.insert(ROOT, Clue { has_header: false, ..clue });
        Self { fs, clues }
    }

    /// Visit the chunks of all blocks, the newest first.
    pub(super) fn chunks(mut self, scanned: &[ScannedBlock]) -> Result<Self, FsError> {
        for block in scanned {
            let first = block.number * self.fs.blocks.chunks_per_block;
            let mut page = u32::try_from(block.tags.len()).expect("chunks of a block");
            for tags in block.tags.iter().rev() {
                page -= 1;
                let Some(tags) = tags else { continue };
                match tags.extra {
                    None => self.take_data(first + page, tags),
                    Some(extra) => self.take_header(first + page, tags, extra)?,
                }
            }
        }
        Ok(self)
    }

    fn clue(&mut self, id: u32) -> &mut Clue {
        let objects = &mut self.fs.objects.all;
        self.clues.entry(id).or_insert_with(|| {
            let lost = Object::new(Kind::File, LOST_AND_FOUND, format!("obj{id}").as_bytes());
            objects.insert(id, lost);
            Clue { has_header: false, shrunk_to: u64::MAX }
        })
    }

    fn is_object(id: u32) -> bool {
        id == ROOT || (id > DELETED && id <= OBJECT_MAX)
    }

    fn take_data(&mut self, chunk: u32, tags: &Tags) {
        let size = self.fs.chunk_size() as u64;
        let is_sane = tags.chunk <= CHUNK_MAX && u64::from(tags.bytes) <= size;
        if !Self::is_object(tags.object) || !is_sane {
            return;
        }
        let start = u64::from(tags.chunk - 1) * size;
        let clue = *self.clue(tags.object);
        let object = self.fs.objects.object_mut(tags.object);
        let is_obsolete = start >= clue.shrunk_to || object.chunks.contains_key(&tags.chunk);
        if is_obsolete || object.kind != Kind::File {
            return;
        }
        object.chunks.insert(tags.chunk, chunk);
        if !clue.has_header {
            object.size = object.size.max(start + u64::from(tags.bytes));
        }
        self.fs.blocks.give(chunk, Owner::Object { object: tags.object, chunk: tags.chunk });
    }

    fn take_header(&mut self, chunk: u32, tags: &Tags, extra: Extra) -> Result<(), FsError> {
        let id = tags.object;
        if !Self::is_object(id) || (id == ROOT && extra.kind != Kind::Directory) {
            return Ok(());
        }
        let is_ended = matches!(extra.parent, UNLINKED | DELETED);
        let size = if is_ended { 0 } else { u64::from(extra.size) };
        let had_header = self.clue(id).has_header;
        if is_ended || extra.is_shrink {
            let clue = self.clue(id);
            clue.shrunk_to = clue.shrunk_to.min(size);
        }
        if had_header {
            return Ok(());
        }
        self.clue(id).has_header = true;
        let object = self.fs.objects.object_mut(id);
        object.kind = extra.kind;
        object.parent = if id == ROOT { 0 } else { extra.parent };
        object.header = Some(chunk);
        object.is_loaded = false;
        object.size = if extra.kind == Kind::File { object.size.max(size) } else { 0 };
        self.fs.blocks.give(chunk, Owner::Object { object: id, chunk: 0 });
        if extra.shadows { self.shadow(id, chunk) } else { Ok(()) }
    }

    /// Unlink the object that a header shadows. Older headers cannot give it a name again.
    fn shadow(&mut self, id: u32, chunk: u32) -> Result<(), FsError> {
        let mut data = vec![0; self.fs.chunk_size()];
        let is_good = self.fs.read_chunk(chunk, &mut data)?;
        let shadowed = Header::parse(&data).filter(|_| is_good).map_or(0, |header| header.shadows);
        let is_other = shadowed > DELETED && shadowed <= OBJECT_MAX && shadowed != id;
        if is_other && !self.clue(shadowed).has_header {
            let clue = self.clue(shadowed);
            (clue.has_header, clue.shrunk_to) = (true, 0);
            let object = self.fs.objects.object_mut(shadowed);
            object.parent = UNLINKED;
        }
        Ok(())
    }

    /// Free the chunks that turned out to be obsolete, and move objects without a directory to
    /// `lost+found`.
    pub(super) fn finish(mut self) {
        let ids: Vec<u32> = self.clues.keys().copied().collect();
        for id in ids {
            let object = self.fs.objects.object(id);
            let parent = object.parent;
            let is_placed = self
                .fs
                .objects
                .get(parent)
                .is_some_and(|dir| dir.kind == Kind::Directory && parent != id);
            if id != ROOT && id > DELETED && !is_placed {
                self.fs.objects.object_mut(id).parent = LOST_AND_FOUND;
            }
            self.drop_beyond_end(id);
        }
    }

    /// Free the chunks behind a file's end, which a truncation left on flash, and all chunks of
    /// objects that are no files.
    fn drop_beyond_end(&mut self, id: u32) {
        let chunk_size = self.fs.chunk_size() as u64;
        let object = self.fs.objects.object_mut(id);
        object.stored_size = object.size;
        let end = if object.kind == Kind::File { object.size.div_ceil(chunk_size) } else { 0 };
        let end = u32::try_from(end).unwrap_or(u32::MAX - 1);
        let beyond = object.chunks.split_off(&(end + 1));
        for chunk in beyond.into_values() {
            self.fs.blocks.take(chunk);
        }
    }
}
