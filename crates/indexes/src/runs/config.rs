//! The parameters of an index of runs: their meaning, their need of RAM, and how to choose them.

use flysch_nand::Geometry;

use super::merge::{INPUTS_MAX, WINDOW_MIN};
use super::run::{LEVEL, RUN_SIZE, RUNS_MAX};
use crate::ConfigError;
use crate::flash::TAG_SIZE;

/// When the work of merging is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// At once. This is the least work in total, but a single insert may wait for a whole merge.
    Synchronous,
    /// A bounded part at each insert.
    Spread,
}

/// How much is programmed at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// Whole pages, which every chip allows.
    Page,
    /// Sectors, in order. The buffer is then only a sector, but the chip must allow partial
    /// programs.
    Sector,
}

/// The parameters of an index of runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunsConfig {
    /// The first of the index's area numbers: five, and one for each level. No other structure may
    /// use them.
    pub first_area: u8,
    /// Seed of the hash. It must be different on each device, so that nobody can prepare colliding
    /// keys.
    pub seed: u32,
    /// Bits of a hash. For each probe, the number of wrong records read is keys / 2^bits.
    pub hash_bits: u8,
    /// Bits of a pointer.
    pub pointer_bits: u8,
    /// Levels below the recent runs, 1 to 6.
    pub levels: u8,
    /// Existence filter: bits of a hash beyond log2 of the number of keys. 0 for no filter.
    pub filter_bits: u8,
    /// How many recent runs are merged into one.
    pub fan: u8,
    /// How many entries may be in recent runs before these are merged into the levels.
    pub recents_max: u32,
    /// How full the units of merged runs are planned to be, percent.
    pub fill_percent: u8,
    /// Bytes of the memory table.
    pub memtable_size: usize,
    /// Bytes of the Bloom filter for the recent runs. 0 for none.
    pub bloom_size: usize,
    /// Bytes of all windows through which merges read.
    pub window_size: usize,
    /// The most blocks that the index may use.
    pub blocks_max: u16,
    /// When merging is done.
    pub pace: Pace,
    /// How much is programmed at a time.
    pub output: Output,
}

impl RunsConfig {
    /// Choose parameters for up to `keys` keys in `ram` bytes.
    pub fn for_keys(keys: u32, ram: usize, geometry: &Geometry) -> Result<Self, ConfigError> {
        let sectors = geometry.partial_programs >= geometry.sectors_per_page;
        let small = sectors && ram < 4 * geometry.page_size as usize;
        let output = if small { Output::Sector } else { Output::Page };
        let mut config = Self {
            first_area: 16,
            seed: 0,
            // With 28 bits an entry has six bytes. With more keys, more than one probe in 64 would
            // read a wrong record.
            hash_bits: if keys <= 1 << 22 { 28 } else { 32 },
            pointer_bits: 19,
            levels: 3,
            filter_bits: 0,
            fan: if small { 3 } else { 6 },
            recents_max: 0,
            fill_percent: 92,
            memtable_size: geometry.page_size as usize * if small { 3 } else { 9 } / 8,
            bloom_size: 0,
            window_size: if small { WINDOWS_MAX * WINDOW_MIN } else { 1280 },
            blocks_max: Self::blocks_for(keys, geometry),
            pace: Pace::Spread,
            output,
        };
        let rest = config.ram_size(geometry);
        config.bloom_size = ram.saturating_sub(rest);
        let needed = rest + config.memtable_size / 4;
        ConfigError::check_ram(needed, ram)?;
        // Each recent key gets between 4 and 5 bits of the Bloom filter. Further RAM is not used.
        let recents = (config.bloom_size * 8 * 2 / 9) as u32;
        config.recents_max = recents.min(config.recents_ceiling());
        config.bloom_size = config.bloom_size.min(config.recents_max as usize);
        config.levels = levels_for(keys, config.recents_max, if small { 12 } else { 6 });
        config.check(geometry)?;
        Ok(config)
    }

