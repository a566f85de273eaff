//! Lookups in the middle of the database, with each of the three index structures of section 7.3.4.

use std::ops::ControlFlow;

use flysch_indexes::IndexError;
use flysch_indexes::flash::Flash;
use flysch_indexes::pbfilter::{PbConfig, PbFilter};
use flysch_nand::Nand;
use serde_json::{Value, json};

use super::device::{Device, Reads, blank};
use super::hashes::{CALLS, FUNCTIONS};
use super::keys::Distribution;
use super::sequence::Sequence;
use super::work::{Layout, Processor, Work};
use crate::paper::Cause;

/// An index structure, and how it is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Structure {
    /// Scan all keys, page by page.
    KeyArea,
    /// Scan the summary of the keys. It has pre-hashing but no partitions.
    Summary,
    PbFilter,
}

impl Structure {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::KeyArea => "scanning KA",
            Self::Summary => "scanning SKA",
            Self::PbFilter => "PBFilter",
        }
    }
}

/// Columns of a table of costs.
pub(super) const HEAD: [&str; 8] = [
    "structure",
    "tuples",
    "reads",
    "IO, ms",
    "comparisons",
    "instructions",
    "50 MHz, ms",
    "120 MHz, ms",
];

/// The mean cost of a lookup.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cost {
    /// Number of tuples in the database.
    pub(super) tuples: u32,
    /// Number of pages read.
    pub(super) reads: f64,
    /// Time of the flash, milliseconds.
    pub(super) io_ms: f64,
    /// Work of the processor.
    pub(super) work: Work,
}

impl Cost {
    /// Total time on this processor, milliseconds.
    pub(super) fn ms(&self, processor: Processor) -> f64 {
        self.io_ms + processor.ms(self.work)
    }

    /// A row of a table with the columns of [`HEAD`].
    pub(super) fn row(&self, structure: Structure) -> Vec<Value> {
        let work = self.work;
        let ms = [Processor::TODAY, Processor::NEXT].map(|processor| self.ms(processor));
        let numbers = [self.reads, self.io_ms, work.comparisons, work.instructions, ms[0], ms[1]];
        let names = [json!(structure.name()), json!(self.tuples)];
        names.into_iter().chain(numbers.map(|number| json!(number))).collect()
    }

    /// The processor's fraction of the total time.
    pub(super) fn cpu_share(&self, processor: Processor) -> f64 {
        processor.ms(self.work) / self.ms(processor)
    }
}

/// Number of lookups that are averaged for each size. They search for tuples around the middle of
/// the database: the paper searches "the key in the middle" of many databases, and a page has this
/// many keys of twelve bytes.
const AROUND: u32 = 128;

/// Bytes of the longest key of the experiments.
const KEY_SIZE_MAX: usize = 30;

/// The index parameters of the experiment: those of section 6, with the hash function that the
/// authors chose.
pub(super) fn config(key_size: u8, hash_count: u8, tuples: u32) -> Result<PbConfig, Cause> {
    let geometry = blank()?.geometry();
    let published = PbConfig::published(key_size, tuples, &geometry);
    Ok(PbConfig { hash_count, placement: FUNCTIONS[0].placement, ..published })
}

/// Load a database, and measure lookups each time its size is one of `sizes`.
pub(super) fn measure(
    structure: Structure,
    config: PbConfig,
    sizes: &[u32],
) -> Result<Vec<Cost>, Cause> {
    match structure {
        Structure::PbFilter => measure_pbfilter(config, sizes),
        Structure::KeyArea | Structure::Summary => measure_scan(structure, config, sizes),
    }
}

/// A random key in the first bytes of a buffer.
struct Key {
    bytes: [u8; KEY_SIZE_MAX],
    size: usize,
}

impl Key {
    fn of(config: &PbConfig, number: u32) -> Self {
        let mut key = Self { bytes: [0; KEY_SIZE_MAX], size: usize::from(config.key_size) };
        Distribution::Random.fill(0, number, &mut key.bytes[..key.size]);
        key
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes[..self.size]
    }
}

fn around(size: u32) -> impl Iterator<Item = u32> {
    let first = (size / 2).saturating_sub(AROUND / 2);
    first..first + AROUND
}

fn measure_scan(structure: Structure, config: PbConfig, sizes: &[u32]) -> Result<Vec<Cost>, Cause> {
    let mut sequence = Sequence::new(config)?;
    let mut costs = Vec::new();
    let mut count = 0;
    for &tuples in sizes {
        for number in count..tuples {
            sequence.insert(Key::of(&config, number).bytes())?;
        }
        count = tuples;
        let before = sequence.device.hooks.busy_ms();
        sequence.device.hooks.forget();
        let mut work = Work::default();
        for number in around(tuples) {
            let key = Key::of(&config, number);
            work += if structure == Structure::KeyArea {
                sequence.scan_keys(key.bytes())?
            } else {
                sequence.scan_summary(key.bytes())?
            };
        }
        costs.push(average(tuples, &sequence.device.hooks, before, work));
    }
    Ok(costs)
}

