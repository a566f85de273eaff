//! A run of an index method from start to end: the load, the updates, the lookups.

use std::collections::BTreeSet;

use super::bench::{IndexBench, LookupKind};
use super::chip_setup::ChipSetup;
use super::costs::{IndexCosts, LookupCost, UpdateCost};
use super::error::MethodError;
use super::keys::Keys;
use super::meter::{Counts, Meter};
use super::method::IndexMethod;
use super::records::Records;
use super::rows::{Draws, RowKeys};

/// A constant that is mixed into the seed of absent keys and of draws, so that they differ from the
/// loaded keys.
const DRAWS: u64 = 0x6C6F_6F6B;

/// A run that is under way.
pub(super) struct Experiment<'a> {
    bench: &'a IndexBench,
    setup: &'a ChipSetup,
    method: &'a mut dyn IndexMethod,
    meter: Meter,
    keys: Keys,
    rows: RowKeys,
    /// Number of rows of each key so far. Empty if each key has one row.
    counts: Vec<usize>,
    records: Records,
    draws: Draws,
}

impl<'a> Experiment<'a> {
    pub(super) fn new(
        bench: &'a IndexBench,
        setup: &'a ChipSetup,
        method: &'a mut dyn IndexMethod,
        (keys, rows): (Keys, RowKeys),
    ) -> Self {
        let meter = Meter::new(setup.recorder.clone(), setup.part.geometry);
        let records = Records::new(setup, keys, rows);
        let draws = Draws::new(bench.lookup_distribution, bench.seed ^ DRAWS);
        let counts = if rows.per_key() > 1 { vec![0; keys.count() as usize] } else { Vec::new() };
        Self { bench, setup, method, meter, keys, rows, counts, records, draws }
    }

