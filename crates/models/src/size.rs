//! Sizing: which index to use for a number of keys on a part with limited RAM, what it costs, and
//! how long the flash lasts.

use std::fmt;

use flysch_charts::number::{real, real_len};
use flysch_chip::Part;
use flysch_indexes::ConfigError;
use flysch_indexes::pbfilter::{FlushUnit, PbConfig};
use flysch_indexes::runs::{Output, Pace, RunsConfig};
use flysch_nand::Geometry;
use serde::Serialize;

use super::bloom::bucketed_rate;
use super::expected;
use super::hash_runs::grow;
use super::layout::{Flush, Layout};
use super::pbfilter::{PbFilter, SummaryPages, Tuning};
use super::setting::Setting;

/// The requirements of the user.
#[derive(Clone, Debug)]
pub struct Demand {
    /// Number of keys at the end.
    pub keys: u32,
    /// Size of a key in bytes.
    pub key_size: u32,
    /// Size in bytes of the record that a key belongs to.
    pub record_size: u32,
    /// The flash part that the index is stored on.
    pub part: Part,
    /// RAM for the index in bytes.
    pub ram: usize,
    /// Number of inserts in a day.
    pub inserts_per_day: f64,
    /// Number of lookups for each insert.
    pub lookups_per_insert: f64,
    /// Share of the lookups that search an absent key.
    pub absent_share: f64,
}

/// An index that meets the requirements.
#[derive(Clone, Debug, Serialize)]
pub struct SizedIndex {
    /// Name of the method.
    pub method: &'static str,
    /// Its parameters in words.
    pub parameters: String,
    /// RAM that it takes, in bytes.
    pub ram_bytes: usize,
    /// Reads of a lookup of a present key, including the read of its record. The unit is pages, or
    /// sectors for runs.
    pub r_present: f64,
    /// Reads of a lookup of an absent key.
    pub r_absent: f64,
    /// Bytes programmed for each key, without the record.
    pub w_bytes_per_key: f64,
    /// Blocks erased by all insertions.
    pub block_erases: f64,
    /// Time of the slowest insert, milliseconds.
    pub worst_insert_ms: f64,
    /// Mean time of an insert and its lookups, milliseconds.
    pub mean_ms: f64,
    /// The most blocks that index and records take.
    pub blocks: f64,
    /// Years until the part's endurance is used up, if wear is spread evenly over all blocks. None
    /// if nothing is inserted.
    pub years: Option<f64>,
}

/// Why no index meets the requirements, and what would be enough.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SizeError {
    /// No index fits in this RAM.
    Ram {
        /// Bytes of RAM that would be enough.
        needed: usize,
        /// Bytes of RAM that were given.
        given: usize,
    },
    /// Records and index do not fit on the part.
    Blocks {
        /// Number of blocks that would be enough.
        needed: f64,
        /// Number of blocks of the part.
        given: u32,
        /// The most keys that fit.
        keys: u32,
    },
    /// The key is longer than any index here supports.
    Key {
        /// The longest key in bytes.
        max: u32,
        /// The size that was asked for.
        given: u32,
    },
}

impl fmt::Display for SizeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ram { needed, given } => {
                write!(f, "no index fits in {given} bytes of RAM; {needed} bytes are enough")
            }
            Self::Blocks { needed, given, keys } => write!(
                f,
                "records and index take {needed:.0} blocks, and the part has {given}; {keys} keys fit"
            ),
            Self::Key { max, given } => {
                write!(f, "a key of {given} bytes is too long; at most {max} will do")
            }
        }
    }
}

impl std::error::Error for SizeError {}

/// All indexes that meet the requirements. The one that takes the least time comes first.
pub fn choose(demand: &Demand) -> Result<Vec<SizedIndex>, SizeError> {
    let mut found = in_ram(demand)?;
    let given = demand.part.geometry.block_count;
    let least = found.iter().map(|index| index.blocks).fold(f64::INFINITY, f64::min);
    found.retain(|index| demand.has_blocks_for(index));
    if found.is_empty() {
        return Err(SizeError::Blocks { needed: least.ceil(), given, keys: most(demand, 1) });
    }
    found.sort_by(|one, other| one.mean_ms.total_cmp(&other.mean_ms));
    Ok(found)
}

/// How many times `step` keys fit on the part, of as many as the demand has.
pub fn most(demand: &Demand, step: u32) -> u32 {
    let fits = |times: u32| {
        let found = in_ram(&Demand { keys: times * step, ..demand.clone() });
        found.is_ok_and(|found| found.iter().any(|index| demand.has_blocks_for(index)))
    };
    let (mut fit, mut too_many) = (0, demand.keys / step.max(1) + 1);
    while too_many - fit > 1 {
        let middle = fit.midpoint(too_many);
        if fits(middle) { fit = middle } else { too_many = middle }
    }
    fit
}