fn average(tuples: u32, reads: &Reads, before_ms: f64, work: Work) -> Cost {
    let count = f64::from(AROUND);
    Cost {
        tuples,
        reads: f64::from(reads.all()) / count,
        io_ms: (reads.busy_ms() - before_ms) / count,
        work: Work {
            comparisons: work.comparisons / count,
            instructions: work.instructions / count,
        },
    }
}

fn measure_pbfilter(config: PbConfig, sizes: &[u32]) -> Result<Vec<Cost>, Cause> {
    let device = blank()?;
    let geometry = device.geometry();
    let mut table = vec![0; Flash::<Device>::ram_size(&geometry)];
    let mut ram = vec![0; config.ram_size(&geometry)];
    let mut flash = Flash::mount(device, &mut table).map_err(engine_error)?;
    let mut index = PbFilter::create(&mut flash, config, &mut ram).map_err(engine_error)?;
    let mut costs = Vec::new();
    let mut count = 0;
    for &tuples in sizes {
        for number in count..tuples {
            let key = Key::of(&config, number);
            index.insert(&mut flash, key.bytes(), number).map_err(engine_error)?;
        }
        count = tuples;
        let before = flash.nand().hooks.busy_ms();
        let places = Places::of(&config, geometry.page_size, tuples);
        let mut work = Work::default();
        let mut reads = 0;
        for number in around(tuples) {
            flash.nand_mut().hooks.forget();
            let mut found = None;
            let visit = |_: &mut Flash<'_, Device>, pointer| {
                found = Some(pointer);
                Ok::<_, IndexError>(ControlFlow::Break(()))
            };
            let key = Key::of(&config, number);
            index.lookup(&mut flash, key.bytes(), visit).map_err(engine_error)?;
            if found != Some(number) {
                return Err("a key of the index is not found".into());
            }
            work += Work::comparing(tuples % places.entries);
            work += places.work(&config, &flash.nand().hooks, number);
            reads += flash.nand().hooks.all();
        }
        let mut cost = average(tuples, &flash.nand().hooks, before, work);
        cost.reads = f64::from(reads) / f64::from(AROUND);
        costs.push(cost);
    }
    Ok(costs)
}

/// The error of an engine call. Engine errors carry addresses and no text, so the debug form is
/// used.
fn engine_error(error: impl std::fmt::Debug) -> Cause {
    format!("{error:?}").into()
}

/// Where the filters of an index are. This decides which filters a lookup must test, in addition to
/// the pages that it reads.
#[derive(Clone, Copy, Debug)]
struct Places {
    entries: u32,
    set: u32,
    l1: u32,
    buffer: u32,
    filters_per_page: u32,
}

impl Places {
    fn of(config: &PbConfig, page_size: u32, tuples: u32) -> Self {
        let entries = page_size / (u32::from(config.key_size) + 4);
        let bits = u32::from(config.bits_per_key);
        let filter_bits = (entries * bits).next_power_of_two();
        let keys_per_filter = filter_bits / bits / entries * entries;
        // A flush writes one sector of each of four partitions. Sixteen flushes fill L1.
        let per_flush = page_size * 8 / filter_bits;
        let filters = tuples / keys_per_filter;
        let set = filters / (16 * per_flush) * 16 * per_flush;
        let flushed = filters / per_flush * per_flush;
        let filters_per_page = 4 * per_flush;
        Self { entries, set, l1: flushed - set, buffer: filters - flushed, filters_per_page }
    }

    /// The work of the lookup that just found a key, computed from the pages that it read.
    fn work(self, config: &PbConfig, reads: &Reads, number: u32) -> Work {
        let [keys, passing] = [0, 1].map(|area| reads.of_area(config.first_area + area));
        let k = u32::from(config.hash_count);
        let mut work = Work::hashing(CALLS, u32::from(config.key_size));
        // All key pages but the last were false positives of the filter, and all of their keys were
        // compared.
        let in_vain = keys.saturating_sub(1) * self.entries;
        work += Work::comparing(in_vain + number % self.entries + 1);
        let is_in_set = number / self.entries < self.set;
        if self.set > 0 {
            work += Work::intersecting(k, self.set);
        }
        let l1_pages = if is_in_set { 0 } else { self.l1.div_ceil(self.filters_per_page) };
        assert!(l1_pages <= passing, "pages of L1 are read if the set does not have the key");
        if !is_in_set {
            work += Self::tested(config, Layout::Partitioned, self.l1);
        }
        if number / self.entries >= self.set + self.l1 {
            work += Self::tested(config, Layout::Whole, self.buffer);
        }
        work
    }

    /// The work of testing this many filters. A filter is tested bit by bit, up to the first bit
    /// that is not set. The expected number of bits follows from how full the filters are.
    fn tested(config: &PbConfig, layout: Layout, filters: u32) -> Work {
        let fill = 1.0 - (-f64::from(config.hash_count) / f64::from(config.bits_per_key)).exp();
        let per_filter = (0..u32::from(config.hash_count)).map(f64::from).map(|n| fill.powf(n));
        let bits: f64 = per_filter.sum();
        Work::testing(layout, filters, f64::from(filters) * bits)
    }
}
