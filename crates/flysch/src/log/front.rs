//! The front of a root's checkpoint: facts about the database, and where its log begins.
//!
//! ```text
//! "flysch" 6 | salt 4 | identity 4 | first block 4 | blocks 4 | root blocks 1 + 2 each
//! ordinal 4 | list 1 + 2 each | flags and pages ahead 1 | description 2 + bytes
//! ```
//!
//! 1. Every root describes the schema, so that a program with another one is told what differs. A
//!    mount with the same schema passes over the description.

use flysch_nand::Nand;

use super::body::NUMBER_MAX;
use super::stream::{Sink, Source, StreamError};
use super::table::pages_ahead;
use crate::bytes::array;
use crate::media::{Media, MediaError};
use crate::row::{Difference, Schema};

/// Greatest number of root blocks of a device.
pub(crate) const CELLS_MAX: usize = 8;
/// Greatest number of log blocks of a list.
pub(crate) const LIST_MAX: usize = 16;

pub(super) const MAGIC: [u8; 6] = *b"flysch";

/// Whether no block is named twice. A mount would look at such a block again and again.
pub(super) fn are_distinct(blocks: &[u16]) -> bool {
    blocks.iter().enumerate().all(|(at, block)| !blocks[..at].contains(block))
}

/// A list of log blocks. The block at place `n` has the ordinal `ordinal + n` among all blocks that
/// the log ever had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct List {
    pub(crate) ordinal: u32,
    pub(crate) blocks: [u16; LIST_MAX],
    pub(crate) len: u8,
}

impl List {
    pub(crate) const NONE: Self = Self { ordinal: 0, blocks: [0; LIST_MAX], len: 0 };
    /// Bytes of a list in a root or a name page.
    pub(super) const SIZE: usize = 4 + 1 + 2 * LIST_MAX;

    pub(crate) fn as_slice(&self) -> &[u16] {
        &self.blocks[..usize::from(self.len)]
    }

    pub(super) fn emit(&self) -> [u8; Self::SIZE] {
        let is_list = (1..=LIST_MAX).contains(&usize::from(self.len));
        debug_assert!(is_list, "a mount refuses other lists");
        let mut bytes = [0; Self::SIZE];
        bytes[..4].copy_from_slice(&self.ordinal.to_le_bytes());
        bytes[4] = self.len;
        for (to, block) in bytes[5..].chunks_exact_mut(2).zip(self.blocks) {
            to.copy_from_slice(&block.to_le_bytes());
        }
        bytes
    }

    pub(super) fn parse(bytes: &[u8; Self::SIZE], block_count: u32) -> Option<Self> {
        let ordinal = u32::from_le_bytes(array(&bytes[..4]));
        let mut list = Self { ordinal, len: bytes[4], ..Self::NONE };
        for (block, from) in list.blocks.iter_mut().zip(bytes[5..].chunks_exact(2)) {
            *block = u16::from_le_bytes(array(from));
        }
        let is_sane = (1..=LIST_MAX).contains(&usize::from(list.len))
            && ordinal <= NUMBER_MAX
            && are_distinct(list.as_slice())
            && list.as_slice().iter().all(|&block| u32::from(block) < block_count);
        is_sane.then_some(list)
    }
}

/// The root blocks of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cells {
    pub(crate) blocks: [u16; CELLS_MAX],
    pub(crate) len: u8,
}

impl Cells {
    /// No root block.
    pub(crate) const NONE: Self = Self { blocks: [0; CELLS_MAX], len: 0 };

    pub(crate) fn as_slice(&self) -> &[u16] {
        &self.blocks[..usize::from(self.len)]
    }

    pub(crate) fn has(&self, block: u16) -> bool {
        self.as_slice().contains(&block)
    }

    pub(crate) fn push(&mut self, block: u16) {
        self.blocks[usize::from(self.len)] = block;
        self.len += 1;
    }

    /// The blocks that are not among `others`.
    pub(crate) fn without(&self, others: &Self) -> Self {
        let mut left = Self::NONE;
        for &block in self.as_slice().iter().filter(|&&block| !others.has(block)) {
            left.push(block);
        }
        left
    }
}

