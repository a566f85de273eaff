//! Parameters of the store, computed from what it is to hold and the RAM it is given.
//!
//! ```text
//! RAM = Store's fields | windows of the merge | memory table | Bloom filters
//! ```
//!
//! 1. More RAM makes the memory table and the filters larger and no cost higher.

use flysch_nand::Geometry;

use super::Store;
use super::entry::{FLAG_BITS, INDEX_MAX, Shape};
use super::merge::{INPUTS_MAX, WINDOW_MIN};
use super::run::RUNS_MAX;
use crate::media::{CELL_DATA, HEADER_SIZE, Layout, Numbers};

/// In which order an index keeps its keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// By a hash of the key.
    #[default]
    Hash,
    /// By the key, which has 64 bits.
    Key,
}

/// How many live rows a key has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rows {
    /// One: a newer entry replaces the older.
    #[default]
    One,
    /// Any number.
    Many,
}

/// What an index is to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IndexPlan {
    /// How it is sorted.
    pub order: Order,
    /// How many rows a key has.
    pub rows: Rows,
    /// Whether rows are ever replaced or deleted: lookups go from the newest entries to the oldest.
    pub is_updated: bool,
    /// Levels, 1 to 4: more of them cost fewer programs and more reads.
    pub levels: u8,
    /// Rows that it is declared for.
    pub capacity: u32,
}

impl IndexPlan {
    /// Bits of a code: of two keys among the declared ones one pair in 64 rows has equal hashes.
    pub fn code_bits(self) -> u8 {
        match self.order {
            Order::Key => 64,
            Order::Hash => ((self.capacity.max(2) - 1).ilog2() as u8 + 7).min(32),
        }
    }
}

/// Why a store cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigError {
    /// So many bytes of RAM are the least.
    RamTooSmall {
        /// Bytes.
        needed: usize,
    },
    /// There are no indexes, or too many, or too many levels in all.
    Indexes,
}

/// The parameters of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreConfig {
    /// The indexes.
    pub indexes: [IndexPlan; INDEX_MAX],
    /// How many.
    pub index_count: u8,
    /// How pages are numbered.
    pub numbers: Numbers,
    /// The shape of a page.
    pub layout: Layout,
    /// Bytes of the memory table.
    pub memtable_size: usize,
    /// Bytes of the Bloom filters.
    pub bloom_size: usize,
    /// Bytes of the windows of merges.
    pub window_size: usize,
    /// Entries that are recent before they are merged into levels.
    pub recents_max: u32,
    /// Flushed runs that are merged to one.
    pub fan: u8,
}

impl StoreConfig {
    /// Choose parameters for `indexes` on `block_count` blocks of a chip, in `ram` bytes.
    ///
    /// # Errors
    /// Where the RAM is too small, with how much is needed.
    pub fn plan(
        ram: usize,
        indexes: &[IndexPlan],
        geometry: &Geometry,
        block_count: u32,
    ) -> Result<Self, ConfigError> {
        let levels: u32 = indexes.iter().map(|index| u32::from(index.levels)).sum();
        let is_listed = (1..=INDEX_MAX).contains(&indexes.len());
        let in_bounds = indexes.iter().all(|index| (1..=4).contains(&index.levels));
        if !is_listed || !in_bounds || levels as usize + RECENTS_MIN > RUNS_MAX {
            return Err(ConfigError::Indexes);
        }
        let mut config = Self {
            indexes: [IndexPlan { levels: 1, ..IndexPlan::default() }; INDEX_MAX],
            index_count: indexes.len() as u8,
            numbers: Numbers::new(block_count, geometry.pages_per_block),
            layout: Layout::new(geometry.page_size),
            memtable_size: MEMTABLE_MIN,
            bloom_size: 0,
            window_size: INPUTS_MAX * WINDOW_MIN,
            recents_max: 0,
            fan: 4,
        };
        config.indexes[..indexes.len()].copy_from_slice(indexes);
        let needed = config.ram();
        if ram < needed {
            return Err(ConfigError::RamTooSmall { needed });
        }
        config.share(ram - needed);
        debug_assert!(config.ram() <= ram, "the RAM is enough");
        Ok(config)
    }

