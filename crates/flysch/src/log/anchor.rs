//! Anchors: two fixed blocks that name the root blocks, because root blocks move.
//!
//! ```text
//! anchor block | anchor | the same again |
//! anchor       "flysch" 6 | salt 4 | anchors 2 each | root blocks 1 + 2 each
//! ```
//!
//! 1. An anchor has the epoch of the root that was in force when it was written. Its block is
//!    erased for that, so it is always the block that does not name the root blocks in use.
//! 2. Where its second page is visible, the first one was whole before.

use flysch_nand::Nand;

use super::body::NUMBER_MAX;
use super::front::{CELLS_MAX, Cells, MAGIC, are_distinct};
use super::root::{CANDIDATES, NAME};
use crate::bytes::array;
use crate::media::{CELL_DATA, HEADER_SIZE, Header, Kind, Label, Media, MediaError, Sight, clear};

/// Number of anchor blocks.
pub(super) const ANCHORS: usize = 2;
/// Pages of an anchor block, which all have the same content.
pub(super) const COPIES: u32 = 2;
/// Root blocks move only on partitions with at least so many blocks. On smaller ones each root
/// block is a large part of all blocks.
const BLOCKS_LEAST: u32 = 64;

const SIZE: usize = 6 + 4 + 2 * ANCHORS + 1 + 2 * CELLS_MAX;
const _: () = assert!(SIZE <= CELL_DATA - HEADER_SIZE, "an anchor fits the smallest page");

/// The content of an anchor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Anchor {
    pub(super) block: u16,
    /// The epoch of the root in force when it was written.
    pub(super) epoch: u32,
    /// The database's salt, which its roots tell as well.
    pub(super) salt: u32,
    pub(super) anchors: [u16; ANCHORS],
    pub(super) cells: Cells,
}

/// Whether root blocks move on a partition of so many blocks.
pub(super) const fn has_anchors(blocks: u32) -> bool {
    blocks >= BLOCKS_LEAST
}

/// Number of roots from one move of root blocks to the next. In two moves each anchor is erased
/// once. A root block is erased some `MOVE / 2` times before it is left, while each root comes with
/// three erases of other blocks.
pub(super) fn roots_of_a_move(blocks: u32) -> u32 {
    (blocks / 4).clamp(64, 512)
}

impl Anchor {
    fn emit(&self) -> [u8; SIZE] {
        let count = usize::from(self.cells.len);
        debug_assert!((2..=CELLS_MAX / 2).contains(&count), "a root has room for two such sets");
        let mut bytes = [0; SIZE];
        bytes[..6].copy_from_slice(&MAGIC);
        bytes[6..10].copy_from_slice(&self.salt.to_le_bytes());
        let cells = 10 + 2 * ANCHORS;
        for (to, block) in bytes[10..cells].chunks_exact_mut(2).zip(self.anchors) {
            to.copy_from_slice(&block.to_le_bytes());
        }
        bytes[cells] = self.cells.len;
        for (to, block) in bytes[cells + 1..].chunks_exact_mut(2).zip(self.cells.as_slice()) {
            to.copy_from_slice(&block.to_le_bytes());
        }
        bytes
    }

    fn parse(bytes: &[u8; SIZE], header: &Header, block: u32, block_count: u32) -> Option<Self> {
        let half = |at: usize| u16::from_le_bytes(array(&bytes[at..at + 2]));
        let anchors = core::array::from_fn(|at| half(10 + 2 * at));
        let mut cells = Cells { len: bytes[10 + 2 * ANCHORS], ..Cells::NONE };
        for (at, cell) in cells.blocks.iter_mut().enumerate() {
            *cell = half(11 + 2 * ANCHORS + 2 * at);
        }
        let is_sane = bytes[..6] == MAGIC
            && header.kind == Kind::Anchor
            && header.commit <= NUMBER_MAX
            && (2..=CELLS_MAX / 2).contains(&usize::from(cells.len))
            && are_distinct(cells.as_slice())
            && !anchors.iter().any(|&anchor| cells.has(anchor))
            && anchors.iter().chain(cells.as_slice()).all(|&b| u32::from(b) < block_count);
        let salt = u32::from_le_bytes(array(&bytes[6..10]));
        is_sane.then_some(Self { block: block as u16, epoch: header.commit, salt, anchors, cells })
    }

    /// The anchor on a page; None where none is visible there. Cost: one read.
    pub(super) fn look_at<N: Nand>(
        media: &mut Media<'_, N>,
        (block, page): (u32, u32),
        frame: &mut [u8],
    ) -> Result<Option<Self>, MediaError> {
        let Sight::Page(header) = media.look(block, page, NAME, frame)? else { return Ok(None) };
        Ok(Self::on(media, &header, block, frame))
    }

