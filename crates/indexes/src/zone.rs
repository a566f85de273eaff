//! Zone maps: the least and the greatest key of each page of records.
//!
//! ```text
//! zone page | least, greatest | least, greatest | …     16 bytes for each page of records
//! RAM       | least and greatest of each zone page, of pairs of them once RAM is short, …
//! ```
//!
//! If keys ascend, a lookup reads one zone page and one page of records.

use core::ops::{ControlFlow, RangeInclusive};

use flysch::bytes::array;
use flysch_nand::{Nand, PageAddr};

use super::{ConfigError, IndexError};
use crate::area::Areas;
use crate::flash::{Flash, FlashError};

/// Bytes of a zone.
const ZONE_SIZE: usize = 16;

/// The parameters of a zone map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZoneConfig {
    /// The area number of the map. No other structure may use it.
    pub first_area: u8,
    /// Number of zones in RAM. If it is the number of zone pages, a lookup reads one zone page.
    pub summaries: u16,
    /// The most blocks that the map may use.
    pub blocks_max: u16,
}

impl ZoneConfig {
    /// Bytes of RAM that these parameters need, in addition to the map's own fields.
    pub const fn ram_size(self, page_size: usize) -> usize {
        2 * page_size + self.summaries as usize * ZONE_SIZE + self.blocks_max as usize * 2
    }
}

#[derive(Debug)]
pub struct ZoneMap<'ram> {
    areas: Areas<'ram>,
    /// The zone page that is being filled.
    page: &'ram mut [u8],
    /// A buffer for the zone page that is being read.
    spare: &'ram mut [u8],
    summaries: &'ram mut [u8],
    /// Number of zone pages that a summary covers.
    span: u32,
    count: u32,
}

/// The least and the greatest key of a page, in the form in which they are on flash and in RAM.
#[derive(Clone, Copy, Debug)]
struct Zone {
    least: u64,
    greatest: u64,
}

impl Zone {
    const EMPTY: Self = Self { least: u64::MAX, greatest: 0 };

    fn parse(bytes: &[u8], place: usize) -> Self {
        let bytes = &bytes[place * ZONE_SIZE..][..ZONE_SIZE];
        let least = u64::from_le_bytes(array(&bytes[..8]));
        Self { least, greatest: u64::from_le_bytes(array(&bytes[8..])) }
    }

    fn emit(self, bytes: &mut [u8], place: usize) {
        let bytes = &mut bytes[place * ZONE_SIZE..][..ZONE_SIZE];
        bytes[..8].copy_from_slice(&self.least.to_le_bytes());
        bytes[8..].copy_from_slice(&self.greatest.to_le_bytes());
    }

    fn join(self, other: Self) -> Self {
        let least = self.least.min(other.least);
        Self { least, greatest: self.greatest.max(other.greatest) }
    }

    fn meets(self, keys: &RangeInclusive<u64>) -> bool {
        self.least <= *keys.end() && self.greatest >= *keys.start()
    }
}

impl<'ram> ZoneMap<'ram> {
    /// Make an empty map. What its area held is lost.
    pub fn create<N: Nand>(
        flash: &mut Flash<'_, N>,
        config: ZoneConfig,
        ram: &'ram mut [u8],
    ) -> Result<Self, IndexError> {
        let map = Self::new(flash, config, ram)?;
        map.areas.wipe(flash)?;
        Ok(map)
    }

    /// Find an existing map. Cost: each zone page is read.
    pub fn mount<N: Nand>(
        flash: &mut Flash<'_, N>,
        config: ZoneConfig,
        ram: &'ram mut [u8],
    ) -> Result<Self, IndexError> {
        let mut map = Self::new(flash, config, ram)?;
        let pages = map.areas.restore_groups(flash, 1, map.spare)?;
        for page in 0..pages {
            map.read(flash, page)?;
            let zones = (0..map.per_page()).map(|place| Zone::parse(map.spare, place as usize));
            let joined = zones.fold(Zone::EMPTY, Zone::join);
            map.summarise(page, joined);
        }
        map.count = pages * map.per_page();
        Ok(map)
    }