impl Demand {
    fn has_blocks_for(&self, index: &SizedIndex) -> bool {
        index.blocks <= f64::from(self.part.geometry.block_count)
    }
}

/// All indexes that fit in the RAM.
fn in_ram(demand: &Demand) -> Result<Vec<SizedIndex>, SizeError> {
    let max = demand.part.geometry.page_size / 8 - 4;
    if demand.key_size > max {
        return Err(SizeError::Key { max, given: demand.key_size });
    }
    let mut needed = usize::MAX;
    let mut found = Vec::new();
    for index in pbfilters(demand).into_iter().chain(runs(demand, &mut needed)) {
        needed = needed.min(index.ram_bytes);
        if index.ram_bytes <= demand.ram {
            found.push(index);
        }
    }
    if found.is_empty() {
        return Err(SizeError::Ram { needed, given: demand.ram });
    }
    Ok(found)
}

/// The variants of `PBFilter` that are possible on the part.
fn pbfilters(demand: &Demand) -> Vec<SizedIndex> {
    let geometry = demand.part.geometry;
    let allows_sectors = geometry.partial_programs >= geometry.sectors_per_page
        && !geometry.in_order
        && geometry.sectors_per_page > 1;
    let (unit, flush) = if allows_sectors {
        (FlushUnit::Sector, Flush::Sector)
    } else {
        (FlushUnit::Page, Flush::Page)
    };
    let wide = Tuning::MORE_PARTITIONS.partitions;
    [("pbfilter", Tuning::PUBLISHED.partitions), ("pbfilter2", wide)]
        .into_iter()
        .filter_map(|(name, partitions)| {
            let key_size = u8::try_from(demand.key_size).ok()?;
            let published = PbConfig::published(key_size, demand.keys, &geometry);
            let config =
                PbConfig { partitions: u8::try_from(partitions).ok()?, flush: unit, ..published };
            pbfilter(demand, name, &config, flush)
        })
        .collect()
}

fn pbfilter(
    demand: &Demand,
    method: &'static str,
    config: &PbConfig,
    flush: Flush,
) -> Option<SizedIndex> {
    let geometry = demand.part.geometry;
    let setting = Setting {
        keys: demand.keys,
        key_size: demand.key_size,
        page_size: geometry.page_size,
        pointer_size: 4,
    };
    let tuning = Tuning {
        partitions: config.partitions.into(),
        sectors: geometry.sectors_per_page,
        ..Tuning::PUBLISHED
    };
    setting.check().and_then(|()| tuning.check(&setting)).ok()?;
    let index = PbFilter::new(setting, tuning, SummaryPages::ByKeys);
    let layout = Layout::grow(&index, flush);
    let entries = setting.entries_per_page();
    let filter_bits = (entries * tuning.bits_per_key).next_power_of_two();
    let rate = bucketed_rate(filter_bits, entries, 4, tuning.hash_count);
    let reads = expected::reads(&index, &layout, rate);
    let timing = demand.part.timing;
    let page = u64::from(geometry.page_size);
    let buffer = tuning.partitions * tuning.sectors;
    let largest = if layout.gens > 0 { filter_bits } else { layout.last_partitions };
    let worst_ns = u64::from(largest + buffer) * timing.read_ns(page)
        + u64::from(largest) * timing.program_ns(page);
    let programmed = f64::from(layout.w_pages) * real(page);
    let cost = Cost {
        written: programmed,
        valid: f64::from(layout.ka_pages + layout.peak) * real(page),
        present: reads.present + 1.0,
        absent: reads.absent,
        read_ns: real(timing.read_ns(page)),
        insert_ns: (f64::from(layout.reads) * real(timing.read_ns(page))
            + f64::from(layout.w_programs) * real(timing.program_ns(page)))
            / f64::from(demand.keys),
        worst_ns: real(worst_ns),
    };
    let words = match flush {
        Flush::Sector => "flushed by sectors",
        Flush::Page => "flushed by pages",
    };
    let parameters =
        format!("d = 16, k = 7, {partitions} partitions, {words}", partitions = tuning.partitions);
    Some(cost.sized_index(demand, method, parameters, config.ram_size(&geometry)))
}

/// Indexes of runs with every number of levels, with and without the existence filter. If the RAM
/// is too small for all of them, `needed` is lowered to the RAM that would be enough.
fn runs(demand: &Demand, needed: &mut usize) -> Vec<SizedIndex> {
    let geometry = demand.part.geometry;
    let base = match RunsConfig::for_keys(demand.keys, demand.ram, &geometry) {
        Ok(base) => base,
        Err(ConfigError::RamTooSmall { needed: enough, .. }) => {
            *needed = (*needed).min(enough);
            return Vec::new();
        }
        Err(_) => return Vec::new(),
    };
    let mut found = Vec::new();
    for levels in 1..=6 {
        for (method, filter_bits) in [("runs", 0), ("runs+filter", 7)] {
            let config = RunsConfig { levels, filter_bits, ..base };
            if config.check(&geometry).is_ok() {
                found.push(sized_runs(demand, method, &config));
            }
        }
    }
    found
}

