//! One block of cells, and the rules by which the cells change.

use std::collections::BTreeMap;
use std::ops::Range;

use flysch_nand::{Geometry, is_erased};

use crate::Prng;

/// Value of a byte whose cells are erased.
pub(crate) const ERASED: u8 = 0xFF;

/// The cells of a block, and the state that is needed to check the rules.
///
/// Invariant: the cells of a page that is not `written` are erased, whatever `cells` holds for it.
/// An erase therefore changes no cell, and a block keeps its memory.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    /// The pages one after the other, each with its data and then its OOB bytes, up to the last one
    /// that was ever written.
    cells: Vec<u8>,
    pages: Vec<PageState>,
    /// Number of bit errors by page and sector. They stay until the page is erased.
    flaws: BTreeMap<(u32, u32), u16>,
    /// Number of the page after the last one that was programmed since the erase.
    frontier: u32,
    erase_count: u32,
    /// Whether the last erase was interrupted and reached only some pages.
    half_erased: bool,
    bad: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct PageState {
    /// A bit for each sector that was programmed since the erase.
    sectors: u32,
    programs: u8,
    /// Whether some cell of the page may not be erased.
    written: bool,
    /// Whether the page was loaded from an image. A program that breaks a rule on such a page is
    /// not a bug of the storage stack, which may have relied on wrong marks in the image.
    found: bool,
}

/// The bytes of a program: data from a column on, and the first OOB bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bytes<'a> {
    pub(crate) page: u32,
    pub(crate) column: usize,
    pub(crate) data: &'a [u8],
    pub(crate) oob: &'a [u8],
}

impl Block {
    pub(crate) fn blank(geometry: &Geometry, erase_count: u32) -> Self {
        let pages = vec![PageState::default(); geometry.pages_per_block as usize];
        let flaws = BTreeMap::new();
        let (half_erased, bad) = (false, false);
        Self { cells: Vec::new(), pages, flaws, frontier: 0, erase_count, half_erased, bad }
    }

    /// A block whose cells come from an image. Pages and sectors that are not blank count as
    /// programmed once.
    pub(crate) fn of_cells(geometry: &Geometry, cells: Vec<u8>) -> Self {
        let mut block = Self::blank(geometry, 0);
        block.cells = cells;
        for page in 0..geometry.pages_per_block {
            let cells = &block.cells[page_range(geometry, page)];
            let (data, oob) = cells.split_at(geometry.page_size as usize);
            let sectors = sectors_changed(geometry, 0, data);
            let written = sectors != 0 || !is_erased(oob);
            block.pages[page as usize] =
                PageState { sectors, programs: u8::from(written), written, found: written };
            if written {
                block.frontier = page + 1;
            }
        }
        block.bad =
            block.page(geometry, 0).is_some_and(|cells| cells[mark_column(geometry)] != ERASED);
        block
    }

    pub(crate) const fn wear_in(&mut self, erase_count: u32) {
        self.erase_count = erase_count;
    }

    pub(crate) const fn erase_count(&self) -> u32 {
        self.erase_count
    }

    pub(crate) const fn is_half_erased(&self) -> bool {
        self.half_erased
    }

    pub(crate) const fn is_bad(&self) -> bool {
        self.bad
    }

    /// The cells of a page, data and then OOB. `None` while all of them are erased.
    pub(crate) fn page(&self, geometry: &Geometry, page: u32) -> Option<&[u8]> {
        let state = self.pages[page as usize];
        state.written.then(|| &self.cells[page_range(geometry, page)])
    }

    pub(crate) fn read(&self, geometry: &Geometry, page: u32, column: usize, out: &mut [u8]) {
        match self.page(geometry, page) {
            Some(cells) => out.copy_from_slice(&cells[column..column + out.len()]),
            None => out.fill(ERASED),
        }
    }

    /// The sectors of `page` that have bit errors, each with their number.
    pub(crate) fn flaws(&self, page: u32) -> impl Iterator<Item = (u32, u16)> {
        let range = (page, 0)..(page + 1, 0);
        let found = (!self.flaws.is_empty()).then(|| self.flaws.range(range));
        found.into_iter().flatten().map(|((_, sector), errors)| (*sector, *errors))
    }

    /// Give a sector this many bit errors until it is erased. If it has more already, it keeps
    /// them.
    pub(crate) fn flaw(&mut self, page: u32, sector: u32, errors: u16) {
        if errors > 0 {
            let flaw = self.flaws.entry((page, sector)).or_default();
            *flaw = errors.max(*flaw);
        }
    }