    fn new<N: Nand>(
        flash: &Flash<'_, N>,
        config: ZoneConfig,
        ram: &'ram mut [u8],
    ) -> Result<Self, IndexError> {
        let page_size = flash.geometry().page_size as usize;
        ConfigError::check_ram(config.ram_size(page_size), ram.len())?;
        if config.summaries < 2 {
            let (parameter, given) = ("summaries", u32::from(config.summaries));
            return Err(ConfigError::TooSmall { parameter, min: 2, given }.into());
        }
        let (page, ram) = ram.split_at_mut(page_size);
        let (spare, ram) = ram.split_at_mut(page_size);
        let (summaries, ram) = ram.split_at_mut(usize::from(config.summaries) * ZONE_SIZE);
        let blocks = &mut ram[..usize::from(config.blocks_max) * 2];
        let areas = Areas::new(blocks, config.first_area, 1);
        Ok(Self { areas, page, spare, summaries, span: 1, count: 0 })
    }

    /// Number of pages of records whose zones are on flash. After a mount, append the zones of all
    /// later pages again.
    pub fn flushed(&self) -> u32 {
        self.count / self.per_page() * self.per_page()
    }

    /// Add the zone of the next page of records. Cost: one program for each full zone page.
    pub fn append<N: Nand>(
        &mut self,
        flash: &mut Flash<'_, N>,
        keys: RangeInclusive<u64>,
    ) -> Result<(), IndexError> {
        let zone = Zone { least: *keys.start(), greatest: *keys.end() };
        zone.emit(self.page, (self.count % self.per_page()) as usize);
        self.summarise(self.count / self.per_page(), zone);
        self.count += 1;
        if self.count.is_multiple_of(self.per_page()) {
            self.areas.append(flash, 0, self.page, 0, self.spare)?;
        }
        Ok(())
    }

    /// Call `visit` with the pages of records that may hold a key in the range, until it breaks.
    /// Cost: a read of each zone page whose summary overlaps the range.
    pub fn lookup<N: Nand, E: From<IndexError>>(
        &mut self,
        flash: &mut Flash<'_, N>,
        keys: &RangeInclusive<u64>,
        mut visit: impl FnMut(&mut Flash<'_, N>, u32) -> Result<ControlFlow<()>, E>,
    ) -> Result<(), E> {
        for page in 0..self.count.div_ceil(self.per_page()) {
            if !Zone::parse(self.summaries, (page / self.span) as usize).meets(keys) {
                continue;
            }
            let first = page * self.per_page();
            let is_open = page == self.count / self.per_page();
            if !is_open {
                self.read(flash, page).map_err(IndexError::from)?;
            }
            for place in 0..self.per_page().min(self.count - first) {
                let zones = if is_open { &*self.page } else { &*self.spare };
                if Zone::parse(zones, place as usize).meets(keys)
                    && visit(flash, first + place)?.is_break()
                {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    const fn per_page(&self) -> u32 {
        (self.page.len() / ZONE_SIZE) as u32
    }

    fn read<N: Nand>(&mut self, flash: &mut Flash<'_, N>, page: u32) -> Result<(), FlashError> {
        let place = self.areas.locate(flash, 0, page);
        flash.read(place.ok_or(FlashError::Corrupt(PageAddr(page)))?, 0, self.spare)
    }

    /// Add a zone to the summary of its zone page. If there is no room for a new summary, existing
    /// ones are joined first.
    fn summarise(&mut self, page: u32, zone: Zone) {
        let room = self.summaries.len() / ZONE_SIZE;
        if page == 0 && self.count == 0 {
            (0..room).for_each(|place| Zone::EMPTY.emit(self.summaries, place));
        }
        while page / self.span >= room as u32 {
            for place in 0..room {
                let pair = [place * 2, place * 2 + 1].into_iter().filter(|&from| from < room);
                let zones = pair.map(|from| Zone::parse(self.summaries, from));
                let joined = zones.fold(Zone::EMPTY, Zone::join);
                joined.emit(self.summaries, place);
            }
            self.span *= 2;
        }
        let place = (page / self.span) as usize;
        let joined = Zone::parse(self.summaries, place).join(zone);
        joined.emit(self.summaries, place);
    }
}
