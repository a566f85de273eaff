//! Hash-ordered runs: predicts the costs of the index by simulating its merges on counts.
//!
//! There are no keys and no bytes. Every flush, merge of recent runs and merge into a level is
//! simulated with numbers of entries, by the rules and parameters of the index. So the number of
//! written pages is that of the index, except that the index spreads its merges over time. The
//! reads are expected values.

use flysch_charts::number::real_len;
use flysch_indexes::runs::{Output, RunsConfig};
use flysch_nand::Geometry;

/// The costs of an index of runs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HashRunsCosts {
    /// Bytes programmed by all insertions.
    pub written_bytes: f64,
    /// Bytes that hold valid runs at the end.
    pub valid_bytes: f64,
    /// Page or sector reads of a lookup of a present key, including the read of its record.
    pub present_reads: f64,
    /// Page or sector reads of a lookup of an absent key.
    pub absent_reads: f64,
}

/// Bits that the Bloom filter of recent runs sets for a hash.
const BLOOM_PROBES: f64 = 3.0;
/// Bits for a gap between hashes, beyond log2 of its mean: log2 e for a geometric distribution,
/// plus 3 % for Rice's code.
const GAP_BITS: f64 = std::f64::consts::LOG2_E * 1.03;
/// Size of a unit's header in bytes.
const HEADER_SIZE: f64 = 8.0;

/// Let an index grow to this number of keys, and return its costs.
pub fn grow(config: &RunsConfig, geometry: &Geometry, keys: u32) -> HashRunsCosts {
    let mut walk = Walk::new(config, geometry);
    let memory = walk.memory;
    let mut inserted = 0.0;
    let mut reads = Mean::default();
    while inserted + memory <= f64::from(keys) {
        inserted += memory;
        walk.flush(inserted);
        if inserted * 2.0 >= f64::from(keys) {
            reads.add(walk.reads(inserted));
        }
    }
    if reads.count == 0.0 {
        reads.add(walk.reads(f64::from(keys)));
    }
    HashRunsCosts {
        written_bytes: walk.written,
        valid_bytes: walk.valid(),
        present_reads: reads.present / reads.count,
        absent_reads: reads.absent / reads.count,
    }
}

/// The sum of reads at many points in the second half of the load, for their mean. A single point
/// would not do, because levels fill and empty.
#[derive(Default)]
struct Mean {
    present: f64,
    absent: f64,
    count: f64,
}

impl Mean {
    fn add(&mut self, (present, absent): (f64, f64)) {
        self.present += present;
        self.absent += absent;
        self.count += 1.0;
    }
}

/// The state of the simulated index: the numbers of entries in its parts.
struct Walk<'a> {
    config: &'a RunsConfig,
    geometry: &'a Geometry,
    /// Entries that the memory table holds.
    memory: f64,
    flushed: Vec<f64>,
    merged: Vec<f64>,
    levels: Vec<f64>,
    /// Number of keys in the existence filter.
    filtered: f64,
    written: f64,
}

impl<'a> Walk<'a> {
    fn new(config: &'a RunsConfig, geometry: &'a Geometry) -> Self {
        let bits = u32::from(config.hash_bits) + u32::from(config.pointer_bits) + 1;
        let entry_size = usize::try_from(bits.div_ceil(8)).expect("a few bytes");
        let entries = u32::try_from(config.memtable_size / entry_size).expect("a few pages");
        Self {
            config,
            geometry,
            memory: f64::from(entries),
            flushed: Vec::new(),
            merged: Vec::new(),
            levels: vec![0.0; usize::from(config.levels)],
            filtered: 0.0,
            written: 0.0,
        }
    }

    /// Flush the memory table, then do all merges that are due.
    fn flush(&mut self, inserted: f64) {
        self.written += self.run_bytes(self.memory);
        self.flushed.push(self.memory);
        if self.flushed.len() >= usize::from(self.config.fan) {
            let run: f64 = self.flushed.drain(..).sum();
            self.written += self.run_bytes(run);
            self.merged.push(run);
        }
        let recent: f64 = self.flushed.iter().chain(&self.merged).sum();
        if recent >= f64::from(self.config.recents_max) {
            self.flushed.clear();
            self.merged.clear();
            self.merge(recent, inserted);
        }
    }