    /// Check that a program of `bytes` breaks no rule. Panics if it does.
    pub(crate) fn check_program(&self, geometry: &Geometry, bytes: Bytes<'_>) {
        let Bytes { page, column, data, oob } = bytes;
        assert!(!self.bad, "program of page {page} of a bad block");
        assert!(
            !geometry.in_order || page + 1 >= self.frontier || self.is_found(self.frontier - 1),
            "page {page} is programmed after a later page of its block"
        );
        let state = self.pages[page as usize];
        let sectors = sector_mask(geometry, column, data.len());
        assert!(
            state.found || state.sectors & sectors == 0,
            "program of a programmed sector of page {page}"
        );
        assert!(
            state.found || u32::from(state.programs) < geometry.partial_programs,
            "page {page} is programmed more than {} times",
            geometry.partial_programs
        );
        assert!(oob.len() <= geometry.oob_size as usize, "OOB data longer than the OOB area");
        assert!(
            page > 0 || oob.first().is_none_or(|&mark| mark == ERASED),
            "OOB byte 0 of a block's first page is its bad-block mark: leave it 0xFF"
        );
    }

    /// The sectors that a program of `bytes` spoils, as a bit mask: those that are already
    /// programmed in a page from an image.
    pub(crate) fn spoiled_sectors(&self, geometry: &Geometry, bytes: Bytes<'_>) -> u32 {
        let state = self.pages[bytes.page as usize];
        let sectors = sector_mask(geometry, bytes.column, bytes.data.len());
        if u32::from(state.programs) < geometry.partial_programs {
            state.sectors & sectors
        } else {
            state.sectors
        }
    }

    fn is_found(&self, page: u32) -> bool {
        self.pages[page as usize].found
    }

    /// Program `bytes`, which have been checked.
    pub(crate) fn program(&mut self, geometry: &Geometry, bytes: Bytes<'_>) {
        let sectors = sector_mask(geometry, bytes.column, bytes.data.len());
        self.lay(geometry, bytes);
        self.count_program(bytes.page, sectors);
    }

    /// Program only the first `len` of `bytes`, which have been checked. Data comes before OOB.
    /// Returns the sectors that have changed, as a bit mask. Only these count as programmed.
    pub(crate) fn program_prefix(
        &mut self,
        geometry: &Geometry,
        bytes: Bytes<'_>,
        len: usize,
    ) -> u32 {
        let data = &bytes.data[..len.min(bytes.data.len())];
        let oob = &bytes.oob[..len - data.len()];
        let sectors = sectors_changed(geometry, bytes.column, data);
        if sectors != 0 || !is_erased(oob) {
            self.lay(geometry, Bytes { data, oob, ..bytes });
            self.count_program(bytes.page, sectors);
        }
        sectors
    }

    /// Count a program of `bytes`, which have been checked, without changing any cell.
    pub(crate) fn spend(&mut self, geometry: &Geometry, bytes: Bytes<'_>) {
        let sectors = sector_mask(geometry, bytes.column, bytes.data.len());
        self.count_program(bytes.page, sectors);
    }

    pub(crate) fn erase(&mut self) {
        self.pages.fill(PageState::default());
        self.flaws.clear();
        self.half_erased = false;
        self.frontier = 0;
        self.erase_count += 1;
    }

    /// Erase the pages for which `is_reached` returns true. The others keep their cells.
    pub(crate) fn erase_pages(&mut self, mut is_reached: impl FnMut(u32) -> bool) {
        self.frontier = 0;
        self.half_erased = true;
        self.erase_count += 1;
        for (page, state) in (0..).zip(&mut self.pages) {
            if is_reached(page) {
                *state = PageState::default();
                self.flaws.retain(|(flawed, _), _| *flawed != page);
            } else if state.programs > 0 {
                self.frontier = page + 1;
            }
        }
    }

    /// Clear the first OOB byte of the block's first page, which is where makers put the bad-block
    /// mark.
    pub(crate) fn mark_bad(&mut self, geometry: &Geometry) {
        let column = geometry.page_size as usize;
        self.lay(geometry, Bytes { page: 0, column, data: &[], oob: &[0] });
        self.bad = true;
    }

    /// The sectors of `page` that were programmed since the erase, as a bit mask.
    pub(crate) fn programmed_sectors(&self, page: u32) -> u32 {
        self.pages[page as usize].sectors
    }