/// The front of a root's checkpoint: facts about the database, and where its log begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Front {
    pub(crate) salt: u32,
    /// A digest of the schema and the options.
    pub(crate) identity: u32,
    pub(crate) first: u32,
    pub(crate) count: u32,
    pub(crate) cells: Cells,
    /// Blocks that are leaving, besides the root blocks.
    pub(crate) leaving: Cells,
    /// Whether anchors name the root blocks.
    pub(crate) is_anchored: bool,
    pub(crate) list: List,
    /// Whether a body with the state follows.
    pub(crate) has_state: bool,
    /// Pages of the block table ahead of the first record of a log block.
    pub(crate) ahead: u8,
    /// Bytes of the schema's description, which follows; None in versions that had none.
    pub(crate) described: Option<u16>,
}

/// Flag in the last byte of a front: a description of the schema follows.
const DESCRIBED: u8 = 0x80;
/// Bytes of the description's length.
pub(super) const LEN_SIZE: usize = 2;

/// Bytes of a front without the description.
pub(super) const FRONT_SIZE: usize = 6 + 4 + 4 + 4 + 4 + 1 + 2 * CELLS_MAX + List::SIZE + 1;

impl Front {
    /// A front that is to be read.
    pub(super) const NONE: Self = Self {
        salt: 0,
        identity: 0,
        first: 0,
        count: 0,
        cells: Cells::NONE,
        leaving: Cells::NONE,
        is_anchored: false,
        list: List::NONE,
        has_state: false,
        ahead: 0,
        described: None,
    };

    fn emit(&self) -> [u8; FRONT_SIZE] {
        let mut bytes = [0; FRONT_SIZE];
        debug_assert!(self.cells.len >= 2, "one root is there while another is written");
        debug_assert!(self.ahead < DESCRIBED >> 1, "six bits have the number of pages");
        bytes[..6].copy_from_slice(&MAGIC);
        let words = [self.salt, self.identity, self.first, self.count];
        for (to, word) in bytes[6..22].chunks_exact_mut(4).zip(words) {
            to.copy_from_slice(&word.to_le_bytes());
        }
        bytes[22] = self.cells.len | self.leaving.len << 4 | u8::from(self.is_anchored) << 7;
        let blocks = self.cells.as_slice().iter().chain(self.leaving.as_slice());
        for (to, block) in bytes[23..].chunks_exact_mut(2).zip(blocks) {
            to.copy_from_slice(&block.to_le_bytes());
        }
        let at = 23 + 2 * CELLS_MAX;
        bytes[at..at + List::SIZE].copy_from_slice(&self.list.emit());
        bytes[at + List::SIZE] = u8::from(self.has_state) | self.ahead << 1 | DESCRIBED;
        bytes
    }

    /// Write the front, and the description of the schema.
    pub(crate) fn put<N: Nand>(
        &self,
        schema: &Schema<'_>,
        sink: &mut Sink<'_>,
        media: &mut Media<'_, N>,
    ) -> Result<(), MediaError> {
        sink.put(media, &self.emit())?;
        let len = self.described.unwrap_or(0);
        debug_assert!(usize::from(len) == schema.description_size(), "all of it follows");
        sink.put(media, &len.to_le_bytes())?;
        let mut done = Ok(());
        schema.describe(&mut |_, bytes| {
            done = sink.put(media, bytes);
            done.is_ok()
        });
        done
    }

    fn parse(bytes: &[u8; FRONT_SIZE + LEN_SIZE], block_count: u32) -> Option<Self> {
        let word = |at: usize| u32::from_le_bytes(array(&bytes[at..at + 4]));
        let (cell_count, leaving_count) = (bytes[22] & 15, bytes[22] >> 4 & 7);
        if usize::from(cell_count + leaving_count) > CELLS_MAX {
            return None;
        }
        let (mut cells, mut leaving, mut named) = (Cells::NONE, Cells::NONE, Cells::NONE);
        let count = usize::from(cell_count + leaving_count);
        for (at, from) in bytes[23..].chunks_exact(2).take(count).enumerate() {
            let is_cell = at < usize::from(cell_count);
            let cells = if is_cell { &mut cells } else { &mut leaving };
            let block = u16::from_le_bytes(array(from));
            cells.push(block);
            named.push(block);
        }
        let at = 23 + 2 * CELLS_MAX;
        let is_described = bytes[at + List::SIZE] & DESCRIBED != 0;
        let front = Self {
            salt: word(6),
            identity: word(10),
            first: word(14),
            count: word(18),
            cells,
            leaving,
            is_anchored: bytes[22] >> 7 == 1,
            list: List::parse(&array(&bytes[at..at + List::SIZE]), block_count)?,
            has_state: bytes[at + List::SIZE] & 1 == 1,
            ahead: (bytes[at + List::SIZE] & !DESCRIBED) >> 1,
            described: is_described.then(|| u16::from_le_bytes(array(&bytes[FRONT_SIZE..]))),
        };
        // Versions 1 and 2 had eight root blocks, which did not move.
        let moves = front.is_anchored || leaving.len > 0;
        let is_sane = bytes[..6] == MAGIC
            && cells.len >= 2
            && (!moves || usize::from(cells.len) <= CELLS_MAX / 2)
            && are_distinct(named.as_slice())
            && named.as_slice().iter().all(|&block| u32::from(block) < block_count);
        is_sane.then_some(front)
    }

