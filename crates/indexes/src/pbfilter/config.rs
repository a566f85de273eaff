//! The parameters of a `PBFilter`, and the numbers that are computed from them.

use flysch_nand::Geometry;

use super::place::{PLACES_MAX, Placement};
use crate::ConfigError;
use crate::flash::TAG_SIZE;

/// How much of an L1 page a flush programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlushUnit {
    /// A sector. A page is then programmed several times, and out of order.
    Sector,
    /// A page. This works on every chip, but needs a page of RAM for each L1 partition.
    Page,
}

/// The parameters of a `PBFilter`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PbConfig {
    /// The first of the index's three area numbers. No other structure may use them.
    pub first_area: u8,
    /// Seed of the hash.
    pub seed: u32,
    /// Bytes of a key.
    pub key_size: u8,
    /// Bytes of a pointer, at most 4. 0 if it only matters whether a key is present.
    pub pointer_size: u8,
    /// Bits of a Bloom filter for each key, called d in the paper.
    pub bits_per_key: u8,
    /// Bits that each key sets, called k in the paper.
    pub hash_count: u8,
    /// How the bits of a key are chosen.
    pub placement: Placement,
    /// Number of L1 partitions. It must be a multiple of the four hash buckets.
    pub partitions: u8,
    /// What a flush programs in each partition.
    pub flush: FlushUnit,
    /// The most blocks that the index may use.
    pub blocks_max: u16,
}

/// Number of buckets of a filter. A key sets bits in one of them only. Called q in the paper.
pub(super) const BUCKETS: u32 = 4;

/// The fewest blocks that an index needs.
const BLOCKS_MIN: u16 = 4;

/// The numbers that are computed from the parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) entry_size: usize,
    pub(super) keys_per_page: u32,
    /// Number of keys that a filter covers.
    pub(super) keys_per_filter: u32,
    pub(super) filter_bits: u32,
    pub(super) page_bits: u32,
    pub(super) sectors: u32,
    pub(super) partitions: u32,
    /// Bytes that a flush programs in each partition.
    pub(super) chunk_size: u32,
    pub(super) filters_per_flush: u32,
    /// Number of flushes until L1 is full.
    pub(super) flushes_max: u32,
}

impl Layout {
    fn new(config: &PbConfig, geometry: &Geometry) -> Self {
        let entry_size = usize::from(config.key_size) + usize::from(config.pointer_size);
        let keys_per_page = geometry.page_size / entry_size as u32;
        let bits = u32::from(config.bits_per_key);
        let filter_bits = (keys_per_page * bits).next_power_of_two();
        let partitions = u32::from(config.partitions);
        let (chunk_size, chunks) = match config.flush {
            FlushUnit::Sector => (geometry.sector_size(), geometry.sectors_per_page),
            FlushUnit::Page => (geometry.page_size, 1),
        };
        Self {
            entry_size,
            keys_per_page,
            // A filter covers as many whole key pages as its bits allow.
            keys_per_filter: filter_bits / bits / keys_per_page * keys_per_page,
            filter_bits,
            page_bits: geometry.page_size * 8,
            sectors: geometry.sectors_per_page,
            partitions,
            chunk_size,
            filters_per_flush: chunk_size * 8 * partitions / filter_bits,
            flushes_max: chunks * geometry.sectors_per_page,
        }
    }

    pub(super) const fn l1_pages(&self) -> u32 {
        self.sectors * self.partitions
    }

    /// Number of filters in a full L1.
    pub(super) const fn filters_per_step(&self) -> u32 {
        self.filters_per_flush * self.flushes_max
    }

    /// Number of pages of a set after `step` extensions. Each page is a partition.
    pub(super) const fn set_pages(&self, step: u32) -> u32 {
        if step == 0 { 0 } else { self.l1_pages() * step.next_power_of_two() }
    }

    /// Bits of each filter in one partition of such a set.
    pub(super) const fn set_width(&self, step: u32) -> u32 {
        self.filter_bits / self.set_pages(step)
    }

    /// Number of extensions until a set is full. Each partition then holds one bit of each of a
    /// page of filters.
    pub(super) const fn steps_max(&self) -> u32 {
        self.filter_bits / self.l1_pages()
    }
}

impl PbConfig {
    /// The paper's parameters: d = 16, k = 7, four L1 partitions flushed by sectors.
    pub fn published(key_size: u8, keys: u32, geometry: &Geometry) -> Self {
        let config = Self {
            first_area: 48,
            seed: 0,
            key_size,
            pointer_size: 4,
            bits_per_key: 16,
            hash_count: 7,
            placement: Placement::SLICES,
            partitions: 4,
            flush: FlushUnit::Sector,
            blocks_max: 0,
        };
        config.with_blocks(keys, geometry)
    }

