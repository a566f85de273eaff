//! The block table ahead of a log block's first record.
//!
//! ```text
//! log block | table | table | … | checkpoint: the rest of the table, what changed since | record | …
//! ```
//!
//! 1. Pages that the table fills as a whole lie ahead. The rest of it is in the checkpoint.
//! 2. They are programmed at the commits before, one at a time. So a commit that begins a log block
//!    programs no more pages than another. The checkpoint has all changes since the first of these
//!    pages.
//! 3. They are believed where the checkpoint behind them is complete: it was programmed after them.

use flysch_nand::Nand;

use super::stream::{Gone, Place, StreamError};
use super::{Log, Use, name_of};
use crate::media::{ENTRY_SIZE, Kind, Label, Layout, Media, MediaError, Sight, clear};

/// Bytes of the block table on a page, in whole entries.
pub(super) const fn page_size(layout: Layout) -> usize {
    layout.payload_size() / ENTRY_SIZE * ENTRY_SIZE
}

/// Pages of the block table that lie ahead of a log block's first record.
pub(super) fn pages_ahead<N: Nand>(media: &Media<'_, N>) -> u8 {
    let pages = media.table.bytes().len() / page_size(media.layout());
    assert!(pages <= 0x7F, "a root has seven bits for their number");
    pages as u8
}

/// Number of blocks whose entries fit so many pages.
pub(super) fn blocks_ahead<N: Nand>(media: &Media<'_, N>, pages: u8) -> usize {
    usize::from(pages) * page_size(media.layout()) / ENTRY_SIZE
}

/// Load the parts of the block table from the pages ahead of the record at `place`. Cost: a read
/// for each.
#[inline(never)]
pub(super) fn read<N: Nand>(
    media: &mut Media<'_, N>,
    place: Place,
    frame: &mut [u8],
) -> Result<(), StreamError> {
    let ahead = u32::from(pages_ahead(media));
    debug_assert!(place.page == 0 || place.page == ahead, "the record is the first of its block");
    let size = page_size(media.layout());
    let blocks = size / ENTRY_SIZE;
    let mut bytes = [0; 32 * ENTRY_SIZE];
    for part in 0..place.page {
        let sight = media.look(place.block, part, place.name, frame)?;
        let is_part = matches!(sight, Sight::Page(header)
            if header.kind == Kind::Table && u32::from(header.owner) == part);
        if !is_part {
            return Err(StreamError::Gone(Gone::from(place)));
        }
        for from in (0..size).step_by(bytes.len()) {
            let some = &mut bytes[..(size - from).min(32 * ENTRY_SIZE)];
            media.layout().take(frame, from, some);
            let first = part as usize * blocks + from / ENTRY_SIZE;
            media.table.load(first, some).map_err(|()| StreamError::Broken)?;
        }
    }
    Ok(())
}

impl Log<'_> {
    /// The next log block, and its ordinal.
    pub(super) fn block_behind(&self) -> (u32, u32) {
        let (list, at) = match &self.next.list {
            Some(list) => (list, self.next.passed),
            None => (&self.list, self.at + 1 + self.next.passed),
        };
        assert!(at < list.len, "the next block is one of its list");
        (u32::from(list.blocks[usize::from(at)]), list.ordinal + u32::from(at))
    }

    /// Program the next page of the block table into the next log block. Cost: one program.
    pub(super) fn put_table<N: Nand>(
        &mut self,
        media: &mut Media<'_, N>,
        frame: &mut [u8],
    ) -> Result<(), MediaError> {
        assert!(self.next.is_erased, "the table goes into a block that is erased");
        debug_assert!(self.next.written < self.ahead, "a page of the table is left");
        let ((block, ordinal), part) = (self.block_behind(), self.next.written);
        let layout = media.layout();
        let size = page_size(layout);
        if part == 0 {
            media.changes.mark();
        }
        clear(frame);
        let from = usize::from(part) * size;
        layout.put(frame, 0, &media.table.bytes()[from..from + size]);
        let (used, commit) = (size as u16, self.number);
        let label = Label { kind: Kind::Table, owner: part, used, commit, rows: 0 };
        match media.program(block, u32::from(part), name_of(ordinal), label, frame) {
            Ok(()) => self.next.written += 1,
            Err(MediaError::ProgramFailed(_)) => {
                media.mark_bad(block)?;
                media.table.set(block, Use::Bad);
                self.pass_next();
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Have the next record begin the next log block, and keep no changes of the block table until
    /// then: an open transaction takes more blocks than a record can tell. What was programmed
    /// ahead of that record is older than these changes, so its block is erased again.
    pub(crate) fn outgrow<N: Nand>(&mut self, media: &mut Media<'_, N>) {
        self.end_block(media.geometry().pages_per_block);
        if self.next.written > 0 {
            (self.next.is_erased, self.next.written) = (false, 0);
        }
        media.changes.leave_to_table();
    }

    /// Leave out the next log block, as it cannot be used: the one after it takes its place, or
    /// another list is chosen.
    pub(super) fn pass_next(&mut self) {
        let next = &mut self.next;
        (next.passed, next.is_erased, next.written) = (next.passed + 1, false, 0);
        if next.list.is_some_and(|list| list.len == next.passed) {
            (next.list, next.is_named) = (None, false);
        }
    }
}
