//! Changing the size of a file: holes and truncation.

use super::Yaffs2;
use super::chunks::Reserve;
use super::headers::Change;
use crate::filesystem::{FsError, Ino};

/// A hole of fewer chunks than this is written as zeros.
const SMALL_HOLE_CHUNKS: u64 = 4;

impl Yaffs2 {
    /// Extend a file by a hole. A small hole is written as zeros. For a larger one a header records
    /// where it begins, so that a mount does not take obsolete chunks for its content.
    pub(super) fn make_hole(&mut self, id: u32, to: u64) -> Result<(), FsError> {
        let from = self.objects.object(id).size;
        let is_small = to - from < SMALL_HOLE_CHUNKS * self.chunk_size() as u64
            && self.has_room(u32::try_from(SMALL_HOLE_CHUNKS).expect("4") + 1);
        if is_small {
            let len = usize::try_from(to - from).expect("a few chunks");
            self.write_pieces(id, from, &vec![0; len])
        } else if self.objects.object(id).is_named() {
            self.write_header(id, Change { is_shrink: true, shadows: 0 })
        } else {
            Ok(())
        }
    }

    pub(super) fn truncate_file(&mut self, id: u32, size: u64) -> Result<(), FsError> {
        self.place_of(size)?;
        self.flush_cached(Some(id))?;
        self.short_ops.remove_object(id);
        self.collect_in_foreground()?;
        let old = self.objects.object(id).size;
        if size == old {
            return Ok(());
        }
        let now = self.now_s();
        self.objects.object_mut(id).mtime = now;
        if size > old {
            self.make_hole(id, size)?;
            self.flush_cached(Some(id))?;
            let object = self.objects.object_mut(id);
            (object.size, object.stored_size) = (size, size);
            return self.write_size(id);
        }
        self.cut_chunk(id, size)?;
        let object = self.objects.object_mut(id);
        (object.size, object.stored_size) = (size, size);
        // The header is written first. A collection that makes room for it must not take chunks
        // that the old header still needs.
        let written = self.write_size(id);
        written.and(self.drop_chunks(id, size))
    }

    fn write_size(&mut self, id: u32) -> Result<(), FsError> {
        if self.objects.object(id).is_named() {
            self.write_header(id, Change::default())
        } else {
            Ok(())
        }
    }

    /// Free the chunks of a file that lie behind its end.
    pub(super) fn drop_chunks(&mut self, id: u32, size: u64) -> Result<(), FsError> {
        let (last, kept) = self.place_of(size)?;
        let first_gone = if kept == 0 { last } else { last + 1 };
        let gone: Vec<u32> =
            self.objects.object(id).chunks.range(first_gone..).map(|(&number, _)| number).collect();
        for number in gone.into_iter().rev() {
            let chunk = self.objects.object_mut(id).chunks.remove(&number);
            self.delete_chunk(chunk.expect("just listed"))?;
        }
        Ok(())
    }

    /// Write the chunk again in which the new end of a file lies.
    fn cut_chunk(&mut self, id: u32, size: u64) -> Result<(), FsError> {
        let (last, kept) = self.place_of(size)?;
        if kept == 0 || !self.objects.object(id).chunks.contains_key(&last) {
            return Ok(());
        }
        let mut data = vec![0; self.chunk_size()];
        if !self.read_file_chunk(id, last, &mut data)? {
            return Err(FsError::Damaged { ino: Ino(id), offset: size - kept as u64 });
        }
        data[kept..].fill(0);
        let len = u32::try_from(kept).expect("below a chunk");
        self.write_file_chunk(id, last, &data, len, Reserve::Use)
    }
}
