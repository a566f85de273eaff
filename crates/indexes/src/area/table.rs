//! The table of the blocks of several areas.

use flysch_nand::{BlockAddr, Nand, PageAddr};

use super::Extent;
use super::moved::{Kept, copy_pages};
use crate::flash::{Flash, FlashError, Tag};

/// The most areas that a structure may have.
const AREAS_MAX: usize = 12;

/// The areas of one structure, numbered from 0; on flash they are numbered from `first_id`.
#[derive(Debug)]
pub struct Areas<'ram> {
    /// Block numbers, two bytes each.
    pub(super) blocks: &'ram mut [u8],
    pub(super) first_id: u8,
    pub(super) count: u8,
    pub(super) extents: [Extent; AREAS_MAX],
    /// Number of blocks of each area.
    pub(super) lens: [u16; AREAS_MAX],
    /// How often the last block of each area was moved.
    pub(super) copies: [u8; AREAS_MAX],
}

/// The entry in the table for a block that has not been found.
pub(super) const MISSING: u16 = 0xFFFF;

impl<'ram> Areas<'ram> {
    /// Make a table of `count` empty areas in `ram`, which has two bytes for each block.
    pub(crate) fn new(ram: &'ram mut [u8], first_id: u8, count: u8) -> Self {
        assert!(usize::from(count) <= AREAS_MAX, "at most {AREAS_MAX} areas");
        let extents = [Extent::default(); AREAS_MAX];
        Self { blocks: ram, first_id, count, extents, lens: [0; AREAS_MAX], copies: [0; AREAS_MAX] }
    }

    /// The first block and the next page of an area.
    pub(crate) const fn extent(&self, area: usize) -> Extent {
        self.extents[area]
    }

    /// Number of blocks that all areas have together.
    pub(crate) fn block_count(&self) -> u32 {
        self.lens.iter().map(|&len| u32::from(len)).sum()
    }

    /// Whether the next append to `area` takes a block.
    pub(crate) fn needs_block<N: Nand>(&self, flash: &Flash<'_, N>, area: usize) -> bool {
        let Extent { head, tail } = self.extents[area];
        tail / flash.geometry().pages_per_block >= head + u32::from(self.lens[area])
    }

    /// The physical page of a logical page. None if its block was released or never existed.
    pub(crate) fn locate<N: Nand>(
        &self,
        flash: &Flash<'_, N>,
        area: usize,
        page: u32,
    ) -> Option<PageAddr> {
        let per_block = flash.geometry().pages_per_block;
        let place = (page / per_block).checked_sub(self.extents[area].head)?;
        if place >= u32::from(self.lens[area]) {
            return None;
        }
        let block = BlockAddr(u32::from(self.block(self.start(area) + place as usize)));
        Some(PageAddr(flash.geometry().first_page(block).0 + page % per_block))
    }

    /// The physical page that is appended next. If the last block is full, a new one is taken.
    pub(crate) fn open<N: Nand>(
        &mut self,
        flash: &mut Flash<'_, N>,
        area: usize,
    ) -> Result<PageAddr, FlashError> {
        if self.needs_block(flash, area) {
            self.check_room()?;
            let block = flash.take()?;
            self.insert(self.start(area) + usize::from(self.lens[area]), block.0 as u16);
            self.lens[area] += 1;
            self.copies[area] = 0;
        }
        let tail = self.extents[area].tail;
        Ok(self.locate(flash, area, tail).expect("the tail's block was just listed"))
    }

    /// Program the page that [`Areas::open`] returned. `data` is the page or its first sector.
    pub(crate) fn program<N: Nand>(
        &mut self,
        flash: &mut Flash<'_, N>,
        area: usize,
        data: &[u8],
        note: u64,
    ) -> Result<(), FlashError> {
        let page = self.open(flash, area)?;
        let logical = self.extents[area].tail;
        let id = self.first_id + area as u8;
        let tag = Tag { area: id, copy: self.copies[area], logical, note, data_crc: 0 };
        flash.program(page, data, tag)
    }

