//! Pages and cells: where the payload lies, and how a seal proves which cell it is.
//!
//! ```text
//! page   | cell | cell | …                             one cell is 512 bytes
//! cell 0 | header 20 | payload 486 | first 2 | CRC-32 4 |
//! cell n | payload 506             | first 2 | CRC-32 4 |
//! ```
//!
//! 1. A cell can be read and checked alone. Its CRC-32 starts from a seed that names the device,
//!    the logical block, the page and the cell. So a cell that was read at the wrong place fails,
//!    and so does one that an earlier use of the block left behind.
//! 2. `first` is the offset in the cell of the first row that begins there; 0xFFFF where none does.
//! 3. A page is programmed whole, once.

use core::ops::Range;

use crate::bytes::{array, crc32};

/// Bytes of a cell on flash.
pub const CELL_SIZE: usize = 512;
/// Bytes of a cell before its `first` field and its seal.
pub const CELL_DATA: usize = 506;
/// Bytes of the page header, in the first cell.
pub const HEADER_SIZE: usize = 20;

const FIRST: Range<usize> = CELL_DATA..CELL_DATA + 2;
const SEAL_AT: usize = FIRST.end;
/// The `first` field of a cell in which no row begins.
const NONE_BEGINS: u16 = 0xFFFF;

/// The shape of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Number of cells.
    pub cells: u32,
    /// Bits of a position for its space: one, or two where there are rings.
    pub space_bits: u8,
}

impl Layout {
    /// The layout of pages of `page_size` bytes.
    pub const fn new(page_size: u32) -> Self {
        Self { cells: page_size / CELL_SIZE as u32, space_bits: 1 }
    }

    /// The same layout for a database with so many rings.
    #[must_use]
    pub const fn with_rings(self, rings: usize) -> Self {
        Self { space_bits: if rings > 0 { 2 } else { 1 }, ..self }
    }

    /// Bytes of a page on flash.
    pub const fn page_size(self) -> usize {
        self.cells as usize * CELL_SIZE
    }

    /// Bytes of payload on a page.
    pub const fn payload_size(self) -> usize {
        self.cells as usize * CELL_DATA - HEADER_SIZE
    }

    /// The cell in which byte `at` of the payload lies, and the byte within the cell.
    pub const fn place(self, at: usize) -> (usize, usize) {
        debug_assert!(at <= self.payload_size(), "the byte is on the page");
        let at = at + HEADER_SIZE;
        (at / CELL_DATA, at % CELL_DATA)
    }

    /// The byte of the payload with which a cell begins.
    pub const fn cell_start(self, cell: usize) -> usize {
        debug_assert!(cell <= self.cells as usize, "the cell is on the page");
        (cell * CELL_DATA).saturating_sub(HEADER_SIZE)
    }

    /// The payload of a cell, in a frame that holds a whole page.
    pub fn cell(self, frame: &[u8], cell: usize) -> &[u8] {
        debug_assert!(cell < self.cells as usize, "the cell is on the page");
        let from = if cell == 0 { HEADER_SIZE } else { 0 };
        &frame[cell * CELL_SIZE + from..cell * CELL_SIZE + CELL_DATA]
    }

    /// The payload of a cell, to be written.
    pub fn cell_mut(self, frame: &mut [u8], cell: usize) -> &mut [u8] {
        debug_assert!(cell < self.cells as usize, "the cell is on the page");
        let from = if cell == 0 { HEADER_SIZE } else { 0 };
        &mut frame[cell * CELL_SIZE + from..cell * CELL_SIZE + CELL_DATA]
    }

    /// Copy `bytes` into the payload of a frame, from byte `at` on.
    pub fn put(self, frame: &mut [u8], at: usize, bytes: &[u8]) {
        debug_assert!(at + bytes.len() <= self.payload_size(), "what is put fits the page");
        let (mut at, mut bytes) = (at, bytes);
        while !bytes.is_empty() {
            let (cell, place) = self.place(at);
            let len = bytes.len().min(CELL_DATA - place);
            frame[cell * CELL_SIZE + place..][..len].copy_from_slice(&bytes[..len]);
            at += len;
            bytes = &bytes[len..];
        }
    }

    /// Copy bytes of a frame's payload, from byte `at` on, to `out`.
    pub fn take(self, frame: &[u8], at: usize, out: &mut [u8]) {
        debug_assert!(at + out.len() <= self.payload_size(), "what is taken is on the page");
        let (mut at, mut out) = (at, out);
        while !out.is_empty() {
            let (cell, place) = self.place(at);
            let len = out.len().min(CELL_DATA - place);
            out[..len].copy_from_slice(&frame[cell * CELL_SIZE + place..][..len]);
            at += len;
            out = &mut out[len..];
        }
    }
}

