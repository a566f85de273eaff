//! Parameters of the store, computed from the indexes that it is to hold and the RAM that it gets.
//!
//! ```text
//! RAM = Store's fields | windows of the merge | memory table | Bloom filters
//! ```
//!
//! 1. More RAM makes the memory table and the filters larger. No operation costs more by it.

use flysch_nand::Geometry;

use super::Store;
use super::entry::{FLAG_BITS, INDEX_MAX, Shape};
use super::fence::FENCE_SIZE;
use super::merge::{INPUTS_MAX, WINDOW_MIN};
use super::table::{Form, LEVELS_MAX, RECENTS_MAX, recent_size, table_size};
use crate::media::{CELL_DATA, HEADER_SIZE, Layout, Numbers};

/// In which order an index sorts its entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// By a hash of the key.
    #[default]
    Hash,
    /// By the key itself, as an ordered code of 64 bits.
    Key,
}

/// How many current rows a key may have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rows {
    /// One: a newer entry replaces older ones of its key.
    #[default]
    One,
    /// A key may have any number of rows.
    Many,
}

/// What an index of the store is planned for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IndexPlan {
    /// In which order its entries are sorted.
    pub order: Order,
    /// How many current rows a key may have.
    pub rows: Rows,
    /// Whether rows are ever replaced or deleted. Lookups then go from the newest entries to the
    /// oldest.
    pub is_updated: bool,
    /// Levels, 1 to 4: more of them cost fewer programs and more reads.
    pub levels: u8,
    /// Rows that the program declares for it.
    pub capacity: u32,
}

impl IndexPlan {
    /// The plan of no index.
    pub(crate) const NONE: Self =
        Self { order: Order::Hash, rows: Rows::One, is_updated: false, levels: 1, capacity: 0 };

    /// Bits of a code. Hashes are as long as it takes for one row in 64 to share its hash, among as
    /// many rows as were declared.
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
    /// The RAM is too small for the indexes.
    RamTooSmall {
        /// Bytes that would have been enough.
        needed: usize,
    },
    /// There are no indexes, or more than the store takes, or an index has too many levels.
    Indexes,
}

