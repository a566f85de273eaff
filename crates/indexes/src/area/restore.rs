//! Finds the blocks of areas at a mount, by the tags of their first pages.
//!
//! A block below the head of its area was released. It may have been taken again since the head was
//! recorded, so that the sequence of blocks has a gap. Blocks before the last gap are not needed
//! either.

use flysch_nand::{BlockAddr, Nand, PageAddr};

use super::Extent;
use super::moved::is_erased;
use super::table::{Areas, MISSING};
use crate::flash::{Flash, FlashError, Tag};

impl Areas<'_> {
    /// Find the blocks of the areas, which had these `extents` when they were recorded, and how far
    /// each area has been programmed since. Cost: two OOB reads for each block that is not claimed,
    /// and one for each page of each area's last block.
    pub(crate) fn restore<N: Nand>(
        &mut self,
        flash: &mut Flash<'_, N>,
        extents: &[Extent],
        spare: &mut [u8],
    ) -> Result<(), FlashError> {
        assert_eq!(extents.len(), usize::from(self.count), "an extent for each area");
        self.extents[..extents.len()].copy_from_slice(extents);
        self.measure(flash)?;
        self.list(flash, spare)?;
        for area in 0..extents.len() {
            self.drop_gaps(area);
            for place in self.start(area)..self.start(area) + usize::from(self.lens[area]) {
                flash.claim(BlockAddr(u32::from(self.block(place))));
            }
            self.find_tail(flash, area, spare)?;
        }
        Ok(())
    }

    /// Find the blocks of a single area that never releases blocks. Unsound pages at its end are
    /// cut off, and so is an unfinished group of `group` pages. Returns the number of pages that
    /// are left. Cost: that of [`Areas::restore`], and a read of each page that is cut off.
    pub(crate) fn restore_groups<N: Nand>(
        &mut self,
        flash: &mut Flash<'_, N>,
        group: u32,
        spare: &mut [u8],
    ) -> Result<u32, FlashError> {
        self.restore(flash, &[Extent::default()], spare)?;
        let mut tail = self.extent(0).tail;
        while tail > 0 {
            let place = self.locate(flash, 0, tail - 1);
            let place = place.ok_or(FlashError::Corrupt(PageAddr(tail - 1)))?;
            if is_sound(flash, place, spare)? {
                break;
            }
            tail -= 1;
        }
        let whole = tail / group * group;
        self.cut(flash, 0, whole, spare)?;
        Ok(whole)
    }

    /// The highest block number below `limit` that the area has on flash. None if there is none.
    pub(crate) fn newest<N: Nand>(
        &self,
        flash: &mut Flash<'_, N>,
        area: usize,
        limit: u32,
    ) -> Result<Option<u32>, FlashError> {
        let mut newest = None;
        for block in free_blocks(flash) {
            let Some((found, number, _)) = self.identify(flash, block)? else { continue };
            if found == area && number < limit {
                newest = newest.max(Some(number));
            }
        }
        Ok(newest)
    }

    /// Whether `block` is this block of the area, or was in the past.
    pub(crate) fn is_block<N: Nand>(
        &self,
        flash: &mut Flash<'_, N>,
        area: usize,
        number: u32,
        block: BlockAddr,
    ) -> Result<bool, FlashError> {
        let found = self.identify(flash, block)?;
        Ok(found.is_some_and(|(found, its, _)| found == area && its == number))
    }

    /// Erase every block with a tag of one of these areas.
    pub(crate) fn wipe<N: Nand>(&self, flash: &mut Flash<'_, N>) -> Result<(), FlashError> {
        for block in free_blocks(flash) {
            if self.identify(flash, block)?.is_some() {
                flash.wipe(block)?;
            }
        }
        Ok(())
    }

    /// The area that a block belongs to, its number there, and the tag of its first page. None if
    /// it belongs to none of them.
    fn identify<N: Nand>(
        &self,
        flash: &mut Flash<'_, N>,
        block: BlockAddr,
    ) -> Result<Option<(usize, u32, Tag)>, FlashError> {
        if flash.is_taken(block) {
            return Ok(None);
        }
        let page = flash.geometry().first_page(block);
        let Some(tag) = flash.tag(page)? else { return Ok(None) };
        let Some(area) = tag.area.checked_sub(self.first_id) else { return Ok(None) };
        let is_ours =
            area < self.count && tag.logical.is_multiple_of(flash.geometry().pages_per_block);
        let number = tag.logical / flash.geometry().pages_per_block;
        Ok(is_ours.then_some((usize::from(area), number, tag)))
    }

    fn measure<N: Nand>(&mut self, flash: &mut Flash<'_, N>) -> Result<(), FlashError> {
        for block in free_blocks(flash) {
            let Some((area, number, _)) = self.identify(flash, block)? else { continue };
            let Some(place) = number.checked_sub(self.extents[area].head) else { continue };
            let len = u16::try_from(place + 1).map_err(|_| FlashError::TableFull)?;
            self.lens[area] = self.lens[area].max(len);
        }
        if self.block_count() as usize * 2 > self.blocks.len() {
            return Err(FlashError::TableFull);
        }
        for place in 0..self.block_count() as usize {
            self.set_block(place, MISSING);
        }
        Ok(())
    }

    fn list<N: Nand>(
        &mut self,
        flash: &mut Flash<'_, N>,
        spare: &mut [u8],
    ) -> Result<(), FlashError> {
        for block in free_blocks(flash) {
            let Some((area, number, tag)) = self.identify(flash, block)? else { continue };
            let Some(place) = number.checked_sub(self.extents[area].head) else { continue };
            let place = self.start(area) + place as usize;
            let known = self.block(place);
            if known == MISSING {
                self.set_block(place, block.0 as u16);
                continue;
            }
            let known = BlockAddr(u32::from(known));
            if is_better(flash, (known, block), tag.copy, spare)? {
                self.set_block(place, block.0 as u16);
            }
        }
        Ok(())
    }

    fn drop_gaps(&mut self, area: usize) {
        let start = self.start(area);
        let len = usize::from(self.lens[area]);
        let gap = (start..start + len).rev().find(|&place| self.block(place) == MISSING);
        let dropped = gap.map_or(0, |place| place + 1 - start);
        let end = self.block_count() as usize * 2;
        self.blocks.copy_within((start + dropped) * 2..end, start * 2);
        self.lens[area] -= dropped as u16;
        self.extents[area].head += dropped as u32;
    }

    /// Set the tail after the last page that has a tag, and after pages without a tag that
    /// interrupted programs left.
    fn find_tail<N: Nand>(
        &mut self,
        flash: &mut Flash<'_, N>,
        area: usize,
        spare: &mut [u8],
    ) -> Result<(), FlashError> {
        let Extent { head, tail } = self.extents[area];
        let Some(last) = self.lens[area].checked_sub(1) else {
            let recorded = tail.div_ceil(flash.geometry().pages_per_block);
            self.extents[area].head = head.max(recorded);
            self.extents[area].tail = self.extents[area].head * flash.geometry().pages_per_block;
            return Ok(());
        };
        let per_block = flash.geometry().pages_per_block;
        let first = (head + u32::from(last)) * per_block;
        let mut used = first;
        for page in (first..first + per_block).rev() {
            let place = self.locate(flash, area, page).expect("its block is listed");
            if let Some(tag) = flash.tag(place)? {
                self.copies[area] = tag.copy;
                used = page + 1;
                break;
            }
        }
        used = used.max(tail);
        // A mount skips a page that looks blank, so there may be a single blank page between
        // others, but never two.
        let mut page = used;
        while page < (used + 2).min(first + per_block) {
            let place = self.locate(flash, area, page).expect("its block is listed");
            page += 1;
            if !is_blank(flash, place, spare)? {
                used = page;
            }
        }
        self.extents[area].tail = used;
        Ok(())
    }
}