    /// Bytes of RAM of a store, its fields included.
    pub const fn ram(&self) -> usize {
        size_of::<Store<'static>>() + self.carved()
    }

    /// Bytes of RAM that [`Store::new`] carves up.
    pub const fn carved(&self) -> usize {
        self.window_size + self.memtable_size + self.bloom_size
    }

    /// Bits of a pointer: space, page, cell.
    pub const fn pointer_bits(&self) -> u8 {
        let page_bits = (self.numbers.page_count() - 1).ilog2() as u8 + 1;
        page_bits + self.cell_bits() + 1
    }

    /// Bits of a cell's number in its page.
    pub const fn cell_bits(&self) -> u8 {
        self.layout.cells.ilog2() as u8
    }

    pub(crate) fn shapes(&self) -> [Shape; INDEX_MAX] {
        let pointer_bits = self.pointer_bits();
        self.indexes.map(|index| Shape {
            code_bits: index.code_bits(),
            pointer_bits,
            is_unique: index.rows == Rows::One,
        })
    }

    /// Reads of one call of `work`, at most.
    pub const fn reads_max(&self) -> u32 {
        4 + 2 * self.layout.cells
    }

    /// Share out what is left beyond the least.
    fn share(&mut self, rest: usize) {
        let windows = (rest / 6).min(WINDOWS_MAX - self.window_size);
        self.window_size += windows;
        let rest = rest - windows;
        let memtable = self.memtable_wanted(rest).saturating_sub(MEMTABLE_MIN).min(rest * 2 / 5);
        self.memtable_size += memtable;
        self.bloom_size = rest - memtable;
        let entries = (self.memtable_size / self.entry_size()) as u32;
        // At most 5 bits of the filters for each recent entry, those that come in a merge included.
        let recents = (self.bloom_size * 8 / 5) as u32;
        self.recents_max = recents.max(entries * 2);
        // So many merged runs at most, with as many flushed ones before they are merged.
        self.fan = (self.recents_max / entries / MERGED_COUNT).clamp(3, 8) as u8;
    }

    /// Bytes of the Bloom filter of a run: the recent runs and what comes while they are merged
    /// share the filters' memory.
    pub(crate) fn filter_size(&self, entries: u32) -> usize {
        let all = u64::from(self.recents_max) * 5 / 4;
        (u64::from(entries) * self.bloom_size as u64 / all.max(1)) as usize
    }

    /// Bytes of the entries that fill pages when they are flushed: one page, more where a fifth of
    /// the RAM goes that far.
    fn memtable_wanted(&self, rest: usize) -> usize {
        let pages = (rest / (self.layout.page_size() * 5)).clamp(1, 8) as u32;
        let indexes = u32::from(self.index_count);
        let units = (self.layout.cells * pages).saturating_sub(indexes - 1).max(1);
        // A unit is filled to 96 per cent, its header apart.
        let room = units * (CELL_DATA - HEADER_SIZE - 8) as u32 * 8 * 96 / 100;
        let plan = &self.indexes[0];
        let wide = u32::from(plan.code_bits().min(44)) + u32::from(self.pointer_bits()) + 2;
        let mut entries = 512;
        for _ in 0..4 {
            entries = room / (wide - (entries / indexes).max(1).ilog2().min(wide - 12));
        }
        entries as usize * self.entry_size()
    }

    /// Bytes of the narrowest entry of the memory table.
    fn entry_size(&self) -> usize {
        let indexes = &self.indexes[..usize::from(self.index_count)];
        let code_bits = indexes.iter().map(|index| index.code_bits()).min().unwrap_or(64);
        usize::from((3 + code_bits + self.pointer_bits() + FLAG_BITS).div_ceil(8))
    }
}

/// Merged runs that are recent at a time, about.
const MERGED_COUNT: u32 = 3;
/// Bytes of windows that are enough.
const WINDOWS_MAX: usize = 8 * CELL_DATA;
/// Bytes of the least memory table.
const MEMTABLE_MIN: usize = 512;
/// Recent runs that have to fit the table of runs, beside the levels.
pub(crate) const RECENTS_MIN: usize = 5;
