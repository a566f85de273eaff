//! Replay: a mount derives the index entries again that were in RAM alone, from the rows that no
//! run has.
//!
//! 1. Moved rows come before new ones. A row that is moved lay before the flush mark, so whatever
//!    replaced it since came later. The tail comes last.

use flysch_nand::Nand;

use super::{Db, DbError};
use crate::media::{Page, Space};
use crate::record::{
    BlockSummary, PART_SPACES, Position, ROW_SPACES, Rows, is_void, read_page, tail_page,
};
use crate::row::RowView;

impl<'s, N: Nand> Db<'_, 's, N> {
    /// Put the entries of the rows that no run has into the memory table again: those of the pages
    /// from the flush marks up to `heads`, then those of the tail. Cost: one read for each page.
    #[inline(never)]
    pub(super) fn replay(&mut self, heads: [u32; ROW_SPACES.len()]) -> Result<(), DbError> {
        debug_assert!(self.store.held() == 0, "entries are put into an empty table");
        let pages = ROW_SPACES.into_iter().zip(heads);
        for (space, number) in pages.clone().filter(|(space, _)| *space == Space::Cold) {
            self.replay_pages(Page { space, number })?;
        }
        for (space, number) in pages.filter(|(space, _)| *space != Space::Cold) {
            self.replay_pages(Page { space, number })?;
        }
        for space in PART_SPACES {
            let mut place = 0;
            while place < self.records.tail.len_of(space) {
                place = self.replay_tail(space, place)?;
            }
        }
        self.store.commit();
        Ok(())
    }

    /// Put the entries of the row at a place of the tail's part; returns the place of the next row.
    pub(super) fn replay_tail(&mut self, space: Space, place: usize) -> Result<usize, DbError> {
        let (at, layout) = (tail_page(&self.media, space), self.media.layout());
        let pointer = Position { page: at, cell: layout.place(place).0 as u32 }.pointer(layout);
        let (from, to) = self.records.tail.find(space, place).ok_or(DbError::Unknown)?;
        debug_assert!(from < to, "a row has bytes, so that a replay ends");
        self.replay_entries(pointer, &|db| {
            Ok(RowView::parse(db.schema, &db.records.tail.rows()[from..to], 0)?)
        })?;
        Ok(place + to - from)
    }

    /// Put the entries of the pages of a space from its flush mark up to `head`.
    fn replay_pages(&mut self, head: Page) -> Result<(), DbError> {
        let numbers = self.media.numbers();
        let mut number = self.records.stream(head.space).mark;
        let mut block = (numbers.block_count(), None);
        while number != head.number {
            let at = Page { number, ..head };
            number = numbers.advance(number, 1);
            let name = numbers.block_of(at.number);
            if block.0 != name {
                let summary = BlockSummary::read(&mut self.media, (at.space, name), self.frame)?;
                block = (name, summary);
            }
            if is_void(&mut self.media, at, block.1.as_ref()) {
                continue;
            }
            let (stretch, _) = read_page(&mut self.media, at, self.frame)?;
            let len = stretch.bytes().len();
            let mut rows = 0;
            while let Some(row) = Rows::from(&self.frame[..len], rows).next_front() {
                rows = self.replay_row(at, rows, row)?;
            }
        }
        Ok(())
    }

    /// Put the entries of the row at a place of the frame; returns the place of the next row.
    pub(super) fn replay_row(
        &mut self,
        at: Page,
        place: usize,
        (from, to): (usize, usize),
    ) -> Result<usize, DbError> {
        let layout = self.media.layout();
        let pointer = Position { page: at, cell: layout.place(place).0 as u32 }.pointer(layout);
        let len = self.replay_entries(pointer, &|db| {
            Ok(RowView::parse_front(db.schema, &db.frame[from..to], 0)?)
        })?;
        Ok(place + len)
    }

    /// Put the entries of a row into the memory table, where `view` brings it to hand for each of
    /// them; returns the row's bytes.
    fn replay_entries(
        &mut self,
        pointer: u32,
        view: &dyn for<'v> Fn(&'v Self) -> Result<RowView<'v, 's>, DbError>,
    ) -> Result<usize, DbError> {
        let RowView { table, head, row_len, .. } = view(self)?;
        for (number, index) in (0..).zip(table.indexes_of(head.kind)) {
            let digest = view(self)?.digest(index, &self.key)?;
            self.put_digest(head, number, digest, pointer)?;
        }
        Ok(row_len)
    }
}
