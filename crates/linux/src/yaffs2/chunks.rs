//! Chunks: they are allocated one after the other and programmed together with their tags. The
//! first program in a block that this mount did not erase is verified. A block that loses its last
//! owned chunk is erased at once.

use flysch_nand::is_erased;

use super::Yaffs2;
use super::blocks::{BlockState, Owner};
use super::format::{Found, SummaryShape, TAGS_SIZE, Tags, emit_summary};
use crate::cpu::Unit;
use crate::filesystem::FsError;
use crate::mtd::{MtdError, ReadQuality};

/// Empty blocks that only the collector may fill, and writes that make another chunk obsolete.
pub(super) const RESERVED_BLOCKS: u32 = 5;
/// How often a chunk is written, each time to another place, before the call fails.
const TRIES: u32 = 20;

/// Whether the blocks in reserve may be used for a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reserve {
    /// The reserve must be kept: the chunk is new data.
    Keep,
    /// The reserve may be used: the collector copies a chunk, or the write makes another one
    /// obsolete.
    Use,
}

impl Yaffs2 {
    pub(super) fn chunk_size(&self) -> usize {
        self.mtd.geometry().page_size as usize
    }

    /// Where each block has its summary. `None` if this code writes none.
    pub(super) fn summary_shape(&self) -> Option<SummaryShape> {
        let has = self.options.profile.has_summaries();
        has.then(|| SummaryShape::of(self.blocks.chunks_per_block, self.chunk_size()))
    }

    /// Number of chunks at the end of each block that hold nothing but its summary.
    pub(super) fn summary_chunks(&self) -> u32 {
        self.summary_shape().map_or(0, |shape| shape.reserved)
    }

    fn offset_of(&self, chunk: u32) -> u32 {
        chunk * self.mtd.geometry().page_size
    }

    /// Read a chunk's data, which costs one array read. Returns whether ECC could correct it.
    pub(super) fn read_chunk(&mut self, chunk: u32, data: &mut [u8]) -> Result<bool, FsError> {
        let quality = self.mtd.read(self.offset_of(chunk), data).map_err(FsError::from)?;
        Ok(!matches!(quality, ReadQuality::Damaged(_)))
    }

    /// Read a chunk's data and tags, which costs one array read. Returns whether ECC could correct
    /// the data, and the tags.
    pub(super) fn read_chunk_and_tags(
        &mut self,
        chunk: u32,
        data: &mut [u8],
    ) -> Result<(bool, Found), FsError> {
        let mut oob = [0; TAGS_SIZE];
        let quality =
            self.mtd.read_with_oob(self.offset_of(chunk), data, &mut oob).map_err(FsError::from)?;
        self.cpu.charge(Unit::Node, 1);
        Ok((!matches!(quality, ReadQuality::Damaged(_)), Tags::parse(&oob)))
    }

    /// Read a chunk's tags alone, which costs one OOB read.
    pub(super) fn read_tags(&mut self, chunk: u32) -> Result<Found, FsError> {
        let mut oob = [0; TAGS_SIZE];
        self.mtd.read_oob(self.offset_of(chunk), &mut oob).map_err(FsError::from)?;
        self.cpu.charge(Unit::Node, 1);
        Ok(Tags::parse(&oob))
    }

    /// Program a chunk with its tags, which costs one program.
    pub(super) fn program(&mut self, chunk: u32, data: &[u8], tags: &Tags) -> Result<(), MtdError> {
        self.cpu.charge(Unit::Node, 1);
        let (at, size) = (u64::from(self.offset_of(chunk)), data.len() as u64);
        let is_data = tags.chunk > 0 && tags.bytes > 0;
        match tags.chunk.checked_sub(1).filter(|_| is_data) {
            Some(before) => {
                let part = (u64::from(before) * size, tags.bytes.into());
                self.recorder.store("yaffs2", tags.object, part, (at, tags.bytes.into()));
            }
            None => self.recorder.store_own((at, size)),
        }
        let _shipment = self.recorder.ship(at);
        self.mtd.write_with_oob(self.offset_of(chunk), data, &tags.emit())
    }