    /// The anchor on a page that was read; None where the page is none.
    pub(super) fn on<N: Nand>(
        media: &Media<'_, N>,
        header: &Header,
        block: u32,
        frame: &[u8],
    ) -> Option<Self> {
        let mut bytes = [0; SIZE];
        media.layout().take(frame, 0, &mut bytes);
        Self::parse(&bytes, header, block, media.table.len())
    }

    /// The anchor on a block; None where none is visible. Cost: one read, one more where the first
    /// page shows none.
    pub(super) fn look<N: Nand>(
        media: &mut Media<'_, N>,
        block: u32,
        frame: &mut [u8],
    ) -> Result<Option<Self>, MediaError> {
        for page in 0..COPIES {
            let seen = Self::look_at(media, (block, page), frame)?;
            if seen.is_some() {
                return Ok(seen);
            }
        }
        Ok(None)
    }

    /// Whether the last page of the anchor is visible. Then the first one is whole, and every mount
    /// will see it. Cost: one read.
    pub(super) fn is_whole<N: Nand>(
        &self,
        media: &mut Media<'_, N>,
        frame: &mut [u8],
    ) -> Result<bool, MediaError> {
        let last = (u32::from(self.block), COPIES - 1);
        Ok(Self::look_at(media, last, frame)? == Some(*self))
    }

    /// Erase the block, and write the anchor; false where it failed. Cost: an erase, a program for
    /// each page.
    pub(super) fn write<N: Nand>(
        &self,
        media: &mut Media<'_, N>,
        frame: &mut [u8],
    ) -> Result<bool, MediaError> {
        let block = u32::from(self.block);
        if !media.erase_root(block)? {
            return Ok(false);
        }
        for page in 0..COPIES {
            match self.program(media, page, frame) {
                Err(MediaError::ProgramFailed(_)) => {
                    media.mark_bad(block)?;
                    return Ok(false);
                }
                programmed => programmed?,
            }
        }
        Ok(true)
    }

    /// Program a page of the anchor, whose block was erased. Cost: one program.
    pub(super) fn program<N: Nand>(
        &self,
        media: &mut Media<'_, N>,
        page: u32,
        frame: &mut [u8],
    ) -> Result<(), MediaError> {
        debug_assert!(page < COPIES, "an anchor has no other pages");
        debug_assert!(self.anchors.contains(&self.block), "a mount looks at the anchors alone");
        clear(frame);
        media.layout().put(frame, 0, &self.emit());
        let (used, commit) = (SIZE as u16, self.epoch);
        let label = Label { kind: Kind::Anchor, owner: 0, used, commit, rows: 0 };
        media.program(u32::from(self.block), page, NAME, label, frame)
    }
}

/// The visible anchors, the newest first.
pub(super) type Anchors = [Option<Anchor>; ANCHORS];

/// All anchors that are visible, on the blocks that the first one names and that are not marked
/// bad. Cost: up to three reads for each other one.
pub(super) fn look_at_all<N: Nand>(
    media: &mut Media<'_, N>,
    first: Anchor,
    frame: &mut [u8],
) -> Result<Anchors, MediaError> {
    let mut anchors = [None; ANCHORS];
    for (seen, &block) in anchors.iter_mut().zip(&first.anchors) {
        let is_own = first.block == block;
        let block = u32::from(block);
        if block >= CANDIDATES.min(media.table.len()) {
            continue;
        }
        if is_own {
            *seen = Some(first);
            continue;
        }
        let anchor = Anchor::look(media, block, frame)?;
        // Both name the same blocks and salt, or one is of another database.
        let is_alike = |other: &Anchor| (other.salt, other.anchors) == (first.salt, first.anchors);
        if anchor.as_ref().is_some_and(is_alike) && !media.is_bad(block)? {
            *seen = anchor;
        }
    }
    anchors.sort_unstable_by_key(|anchor| core::cmp::Reverse(anchor.map(|a| a.epoch)));
    Ok(anchors)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_read(anchors: [u16; ANCHORS], roots: [u16; 3]) -> bool {
        let mut cells = Cells::NONE;
        for block in roots {
            cells.push(block);
        }
        let anchor = Anchor { block: anchors[0], epoch: 7, salt: 1, anchors, cells };
        let (used, block, page, write, rows) = (0, 0, 0, 0, 0);
        let header =
            Header { kind: Kind::Anchor, owner: 0, used, block, page, write, commit: 7, rows };
        Anchor::parse(&anchor.emit(), &header, 0, 64) == Some(anchor)
    }

    #[test]
    fn an_anchor_names_no_block_twice() {
        assert!(is_read([0, 1], [2, 3, 4]));
        assert!(!is_read([0, 1], [2, 3, 2]), "a root block");
        assert!(!is_read([0, 1], [2, 1, 4]), "an anchor among the root blocks");
    }
}
