//! One run of an index method: load keys, update some of them, look some up.

use std::collections::BTreeMap;
use std::sync::Arc;

use flysch::index::pbfilter::FlushUnit;
use flysch::index::runs::Pace;
use flysch_chip::{Part, Prng};
use rayon::prelude::*;

use super::chip_setup::ChipSetup;
use super::costs::{IndexCosts, LookupCost, UpdateCost};
use super::error::MethodError;
use super::keys::{KeyDistribution, Keys};
use super::meter::{Counts, Meter};
use super::method::{IndexMethod, MethodName, MethodSpec, Tuning};
use super::records::Records;

/// Which keys are looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LookupKind {
    /// Keys that are in the index, drawn at random.
    Present,
    /// Keys that are not in the index.
    Absent,
    /// The one key that was inserted half-way through the load.
    Middle,
}

impl LookupKind {
    /// All kinds, in the order of the declaration.
    pub const ALL: [Self; 3] = [Self::Present, Self::Absent, Self::Middle];

    /// Name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Present => "present",
            Self::Absent => "absent",
            Self::Middle => "middle",
        }
    }
}

/// The description of one run in full.
#[derive(Clone, Debug)]
pub struct IndexBench {
    /// The index method to measure.
    pub method: MethodName,
    /// Number of keys to load.
    pub keys: u32,
    /// Size of a key in bytes.
    pub key_size: usize,
    /// How the keys are distributed.
    pub distribution: KeyDistribution,
    /// Number of updates after the load, in percent of the keys.
    pub update_percent: u32,
    /// The kinds of lookup to measure.
    pub lookups: Vec<LookupKind>,
    /// Lookups of each kind. The middle key is looked up only once.
    pub lookup_count: u32,
    /// Number of points in the second half of the load at which lookups are made; they are spread
    /// evenly over these points. With 0, all lookups come after the load. None stands for the
    /// method's default.
    pub states: Option<u32>,
    /// Seed of the keys and of the random draws.
    pub seed: u64,
    /// The flash part that the index is stored on.
    pub part: Arc<Part>,
    /// Power that the chip takes while it works, milliwatts.
    pub active_mw: u32,
    /// RAM that the method may use, in bytes. None stands for the method's default.
    pub ram: Option<usize>,
    /// Parameters that only some methods have.
    pub tuning: Tuning,
}

/// Changes the seed for absent keys and for draws, so that they differ from the loaded keys.
const DRAWS: u64 = 0x6C6F_6F6B;

/// Run all benches on all cores. `finished` is called after each.
pub fn run_all(
    benches: &[IndexBench],
    finished: impl Fn() + Sync,
) -> Vec<Result<IndexCosts, MethodError>> {
    let one = |bench: &IndexBench| {
        let outcome = bench.run();
        finished();
        outcome
    };
    benches.par_iter().with_max_len(1).map(one).collect()
}

impl IndexBench {
    /// A description of the run in one line.
    pub fn title(&self) -> String {
        let Self { method, keys, key_size, distribution, part, .. } = self;
        let (method, distribution) = (method.name(), distribution.name());
        format!("{method} ({keys} {distribution} keys of {key_size} bytes on {})", part.name)
    }

    /// Check that the method can run with these parameters, by building an empty index.
    pub fn check(&self) -> Result<(), MethodError> {
        self.keys()?;
        let spec = self.spec();
        spec.with(&self.setup(&spec)?, |_| Ok(()))
    }

    /// The parameters that are not fields of the result.
    fn parameters(&self) -> BTreeMap<&'static str, String> {
        let Tuning { bits_per_key, hash_count, flush, pace, .. } = self.tuning;
        let Tuning { spare_percent, list_max, chain_len, .. } = self.tuning;
        let mut parameters = match self.method {
            MethodName::Pbfilter | MethodName::Pbfilter2 => BTreeMap::from([
                ("bits-per-key", bits_per_key.to_string()),
                ("hash-count", hash_count.to_string()),
                ("flush", if flush == FlushUnit::Sector { "sector" } else { "page" }.to_owned()),
            ]),
            MethodName::Runs | MethodName::RunsFilter => {
                let pace = if pace == Pace::Spread { "spread" } else { "synchronous" };
                BTreeMap::from([("pace", pace.to_owned())])
            }
            MethodName::Btree => BTreeMap::from([("spare-percent", spare_percent.to_string())]),
            MethodName::Bftl1 | MethodName::Store => BTreeMap::new(),
            MethodName::Bftl2 => BTreeMap::from([("list-max", list_max.to_string())]),
            MethodName::Skimpystash => BTreeMap::from([("chain-len", chain_len.to_string())]),
        };
        if let Some(ram) = self.ram {
            parameters.insert("ram", ram.to_string());
        }
        parameters
    }

    fn keys(&self) -> Result<Keys, MethodError> {
        Ok(Keys::new(self.distribution, self.key_size, self.keys, self.seed)?)
    }

    fn spec(&self) -> MethodSpec {
        let updates = u64::from(self.keys) * u64::from(self.update_percent) / 100;
        MethodSpec {
            name: self.method,
            keys: self.keys,
            key_size: self.key_size,
            changes: u32::try_from(updates).unwrap_or(u32::MAX),
            ram: self.ram,
            tuning: self.tuning,
        }
    }

    fn setup(&self, spec: &MethodSpec) -> Result<ChipSetup, MethodError> {
        let block_count = spec.block_count(&self.part.geometry)?;
        Ok(ChipSetup::new(&self.part, block_count, self.seed))
    }

    /// Run the bench and return its figures.
    pub fn run(&self) -> Result<IndexCosts, MethodError> {
        let (keys, spec) = (self.keys()?, self.spec());
        let setup = self.setup(&spec)?;
        let updates = spec.changes;
        spec.with(&setup, |method| {
            let meter = Meter::new(setup.recorder.clone(), setup.part.geometry);
            let records = Records::new(&setup, keys);
            let prng = Prng::new(self.seed ^ DRAWS);
            let run = Experiment { bench: self, setup: &setup, method, meter, keys, records, prng };
            run.carry_out(updates)
        })
    }
}

