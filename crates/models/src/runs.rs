//! Hash-ordered runs: what the engine's index will cost, from its merges carried out on counts.
//!
//! No keys and no bytes: every flush, merge of recent runs and merge into a level is done with the
//! numbers of entries alone, by the engine's own rules and parameters. So written pages are those
//! of the engine but for the spread of its merges over time; reads are expectations.

use flysch::index::runs::{Output, RunsConfig};
use flysch_charts::number::real_len;
use flysch_nand::Geometry;

/// What an index of runs costs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RunsCosts {
    /// Bytes programmed for all insertions.
    pub written_bytes: f64,
    /// Bytes that hold valid runs at the end.
    pub valid_bytes: f64,
    /// Page or sector reads of a lookup of a key that is there, its record's included.
    pub present_reads: f64,
    /// The same of a key that is not there.
    pub absent_reads: f64,
}

/// Bits that a Bloom filter over recent runs sets for a hash.
const BLOOM_PROBES: f64 = 3.0;
/// Bits of a gap beyond log2 of its mean: log2 e for a geometric one, and 3 % for Rice's code.
const GAP_BITS: f64 = std::f64::consts::LOG2_E * 1.03;
/// Bytes of a unit's header.
const HEADER_SIZE: f64 = 8.0;

/// Grow an index to so many keys.
pub fn grow(config: &RunsConfig, geometry: &Geometry, keys: u32) -> RunsCosts {
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
    RunsCosts {
        written_bytes: walk.written,
        valid_bytes: walk.valid(),
        present_reads: reads.present / reads.count,
        absent_reads: reads.absent / reads.count,
    }
}

/// Reads summed over states of the second half of the load: levels come and go.
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

/// Entries by place.
struct Walk<'a> {
    config: &'a RunsConfig,
    geometry: &'a Geometry,
    /// Entries of the memory table.
    memory: f64,
    flushed: Vec<f64>,
    merged: Vec<f64>,
    levels: Vec<f64>,
    /// Keys of the existence filter, where there is one.
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

    /// Flush the memory table, and merge what is due.
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

    /// Merge recent entries into the level whose capacity holds them and all above it.
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

    /// Bytes of a run of so many entries, in whole pages or sectors.
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

    /// Reads of a key that is there, its record's included, and of one that is not. Levels are
    /// searched largest first, then recent runs, half of them before the one.
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
        // The existence filter first, and the levels only where it says maybe.
        let maybe = 2_f64.powi(-i32::from(self.config.filter_bits));
        let probed = match self.config.filter_bits {
            0 => before,
            _ => 1.0 + maybe * before,
        };
        let filtered = if self.config.filter_bits > 0 { 1.0 - recent / keys } else { 0.0 };
        (1.0 + present + filtered, probed + wrong)
    }

    /// How often the Bloom filter over recent runs is wrong.
    fn bloom_rate(&self, recent: f64) -> f64 {
        let bits = real_len(self.config.bloom_size) * 8.0;
        if bits == 0.0 || recent == 0.0 {
            return 1.0;
        }
        (1.0 - (-BLOOM_PROBES * recent / bits).exp()).powf(BLOOM_PROBES)
    }
}
