//! Reading rows back: part of a page, laid out as one stretch of bytes.

use flysch_nand::Nand;

use super::position::Position;
use super::tail::Rows;
use crate::media::{
    CELL_DATA, CELL_SIZE, HEADER_SIZE, Header, Kind, Layout, Media, MediaError, Page, first,
};

/// Cells that are read for a position: rows that end in the cell behind their first are whole.
const CELLS_READ: u32 = 2;

/// Rows that begin in one cell, or on one page, in a frame that was read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stretch<'a> {
    /// The bytes from the first row on.
    bytes: &'a [u8],
    /// Rows that begin behind this byte belong to later cells.
    end: usize,
    /// The commit against which the rows tell theirs; 0 where the page's header was not read.
    pub(crate) base: u32,
}

impl<'a> Stretch<'a> {
    /// No rows.
    pub(crate) const NONE: Self = Self { bytes: &[], end: 0, base: 0 };

    /// The bytes from the first row on.
    pub(crate) const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Rows in RAM.
    pub(crate) const fn new(bytes: &'a [u8], base: u32) -> Self {
        Self { bytes, end: bytes.len(), base }
    }

    /// The rows of a tail that begin in one cell of the page that it becomes.
    pub(crate) fn of_cell(tail: &'a [u8], base: u32, layout: Layout, cell: u32) -> Self {
        let mut rows = Rows::new(tail);
        let lies = |at: usize| layout.place(at).0 as u32;
        while rows.at() < tail.len() && lies(rows.at()) < cell {
            if rows.next().is_none() {
                return Self::NONE;
            }
        }
        let start = rows.at();
        let mut end = start;
        while end < tail.len() && lies(end) == cell && rows.next().is_some() {
            end = rows.at();
        }
        Self { bytes: &tail[start..end], end: end - start, base }
    }

    /// The rows, in the order in which they were appended. A row that is longer than a page comes
    /// as far as it lies on its first one.
    pub(crate) fn rows(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let (mut rows, end, bytes) = (Rows::new(self.bytes), self.end, self.bytes);
        core::iter::from_fn(move || {
            if rows.at() >= end {
                return None;
            }
            let at = rows.at();
            if let Some((_, row)) = rows.next() {
                return Some(row);
            }
            rows = Rows::from(bytes, bytes.len());
            bytes.get(at..).filter(|rest| crate::row::row_len(rest).is_ok())
        })
    }

    /// Whether every row that begins in the cell is here whole.
    fn is_whole(&self) -> bool {
        let mut rows = Rows::new(self.bytes);
        while rows.at() < self.end {
            if rows.next().is_none() {
                // Where no row begins the page's rows have ended.
                return self.bytes.get(rows.at()).is_none_or(|&len| len == 0);
            }
        }
        true
    }
}

/// Read the rows that begin in a cell. Cost: one read; two where a row goes on behind the next
/// cell. `frame` holds a page.
pub(crate) fn read_cell<'f, N: Nand>(
    media: &mut Media<'_, N>,
    at: Position,
    frame: &'f mut [u8],
) -> Result<Stretch<'f>, MediaError> {
    let cells = media.layout().cells;
    let some = CELLS_READ.min(cells - at.cell);
    let len = read(media, at.page, at.cell, some, frame)?;
    if cut(&frame[..len], at.cell, some).is_whole() || some == cells - at.cell {
        return Ok(cut(&frame[..len], at.cell, some));
    }
    let rest = cells - at.cell;
    let len = read(media, at.page, at.cell, rest, frame)?;
    Ok(cut(&frame[..len], at.cell, rest))
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

/// Read cells of a page, and lay their data out as one stretch behind the first `first` field.
fn read<N: Nand>(
    media: &mut Media<'_, N>,
    page: Page,
    cell: u32,
    count: u32,
    frame: &mut [u8],
) -> Result<usize, MediaError> {
    let bytes = &mut frame[..count as usize * CELL_SIZE];
    media.read(page, cell as usize, bytes)?;
    // The place of the first row is kept in the two bytes that follow the data.
    let begins = first(&bytes[..CELL_SIZE]).map_or(u16::MAX, |place| place as u16);
    let len = unpack_all(bytes);
    bytes[len..len + 2].copy_from_slice(&begins.to_le_bytes());
    Ok(len + 2)
}

/// The rows of what [`read`] left in the frame.
fn cut(frame: &[u8], cell: u32, count: u32) -> Stretch<'_> {
    let len = frame.len() - 2;
    let begins = usize::from(u16::from_le_bytes([frame[len], frame[len + 1]]));
    let from = begins.max(if cell == 0 { HEADER_SIZE } else { 0 });
    debug_assert!(len == count as usize * CELL_DATA, "each cell gave its data");
    match frame[..len].get(from..) {
        Some(bytes) if from < CELL_DATA => Stretch { bytes, end: CELL_DATA - from, base: 0 },
        _ => Stretch::NONE,
    }
}

/// Move the data of cells together; give their bytes.
fn unpack_all(bytes: &mut [u8]) -> usize {
    let count = bytes.len() / CELL_SIZE;
    for cell in 1..count {
        bytes.copy_within(cell * CELL_SIZE..cell * CELL_SIZE + CELL_DATA, cell * CELL_DATA);
    }
    count * CELL_DATA
}

/// Move the payload of a whole page to the front of its frame; give its bytes.
fn unpack(frame: &mut [u8], cell: u32, cells: u32) -> usize {
    debug_assert_eq!(cell, 0, "a page begins with its header");
    let len = unpack_all(&mut frame[..cells as usize * CELL_SIZE]);
    frame.copy_within(HEADER_SIZE..len, 0);
    len - HEADER_SIZE
}
