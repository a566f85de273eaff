//! Reading rows back: some cells of a page become one stretch of bytes.

use flysch_nand::Nand;

use super::position::Position;
use super::tail::{Rows, Tail, table_of};
use crate::bytes::array;
use crate::media::{
    CELL_DATA, CELL_SIZE, HEADER_SIZE, Header, Kind, Layout, Media, MediaError, Page, Space, first,
};

/// Cells that are read for a position. Rows that end in the second of them are complete.
const CELLS_READ: u32 = 2;

/// Rows that begin in one cell, or on one page, as they lie in a frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stretch<'a> {
    /// The bytes from the first row on.
    bytes: &'a [u8],
    /// Rows that begin at this byte or behind it are of later cells.
    end: usize,
    /// The commit of the page, relative to which the rows give theirs; 0 where the page's header
    /// was not read.
    pub(crate) base: u32,
    /// A bit for each table whose rows are meant. In the tail rows of other tables lie between
    /// them.
    tables: u16,
}

impl<'a> Stretch<'a> {
    pub(crate) const NONE: Self = Self { bytes: &[], end: 0, base: 0, tables: u16::MAX };

    /// The bytes from the first row on.
    pub(crate) const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    pub(crate) const fn new(bytes: &'a [u8], base: u32) -> Self {
        Self { bytes, end: bytes.len(), base, tables: u16::MAX }
    }

    /// The rows of the tail's part that goes to a space.
    pub(crate) fn of_tail(tail: &'a Tail<'_>, space: Space) -> Self {
        Self { tables: tail.tables_of(space), ..Self::new(tail.rows(), tail.base()) }
    }

    /// The rows of the tail that will begin in a cell of the page which their part becomes.
    pub(crate) fn of_cell(tail: &'a Tail<'_>, (space, cell): (Space, u32), layout: Layout) -> Self {
        let (mut rows, mut place) = (tail.part(space), 0);
        let (mut start, mut end) = (None, 0);
        while let Some((at, row)) = rows.next() {
            let lies = layout.place(place).0 as u32;
            if lies == cell {
                (start, end) = (start.or(Some(at)), at + row.len());
            }
            place += row.len();
        }
        let Some(start) = start else { return Self::NONE };
        let bytes = &tail.rows()[start..end];
        Self { tables: tail.tables_of(space), ..Self::new(bytes, tail.base()) }
    }

    /// The rows in the order in which they were appended. Of a row that is longer than a page, the
    /// bytes on its first page.
    pub(crate) fn rows(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let (mut rows, end, bytes) = (Rows::new(self.bytes), self.end, self.bytes);
        let tables = self.tables;
        let all = core::iter::from_fn(move || {
            if rows.at() >= end {
                return None;
            }
            let at = rows.at();
            if let Some((_, row)) = rows.next() {
                return Some(row);
            }
            rows = Rows::from(bytes, bytes.len());
            bytes.get(at..).filter(|rest| crate::row::row_len(rest).is_ok())
        });
        all.filter(move |row| {
            tables == u16::MAX || table_of(row).is_some_and(|table| tables >> table & 1 != 0)
        })
    }

    /// Whether all rows that begin in the cell are here in full.
    fn is_whole(&self) -> bool {
        let mut rows = Rows::new(self.bytes);
        while rows.at() < self.end {
            if rows.next().is_none() {
                // A row of length 0 ends the rows of the page.
                return self.bytes.get(rows.at()).is_none_or(|&len| len == 0);
            }
        }
        true
    }
}

/// Which cells of a page a frame holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cells {
    page: Page,
    first: u32,
    count: u32,
}

impl Cells {
    /// Read the rows that begin in a cell. `frame` holds a page. Where cells of the same page were
    /// read just before, the rest of the page is read, as more of its rows are likely to follow;
    /// all of the page where the cell lies before those: newer rows are often asked for first.
    /// `is_dated` asks for the commits of the rows as well. Cost: one read; two where a row goes on
    /// behind the next cell.
    pub(crate) fn read<N: Nand>(
        media: &mut Media<'_, N>,
        at: Position,
        (before, is_dated): (Option<Self>, bool),
        frame: &mut [u8],
    ) -> Result<Self, MediaError> {
        let before = before.filter(|before| before.page == at.page);
        let descends = before.is_some_and(|before| at.cell < before.first);
        // Commits of rows are relative to one in the page's header, which lies in the first cell.
        let first = if is_dated || descends { 0 } else { at.cell };
        let rest = media.layout().cells - first;
        let follows = before.is_some();
        let some = if follows { rest } else { (at.cell - first + CELLS_READ).min(rest) };
        let cells = Self { page: at.page, first, count: some };
        read(media, at.page, first, some, frame)?;
        if some == rest || cells.rows(frame, at).is_whole() {
            return Ok(cells);
        }
        read(media, at.page, first, rest, frame)?;
        Ok(Self { count: rest, ..cells })
    }

    /// Whether the frame holds all rows that begin in this cell, and with `is_dated` the page's
    /// header.
    pub(crate) fn hold(&self, frame: &[u8], at: Position, is_dated: bool) -> bool {
        let within =
            self.page == at.page && (self.first..self.first + self.count).contains(&at.cell);
        within
            && (self.first == 0 || !is_dated)
            && (at.cell == self.first || self.rows(frame, at).is_whole())
    }