    /// Merge recent entries into the first level that can hold them and all levels above it.
    fn merge(&mut self, recent: f64, inserted: f64) {
        if self.config.filter_bits > 0 {
            self.filtered += recent;
            self.written += self.filter_bytes();
        }
        let recents_max = f64::from(self.config.recents_max);
        let growth = (inserted / recents_max).max(1.0);
        let last = self.levels.len() - 1;
        let mut total = recent;
        let mut place = 0.0;
        for level in 0..=last {
            total += self.levels[level];
            place += 1.0;
            let capacity = recents_max * growth.powf(place / f64::from(self.config.levels));
            if total <= capacity || level == last {
                self.levels[..=level].fill(0.0);
                self.levels[level] = total;
                self.written += self.run_bytes(total);
                return;
            }
        }
    }

    /// Bytes of a run with this many entries, in whole pages or sectors.
    fn run_bytes(&self, entries: f64) -> f64 {
        let mean_gap = 2_f64.powi(i32::from(self.config.hash_bits)) / entries;
        let bits = f64::from(self.config.pointer_bits) + mean_gap.log2() + GAP_BITS;
        self.unit_bytes(entries * bits)
    }

    fn filter_bytes(&self) -> f64 {
        self.unit_bytes(self.filtered * (f64::from(self.config.filter_bits) + GAP_BITS))
    }

    fn unit_bytes(&self, bits: f64) -> f64 {
        let unit = f64::from(self.geometry.sector_size());
        let room = (unit - HEADER_SIZE) * 8.0 * f64::from(self.config.fill_percent) / 100.0;
        let units = (bits / room).ceil();
        match self.config.output {
            Output::Sector => units * unit,
            Output::Page => {
                let per_page = f64::from(self.geometry.sectors_per_page);
                (units / per_page).ceil() * f64::from(self.geometry.page_size)
            }
        }
    }

    fn runs(&self) -> impl Iterator<Item = f64> + '_ {
        let all = self.flushed.iter().chain(&self.merged).chain(&self.levels);
        all.copied().filter(|entries| *entries > 0.0)
    }

    fn valid(&self) -> f64 {
        let filter = if self.config.filter_bits > 0 { self.filter_bytes() } else { 0.0 };
        self.runs().map(|entries| self.run_bytes(entries)).sum::<f64>() + filter
    }

    /// Reads of a lookup of a present key, including its record, and of an absent key. Levels are
    /// searched first, the largest first. Then come recent runs, of which half are searched on
    /// average.
    fn reads(&self, keys: f64) -> (f64, f64) {
        let recent: f64 = self.flushed.iter().chain(&self.merged).sum();
        let recent_runs = real_len(self.flushed.len() + self.merged.len());
        let (mut before, mut present) = (0.0, 0.0);
        for level in self.levels.iter().filter(|level| **level > 0.0).rev() {
            before += 1.0;
            present += level / keys * before;
        }
        present += recent / keys * (before + 0.5 + recent_runs / 2.0);
        let wrong = self.bloom_rate(recent) * recent_runs;
        // A lookup first reads the existence filter, and searches the levels only if the filter has
        // the hash.
        let maybe = 2_f64.powi(-i32::from(self.config.filter_bits));
        let probed = match self.config.filter_bits {
            0 => before,
            _ => 1.0 + maybe * before,
        };
        let filtered = if self.config.filter_bits > 0 { 1.0 - recent / keys } else { 0.0 };
        (1.0 + present + filtered, probed + wrong)
    }

    /// The rate of false positives of the Bloom filter of recent runs.
    fn bloom_rate(&self, recent: f64) -> f64 {
        let bits = real_len(self.config.bloom_size) * 8.0;
        if bits == 0.0 || recent == 0.0 {
            return 1.0;
        }
        (1.0 - (-BLOOM_PROBES * recent / bits).exp()).powf(BLOOM_PROBES)
    }
}
