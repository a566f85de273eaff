//! A cache of cells between the engine and its chip: reads that return are not made twice.
//!
//! The engine needs none. Where a program has memory to spare, lookups in large indexes find there
//! the cells that many of them pass. [`Cache`] is a chip itself, so a database on it knows nothing
//! of it.
//!
//! 1. A cell of the cache is what the chip gave in a read that succeeded, and nothing was
//!    programmed or erased there since.
//! 2. Programs and erases go through at once: a power cut takes nothing with it.

use flysch_nand::{
    BlockAddr, Ecc, EraseError, Geometry, Nand, PageAddr, PowerLost, ProgramError, ReadError,
};

use crate::bytes::array;

/// Bytes of a cell.
const CELL: usize = 512;
/// Bytes in front of each cached cell: the cell's number, and when it was used last.
const FRONT: usize = 8;
/// Places among which a cell may lie: the cache is set-associative.
const WAYS: usize = 4;
/// Bytes of one set.
const SET: usize = WAYS * (FRONT + CELL);
/// The number in a place that is empty.
const NONE: u32 = u32::MAX;

/// A chip with a cache of the cells that were read from it. RAM: the memory given, of which 98 %
/// hold cells.
#[derive(Debug)]
pub struct Cache<'m, N> {
    nand: N,
    memory: &'m mut [u8],
    /// Cells of a page.
    cells: u32,
    /// Number of uses so far. The page used longest ago is replaced.
    clock: u32,
}

impl<'m, N: Nand> Cache<'m, N> {
    /// Cache cells of a chip in this memory: 2,080 bytes for each four of them. Cost: none.
    pub fn new(nand: N, memory: &'m mut [u8]) -> Self {
        let cells = nand.geometry().page_size / CELL as u32;
        let mut cache = Self { nand, memory, cells, clock: 0 };
        for place in 0..cache.set_count() * WAYS {
            cache.set_front(place, (NONE, 0));
        }
        cache
    }

    /// The chip below the cache.
    pub const fn nand(&self) -> &N {
        &self.nand
    }

    /// Give the chip back. Cost: none.
    pub fn into_nand(self) -> N {
        self.nand
    }

    const fn set_count(&self) -> usize {
        self.memory.len() / SET
    }

    /// The places where a cell may lie; none where there is no memory.
    fn places(&self, cell: u32) -> core::ops::Range<usize> {
        let count = self.set_count();
        if count == 0 {
            return 0..0;
        }
        // Neighbours come to different sets, and so do the same pages of different blocks.
        let mixed = u64::from(cell).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        let set = ((mixed * count as u64) >> 32) as usize;
        set * WAYS..(set + 1) * WAYS
    }

    /// The number of the cell at a place, and when it was used last.
    fn front(&self, place: usize) -> (u32, u32) {
        let bytes = &self.memory[place * (FRONT + CELL)..][..FRONT];
        (u32::from_le_bytes(array(&bytes[..4])), u32::from_le_bytes(array(&bytes[4..])))
    }

    fn set_front(&mut self, place: usize, (cell, used): (u32, u32)) {
        let bytes = &mut self.memory[place * (FRONT + CELL)..][..FRONT];
        bytes[..4].copy_from_slice(&cell.to_le_bytes());
        bytes[4..].copy_from_slice(&used.to_le_bytes());
    }

    fn find(&self, cell: u32) -> Option<usize> {
        self.places(cell).find(|&place| self.front(place).0 == cell)
    }

    /// Cache a cell in place of the one of its set that was not used for longest.
    fn keep(&mut self, cell: u32, bytes: &[u8]) {
        debug_assert_eq!(bytes.len(), CELL, "a cell is kept whole");
        let clock = self.tick();
        let age = |place: usize| {
            let (cell, used) = self.front(place);
            if cell == NONE { u32::MAX } else { clock.wrapping_sub(used) }
        };
        let known = self.find(cell).or_else(|| self.places(cell).max_by_key(|&place| age(place)));
        let Some(place) = known else { return };
        self.set_front(place, (cell, clock));
        self.memory[place * (FRONT + CELL) + FRONT..][..CELL].copy_from_slice(bytes);
    }

    /// Copy cells from the cache; false where one of them is not cached.
    fn take(&mut self, first: u32, bytes: &mut [u8]) -> bool {
        let cells = || (first..).zip(0..bytes.len() / CELL);
        if !cells().all(|(cell, _)| self.find(cell).is_some()) {
            return false;
        }
        for (cell, at) in cells() {
            let Some(place) = self.find(cell) else { return false };
            let clock = self.tick();
            self.set_front(place, (cell, clock));
            let kept = &self.memory[place * (FRONT + CELL) + FRONT..][..CELL];
            bytes[at * CELL..][..CELL].copy_from_slice(kept);
        }
        true
    }

    /// Forget the cells of a page.
    fn forget(&mut self, page: PageAddr) {
        for cell in page.0 * self.cells..(page.0 + 1) * self.cells {
            if let Some(place) = self.find(cell) {
                self.set_front(place, (NONE, 0));
            }
        }
    }

    const fn tick(&mut self) -> u32 {
        self.clock = self.clock.wrapping_add(1);
        self.clock
    }
}

impl<N: Nand> Nand for Cache<'_, N> {
    fn geometry(&self) -> Geometry {
        self.nand.geometry()
    }

    fn read(&mut self, page: PageAddr, column: u32, bytes: &mut [u8]) -> Result<Ecc, ReadError> {
        let end = column as usize + bytes.len();
        let is_whole = (column as usize).is_multiple_of(CELL) && bytes.len().is_multiple_of(CELL);
        if !is_whole || end > self.cells as usize * CELL {
            return self.nand.read(page, column, bytes);
        }
        let first = page.0 * self.cells + column / CELL as u32;
        if self.take(first, bytes) {
            return Ok(Ecc::Clean);
        }
        let read = self.nand.read(page, column, bytes)?;
        for (cell, bytes) in (first..).zip(bytes.chunks_exact(CELL)) {
            self.keep(cell, bytes);
        }
        Ok(read)
    }

    fn program(
        &mut self,
        page: PageAddr,
        column: u32,
        data: &[u8],
        oob: &[u8],
    ) -> Result<(), ProgramError> {
        self.forget(page);
        self.nand.program(page, column, data, oob)
    }

    fn erase(&mut self, block: BlockAddr) -> Result<(), EraseError> {
        let pages = self.nand.geometry().pages_per_block;
        (block.0 * pages..(block.0 + 1) * pages).for_each(|page| self.forget(PageAddr(page)));
        self.nand.erase(block)
    }

    fn is_bad(&mut self, block: BlockAddr) -> Result<bool, PowerLost> {
        self.nand.is_bad(block)
    }

    fn mark_bad(&mut self, block: BlockAddr) -> Result<(), PowerLost> {
        self.nand.mark_bad(block)
    }
}