    /// Whether `count` more chunks can be filled without the blocks in reserve.
    pub(super) fn has_room(&self, count: u32) -> bool {
        let blocks = RESERVED_BLOCKS + self.checkpoint_blocks_missing();
        self.blocks.free_chunks > blocks * self.blocks.chunks_per_block + count
    }

    /// Write a chunk to the next free place. Returns this place.
    pub(super) fn write_new_chunk(
        &mut self,
        data: &[u8],
        tags: &Tags,
        reserve: Reserve,
    ) -> Result<u32, FsError> {
        self.invalidate_checkpoint()?;
        for _ in 0..TRIES {
            let chunk = self.allocate(reserve)?;
            let block = self.blocks.of(chunk);
            let tags = Tags { sequence: self.blocks.block(block).sequence, ..*tags };
            let was_known = self.blocks.block(block).is_known_blank;
            if !was_known && !self.is_rest_blank(chunk)? {
                self.blocks.skip_rest();
                continue;
            }
            let outcome = self.program(chunk, data, &tags);
            let is_written = match outcome {
                Ok(()) => was_known || self.is_as_written(chunk, data, &tags)?,
                Err(MtdError::PowerLost) => return Err(FsError::PowerLost),
                Err(MtdError::ProgramFailed(_) | MtdError::EraseFailed(_)) => false,
            };
            if is_written {
                self.blocks.block_mut(block).is_known_blank = true;
                let object = tags.object;
                self.blocks.give(chunk, Owner::Object { object, chunk: tags.chunk });
                self.advance(tags)?;
                return Ok(chunk);
            }
            self.blocks.retire_later(block);
            self.blocks.skip_rest();
            self.retire_if_empty(block)?;
        }
        Err(FsError::Io)
    }

    fn allocate(&mut self, reserve: Reserve) -> Result<u32, FsError> {
        if reserve == Reserve::Keep && !self.has_room(1) {
            return Err(FsError::NoSpace);
        }
        while self.blocks.filling.is_none() {
            let block = self.blocks.take_empty().ok_or(FsError::NoSpace)?;
            self.summary.clear();
            let entry = self.blocks.block_mut(block);
            (entry.has_shrink_header, entry.has_summary) = (false, false);
            if !entry.is_suspect || self.erase_again(block)? {
                self.blocks.filling = Some((block, 0));
            }
        }
        let (block, page) = self.blocks.filling.expect("just found");
        Ok(block * self.blocks.chunks_per_block + page)
    }

    /// Erase a block that looks blank but may not be. Returns whether it can be used.
    pub(super) fn erase_again(&mut self, block: u32) -> Result<bool, FsError> {
        match self.mtd.erase(block) {
            Ok(()) => {
                let entry = self.blocks.block_mut(block);
                (entry.is_suspect, entry.is_known_blank) = (false, true);
                Ok(true)
            }
            Err(MtdError::PowerLost) => Err(FsError::PowerLost),
            Err(MtdError::EraseFailed(_) | MtdError::ProgramFailed(_)) => {
                self.blocks.book(block, BlockState::Dead, 0);
                self.mtd.mark_bad(block).map_err(FsError::from)?;
                Ok(false)
            }
        }
    }

    /// Move on to the next chunk. At its end a block gets its summary.
    fn advance(&mut self, tags: Tags) -> Result<(), FsError> {
        let Some((block, page)) = self.blocks.filling else { return Ok(()) };
        self.blocks.filling = Some((block, page + 1));
        self.summary.push(tags);
        if page + 1 < self.blocks.chunks_per_block - self.summary_chunks() {
            return Ok(());
        }
        let is_complete = self.summary.len() == page as usize + 1;
        let shape = self.summary_shape().filter(|_| is_complete);
        let written = shape.map_or(Ok(()), |shape| self.write_summary(block, shape));
        self.blocks.skip_rest();
        written
    }