/// Whether a page looks as if it was never programmed.
fn is_blank<N: Nand>(
    flash: &mut Flash<'_, N>,
    page: PageAddr,
    spare: &mut [u8],
) -> Result<bool, FlashError> {
    for column in (0..flash.geometry().page_size).step_by(spare.len()) {
        match flash.read(page, column, spare) {
            Ok(()) if is_erased(spare) => {}
            Ok(()) | Err(FlashError::Uncorrectable(_)) => return Ok(false),
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

/// Whether the second of two copies of a block should be used instead of the first. This is the
/// newer one, unless it is incomplete.
fn is_better<N: Nand>(
    flash: &mut Flash<'_, N>,
    (known, other): (BlockAddr, BlockAddr),
    other_copy: u8,
    spare: &mut [u8],
) -> Result<bool, FlashError> {
    let first = flash.geometry().first_page(known);
    let known_copy = flash.tag(first)?.map_or(0, |tag| tag.copy);
    let other_is_newer = other_copy == known_copy.wrapping_add(1);
    let known_count = sound_pages(flash, known, spare)?;
    let other_count = sound_pages(flash, other, spare)?;
    Ok(other_count > known_count || other_is_newer && other_count == known_count)
}

/// Number of pages of a block whose data agrees with their tags.
fn sound_pages<N: Nand>(
    flash: &mut Flash<'_, N>,
    block: BlockAddr,
    spare: &mut [u8],
) -> Result<u32, FlashError> {
    let first = flash.geometry().first_page(block).0;
    let mut count = 0;
    for page in (first..first + flash.geometry().pages_per_block).map(PageAddr) {
        count += u32::from(is_sound(flash, page, spare)?);
    }
    Ok(count)
}

/// Whether a page can be read and its data agrees with its tag. `spare` is a page or a sector.
pub(crate) fn is_sound<N: Nand>(
    flash: &mut Flash<'_, N>,
    page: PageAddr,
    spare: &mut [u8],
) -> Result<bool, FlashError> {
    let Some(tag) = flash.tag(page)? else { return Ok(false) };
    let sector_size = flash.geometry().sector_size() as usize;
    match flash.read(page, 0, spare) {
        Ok(()) => Ok(tag.covers(spare) || tag.covers(&spare[..sector_size])),
        Err(FlashError::Uncorrectable(_)) => Ok(false),
        Err(error) => Err(error),
    }
}

fn free_blocks<N: Nand>(flash: &Flash<'_, N>) -> impl Iterator<Item = BlockAddr> + use<N> {
    (0..flash.geometry().block_count).map(BlockAddr)
}