    /// Count the page that was programmed as appended. Returns its logical number.
    pub(crate) fn advance(&mut self, area: usize) -> u32 {
        let page = self.extents[area].tail;
        self.extents[area].tail += 1;
        page
    }

    /// Append a page of data. If the program fails, the earlier pages of the block are moved to
    /// another one, with the help of `spare`, a page, and the program is tried again.
    pub(crate) fn append<N: Nand>(
        &mut self,
        flash: &mut Flash<'_, N>,
        area: usize,
        data: &[u8],
        note: u64,
        spare: &mut [u8],
    ) -> Result<u32, FlashError> {
        loop {
            match self.program(flash, area, data, note) {
                Ok(()) => return Ok(self.advance(area)),
                Err(FlashError::ProgramFailed(_)) => self.relocate(flash, area, true, spare)?,
                Err(error) => return Err(error),
            }
        }
    }

    /// Append `count` pages that are programmed later, in any order. Returns the first.
    pub(crate) fn reserve<N: Nand>(
        &mut self,
        flash: &mut Flash<'_, N>,
        area: usize,
        count: u32,
    ) -> Result<u32, FlashError> {
        let first = self.extents[area].tail;
        for _ in 0..count {
            self.open(flash, area)?;
            self.advance(area);
        }
        Ok(first)
    }

    /// Program a sector of a reserved page. The first sector of a page carries the tag. If the
    /// program fails, the block is moved with the help of `spare`, a sector, and the program is
    /// tried again.
    pub(crate) fn write_sector<N: Nand>(
        &mut self,
        flash: &mut Flash<'_, N>,
        place: (usize, u32, u32),
        data: &[u8],
        note: u64,
        spare: &mut [u8],
    ) -> Result<(), FlashError> {
        loop {
            match self.program_sector(flash, place, data, note) {
                Err(FlashError::ProgramFailed(_)) => self.relocate_reserved(flash, place, spare)?,
                outcome => return outcome,
            }
        }
    }

    fn program_sector<N: Nand>(
        &self,
        flash: &mut Flash<'_, N>,
        (area, logical, column): (usize, u32, u32),
        data: &[u8],
        note: u64,
    ) -> Result<(), FlashError> {
        let page = self.locate(flash, area, logical).expect("the page was reserved");
        if column > 0 {
            return flash.program_part(page, column, data);
        }
        let area = self.first_id + area as u8;
        flash.program(page, data, Tag { area, copy: 0, logical, note, data_crc: 0 })
    }

    /// Remove the pages from `tail` on, and erase their blocks so that they are not found again.
    pub(crate) fn cut<N: Nand>(
        &mut self,
        flash: &mut Flash<'_, N>,
        area: usize,
        tail: u32,
        spare: &mut [u8],
    ) -> Result<(), FlashError> {
        let per_block = flash.geometry().pages_per_block;
        if tail / per_block < self.extents[area].head {
            // A page that should remain does not exist, so the image is damaged.
            return Err(FlashError::Corrupt(PageAddr(tail)));
        }
        self.extents[area].tail = tail;
        let kept = tail.div_ceil(per_block).saturating_sub(self.extents[area].head) as usize;
        while usize::from(self.lens[area]) > kept {
            let place = self.start(area) + usize::from(self.lens[area]) - 1;
            let block = BlockAddr(u32::from(self.block(place)));
            self.remove(place);
            self.lens[area] -= 1;
            flash.release(block);
            flash.wipe(block)?;
        }
        if self.needs_block(flash, area) {
            return Ok(());
        }
        self.relocate(flash, area, false, spare)
    }

    /// Remove pages that were found at a mount from the end of an area.
    pub(crate) const fn set_tail(&mut self, area: usize, tail: u32) {
        self.extents[area].tail = tail;
    }