/// Where in a cell the first row begins; None where none begins there.
pub(crate) fn first(cell: &[u8]) -> Option<usize> {
    let place = u16::from_le_bytes(array(&cell[FIRST]));
    (usize::from(place) < CELL_DATA).then_some(usize::from(place))
}

/// Note that a row begins at `place` of a cell, unless an earlier one was noted.
pub(crate) fn note_first(cell: &mut [u8], place: usize) {
    debug_assert!(place < CELL_DATA, "a row begins among the data");
    if first(cell).is_none() {
        cell[FIRST].copy_from_slice(&(place as u16).to_le_bytes());
    }
}

/// Clear a frame: no row begins in its cells, and its payload is zero.
pub(crate) fn clear(frame: &mut [u8]) {
    debug_assert!(frame.len().is_multiple_of(CELL_SIZE), "a frame is of whole cells");
    frame.fill(0);
    for cell in frame.chunks_exact_mut(CELL_SIZE) {
        cell[FIRST].copy_from_slice(&NONE_BEGINS.to_le_bytes());
    }
}

/// What a seal's checksum starts from: it names the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seed {
    pub(crate) salt: u32,
    /// The block's entry in the block table.
    pub(crate) code: u16,
    /// For a block without a number, which use of the block this is: the ordinal of a log block,
    /// else 0.
    pub(crate) life: u32,
    /// The page within the block.
    pub(crate) page: u16,
}

impl Seed {
    fn of_cell(self, cell: u32) -> u32 {
        let place = u64::from(self.salt) << 32 | u64::from(self.code) << 16 | u64::from(self.page);
        let turn = u64::from(self.life) << 16 | u64::from(cell);
        let name = place.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ place >> 29;
        let name = (name ^ turn).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        (name ^ name >> 32) as u32
    }
}

/// Write the seal of each cell of a frame.
pub(crate) fn seal(frame: &mut [u8], seed: Seed) {
    debug_assert!(frame.len().is_multiple_of(CELL_SIZE), "every cell gets a seal");
    for (number, cell) in (0..).zip(frame.chunks_exact_mut(CELL_SIZE)) {
        let crc = crc32(seed.of_cell(number), &cell[..SEAL_AT]);
        cell[SEAL_AT..].copy_from_slice(&crc.to_le_bytes());
    }
}

/// Whether all cells of `frame`, the first of which is cell `first_cell`, have valid seals.
pub(crate) fn is_sealed(frame: &[u8], seed: Seed, first_cell: u32) -> bool {
    debug_assert!(frame.len().is_multiple_of(CELL_SIZE), "every cell is checked");
    let mut cells = (first_cell..).zip(frame.chunks_exact(CELL_SIZE));
    cells.all(|(number, cell)| {
        let crc = crc32(seed.of_cell(number), &cell[..SEAL_AT]);
        cell[SEAL_AT..] == crc.to_le_bytes()
    })
}

/// Whether all bytes are those of erased cells.
pub(crate) fn is_blank(bytes: &[u8]) -> bool {
    bytes.iter().all(|&byte| byte == 0xFF)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payload_hops_over_the_seals() {
        let layout = Layout::new(2048);
        assert_eq!(layout.payload_size(), 2004);
        let mut frame = [0; 2048];
        clear(&mut frame);
        let bytes: [u8; 2004] = core::array::from_fn(|n| n as u8);
        layout.put(&mut frame, 0, &bytes);
        let mut back = [0; 2004];
        layout.take(&frame, 0, &mut back);
        assert_eq!(bytes, back);
        assert_eq!(layout.place(486), (1, 0));
        assert_eq!(layout.cell_start(1), 486);
        assert_eq!(layout.cell(&frame, 1)[0], bytes[486]);
        assert!(frame.chunks(512).all(|cell| first(cell).is_none()));
    }

    #[test]
    fn a_seal_names_its_place() {
        let mut frame = [7; 1024];
        let seed = Seed { salt: 9, code: 7, life: 0, page: 3 };
        seal(&mut frame, seed);
        assert!(is_sealed(&frame, seed, 0));
        assert!(is_sealed(&frame[512..], seed, 1));
        assert!(!is_sealed(&frame[512..], seed, 0), "a cell at another cell's place");
        assert!(!is_sealed(&frame, Seed { page: 4, ..seed }, 0), "a cell of another page");
        assert!(!is_sealed(&frame, Seed { code: 8, ..seed }, 0), "a cell of another block");
        assert!(!is_sealed(&frame, Seed { life: 1, ..seed }, 0), "a cell of another life");
        assert!(!is_sealed(&frame, Seed { salt: 8, ..seed }, 0), "a cell of another device");
        frame[100] ^= 1;
        assert!(!is_sealed(&frame, seed, 0), "a bit that changed");
        assert!(is_blank(&[0xFF; 16]));
    }
}