/// The parameters of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreConfig {
    /// The plans of the indexes, in their order.
    pub indexes: [IndexPlan; INDEX_MAX],
    /// How many indexes there are.
    pub index_count: u8,
    /// How pages of a space are numbered.
    pub numbers: Numbers,
    /// The shape of a page.
    pub layout: Layout,
    /// Bytes of the memory table.
    pub memtable_size: usize,
    /// Bytes of all Bloom filters.
    pub bloom_size: usize,
    /// Bytes of the windows through which merges read their inputs.
    pub window_size: usize,
    /// Bytes of the table of runs.
    pub table_size: usize,
    /// Bytes of the fence that is being written; 0 where no index may need fences.
    pub fence_size: usize,
    /// Number of recent entries from which on they are merged into levels.
    pub recents_max: u32,
    /// Number of flushed runs that a small merge makes one of.
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
        Self::plan_with_rings(ram, indexes, geometry, (block_count, 0))
    }

    /// Choose parameters as [`StoreConfig::plan`] does, for a database with so many ring tables.
    pub(crate) fn plan_with_rings(
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
        let mut config = Self::least(indexes, geometry, (block_count, rings));
        let needed = config.ram();
        if ram < needed {
            return Err(ConfigError::RamTooSmall { needed });
        }
        config.share(ram - needed);
        debug_assert!(config.ram() <= ram, "the RAM is enough");
        Ok(config)
    }

    /// The parameters with the least RAM, of which nothing is shared out yet.
    pub(crate) const fn least(
        indexes: &[IndexPlan],
        geometry: &Geometry,
        (block_count, rings): (u32, usize),
    ) -> Self {
        let mut config = Self {
            indexes: [IndexPlan::NONE; INDEX_MAX],
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
        let mut at = 0;
        while at < indexes.len() {
            let plan = indexes[at];
            config.indexes[at] = plan;
            if matches!(plan.order, Order::Key) || matches!(plan.rows, Rows::Many) {
                config.fence_size = FENCE_SIZE;
            }
            at += 1;
        }
        config.table_size = table_size(&config, RECENTS_MIN);
        config
    }

    /// Bytes of RAM of a store, its fields included.
    pub const fn ram(&self) -> usize {
        size_of::<Store<'static>>() + self.carved()
    }

    /// Bytes of RAM that [`Store::new`] carves up.
    pub const fn carved(&self) -> usize {
        self.window_size + self.table_size + self.fence_size + self.memtable_size + self.bloom_size
    }

    /// Levels of all indexes together.
    pub(crate) const fn level_count(&self) -> u32 {
        let (mut count, mut at) = (0, 0);
        while at < self.index_count as usize {
            count += self.indexes[at].levels as u32;
            at += 1;
        }
        count
    }

    /// Levels of the ordered indexes together.
    pub(crate) const fn key_level_count(&self) -> u32 {
        let (mut count, mut at) = (0, 0);
        while at < self.index_count as usize {
            let is_keys = matches!(self.indexes[at].order, Order::Key);
            count += if is_keys { self.indexes[at].levels as u32 } else { 0 };
            at += 1;
        }
        count
    }

    /// The facts on which the encoding of a run depends.
    pub(crate) const fn form(&self) -> Form {
        let (mut keys, mut at) = (0, 0);
        while at < self.index_count as usize {
            keys |= (matches!(self.indexes[at].order, Order::Key) as u8) << at;
            at += 1;
        }
        Form { index_count: self.index_count, keys }
    }

    /// Bits of a pointer: those of space, page and cell.
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

    /// Greatest number of reads of one call of [`Store::work`].
    pub const fn reads_max(&self) -> u32 {
        5 + 5 * self.layout.cells / 2
    }

    /// Share out the RAM that is left beyond the least.
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
        // There are to be at most so many merged runs, and as many flushed ones before the next
        // merge.
        self.fan = (self.recents_max / entries / MERGED_COUNT).clamp(3, 8) as u8;
        // Half of the table's recent runs are those that come while the others are merged.
        let listed = RECENTS_MAX as u32 / 2 * u32::from(self.fan);
        self.recents_max = self.recents_max.min(listed * entries);
    }

    /// Bytes of the Bloom filter of a run. The memory for filters is shared by the recent runs and
    /// those that come while they are merged.
    pub(crate) fn filter_size(&self, entries: u32) -> usize {
        let all = u64::from(self.recents_max) * 5 / 4;
        (u64::from(entries) * self.bloom_size as u64 / all.max(1)) as usize
    }

    /// Bytes of entries that fill whole pages when they are flushed, from a share of `rest`. A row
    /// has an entry in each index.
    fn memtable_wanted(&self, rest: usize) -> usize {
        let rows_in = |pages: u32| {
            let others = u32::from(self.index_count) - 1;
            let units = (self.layout.cells * pages).saturating_sub(others).max(1);
            // A unit is filled to 96 per cent, apart from its header.
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

    /// Bits that the entries of a row take in a run of 2^`log` rows.
    fn row_bits(&self, log: u32) -> u32 {
        let codes = self.plans().iter().map(|plan| {
            let bits = u32::from(plan.code_bits().min(KEY_BITS));
            bits.saturating_sub(log).max(1) + 2
        });
        codes.map(|bits| bits + u32::from(self.pointer_bits())).sum()
    }

    /// Bytes that the entries of a row take in the memory table.
    fn row_size(&self) -> usize {
        let sizes = self.plans().iter().map(|plan| {
            usize::from((3 + plan.code_bits() + self.pointer_bits() + FLAG_BITS).div_ceil(8))
        });
        sizes.sum()
    }

    /// Mean bytes of an entry in the memory table.
    pub(crate) fn entry_size(&self) -> usize {
        self.row_size().div_ceil(usize::from(self.index_count))
    }
}

/// Greatest number of pages of a flush, which is done within one call.
const FLUSH_PAGES_MAX: u32 = 2;
/// About how many bits keys differ in that follow each other in a run.
const KEY_BITS: u8 = 36;
/// Sixteenths of the RAM that a memory table of one page gets; below, those that a table of more
/// pages gets. Both were found by measuring.
const MEMTABLE_SHARE: usize = 11;
const MEMTABLE_SHARE_OF_MORE: usize = 6;
/// Bits of Bloom filter for each recent entry before a round of merges begins. Once the entries
/// that come during the merge are there too, each has a fifth less. With 4 bits 16 % of absent
/// codes pass a filter, with 5.6 bits 7 %.
const BITS_OF_RECENT: usize = 7;
/// About how many merged runs are recent at a time.
const MERGED_COUNT: u32 = 3;
/// Bytes of windows beyond which more of them gain nothing.
const WINDOWS_MAX: usize = 8 * CELL_DATA;
/// Bytes of the smallest memory table.
const MEMTABLE_MIN: usize = 512;
/// Recent runs for which the table of runs has room beside the levels, even if all are as long as
/// they can be. As a rule about twice as many fit.
const RECENTS_MIN: usize = 5;
/// Recent runs for which the table of runs has room where there is RAM enough.
const RECENTS_WANTED: usize = 9;