    /// Release every block whose pages are all below `page`.
    pub(crate) fn trim<N: Nand>(&mut self, flash: &mut Flash<'_, N>, area: usize, page: u32) {
        let keep = page / flash.geometry().pages_per_block;
        while self.extents[area].head < keep && self.lens[area] > 0 {
            let place = self.start(area);
            flash.release(BlockAddr(u32::from(self.block(place))));
            self.remove(place);
            self.lens[area] -= 1;
            self.extents[area].head += 1;
        }
        if self.lens[area] == 0 {
            self.extents[area].head = self.extents[area].head.max(keep);
        }
    }

    /// Skip a page that an interrupted program may have changed.
    pub(crate) fn skip<N: Nand>(&mut self, flash: &Flash<'_, N>, area: usize) {
        let Extent { tail, .. } = self.extents[area];
        if !tail.is_multiple_of(flash.geometry().pages_per_block) {
            self.extents[area].tail = tail + 1;
        }
    }

    /// Move the pages of the last block to a new one, so that the next page can be programmed.
    /// `spare` is a page, or a sector if pages may be programmed in parts.
    pub(crate) fn relocate<N: Nand>(
        &mut self,
        flash: &mut Flash<'_, N>,
        area: usize,
        is_bad: bool,
        spare: &mut [u8],
    ) -> Result<(), FlashError> {
        let tail = self.extents[area].tail;
        let pages = tail % flash.geometry().pages_per_block;
        self.copies[area] = self.copies[area].wrapping_add(1);
        self.move_block(flash, (area, tail), Kept { pages, torn: None }, is_bad, spare)
    }

    /// Move a block after a program of a page failed at `column`. Sectors that were not programmed
    /// yet remain erased. `spare` is a sector.
    fn relocate_reserved<N: Nand>(
        &mut self,
        flash: &mut Flash<'_, N>,
        (area, logical, column): (usize, u32, u32),
        spare: &mut [u8],
    ) -> Result<(), FlashError> {
        let pages = flash.geometry().pages_per_block;
        let kept = Kept { pages, torn: Some((logical % pages, column)) };
        self.move_block(flash, (area, logical), kept, true, spare)
    }

    fn move_block<N: Nand>(
        &mut self,
        flash: &mut Flash<'_, N>,
        (area, logical): (usize, u32),
        kept: Kept,
        is_bad: bool,
        spare: &mut [u8],
    ) -> Result<(), FlashError> {
        let number = logical / flash.geometry().pages_per_block - self.extents[area].head;
        let place = self.start(area) + number as usize;
        let old = BlockAddr(u32::from(self.block(place)));
        let fresh = loop {
            let fresh = flash.take()?;
            match copy_pages(flash, (old, fresh), kept, spare) {
                Ok(()) => break fresh,
                Err(FlashError::ProgramFailed(_)) => flash.retire(fresh)?,
                Err(error) => return Err(error),
            }
        };
        self.set_block(place, fresh.0 as u16);
        if is_bad {
            return flash.retire(old);
        }
        flash.release(old);
        Ok(())
    }

    /// The index in the table at which an area's blocks begin.
    pub(super) fn start(&self, area: usize) -> usize {
        self.lens[..area].iter().map(|&len| usize::from(len)).sum()
    }

    pub(super) fn check_room(&self) -> Result<(), FlashError> {
        if self.block_count() as usize * 2 + 2 > self.blocks.len() {
            return Err(FlashError::TableFull);
        }
        Ok(())
    }

    pub(super) fn block(&self, place: usize) -> u16 {
        u16::from_le_bytes([self.blocks[place * 2], self.blocks[place * 2 + 1]])
    }

    pub(super) fn set_block(&mut self, place: usize, block: u16) {
        self.blocks[place * 2..place * 2 + 2].copy_from_slice(&block.to_le_bytes());
    }

    fn insert(&mut self, place: usize, block: u16) {
        let end = self.block_count() as usize * 2;
        self.blocks.copy_within(place * 2..end, place * 2 + 2);
        self.set_block(place, block);
    }

    fn remove(&mut self, place: usize) {
        let end = self.block_count() as usize * 2;
        self.blocks.copy_within(place * 2 + 2..end, place * 2);
    }
}