    /// The rows that begin in a cell.
    pub(crate) fn rows<'f>(&self, frame: &'f [u8], at: Position) -> Stretch<'f> {
        let header = if self.first == 0 { Header::parse(frame).ok() } else { None };
        let base = header.map_or(0, |header| header.commit);
        let len = self.count as usize * CELL_DATA;
        let begins = usize::from(u16::from_le_bytes(array(&frame[len..len + 2])));
        let data = &frame[..len];
        let mut rows = Rows::from(data, begins.max(if self.first == 0 { HEADER_SIZE } else { 0 }));
        let start = (at.cell - self.first) as usize * CELL_DATA;
        while rows.at() < start {
            if rows.next().is_none() {
                return Stretch::NONE;
            }
        }
        let from = rows.at();
        match data.get(from..) {
            Some(bytes) if from < start + CELL_DATA => {
                Stretch { bytes, end: start + CELL_DATA - from, base, tables: u16::MAX }
            }
            _ => Stretch::NONE,
        }
    }
}

/// Read all rows of a page. Cost: one read.
pub(crate) fn read_page<'f, N: Nand>(
    media: &mut Media<'_, N>,
    page: Page,
    frame: &'f mut [u8],
) -> Result<(Stretch<'f>, Header), MediaError> {
    let layout = media.layout();
    media.read(page, 0, frame)?;
    let header = Header::parse(frame).map_err(|_| MediaError::Missing(page))?;
    let used = if header.kind == Kind::Rows { usize::from(header.used) } else { 0 };
    let len = unpack(frame, 0, layout.cells);
    let bytes = &frame[..len.min(used)];
    Ok((Stretch::new(bytes, header.commit), header))
}

/// Read cells of a page, and join them so that rows lie in one stretch. Cost: one read.
fn read<N: Nand>(
    media: &mut Media<'_, N>,
    page: Page,
    cell: u32,
    count: u32,
    frame: &mut [u8],
) -> Result<(), MediaError> {
    let bytes = &mut frame[..count as usize * CELL_SIZE];
    media.read(page, cell as usize, bytes)?;
    join(bytes);
    Ok(())
}

/// Move the data of cells together, and note behind it where the first row begins in it.
fn join(cells: &mut [u8]) {
    let begins = first_row(cells).map_or(u16::MAX, |place| place as u16);
    let len = unpack_all(cells);
    cells[len..len + 2].copy_from_slice(&begins.to_le_bytes());
}

/// Where the first row begins in the data of these cells; None where none begins in any of them. It
/// need not be the first cell: an entry from an earlier use of the block may name one in which no
/// row begins.
fn first_row(cells: &[u8]) -> Option<usize> {
    let mut cells = (0..).zip(cells.chunks_exact(CELL_SIZE));
    cells.find_map(|(cell, bytes)| Some(cell * CELL_DATA + first(bytes)?))
}

/// Spread the `len` bytes of payload at the beginning of the frame over the cells of a page.
pub(super) fn spread(frame: &mut [u8], layout: Layout, len: usize) {
    debug_assert!(len <= layout.payload_size(), "the payload fits the page");
    frame[len..].fill(0);
    for cell in (0..layout.cells as usize).rev() {
        let from = layout.cell_start(cell);
        let to = cell * CELL_SIZE + if cell == 0 { HEADER_SIZE } else { 0 };
        let end = cell * CELL_SIZE + CELL_DATA;
        frame.copy_within(from..from + end - to, to);
        frame[end..(cell + 1) * CELL_SIZE].fill(0xFF);
    }
    frame[..HEADER_SIZE].fill(0);
}

/// Move the payload of a page together at the beginning of its frame.
pub(super) fn gather(frame: &mut [u8], layout: Layout) {
    unpack(frame, 0, layout.cells);
}

/// Move the data of cells together; returns their number of bytes.
fn unpack_all(bytes: &mut [u8]) -> usize {
    let count = bytes.len() / CELL_SIZE;
    for cell in 1..count {
        bytes.copy_within(cell * CELL_SIZE..cell * CELL_SIZE + CELL_DATA, cell * CELL_DATA);
    }
    count * CELL_DATA
}

/// Move the payload of whole cells to the beginning of the frame; returns its number of bytes.
fn unpack(frame: &mut [u8], cell: u32, cells: u32) -> usize {
    debug_assert_eq!(cell, 0, "a page begins with its header");
    let len = unpack_all(&mut frame[..cells as usize * CELL_SIZE]);
    frame.copy_within(HEADER_SIZE..len, 0);
    len - HEADER_SIZE
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::media::{clear, note_first};

    /// An entry from an earlier use of a block named a cell in which no row begins any more. The
    /// cells that were read from there on were then taken for empty, and current rows left out.
    #[test]
    fn rows_are_found_behind_a_cell_in_which_none_begins() {
        let mut frame = [0; 3 * CELL_SIZE];
        clear(&mut frame);
        let second = &mut frame[CELL_SIZE..2 * CELL_SIZE];
        (second[40], second[140]) = (99, 9);
        note_first(second, 40);
        join(&mut frame);
        let page = Page { space: Space::Hot, number: 3 };
        let cells = Cells { page, first: 5, count: 3 };
        let at = |cell| Position { page, cell };
        let found = [5, 6, 7].map(|cell| cells.rows(&frame, at(cell)).rows().count());
        assert_eq!(found, [0, 2, 0]);
        assert!(cells.hold(&frame, at(6), false), "nothing is read again");
    }
}
