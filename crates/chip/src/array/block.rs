//! One block of cells, and the rules by which they change.

use std::collections::BTreeMap;
use std::ops::Range;

use flysch_nand::Geometry;

use crate::Prng;

/// The byte of an erased cell.
pub(crate) const ERASED: u8 = 0xFF;

/// The cells of a block with what the rules need to know of them.
///
/// Invariant: the cells of a page that is not `written` are erased, whatever `cells` holds there.
/// So an erase touches no cell, and a block keeps its memory.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    /// Pages one after another, each data then OOB; empty until the first program.
    cells: Vec<u8>,
    pages: Vec<PageState>,
    /// Bit errors that stay, by page and sector.
    flaws: BTreeMap<(u32, u32), u16>,
    /// One past the last page programmed since the erase.
    frontier: u32,
    erase_count: u32,
    bad: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct PageState {
    /// A bit for each sector programmed since the erase.
    sectors: u32,
    programs: u8,
    /// Whether a cell of the page may differ from an erased one.
    written: bool,
    /// Whether the page came from an image as it is: a program that breaks a rule on it is the
    /// image's fault, since a storage stack may have believed what the image says of itself.
    found: bool,
}

/// Bytes for a page: data at a column, and what goes to the start of its OOB area.
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
        Self { cells: Vec::new(), pages, flaws, frontier: 0, erase_count, bad: false }
    }

    /// Take cells as they were found. A page's programs and a sector's state follow from what is
    /// not erased: a page that differs counts as programmed once.
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

    pub(crate) const fn is_bad(&self) -> bool {
        self.bad
    }

    /// The cells of a page, data then OOB; none while all are erased.
    pub(crate) fn page(&self, geometry: &Geometry, page: u32) -> Option<&[u8]> {
        let state = self.pages[page as usize];
        state.written.then(|| &self.cells[page_range(geometry, page)])
    }

    /// Copy cells out.
    pub(crate) fn read(&self, geometry: &Geometry, page: u32, column: usize, out: &mut [u8]) {
        match self.page(geometry, page) {
            Some(cells) => out.copy_from_slice(&cells[column..column + out.len()]),
            None => out.fill(ERASED),
        }
    }

    /// The sectors of `page` with bit errors, and how many.
    pub(crate) fn flaws(&self, page: u32) -> impl Iterator<Item = (u32, u16)> {
        let range = (page, 0)..(page + 1, 0);
        let found = (!self.flaws.is_empty()).then(|| self.flaws.range(range));
        found.into_iter().flatten().map(|((_, sector), errors)| (*sector, *errors))
    }

    /// Give a sector bit errors until it is erased; those it has do not become fewer.
    pub(crate) fn flaw(&mut self, page: u32, sector: u32, errors: u16) {
        if errors > 0 {
            let flaw = self.flaws.entry((page, sector)).or_default();
            *flaw = errors.max(*flaw);
        }
    }

    /// Panic if a program of `bytes` breaks a rule.
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

    /// The sectors that a program of `bytes` spoils, a bit for each: those an image left programmed.
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

    /// Program `bytes`, which were checked.
    pub(crate) fn program(&mut self, geometry: &Geometry, bytes: Bytes<'_>) {
        let sectors = sector_mask(geometry, bytes.column, bytes.data.len());
        self.lay(geometry, bytes);
        self.count_program(bytes.page, sectors);
    }

    /// Program the first `len` of `bytes`, which were checked: data come before OOB. Give the
    /// sectors that have changed: they alone count as programmed.
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

    pub(crate) fn erase(&mut self) {
        self.pages.fill(PageState::default());
        self.flaws.clear();
        self.frontier = 0;
        self.erase_count += 1;
    }

    /// Erase the pages that `is_reached` tells; the others keep their cells.
    pub(crate) fn erase_pages(&mut self, mut is_reached: impl FnMut(u32) -> bool) {
        self.frontier = 0;
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

    /// The mark is a cleared first OOB byte in the block's first page, as makers set it.
    pub(crate) fn mark_bad(&mut self, geometry: &Geometry) {
        let column = geometry.page_size as usize;
        self.lay(geometry, Bytes { page: 0, column, data: &[], oob: &[0] });
        self.bad = true;
    }

    /// The sectors of `page` programmed since the erase, a bit for each.
    pub(crate) fn programmed_sectors(&self, page: u32) -> u32 {
        self.pages[page as usize].sectors
    }

    fn count_program(&mut self, page: u32, sectors: u32) {
        let state = &mut self.pages[page as usize];
        state.programs = state.programs.saturating_add(1);
        state.sectors |= sectors;
        self.frontier = self.frontier.max(page + 1);
    }

    /// Clear the bits of a page that are clear in `bytes`.
    fn lay(&mut self, geometry: &Geometry, bytes: Bytes<'_>) {
        let Bytes { page, column, data, oob } = bytes;
        if self.cells.is_empty() {
            let page_bytes = page_range(geometry, 0).len();
            self.cells = vec![0; page_bytes * self.pages.len()];
        }
        let cells = &mut self.cells[page_range(geometry, page)];
        let (page_cells, oob_cells) = cells.split_at_mut(geometry.page_size as usize);
        let written = std::mem::replace(&mut self.pages[page as usize].written, true);
        if written {
            clear_bits(&mut page_cells[column..], data);
            clear_bits(oob_cells, oob);
        } else {
            lay_on_erased(page_cells, column, data);
            lay_on_erased(oob_cells, 0, oob);
        }
    }
}

fn clear_bits(cells: &mut [u8], bytes: &[u8]) {
    for (cell, byte) in cells.iter_mut().zip(bytes) {
        *cell &= byte;
    }
}

/// Set all `cells`: `bytes` at `column`, the rest erased.
fn lay_on_erased(cells: &mut [u8], column: usize, bytes: &[u8]) {
    let end = column + bytes.len();
    cells[..column].fill(ERASED);
    cells[column..end].copy_from_slice(bytes);
    cells[end..].fill(ERASED);
}

/// The place of the bad-block mark in a page.
const fn mark_column(geometry: &Geometry) -> usize {
    geometry.page_size as usize
}

fn page_range(geometry: &Geometry, page: u32) -> Range<usize> {
    let len = (geometry.page_size + geometry.oob_size) as usize;
    let start = page as usize * len;
    start..start + len
}

pub(crate) fn is_erased(cells: &[u8]) -> bool {
    cells.iter().all(|&cell| cell == ERASED)
}

/// The sectors that `len` bytes at `column` cover, which they do from edge to edge.
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

/// The sectors in which `data` at `column`, a sector's edge, clears a bit.
fn sectors_changed(geometry: &Geometry, column: usize, data: &[u8]) -> u32 {
    let size = geometry.sector_size() as usize;
    let changed = data.chunks(size).map(|sector| u32::from(!is_erased(sector)));
    let mask = changed.zip(0..).fold(0, |mask, (bit, place)| mask | (bit << place));
    // Without data the column need not be a sector's: a shift by it could be too far.
    if mask == 0 { 0 } else { mask << (column / size) }
}

/// Flip those of a sector's bad bits that lie in `bytes`, which begin at `start` of the sector's
/// bytes. The same seed flips the same bits, however the sector is read.
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