/// A run that is under way.
struct Experiment<'a> {
    bench: &'a IndexBench,
    setup: &'a ChipSetup,
    method: &'a mut dyn IndexMethod,
    meter: Meter,
    keys: Keys,
    records: Records,
    prng: Prng,
}

impl Experiment<'_> {
    fn carry_out(mut self, updates: u32) -> Result<IndexCosts, MethodError> {
        // Updates come after the load, so their effect on lookups only shows if all lookups come
        // later still.
        let usual = self.bench.method.usual_states();
        let states = if updates > 0 { 0 } else { self.bench.states.unwrap_or(usual) };
        let [load, present, absent] = self.load(states)?;
        let vp_pages = self.method.valid_pages();
        let update = if updates > 0 { Some(self.update(updates)?) } else { None };
        let mut lookups = Vec::new();
        for &kind in &self.bench.lookups {
            let counts = match kind {
                LookupKind::Present if states > 0 => present,
                LookupKind::Absent if states > 0 => absent,
                _ => self.look_up(kind, self.keys.count(), self.bench.lookup_count)?,
            };
            lookups.push(self.lookup_cost(kind, &counts));
        }
        let ram = self.method.ram();
        let reads = |kind: LookupKind| {
            let cost = lookups.iter().find(|cost| cost.kind == kind.name());
            cost.map(|cost| cost.reads)
        };
        let w_pages = self.pages(load.sectors_programmed);
        let page_size = f64::from(self.setup.part.geometry.page_size);
        Ok(IndexCosts {
            method: self.bench.method.name(),
            n: self.keys.count(),
            key_size: self.keys.size(),
            key_distribution: self.bench.distribution.name(),
            part: self.setup.part.name.clone(),
            blocks: self.setup.part.geometry.block_count,
            seed: self.bench.seed,
            parameters: self.bench.parameters(),
            ram_bytes: ram.own,
            ram_total_bytes: ram.total(),
            w_pages,
            w_bytes_per_key: w_pages * page_size / f64::from(self.keys.count()),
            program_operations: load.programs,
            ir_pages: self.pages(load.sectors_read),
            read_operations: load.reads,
            vp_pages,
            op_pages: w_pages - f64::from(vp_pages),
            block_erases: load.erases,
            out_of_order_programs: load.out_of_order,
            gc_copies: load.copies,
            insert_ns: mean(load.busy_ns, load.operations),
            worst_insert_ns: load.worst_ns,
            insert_uj: self.energy_uj(&load),
            r_present: reads(LookupKind::Present),
            r_absent: reads(LookupKind::Absent),
            r_middle: reads(LookupKind::Middle),
            states,
            lookups,
            updates,
            update,
        })
    }

    /// Insert all keys. Returns three sums of counts: of the inserts, of the lookups of present
    /// keys in between, and of the lookups of absent keys in between.
    fn load(&mut self, states: u32) -> Result<[Counts; 3], MethodError> {
        let mut total = [Counts::default(); 3];
        let count = self.keys.count();
        let share = self.bench.lookup_count.div_ceil(states.max(1));
        let mut seen = 0;
        for number in 0..count {
            self.insert(number)?;
            let reached = u64::from((number + 1).saturating_sub(count / 2)) * u64::from(states);
            if reached < u64::from(count.div_ceil(2)) * (seen + 1) || states == 0 {
                continue;
            }
            seen += 1;
            total[0].join(&self.meter.take());
            for (place, kind) in [(1, LookupKind::Present), (2, LookupKind::Absent)] {
                if self.bench.lookups.contains(&kind) {
                    total[place].join(&self.look_up(kind, number + 1, share)?);
                }
            }
        }
        total[0].join(&self.meter.take());
        Ok(total)
    }

    fn insert(&mut self, number: u32) -> Result<(), MethodError> {
        let record = self.records.append();
        let key = self.keys.present(number);
        self.meter.begin();
        let _scope = self.setup.recorder.scope("insert");
        self.method.insert(&key, record)
    }

    fn update(&mut self, updates: u32) -> Result<UpdateCost, MethodError> {
        for _ in 0..updates {
            let number = self.draw(self.keys.count());
            let (old, new) = self.records.update(number);
            let key = self.keys.present(number);
            self.meter.begin();
            let _scope = self.setup.recorder.scope("update");
            self.method.update(&key, old, new)?;
        }
        let counts = self.meter.take();
        let w_pages = self.pages(counts.sectors_programmed);
        let page_size = f64::from(self.setup.part.geometry.page_size);
        Ok(UpdateCost {
            w_pages,
            w_bytes_per_update: w_pages * page_size / f64::from(updates),
            ir_pages: self.pages(counts.sectors_read),
            block_erases: counts.erases,
            vp_pages: self.method.valid_pages(),
            time_ns: mean(counts.busy_ns, counts.operations),
            worst_ns: counts.worst_ns,
            energy_uj: self.energy_uj(&counts),
        })
    }

    /// Look up `count` keys of one kind. Present keys are drawn from the first `inserted`.
    fn look_up(
        &mut self,
        kind: LookupKind,
        inserted: u32,
        count: u32,
    ) -> Result<Counts, MethodError> {
        for _ in 0..if kind == LookupKind::Middle { 1 } else { count } {
            let number = match kind {
                LookupKind::Present => self.draw(inserted),
                LookupKind::Absent => self.draw(self.keys.count()),
                LookupKind::Middle => inserted / 2,
            };
            let is_absent = kind == LookupKind::Absent;
            let key = if is_absent { self.keys.absent(number) } else { self.keys.present(number) };
            self.meter.begin();
            let _scope = self.setup.recorder.scope("lookup");
            let records = &self.records;
            let is_found = self.method.lookup(&key, &mut |place| records.holds(place, &key))?;
            match (is_found, is_absent) {
                (true, true) => return Err(MethodError::Imagined(number)),
                (false, false) => return Err(MethodError::Missed(number)),
                (true, false) | (false, true) => {}
            }
        }
        Ok(self.meter.take())
    }

    fn draw(&mut self, bound: u32) -> u32 {
        u32::try_from(self.prng.below(u64::from(bound))).expect("below 2^32")
    }

    fn lookup_cost(&self, kind: LookupKind, counts: &Counts) -> LookupCost {
        LookupCost {
            kind: kind.name(),
            count: counts.operations,
            reads: mean(counts.reads, counts.operations),
            record_reads: mean(counts.record_reads, counts.operations),
            index_pages: self.pages(counts.sectors_read) / real(counts.operations),
            p99_reads: counts.reads_at(990),
            p999_reads: counts.reads_at(999),
            worst_reads: counts.worst_reads,
            time_ns: mean(counts.busy_ns, counts.operations),
            worst_ns: counts.worst_ns,
            energy_uj: self.energy_uj(counts),
        }
    }

    fn pages(&self, sectors: u64) -> f64 {
        real(sectors) / f64::from(self.setup.part.geometry.sectors_per_page)
    }

    /// Energy of one operation in microjoules: the time that the chip works times the power it then
    /// takes.
    fn energy_uj(&self, counts: &Counts) -> f64 {
        mean(counts.busy_ns, counts.operations) * f64::from(self.bench.active_mw) / 1e6
    }
}

impl Counts {
    /// Add the counts of further operations of the same kind.
    fn join(&mut self, more: &Self) {
        self.operations += more.operations;
        self.reads += more.reads;
        self.record_reads += more.record_reads;
        self.sectors_read += more.sectors_read;
        self.programs += more.programs;
        self.sectors_programmed += more.sectors_programmed;
        self.erases += more.erases;
        self.out_of_order += more.out_of_order;
        self.copies += more.copies;
        self.busy_ns += more.busy_ns;
        self.worst_ns = self.worst_ns.max(more.worst_ns);
        self.worst_reads = self.worst_reads.max(more.worst_reads);
        for (count, more) in self.with_reads.iter_mut().zip(more.with_reads) {
            *count += more;
        }
    }
}

fn mean(sum: u64, count: u64) -> f64 {
    real(sum) / real(count.max(1))
}

#[expect(clippy::cast_precision_loss, reason = "counts far below 2^52")]
fn real(count: u64) -> f64 {
    count as f64
}