    fn count_program(&mut self, page: u32, sectors: u32) {
        let state = &mut self.pages[page as usize];
        state.programs = state.programs.saturating_add(1);
        state.sectors |= sectors;
        self.frontier = self.frontier.max(page + 1);
    }

    /// Clear the bits of a page that are 0 in `bytes`.
    fn lay(&mut self, geometry: &Geometry, bytes: Bytes<'_>) {
        let Bytes { page, column, data, oob } = bytes;
        let written = std::mem::replace(&mut self.pages[page as usize].written, true);
        let range = page_range(geometry, page);
        if self.cells.len() < range.end {
            self.append(geometry, bytes);
            return;
        }
        let cells = &mut self.cells[range];
        let (page_cells, oob_cells) = cells.split_at_mut(geometry.page_size as usize);
        if written {
            clear_bits(&mut page_cells[column..], data);
            clear_bits(oob_cells, oob);
        } else {
            lay_on_erased(page_cells, column, data);
            lay_on_erased(oob_cells, 0, oob);
        }
    }

    /// Add a page behind those that were ever written.
    fn append(&mut self, geometry: &Geometry, bytes: Bytes<'_>) {
        let Bytes { page, column, data, oob } = bytes;
        let Range { start, end } = page_range(geometry, page);
        let cells = &mut self.cells;
        cells.reserve_exact(self.pages.len() * (end - start) - cells.len());
        cells.resize(start + column, ERASED);
        cells.extend_from_slice(data);
        cells.resize(start + geometry.page_size as usize, ERASED);
        cells.extend_from_slice(oob);
        cells.resize(end, ERASED);
    }
}

fn clear_bits(cells: &mut [u8], bytes: &[u8]) {
    for (cell, byte) in cells.iter_mut().zip(bytes) {
        *cell &= byte;
    }
}

/// Set `cells` to `bytes` at `column`, and to erased elsewhere.
fn lay_on_erased(cells: &mut [u8], column: usize, bytes: &[u8]) {
    let end = column + bytes.len();
    cells[..column].fill(ERASED);
    cells[column..end].copy_from_slice(bytes);
    cells[end..].fill(ERASED);
}

/// Column of the bad-block mark in a page.
const fn mark_column(geometry: &Geometry) -> usize {
    geometry.page_size as usize
}

fn page_range(geometry: &Geometry, page: u32) -> Range<usize> {
    let len = (geometry.page_size + geometry.oob_size) as usize;
    let start = page as usize * len;
    start..start + len
}

/// The sectors that `len` bytes at `column` cover, as a bit mask. They must cover whole sectors.
fn sector_mask(geometry: &Geometry, column: usize, len: usize) -> u32 {
    if len == 0 {
        return 0;
    }
    let size = geometry.sector_size() as usize;
    assert!(
        column.is_multiple_of(size) && len.is_multiple_of(size),
        "a program begins and ends on a sector boundary: column {column}, {len} bytes"
    );
    assert!(column + len <= geometry.page_size as usize, "program past the page's data");
    let mask = u32::MAX >> (u32::BITS as usize - len / size);
    mask << (column / size)
}

/// The sectors in which `data` clears a bit, as a bit mask. `column` must be the start of a sector.
fn sectors_changed(geometry: &Geometry, column: usize, data: &[u8]) -> u32 {
    let size = geometry.sector_size() as usize;
    let changed = data.chunks(size).map(|sector| u32::from(!is_erased(sector)));
    let mask = changed.zip(0..).fold(0, |mask, (bit, place)| mask | (bit << place));
    // Without data, `column` may lie within a sector or beyond the last one.
    if mask == 0 { 0 } else { mask << (column / size) }
}

/// Flip the bad bits of a sector, as far as they lie in `bytes`. `start` is the offset of `bytes`
/// in the sector. The same seed flips the same bits, whichever part of the sector is read.
pub(crate) fn flip_bits(seed: u64, count: u16, sector_size: u32, start: i64, bytes: &mut [u8]) {
    let mut prng = Prng::new(seed);
    for _ in 0..count {
        let bit = prng.below(u64::from(sector_size) * 8);
        let place = i64::try_from(bit / 8).expect("within the sector") - start;
        let byte = usize::try_from(place).ok().and_then(|place| bytes.get_mut(place));
        if let Some(byte) = byte {
            *byte ^= 1 << (bit % 8);
        }
    }
}
