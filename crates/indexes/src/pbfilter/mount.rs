//! Creates a `PBFilter`, and finds an existing one from its pages alone.

use flysch_nand::{Nand, PageAddr};

use super::partition::{SET_NOTE, read};
use super::{AREA_COUNT, KEYS, LASTING, PASSING, PbConfig, PbFilter, Set};
use crate::area::restore::is_sound;
use crate::area::{Areas, Extent};
use crate::flash::{Flash, FlashError};
use crate::{ConfigError, IndexError};

impl<'ram> PbFilter<'ram> {
    /// Make an empty index. What its areas held is lost.
    pub fn create<N: Nand>(
        flash: &mut Flash<'_, N>,
        config: PbConfig,
        ram: &'ram mut [u8],
    ) -> Result<Self, IndexError> {
        let index = Self::new(flash, config, ram)?;
        index.areas.wipe(flash)?;
        Ok(index)
    }

    /// Find an existing index. Cost: two OOB reads for each free block, one for each page of the
    /// last set, and reads of the keys that the set does not cover, for which L1 is written again.
    pub fn mount<N: Nand>(
        flash: &mut Flash<'_, N>,
        config: PbConfig,
        ram: &'ram mut [u8],
    ) -> Result<Self, IndexError> {
        let mut index = Self::new(flash, config, ram)?;
        let mut extents = [Extent::default(); AREA_COUNT as usize];
        if let Some(newest) = index.areas.newest(flash, PASSING, u32::MAX)? {
            // Of this area, a set, the one that it replaces and L1 are the most that can be needed.
            let pages = 2 * index.layout.filter_bits + 2 * index.layout.l1_pages();
            let blocks = pages / flash.geometry().pages_per_block + 2;
            extents[PASSING].head = (newest + 1).saturating_sub(blocks);
        }
        let page_size = flash.geometry().page_size as usize;
        index.areas.restore(flash, &extents, &mut index.pages[..page_size])?;
        index.find_sets(flash)?;
        let key_pages = index.find_keys(flash)?;
        index.areas.skip(flash, PASSING);
        index.summarise_again(flash, key_pages)?;
        Ok(index)
    }

    fn new<N: Nand>(
        flash: &Flash<'_, N>,
        config: PbConfig,
        ram: &'ram mut [u8],
    ) -> Result<Self, IndexError> {
        let geometry = flash.geometry();
        let layout = config.check(geometry)?;
        ConfigError::check_ram(config.ram_size(geometry), ram.len())?;
        let page_size = geometry.page_size as usize;
        let (keys, ram) = ram.split_at_mut(page_size);
        let (buffer, ram) = ram.split_at_mut(config.buffer_size(geometry));
        let (pages, ram) = ram.split_at_mut((geometry.sectors_per_page as usize + 1) * page_size);
        keys.fill(0xFF);
        buffer.fill(0);
        let blocks = &mut ram[..usize::from(config.blocks_max) * 2];
        Ok(Self {
            config,
            layout,
            areas: Areas::new(blocks, config.first_area, AREA_COUNT),
            keys,
            buffer,
            pages,
            count: 0,
            filters: 0,
            flushes: 0,
            l1: 0,
            set: Set::default(),
            lasting: 0,
        })
    }

    /// Find the last complete set, and the number of full sets.
    fn find_sets<N: Nand>(&mut self, flash: &mut Flash<'_, N>) -> Result<(), FlashError> {
        let full = self.layout.filter_bits;
        let Extent { tail, .. } = self.areas.extent(LASTING);
        self.lasting = tail / full;
        let page_size = flash.geometry().page_size as usize;
        if self.lasting > 0 && tail.is_multiple_of(full) {
            let last = self.areas.locate(flash, LASTING, tail - 1);
            let last = last.ok_or(FlashError::Corrupt(PageAddr(tail - 1)))?;
            self.lasting -= u32::from(!is_sound(flash, last, &mut self.pages[..page_size])?);
        }
        let tail = self.lasting * full;
        self.areas.cut(flash, LASTING, tail, &mut self.pages[..page_size])?;
        let Extent { head, tail } = self.areas.extent(PASSING);
        let mut newest = None;
        for page in head * flash.geometry().pages_per_block..tail {
            let Some(place) = self.areas.locate(flash, PASSING, page) else { continue };
            let Some(tag) = flash.tag(place)? else { continue };
            let step = (tag.note & !SET_NOTE) >> 32;
            let number = tag.note as u32;
            let Ok(step) = u32::try_from(step) else { continue };
            let is_last = tag.note & SET_NOTE != 0
                && (1..self.layout.steps_max()).contains(&step)
                && number + 1 == self.layout.set_pages(step);
            if is_last && is_sound(flash, place, &mut self.pages[..page_size])? {
                newest = page.checked_sub(number).map(|first| Set { step, first });
            }
        }
        self.set = newest.unwrap_or_default();
        Ok(())
    }

    /// Find the key pages, without a torn one at the end. Returns their number.
    fn find_keys<N: Nand>(&mut self, flash: &mut Flash<'_, N>) -> Result<u32, FlashError> {
        let page_size = flash.geometry().page_size as usize;
        let found = self.areas.extent(KEYS).tail;
        let mut tail = found;
        while tail > 0 {
            let place = self.areas.locate(flash, KEYS, tail - 1);
            let place = place.ok_or(FlashError::Corrupt(PageAddr(tail - 1)))?;
            if is_sound(flash, place, &mut self.pages[..page_size])? {
                break;
            }
            tail -= 1;
        }
        self.areas.cut(flash, KEYS, tail, &mut self.pages[..page_size])?;
        Ok(tail)
    }

    /// Summarise the key pages that no set covers once more.
    fn summarise_again<N: Nand>(
        &mut self,
        flash: &mut Flash<'_, N>,
        key_pages: u32,
    ) -> Result<(), FlashError> {
        let mut steps = self.lasting * self.layout.steps_max() + self.set.step;
        let pages_per_step = self.layout.filters_per_step() * self.layout.keys_per_filter
            / self.layout.keys_per_page;
        if steps * pages_per_step > key_pages {
            // This set was replaced by the last full set, but was not overwritten yet.
            self.set = Set::default();
            steps = self.lasting * self.layout.steps_max();
        }
        self.count = steps * pages_per_step * self.layout.keys_per_page;
        let entry_size = self.layout.entry_size;
        let key_size = usize::from(self.config.key_size);
        for page in steps * pages_per_step..key_pages {
            // The buffer of keys is still empty, so it can be used for this.
            read(flash, &self.areas, (KEYS, page), self.keys)?;
            for number in 0..self.layout.keys_per_page as usize {
                let mut key = [0; 256];
                let key = &mut key[..key_size];
                key.copy_from_slice(&self.keys[number * entry_size..][..key_size]);
                self.summarise(key);
                self.count += 1;
            }
            self.flush_if_full(flash)?;
        }
        self.keys.fill(0xFF);
        Ok(())
    }
}
