//! The checkpoint: all that a mount would have to scan for, in blocks of its own. The first write
//! after it was made erases it.
//!
//! It has the format of version 8 of the real one: `snapshot.rs` has the structures, and
//! `format/checkpoint.rs` the chunks. (The real code writes none on a device of less than 60
//! blocks. The model does.)

use super::Yaffs2;
use super::blocks::BlockState;
use super::chunks::RESERVED_BLOCKS;
use super::format::{Found, Tags, emit_stream, parse_stream};
use super::scan::{fresh_blocks, is_checkpoint};
use super::snapshot;
use crate::filesystem::FsError;

pub(super) const CHECKPOINT_SEQUENCE: u32 = 0x21;
/// Blocks kept in addition to those that a checkpoint needs, in case some are bad.
const SPARE_BLOCKS: u32 = 3;

/// The checkpoint on flash, if there is one.
#[derive(Clone, Debug, Default)]
pub(super) struct Checkpoint {
    /// Whether it is complete and nothing has been written since.
    pub is_valid: bool,
    /// The blocks that it takes.
    pub blocks: Vec<u32>,
}

impl Yaffs2 {
    /// How many more blocks a checkpoint would take than the one on flash does.
    pub(super) fn checkpoint_blocks_missing(&self) -> u32 {
        let groups = self.objects.all.values().map(|object| object.chunks.len() / 16 + 1).sum();
        let size = snapshot::size(&self.blocks, self.objects.all.len(), groups);
        let per_block = self.chunk_size() * self.blocks.chunks_per_block as usize;
        let needed = u32::try_from(size / per_block).expect("far less than a partition");
        let has = u32::try_from(self.checkpoint.blocks.len()).expect("blocks of the partition");
        (needed + SPARE_BLOCKS).saturating_sub(has)
    }

    /// Erase the checkpoint, because something is about to be written.
    pub(super) fn invalidate_checkpoint(&mut self) -> Result<(), FsError> {
        if self.checkpoint.blocks.is_empty() {
            self.checkpoint.is_valid = false;
            return Ok(());
        }
        let _scope = self.recorder.scope("yaffs_checkpoint");
        self.checkpoint.is_valid = false;
        for block in std::mem::take(&mut self.checkpoint.blocks) {
            // The first program of the block is verified again. The kernel does the same, as the
            // counts of its runs show.
            let was_known_blank = self.blocks.block(block).is_known_blank;
            self.clean_block(block)?;
            self.blocks.block_mut(block).is_known_blank = was_known_blank;
        }
        Ok(())
    }

    /// Write a checkpoint, unless there is a valid one. If there is no room for it, none is left.
    pub(super) fn write_checkpoint(&mut self) -> Result<(), FsError> {
        if self.checkpoint.is_valid {
            return Ok(());
        }
        let _scope = self.recorder.scope("yaffs_checkpoint");
        self.invalidate_checkpoint()?;
        let Some(stream) = snapshot::emit(&self.blocks, &self.objects) else { return Ok(()) };
        let bytes = emit_stream(&stream, self.chunk_size());
        let block_size = self.chunk_size() * self.blocks.chunks_per_block as usize;
        let mut page = 1;
        for part in bytes.chunks(block_size) {
            let is_written = match self.checkpoint_block()? {
                None => false,
                Some(block) => {
                    self.checkpoint.blocks.push(block);
                    self.blocks.book(block, BlockState::Checkpoint, CHECKPOINT_SEQUENCE);
                    self.fill_checkpoint_block(block, part, &mut page)?
                }
            };
            if !is_written {
                return self.invalidate_checkpoint();
            }
        }
        self.checkpoint.is_valid = true;
        Ok(())
    }

    /// Find an empty block for the checkpoint. The blocks in reserve are left alone.
    fn checkpoint_block(&mut self) -> Result<Option<u32>, FsError> {
        while self.blocks.erased_count > RESERVED_BLOCKS {
            let mut all = 0..self.blocks.count();
            let empty = all.find(|&block| self.blocks.block(block).state == BlockState::Empty);
            let Some(block) = empty else { return Ok(None) };
            // On a device without any tags, the cut may have torn the only program of the block.
            let entry = self.blocks.block(block);
            let (is_suspect, is_known) = (entry.is_suspect, entry.is_known_blank);
            let first = block * self.blocks.chunks_per_block;
            let is_blank = !is_suspect && (is_known || self.is_rest_blank(first)?);
            if is_blank || self.erase_again(block)? {
                return Ok(Some(block));
            }
        }
        Ok(None)
    }

    /// Write a part of the checkpoint to a block. Returns whether all programs succeeded.
    fn fill_checkpoint_block(
        &mut self,
        block: u32,
        part: &[u8],
        page: &mut u32,
    ) -> Result<bool, FsError> {
        let first = block * self.blocks.chunks_per_block;
        let size = self.chunk_size();
        for (chunk, data) in (first..).zip(part.chunks(size)) {
            let bytes = u32::try_from(size).expect("a chunk");
            // The object number tells where to look for the next block. The real code numbers
            // blocks from 1.
            let object = block + 2;
            let tags =
                Tags { sequence: CHECKPOINT_SEQUENCE, object, chunk: *page, bytes, extra: None };
            *page += 1;
            if let Err(error) = self.program(chunk, data, &tags) {
                self.blocks.retire_later(block);
                return match FsError::from(error) {
                    FsError::PowerLost => Err(FsError::PowerLost),
                    _ => Ok(false),
                };
            }
        }
        Ok(true)
    }

    /// Read the checkpoint and take it over. Returns whether it was there and complete.
    pub(super) fn load_checkpoint(&mut self) -> Result<bool, FsError> {
        let _scope = self.recorder.scope("yaffs_checkpoint");
        let mut found = Vec::new();
        let mut bytes = Vec::new();
        for block in 0..self.blocks.count() {
            if self.blocks.block(block).state == BlockState::Dead {
                continue;
            }
            let first = block * self.blocks.chunks_per_block;
            if !is_checkpoint(self.read_tags(first)?) {
                continue;
            }
            found.push(block);
            self.read_checkpoint_block(first, &mut bytes)?;
            let stream = parse_stream(&bytes, self.chunk_size());
            let fresh = || fresh_blocks(&self.mtd);
            let restored = snapshot::restore(&stream, fresh, self.summary_shape());
            if let Some((blocks, objects)) = restored {
                let fits = |block: u32| match blocks.block(block).state {
                    BlockState::Empty => true,
                    BlockState::Checkpoint => found.contains(&block),
                    _ => !found.contains(&block),
                };
                if !(0..blocks.count()).all(fits) {
                    return Ok(false);
                }
                self.blocks = blocks;
                self.objects = objects;
                for &block in &found {
                    self.blocks.book(block, BlockState::Checkpoint, CHECKPOINT_SEQUENCE);
                }
                self.checkpoint = Checkpoint { is_valid: true, blocks: found };
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn read_checkpoint_block(&mut self, first: u32, bytes: &mut Vec<u8>) -> Result<(), FsError> {
        let size = self.chunk_size();
        for chunk in first..first + self.blocks.chunks_per_block {
            let mut data = vec![0; size];
            let (is_good, found) = self.read_chunk_and_tags(chunk, &mut data)?;
            let wanted = u32::try_from(bytes.len() / size + 1).unwrap_or(u32::MAX);
            let is_next = matches!(found, Found::Tags(tags) if tags.chunk == wanted);
            if !(is_good && is_checkpoint(found) && is_next) {
                return Ok(());
            }
            bytes.extend(data);
        }
        Ok(())
    }
}
