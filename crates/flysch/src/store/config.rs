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
use super::fence::FENCE_SIZE;
use super::merge::{INPUTS_MAX, WINDOW_MIN};
use super::table::{Form, LEVELS_MAX, RECENTS_MAX, recent_size, table_size};
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
    /// A key may have any number of rows.
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
        /// Bytes that would have been enough.
        needed: usize,
    },
    /// There are no indexes, or too many, or too many levels of one.
    Indexes,
}

/// The parameters of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreConfig {
    /// The plans of the indexes, in their order.
    pub indexes: [IndexPlan; INDEX_MAX],
    /// How many indexes there are.
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
    /// Bytes of the table of runs.
    pub table_size: usize,
    /// Bytes of the fence that is being written; none where no index may need one.
    pub fence_size: usize,
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
        Self::plan_beside(ram, indexes, geometry, (block_count, 0))
    }

    /// The same where there are so many rings.
    pub(crate) fn plan_beside(
        ram: usize,
        indexes: &[IndexPlan],
        geometry: &Geometry,
        (block_count, rings): (u32, usize),
    ) -> Result<Self, ConfigError> {
        let is_listed = (1..=INDEX_MAX).contains(&indexes.len());
        let in_bounds = |index: &IndexPlan| (1..=LEVELS_MAX).contains(&usize::from(index.levels));
        if !is_listed || !indexes.iter().all(in_bounds) {
            return Err(ConfigError::Indexes);
        }
        let mut config = Self {
            indexes: [IndexPlan { levels: 1, ..IndexPlan::default() }; INDEX_MAX],
            index_count: indexes.len() as u8,
            numbers: Numbers::new(block_count, geometry.pages_per_block),
            layout: Layout::new(geometry.page_size).with_rings(rings),
            memtable_size: MEMTABLE_MIN,
            bloom_size: 0,
            window_size: INPUTS_MAX * WINDOW_MIN,
            table_size: 0,
            fence_size: 0,
            recents_max: 0,
            fan: 4,
        };
        config.indexes[..indexes.len()].copy_from_slice(indexes);
        config.table_size = table_size(&config, RECENTS_MIN);
        let has_fences = |plan: &IndexPlan| plan.order == Order::Key || plan.rows == Rows::Many;
        config.fence_size = if indexes.iter().any(has_fences) { FENCE_SIZE } else { 0 };
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
        self.window_size + self.table_size + self.fence_size + self.memtable_size + self.bloom_size
    }

    /// Levels of all indexes.
    pub(crate) const fn level_count(&self) -> u32 {
        let (mut count, mut at) = (0, 0);
        while at < self.index_count as usize {
            count += self.indexes[at].levels as u32;
            at += 1;
        }
        count
    }

    /// Levels of the indexes whose codes are keys.
    pub(crate) const fn key_level_count(&self) -> u32 {
        let (mut count, mut at) = (0, 0);
        while at < self.index_count as usize {
            let is_keys = matches!(self.indexes[at].order, Order::Key);
            count += if is_keys { self.indexes[at].levels as u32 } else { 0 };
            at += 1;
        }
        count
    }

    /// What the form of runs depends on.
    pub(crate) const fn form(&self) -> Form {
        let (mut keys, mut at) = (0, 0);
        while at < self.index_count as usize {
            keys |= (matches!(self.indexes[at].order, Order::Key) as u8) << at;
            at += 1;
        }
        Form { index_count: self.index_count, keys }
    }

    /// Bits of a pointer: space, page, cell.
    pub const fn pointer_bits(&self) -> u8 {
        let page_bits = (self.numbers.page_count() - 1).ilog2() as u8 + 1;
        page_bits + self.cell_bits() + self.layout.space_bits
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
        5 + 5 * self.layout.cells / 2
    }

    /// Share out what is left beyond the least.
    fn share(&mut self, rest: usize) {
        let recents = (rest / 16 / recent_size(self)).min(RECENTS_WANTED - RECENTS_MIN);
        self.table_size += recents * recent_size(self);
        let rest = rest - recents * recent_size(self);
        let windows = (rest / 6).min(WINDOWS_MAX - self.window_size);
        self.window_size += windows;
        let rest = rest - windows + self.memtable_size;
        self.memtable_size = self.memtable_wanted(rest);
        self.bloom_size = rest - self.memtable_size;
        let entries = (self.memtable_size / self.entry_size()) as u32;
        let recents = (self.bloom_size * 8 / BITS_OF_RECENT) as u32;
        self.recents_max = recents.max(entries * 2);
        // So many merged runs at most, with as many flushed ones before they are merged.
        self.fan = (self.recents_max / entries / MERGED_COUNT).clamp(3, 8) as u8;
        // Half of the table is for what comes while they are merged.
        let listed = RECENTS_MAX as u32 / 2 * u32::from(self.fan);
        self.recents_max = self.recents_max.min(listed * entries);
    }

    /// Bytes of the Bloom filter of a run: the recent runs and what comes while they are merged
    /// share the filters' memory.
    pub(crate) fn filter_size(&self, entries: u32) -> usize {
        let all = u64::from(self.recents_max) * 5 / 4;
        (u64::from(entries) * self.bloom_size as u64 / all.max(1)) as usize
    }

    /// Bytes of the entries that fill whole pages when they are flushed, of a share of `rest`: rows
    /// have an entry in each index.
    fn memtable_wanted(&self, rest: usize) -> usize {
        let rows_in = |pages: u32| {
            let others = u32::from(self.index_count) - 1;
            let units = (self.layout.cells * pages).saturating_sub(others).max(1);
            // A unit is filled to 96 per cent, its header apart.
            let room = units * (CELL_DATA - HEADER_SIZE - 8) as u32 * 8 * 96 / 100;
            let mut rows = 256_u32;
            for _ in 0..4 {
                rows = room / self.row_bits(rows.ilog2());
            }
            rows as usize
        };
        let size = |pages: u32| rows_in(pages) * self.row_size();
        let share = |pages: u32| {
            rest * if pages > 1 { MEMTABLE_SHARE_OF_MORE } else { MEMTABLE_SHARE } / 16
        };
        let pages = (1..=FLUSH_PAGES_MAX).rev().find(|&pages| size(pages) <= share(pages));
        pages.map_or(share(1), size).max(MEMTABLE_MIN)
    }

    fn plans(&self) -> &[IndexPlan] {
        &self.indexes[..usize::from(self.index_count)]
    }

    /// Bits of a row's entries in a run, with 2^`log` rows.
    fn row_bits(&self, log: u32) -> u32 {
        let codes = self.plans().iter().map(|plan| {
            let bits = u32::from(plan.code_bits().min(KEY_BITS));
            bits.saturating_sub(log).max(1) + 2
        });
        codes.map(|bits| bits + u32::from(self.pointer_bits())).sum()
    }

    /// Bytes of a row's entries in the memory table.
    fn row_size(&self) -> usize {
        let sizes = self.plans().iter().map(|plan| {
            usize::from((3 + plan.code_bits() + self.pointer_bits() + FLAG_BITS).div_ceil(8))
        });
        sizes.sum()
    }

    /// Bytes of an entry of the memory table, as a mean.
    pub(crate) fn entry_size(&self) -> usize {
        self.row_size().div_ceil(usize::from(self.index_count))
    }
}

/// Pages of a flush, at most: it is done in one call.
const FLUSH_PAGES_MAX: u32 = 2;
/// Bits in which keys differ that come one after the other, about.
const KEY_BITS: u8 = 36;
/// Sixteenths of the memory for the memory table, and for one of more than a page: found by
/// measuring.
const MEMTABLE_SHARE: usize = 11;
const MEMTABLE_SHARE_OF_MORE: usize = 6;
/// Bits of the filters for each recent entry before a round begins; a fifth less for each once what
/// comes in a merge is there too. With 4 bits 16 % of absent codes pass a filter, with 5.6 7 %.
const BITS_OF_RECENT: usize = 7;
/// Merged runs that are recent at a time, about.
const MERGED_COUNT: u32 = 3;
/// Bytes of windows that are enough.
const WINDOWS_MAX: usize = 8 * CELL_DATA;
/// Bytes of the least memory table.
const MEMTABLE_MIN: usize = 512;
/// Recent runs that fit the table of runs beside the levels, however long they are: about twice as
/// many do as a rule.
const RECENTS_MIN: usize = 5;
/// And so many where there is memory.
const RECENTS_WANTED: usize = 9;