    /// The front in the first page of a checkpoint; None where the page is none.
    pub(super) fn on<N: Nand>(media: &Media<'_, N>, frame: &[u8]) -> Option<Self> {
        let mut bytes = [0; FRONT_SIZE + LEN_SIZE];
        media.layout().take(frame, 0, &mut bytes);
        Self::parse(&bytes, media.table.len())
    }

    /// Read the front of a root's checkpoint. The reader then stands at the description, or at the
    /// body where there is none.
    pub(crate) fn read<N: Nand>(
        reader: &mut dyn Source<N>,
        media: &mut Media<'_, N>,
    ) -> Result<Self, StreamError> {
        let mut bytes = [0; FRONT_SIZE + LEN_SIZE];
        let (front, len) = bytes.split_at_mut(FRONT_SIZE);
        reader.take(media, front)?;
        if front[FRONT_SIZE - 1] & DESCRIBED != 0 {
            reader.take(media, len)?;
        }
        let front = Self::parse(&bytes, media.table.len()).ok_or(StreamError::Broken)?;
        // Only roots of version 1 have another number, 0.
        let is_sane = front.ahead == 0 || front.ahead == pages_ahead(media);
        if is_sane { Ok(front) } else { Err(StreamError::Broken) }
    }

    /// Pass over the front, which was read before, and the description. The reader then stands at
    /// the body.
    pub(super) fn pass<N: Nand>(
        &self,
        reader: &mut dyn Source<N>,
        media: &mut Media<'_, N>,
    ) -> Result<(), StreamError> {
        let behind = self.described.map_or(0, |described| LEN_SIZE + usize::from(described));
        reader.skip(media, FRONT_SIZE + behind)
    }

    /// What differs between a schema and that of the database. The reader stands at the
    /// description.
    pub(super) fn compare<N: Nand>(
        &self,
        schema: &Schema<'_>,
        reader: &mut dyn Source<N>,
        media: &mut Media<'_, N>,
    ) -> Result<Difference, StreamError> {
        if self.described.is_none() {
            return Ok(Difference::Untold);
        }
        let mut found = Ok(Difference::Options);
        schema.describe(&mut |part, bytes| {
            for piece in bytes.chunks(16) {
                let mut other = [0; 16];
                let other = &mut other[..piece.len()];
                match reader.take(media, other) {
                    Ok(()) if other == piece => {}
                    Ok(()) => found = Ok(part),
                    Err(error) => found = Err(error),
                }
            }
            found == Ok(Difference::Options)
        });
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(blocks: &[u16]) -> Cells {
        let mut cells = Cells::NONE;
        for &block in blocks {
            cells.push(block);
        }
        cells
    }

    fn is_read(cells: Cells, leaving: Cells, list: List) -> bool {
        let front = Front { cells, leaving, list, ..Front::NONE };
        let mut bytes = [0; FRONT_SIZE + LEN_SIZE];
        bytes[..FRONT_SIZE].copy_from_slice(&front.emit());
        Front::parse(&bytes, 64).is_some()
    }

    #[test]
    fn a_front_names_no_block_twice() {
        let list = List { len: 2, blocks: core::array::from_fn(|at| 9 + at as u16), ordinal: 7 };
        let (roots, leaving) = (cells(&[2, 3, 4, 5]), cells(&[6, 7]));
        assert!(is_read(roots, leaving, list));
        assert!(!is_read(cells(&[2, 3, 4, 3]), leaving, list), "a root block");
        assert!(!is_read(roots, cells(&[6, 6]), list), "a block that leaves");
        assert!(!is_read(roots, cells(&[6, 4]), list), "a root block that leaves");
        let twice = List { blocks: [9; LIST_MAX], ..list };
        assert!(!is_read(roots, leaving, twice), "a log block");
    }
}