    /// Number of blocks for `keys` entries of five bytes. It includes twice the last level, while
    /// that is merged, and partly filled blocks of each area. At most the blocks of the chip.
    pub fn blocks_for(keys: u32, geometry: &Geometry) -> u16 {
        let bytes = u64::from(keys) * 5 * 10 / 8;
        let blocks = bytes / u64::from(geometry.block_size()) + 24;
        u16::try_from(blocks.min(u64::from(geometry.block_count))).unwrap_or(u16::MAX)
    }

    /// Bytes of RAM that these parameters need, in addition to the index's own fields.
    pub const fn ram_size(&self, geometry: &Geometry) -> usize {
        self.memtable_size
            + self.bloom_size
            + self.window_size
            + self.out_size(geometry)
            + self.blocks_max as usize * 2
    }

    /// Refuse parameters that cannot work. The error says which would.
    pub fn check(&self, geometry: &Geometry) -> Result<(), ConfigError> {
        let entry_bits = u32::from(self.hash_bits) + u32::from(self.pointer_bits) + 1;
        let bounds = [
            ("levels", u32::from(self.levels), 1, 6),
            ("hash_bits", u32::from(self.hash_bits), 8, 32),
            ("pointer_bits", u32::from(self.pointer_bits), 1, 32),
            ("hash_bits + pointer_bits", entry_bits - 1, 9, 63),
            ("fan", u32::from(self.fan), 2, 8),
            ("fill_percent", u32::from(self.fill_percent), 10, 98),
            ("memtable_size", self.memtable_size as u32, 64, 1 << 16),
            ("window_size", self.window_size as u32, self.window_size_min(), 1 << 20),
            ("recents_max", self.recents_max, self.recents_floor(), self.recents_ceiling()),
            ("blocks_max", u32::from(self.blocks_max), u32::from(LEVEL) * 3, 1 << 15),
            ("OOB bytes of a page", geometry.oob_size, TAG_SIZE as u32, u32::MAX),
            ("bytes of a sector", geometry.sector_size(), 128, 1 << 15),
            ("blocks of the chip", geometry.block_count, 8, 0xFFFE),
            ("runs in a commit record", self.out_size(geometry) as u32, RECORD_MIN, u32::MAX),
        ];
        for (parameter, given, min, max) in bounds {
            if given < min {
                return Err(ConfigError::TooSmall { parameter, min, given });
            }
            if given > max {
                return Err(ConfigError::TooLarge { parameter, max, given });
            }
        }
        let (needed, allowed) = (geometry.sectors_per_page, geometry.partial_programs);
        if matches!(self.output, Output::Sector) && allowed < needed {
            return Err(ConfigError::PartialPrograms { needed, allowed });
        }
        Ok(())
    }

    /// Bytes of an entry in the memory table.
    pub(super) const fn entry_size(&self) -> usize {
        (self.hash_bits as usize + self.pointer_bits as usize + 1).div_ceil(8)
    }

    /// Bytes of the output buffer.
    pub(super) const fn out_size(&self, geometry: &Geometry) -> usize {
        match self.output {
            Output::Page => geometry.page_size as usize,
            Output::Sector => geometry.sector_size() as usize,
        }
    }

    const fn window_size_min(&self) -> u32 {
        WINDOW_MIN as u32 * (self.levels as u32 + WINDOWS_MAX as u32 - 6)
    }

    const fn recents_floor(&self) -> u32 {
        self.memtable_size as u32 / self.entry_size() as u32
    }

    /// The most recent entries that the inputs of one merge can hold.
    const fn recents_ceiling(&self) -> u32 {
        let merged = INPUTS_MAX as u32 - self.levels as u32 - self.fan as u32 - 3;
        self.recents_floor() * self.fan as u32 * merged
    }
}

/// The most inputs of a merge for which the window has room, with six levels.
const WINDOWS_MAX: usize = 18;
/// Bytes of the smallest useful commit record.
const RECORD_MIN: u32 = 128 + 12 * RUN_SIZE as u32;
const _: () = assert!(RUNS_MAX > INPUTS_MAX);

/// Number of levels with which each is at most `growth` times as large as the one above.
fn levels_for(keys: u32, recents: u32, growth: u64) -> u8 {
    let mut reach = u64::from(recents.max(1)) * growth;
    let mut levels = 1;
    while reach < u64::from(keys) && levels < 6 {
        reach *= growth;
        levels += 1;
    }
    levels
}