    fn write_summary(&mut self, block: u32, shape: SummaryShape) -> Result<(), FsError> {
        let _scope = self.recorder.scope("yaffs_summary");
        let sequence = self.blocks.block(block).sequence;
        let chunks = emit_summary(shape, block, sequence, &self.summary);
        let first = block * self.blocks.chunks_per_block + shape.covered;
        for (part, data) in (0..).zip(chunks) {
            let chunk = first + part;
            let bytes = u32::try_from(shape.len(part)).expect("within a chunk");
            let object = SUMMARY_OBJECT;
            let tags = Tags { sequence, object, chunk: part + 1, bytes, extra: None };
            match self.program(chunk, &data, &tags) {
                Ok(()) => self.blocks.give(chunk, Owner::Summary),
                Err(MtdError::PowerLost) => return Err(FsError::PowerLost),
                // A block without a summary is good as well: a mount reads its tags.
                Err(MtdError::ProgramFailed(_) | MtdError::EraseFailed(_)) => {
                    self.blocks.retire_later(block);
                    return Ok(());
                }
            }
        }
        self.blocks.block_mut(block).has_summary = true;
        Ok(())
    }

    /// Whether a chunk is blank. Unless the mount found all chunks blank, the tags of the chunks
    /// behind it must be blank, too.
    pub(super) fn is_rest_blank(&mut self, chunk: u32) -> Result<bool, FsError> {
        let end = (self.blocks.of(chunk) + 1) * self.blocks.chunks_per_block;
        let rest = if self.was_all_blank { end..end } else { chunk + 1..end };
        for other in rest {
            if self.read_tags(other)? != Found::Blank {
                return Ok(false);
            }
        }
        self.is_blank(chunk)
    }

    fn is_blank(&mut self, chunk: u32) -> Result<bool, FsError> {
        let mut data = vec![0; self.chunk_size()];
        let (is_good, found) = self.read_chunk_and_tags(chunk, &mut data)?;
        Ok(is_good && found == Found::Blank && is_erased(&data))
    }

    fn is_as_written(&mut self, chunk: u32, data: &[u8], tags: &Tags) -> Result<bool, FsError> {
        let mut read = vec![0; self.chunk_size()];
        let (is_good, found) = self.read_chunk_and_tags(chunk, &mut read)?;
        Ok(is_good && found == Found::Tags(*tags) && read == data)
    }

    /// Make a chunk obsolete. If a full block has no owned chunk left, it is erased.
    pub(super) fn delete_chunk(&mut self, chunk: u32) -> Result<(), FsError> {
        self.blocks.take(chunk);
        let number = self.blocks.of(chunk);
        let block = self.blocks.block(number);
        let is_done = matches!(block.state, BlockState::Full | BlockState::Collecting);
        if is_done && block.in_use == 0 && !block.has_shrink_header {
            self.clean_block(number)?;
        }
        Ok(())
    }

    fn retire_if_empty(&mut self, block: u32) -> Result<(), FsError> {
        let entry = self.blocks.block(block);
        if entry.in_use == 0 && !entry.has_shrink_header { self.clean_block(block) } else { Ok(()) }
    }

    /// Erase a block without owned chunks, or mark it bad if a program in it failed.
    pub(super) fn clean_block(&mut self, block: u32) -> Result<(), FsError> {
        debug_assert_eq!(self.blocks.block(block).in_use, 0, "block {block} has live chunks");
        self.collector.forget(block);
        let is_failing = self.blocks.block(block).needs_retiring;
        let erased = if is_failing { Ok(false) } else { self.erase(block) }?;
        if !erased {
            self.blocks.book(block, BlockState::Dead, 0);
            return self.mtd.mark_bad(block).map_err(FsError::from);
        }
        self.blocks.book(block, BlockState::Empty, 0);
        let entry = self.blocks.block_mut(block);
        entry.has_shrink_header = false;
        entry.has_summary = false;
        entry.is_known_blank = true;
        entry.is_suspect = false;
        Ok(())
    }

    /// Erase a block. Returns whether that succeeded.
    pub(super) fn erase(&mut self, block: u32) -> Result<bool, FsError> {
        match self.mtd.erase(block) {
            Ok(()) => Ok(true),
            Err(MtdError::PowerLost) => Err(FsError::PowerLost),
            Err(MtdError::EraseFailed(_) | MtdError::ProgramFailed(_)) => Ok(false),
        }
    }
}

/// Object number in the tags of summaries.
pub(super) const SUMMARY_OBJECT: u32 = 0x10;