fn sized_runs(demand: &Demand, method: &'static str, config: &RunsConfig) -> SizedIndex {
    let geometry = demand.part.geometry;
    let timing = demand.part.timing;
    let costs = grow(config, &geometry, demand.keys);
    let unit = match config.output {
        Output::Page => geometry.page_size,
        Output::Sector => geometry.sector_size(),
    };
    let sector = u64::from(geometry.sector_size());
    let read_ns = timing.read_ns(sector);
    let program_ns = timing.program_ns(u64::from(unit));
    // Each entry that a merge writes was read before. Reads are one sector each.
    let programs = costs.written_bytes / f64::from(unit);
    let sectors = costs.written_bytes / real(sector);
    let insert_ns =
        (programs * real(program_ns) + sectors * real(read_ns)) / f64::from(demand.keys);
    let worst_ns = match config.pace {
        // One step of a merge: it reads a window of each input, and programs twice and erases once.
        Pace::Spread => u64::from(inputs(config)) * read_ns + 2 * program_ns + timing.erase_ns(),
        Pace::Synchronous => 0,
    };
    let cost = Cost {
        written: costs.written_bytes,
        valid: 2.0 * costs.valid_bytes,
        present: costs.present_reads,
        absent: costs.absent_reads,
        read_ns: real(read_ns),
        insert_ns,
        worst_ns: real(worst_ns),
    };
    let parameters = format!(
        "{} levels, {} recent keys, {} B memory table, {} B Bloom filter",
        config.levels, config.recents_max, config.memtable_size, config.bloom_size
    );
    cost.sized_index(demand, method, parameters, config.ram_size(&geometry))
}

/// The most runs that a large merge reads.
fn inputs(config: &RunsConfig) -> u32 {
    let per_run =
        u32::from(config.fan) * u32::try_from(config.memtable_size / 6).unwrap_or(u32::MAX);
    u32::from(config.levels) + u32::from(config.fan) + config.recents_max.div_ceil(per_run.max(1))
}

/// The costs that all kinds of index have.
struct Cost {
    written: f64,
    valid: f64,
    present: f64,
    absent: f64,
    /// Time of one read of the index, nanoseconds.
    read_ns: f64,
    /// Mean time of an insert, nanoseconds.
    insert_ns: f64,
    worst_ns: f64,
}

impl Cost {
    fn sized_index(
        &self,
        demand: &Demand,
        method: &'static str,
        parameters: String,
        ram_bytes: usize,
    ) -> SizedIndex {
        let Geometry { page_size, pages_per_block, .. } = demand.part.geometry;
        let keys = f64::from(demand.keys);
        let block = f64::from(page_size) * f64::from(pages_per_block);
        let record_ns = real(demand.part.timing.read_ns(page_size.into()));
        let present_ns = (self.present - 1.0) * self.read_ns + record_ns;
        let lookup_ns = (1.0 - demand.absent_share) * present_ns
            + demand.absent_share * self.absent * self.read_ns;
        let erases = ((self.written - self.valid) / block).max(0.0).floor();
        let records = (keys * record_space(demand.record_size, page_size) / block).ceil();
        SizedIndex {
            method,
            parameters,
            ram_bytes,
            r_present: self.present,
            r_absent: self.absent,
            w_bytes_per_key: self.written / keys,
            block_erases: erases,
            worst_insert_ms: self.worst_ns / 1e6,
            mean_ms: (self.insert_ns + demand.lookups_per_insert * lookup_ns) / 1e6,
            blocks: records + (self.valid / block).ceil() + real_len(SPARE_BLOCKS),
            years: self.years(demand, block),
        }
    }

    /// Years until all blocks have reached their endurance. All blocks are programmed and erased
    /// equally often, so this is the bytes that the part can take in its life, divided by the bytes
    /// of a year.
    fn years(&self, demand: &Demand, block: f64) -> Option<f64> {
        let page_size = demand.part.geometry.page_size;
        let per_insert =
            self.written / f64::from(demand.keys) + record_space(demand.record_size, page_size);
        let blocks = f64::from(demand.part.geometry.block_count);
        let life = blocks * block * f64::from(demand.part.endurance);
        let per_day = per_insert * demand.inserts_per_day;
        (per_day > 0.0).then(|| life / per_day / 365.25)
    }
}

/// Bytes of flash that a record takes: it lies on one page, with others as far as they fit as a
/// whole, or on as many pages as it needs.
fn record_space(record_size: u32, page_size: u32) -> f64 {
    match page_size.checked_div(record_size) {
        None => 0.0,
        Some(0) => f64::from(record_size.div_ceil(page_size)) * f64::from(page_size),
        Some(count) => f64::from(page_size) / f64::from(count),
    }
}

/// Blocks that are only partly filled: one for each area.
const SPARE_BLOCKS: usize = 8;