    /// The same parameters with enough blocks for `keys` keys.
    pub fn with_room_for(self, keys: u32, geometry: &Geometry) -> Result<Self, ConfigError> {
        let config = Self { blocks_max: BLOCKS_MIN, ..self };
        config.check(geometry)?;
        Ok(config.with_blocks(keys, geometry))
    }

    fn with_blocks(self, keys: u32, geometry: &Geometry) -> Self {
        let layout = Layout::new(&self, geometry);
        // Key pages; full sets, which have a page for each bit of a filter; a set and the one that
        // it replaces.
        let pages = keys / layout.keys_per_page + 1;
        let filters = keys / layout.keys_per_filter.max(1) + 1;
        let lasting = filters / layout.page_bits * layout.filter_bits;
        let passing = 3 * layout.filter_bits.max(layout.l1_pages());
        let blocks = (pages + lasting + passing) / geometry.pages_per_block + 8;
        let blocks = blocks.min(geometry.block_count);
        Self { blocks_max: u16::try_from(blocks).unwrap_or(u16::MAX), ..self }
    }

    /// Bytes of RAM that these parameters need, in addition to the index's own fields: the page of
    /// keys, the buffer of the summary, the pages of an L1 partition, a page of the old set, and
    /// the table of blocks.
    pub fn ram_size(&self, geometry: &Geometry) -> usize {
        let page_size = geometry.page_size as usize;
        let pages = 2 + geometry.sectors_per_page as usize;
        pages * page_size + self.buffer_size(geometry) + usize::from(self.blocks_max) * 2
    }

    /// Bytes of the buffer of the summary.
    pub(super) fn buffer_size(&self, geometry: &Geometry) -> usize {
        let layout = Layout::new(self, geometry);
        let buffer = layout.chunk_size * layout.partitions;
        buffer.max(geometry.page_size) as usize
    }

    /// Refuse parameters that cannot work. The error says which would.
    pub(super) fn check(&self, geometry: &Geometry) -> Result<Layout, ConfigError> {
        let entry_size = u32::from(self.key_size) + u32::from(self.pointer_size);
        let bounds = [
            ("key_size", u32::from(self.key_size), 1, geometry.page_size / 8),
            ("pointer_size", u32::from(self.pointer_size), 0, 4),
            ("key_size + pointer_size", entry_size, 1, geometry.page_size / 8),
            ("bits_per_key", u32::from(self.bits_per_key), 4, 64),
            ("hash_count", u32::from(self.hash_count), 1, PLACES_MAX as u32),
            ("partitions", u32::from(self.partitions), BUCKETS, 64),
            ("blocks_max", u32::from(self.blocks_max), u32::from(BLOCKS_MIN), 1 << 15),
            ("OOB bytes of a page", geometry.oob_size, TAG_SIZE as u32, u32::MAX),
            ("blocks of the chip", geometry.block_count, 8, 0xFFFE),
        ];
        for (parameter, given, min, max) in bounds {
            if given < min {
                return Err(ConfigError::TooSmall { parameter, min, given });
            }
            if given > max {
                return Err(ConfigError::TooLarge { parameter, max, given });
            }
        }
        if self.flush == FlushUnit::Sector {
            let (needed, allowed) = (geometry.sectors_per_page, geometry.partial_programs);
            if allowed < needed {
                return Err(ConfigError::PartialPrograms { needed, allowed });
            }
            if geometry.in_order && needed > 1 {
                return Err(ConfigError::ProgramOrder);
            }
        }
        let layout = Layout::new(self, geometry);
        let filters = layout.filters_per_flush;
        let powers = [
            ("partitions", layout.partitions),
            ("sectors of a page", layout.sectors),
            ("filters of a flush", filters),
        ];
        for (parameter, given) in powers {
            if !given.is_power_of_two() {
                let min = given.next_power_of_two();
                return Err(ConfigError::TooSmall { parameter, min, given });
            }
        }
        // The filters of a full L1 must fill whole bytes, and an L1 partition must have at least
        // one bit of a filter.
        let parameter = "filters of a full L1";
        let (given, min) = (layout.filters_per_step(), 8);
        if given < min {
            return Err(ConfigError::TooSmall { parameter, min, given });
        }
        let (max, given) = (layout.filter_bits, layout.l1_pages());
        if given > max {
            return Err(ConfigError::TooLarge { parameter: "L1 pages", max, given });
        }
        Ok(layout)
    }
}