    pub(super) fn carry_out(mut self, updates: u32) -> Result<IndexCosts, MethodError> {
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
                _ => self.look_up(kind, self.bench.keys, self.bench.lookup_count)?,
            };
            lookups.push(self.lookup_cost(kind, &counts));
        }
        Ok(self.costs((load, vp_pages), lookups, (states, updates, update)))
    }

    fn costs(
        &self,
        (load, vp_pages): (Counts, u32),
        lookups: Vec<LookupCost>,
        (states, updates, update): (u32, u32, Option<UpdateCost>),
    ) -> IndexCosts {
        let ram = self.method.ram();
        let of = |kind: LookupKind| lookups.iter().find(move |cost| cost.kind == kind.name());
        let reads = |kind| of(kind).map(|cost| cost.reads);
        let rows = self.bench.keys;
        let w_pages = self.pages(load.sectors_programmed);
        let page_size = f64::from(self.setup.part.geometry.page_size);
        IndexCosts {
            method: self.bench.method.name(),
            n: rows,
            key_size: self.keys.size(),
            key_distribution: self.bench.distribution.name(),
            rows_per_key: self.bench.rows_per_key,
            lookup_distribution: self.bench.lookup_distribution.name(),
            part: self.setup.part.name.clone(),
            blocks: self.setup.part.geometry.block_count,
            seed: self.bench.seed,
            parameters: self.bench.parameters(),
            ram_bytes: ram.own,
            ram_total_bytes: ram.total(),
            w_pages,
            w_bytes_per_key: w_pages * page_size / f64::from(rows),
            program_operations: load.programs,
            ir_pages: self.pages(load.sectors_read),
            read_operations: load.reads,
            vp_pages,
            // A partly programmed page counts as a whole page in `vp_pages`, so the difference may
            // be negative.
            op_pages: (w_pages - f64::from(vp_pages)).max(0.0),
            block_erases: load.erases,
            out_of_order_programs: load.out_of_order,
            gc_copies: load.copies,
            insert_ns: mean(load.busy_ns, load.operations),
            worst_insert_ns: load.worst_ns,
            insert_uj: self.energy_uj(&load),
            r_present: reads(LookupKind::Present),
            r_absent: reads(LookupKind::Absent),
            r_middle: reads(LookupKind::Middle),
            p99_present: of(LookupKind::Present).map(|cost| cost.p99_reads),
            p999_present: of(LookupKind::Present).map(|cost| cost.p999_reads),
            p99_absent: of(LookupKind::Absent).map(|cost| cost.p99_reads),
            p999_absent: of(LookupKind::Absent).map(|cost| cost.p999_reads),
            states,
            updates,
            w_bytes_per_update: update.as_ref().map(|cost| cost.w_bytes_per_update),
            update,
            lookups,
        }
    }

    /// Insert all keys. Returns three sums of counts: for the inserts, and for the lookups of
    /// present keys and of absent keys that were made in between.
    fn load(&mut self, states: u32) -> Result<[Counts; 3], MethodError> {
        let mut total = [Counts::default(); 3];
        let count = self.bench.keys;
        let (mut seen, mut made) = (0, 0);
        for number in 0..count {
            self.insert(number)?;
            let reached = u64::from((number + 1).saturating_sub(count / 2)) * u64::from(states);
            if reached < u64::from(count.div_ceil(2)) * (seen + 1) || states == 0 {
                continue;
            }
            seen += 1;
            let due = due(self.bench.lookup_count, reached / u64::from(count.div_ceil(2)), states);
            let share = due - std::mem::replace(&mut made, due);
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
        let number = self.rows.key_of(number);
        if let Some(count) = self.counts.get_mut(number as usize) {
            *count += 1;
        }
        let key = self.keys.present(number);
        self.meter.begin();
        let _scope = self.setup.recorder.scope("insert");
        self.method.insert(&key, record)
    }

    fn update(&mut self, updates: u32) -> Result<UpdateCost, MethodError> {
        for _ in 0..updates {
            let number = self.draws.any(self.keys.count());
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

    /// Look up `count` keys of one kind. Present keys are those of the first `inserted` rows.
    fn look_up(
        &mut self,
        kind: LookupKind,
        inserted: u32,
        count: u32,
    ) -> Result<Counts, MethodError> {
        for _ in 0..if kind == LookupKind::Middle { 1 } else { count } {
            let number = match kind {
                LookupKind::Present | LookupKind::All => {
                    self.rows.key_of(self.draws.draw(inserted))
                }
                LookupKind::Absent => self.draws.any(self.keys.count()),
                LookupKind::Middle => self.rows.key_of(inserted / 2),
            };
            let is_absent = kind == LookupKind::Absent;
            let key = if is_absent { self.keys.absent(number) } else { self.keys.present(number) };
            self.meter.begin();
            let _scope = self.setup.recorder.scope("lookup");
            if kind == LookupKind::All {
                self.find_all(number, &key)?;
                continue;
            }
            let records = &self.records;
            let is_found = self.method.lookup(&key, &mut |place| records.count(place, &key) > 0)?;
            match (is_found, is_absent) {
                (true, true) => return Err(MethodError::Imagined(number)),
                (false, false) => return Err(MethodError::Missed(number)),
                (true, false) | (false, true) => {}
            }
        }
        Ok(self.meter.take())
    }

    /// Find all rows of a key. If the index names a place more than once, it is read once.
    fn find_all(&mut self, number: u32, key: &[u8]) -> Result<(), MethodError> {
        let (mut places, mut found) = (BTreeSet::new(), 0);
        let records = &self.records;
        self.method.lookup(key, &mut |place| {
            if places.insert(place) {
                found += records.count(place, key);
            }
            false
        })?;
        let wanted = self.counts.get(number as usize).copied().unwrap_or(1);
        if found == wanted { Ok(()) } else { Err(MethodError::Lost(number)) }
    }

    fn lookup_cost(&self, kind: LookupKind, counts: &Counts) -> LookupCost {
        LookupCost {
            kind: kind.name(),
            count: counts.operations,
            reads: mean(counts.reads, counts.operations),
            record_reads: mean(counts.record_reads, counts.operations),
            index_pages: self.pages(counts.sectors_read) / real(counts.operations),
            p99_reads: counts.with_reads.at(990),
            p999_reads: counts.with_reads.at(999),
            worst_reads: counts.with_reads.worst,
            index_reads: mean(counts.reads - counts.record_reads, counts.operations),
            p999_index_reads: counts.with_index_reads.at(999),
            worst_index_reads: counts.with_index_reads.worst,
            time_ns: mean(counts.busy_ns, counts.operations),
            worst_ns: counts.worst_ns,
            energy_uj: self.energy_uj(counts),
        }
    }

    fn pages(&self, sectors: u64) -> f64 {
        real(sectors) / f64::from(self.setup.part.geometry.sectors_per_page)
    }

    /// Mean energy of one operation in microjoules: the time that the chip works times the power
    /// that it takes then.
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
        self.with_reads.join(&more.with_reads);
        self.with_index_reads.join(&more.with_index_reads);
    }
}

/// How many lookups of `all` are due once so many of the states have been reached.
fn due(all: u32, reached: u64, states: u32) -> u32 {
    let due = u64::from(all) * reached.min(states.into()) / u64::from(states);
    u32::try_from(due).unwrap_or(all)
}

fn mean(sum: u64, count: u64) -> f64 {
    real(sum) / real(count.max(1))
}

#[expect(clippy::cast_precision_loss, reason = "counts far below 2^52")]
fn real(count: u64) -> f64 {
    count as f64
}
