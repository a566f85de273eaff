//! Moving rows in compaction: they are read where they lie, and put together on a new page.
//!
//! 1. A row is copied byte for byte. Only its prefix changes, which gives its commit relative to
//!    that of the page.
//! 2. Rows are read a cell or two at a time, because the only page of RAM is used for the new page.

use flysch_nand::Nand;

use super::page::{gather, spread};
use super::records::Records;
use crate::media::{
    CELL_DATA, CELL_SIZE, Header, Kind, Label, Media, MediaError, Page, Space, note_first,
};
use crate::record::Rows;
use crate::row::{RowView, Schema, Summary};

/// A page of rows that is read a few cells at a time.
pub(crate) struct Source<'a> {
    page: Page,
    /// Bytes of its payload that have rows.
    pub(crate) used: usize,
    /// The commit of the page, relative to which its rows give theirs.
    pub(crate) base: u32,
    /// The first cell that the buffer holds.
    cell: usize,
    buffer: &'a mut [u8],
}

impl<'a> Source<'a> {
    /// Begin to read a page. `buffer` has the size of one cell or more. Cost: one read.
    pub(crate) fn open<N: Nand>(
        media: &mut Media<'_, N>,
        page: Page,
        buffer: &'a mut [u8],
    ) -> Result<Self, MediaError> {
        let cells = (buffer.len() / CELL_SIZE).min(media.layout().cells as usize);
        let buffer = &mut buffer[..cells * CELL_SIZE];
        media.read(page, 0, buffer)?;
        let header = Header::parse(buffer).map_err(|_| MediaError::Missing(page))?;
        let used = if header.kind == Kind::Rows { usize::from(header.used) } else { 0 };
        Ok(Self { page, used, base: header.commit, cell: 0, buffer })
    }

    /// Copy bytes of the payload from `at` on. Cost: a read for each cell or two that the buffer
    /// does not hold.
    pub(crate) fn take<N: Nand>(
        &mut self,
        media: &mut Media<'_, N>,
        at: usize,
        out: &mut [u8],
    ) -> Result<(), MediaError> {
        let (mut at, mut out, layout) = (at, out, media.layout());
        if at + out.len() > layout.payload_size() {
            return Err(MediaError::Missing(self.page));
        }
        while !out.is_empty() {
            let (cell, place) = layout.place(at);
            let held = self.buffer.len() / CELL_SIZE;
            if !(self.cell..self.cell + held).contains(&cell) {
                let count = held.min(layout.cells as usize - cell);
                self.cell = usize::MAX / 2;
                media.read(self.page, cell, &mut self.buffer[..count * CELL_SIZE])?;
                // There are no cells behind the page's end, so the buffer is filled from an earlier
                // cell on.
                self.cell = cell;
            }
            let len = out.len().min(CELL_DATA - place);
            let from = (cell - self.cell) * CELL_SIZE + place;
            let (some, rest) = out.split_at_mut(len);
            some.copy_from_slice(&self.buffer[from..from + len]);
            (out, at) = (rest, at + len);
        }
        Ok(())
    }
}

impl Records<'_> {
    /// Program the rows at the beginning of the frame as a page of moved rows. Afterwards the frame
    /// holds them again. A summary that is due in the block is programmed first. Cost: one program,
    /// and one more for each that fails.
    pub(crate) fn program_moved<N: Nand>(
        &mut self,
        media: &mut Media<'_, N>,
        schema: &Schema<'_>,
        (len, commit): (usize, u32),
        frame: &mut [u8],
    ) -> Result<Page, MediaError> {
        let layout = media.layout();
        let mut summary = Summary::EMPTY;
        let mut rows = Rows::new(&frame[..len]);
        while let Some((_, row)) = rows.next() {
            if let Ok(view) = RowView::parse(schema, row, 0) {
                summary.add(view.head.table, view.zone().unwrap_or(None));
            }
        }
        assert!(rows.is_whole(), "rows that are moved are whole");
        spread(frame, layout, len);
        let mut at = 0;
        while at < len {
            let mut front = [0; crate::row::LEN_SIZE_MAX];
            let some = front.len().min(len - at);
            layout.take(frame, at, &mut front[..some]);
            let (cell, place) = layout.place(at);
            note_first(&mut frame[cell * CELL_SIZE..][..CELL_SIZE], place);
            at += crate::row::row_len(&front[..some]).unwrap_or(len);
        }
        let owner = (summary.tables | summary.tables >> 8) as u8;
        let label =
            Label { kind: Kind::Rows, owner, used: len as u16, commit, rows: summary.row_count };
        let page = loop {
            match media.append(Space::Cold, label, frame) {
                Ok(page) => break page,
                Err(MediaError::ProgramFailed(_)) => self.leave(Space::Cold),
                Err(error) => return Err(error),
            }
        };
        self.note(Space::Cold, &summary);
        gather(frame, layout);
        Ok(page)
    }

    /// Copy a row that is longer than a page: the `pages` pages from `from` on.
    pub(crate) fn move_long<N: Nand>(
        &mut self,
        media: &mut Media<'_, N>,
        (from, pages, table): (Page, u32, u8),
        frame: &mut [u8],
    ) -> Result<Page, MediaError> {
        self.program_long(media, (Space::Cold, pages, table), frame, |media, page, frame| {
            let at = Page { number: media.numbers().advance(from.number, page), ..from };
            media.read(at, 0, frame)?;
            let header = Header::parse(frame).map_err(|_| MediaError::Missing(at))?;
            let Header { kind, owner, used, commit, rows, .. } = header;
            Ok(Label { kind, owner, used, commit, rows })
        })
    }
}
