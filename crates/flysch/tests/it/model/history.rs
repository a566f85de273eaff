//! Random histories: what the engine shows is compared with ordered maps.

use std::collections::BTreeMap;

use super::device::{Device, Done, Stop};
use super::engine::Engine;
use super::plan::{About, Failing, Plan};
use super::ring::{Given, RING_KEY_COUNT};
use super::state::{RING_KEYS, Row};
use super::switches::Broken;

/// What is in the table: the version's id and its value by key.
pub(crate) type Rows = BTreeMap<u8, (u32, u8)>;

#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) cuts: u64,
    pub(crate) mounts: u64,
    pub(crate) checks: u64,
    pub(crate) full: u64,
    pub(crate) unread: u64,
    pub(crate) spans_max: usize,
}

impl Tally {
    pub(crate) fn add(&mut self, other: &Self) {
        self.cuts += other.cuts;
        self.mounts += other.mounts;
        self.checks += other.checks;
        self.full += other.full;
        self.unread += other.unread;
        self.spans_max = self.spans_max.max(other.spans_max);
    }
}

/// A history under way.
pub(crate) struct History {
    pub(crate) engine: Engine,
    pub(crate) plan: Plan,
    pub(crate) committed: Rows,
    /// What would be there if the commit in flight took place.
    pub(crate) in_flight: Option<Rows>,
    pub(crate) open: Option<Rows>,
    held: Vec<(u32, Rows)>,
    /// What the ring gives back with the next record.
    pub(crate) given: Option<Given>,
    next_id: u32,
    /// Roots that a session has to write before another root block may fail.
    roots_to_failure: u32,
    pub(crate) tally: Tally,
}

fn differs(what: &'static str) -> Done {
    Err(Stop::Breach(what))
}

impl History {
    pub(crate) fn new(plan: Plan) -> Done<Self> {
        let mut device = Device::new(plan.config.block_count, plan.seed);
        for _ in 0..plan.factory_bad {
            let block = device.below(8) as u8;
            device.spoil(block);
        }
        let engine = Engine::format(device, plan.config);
        let mut history = Self {
            engine,
            plan,
            committed: Rows::new(),
            in_flight: None,
            open: None,
            held: Vec::new(),
            given: None,
            next_id: 1,
            roots_to_failure: 0,
            tally: Tally::default(),
        };
        history.format()?;
        history.engine.device.fail_one_in = plan.fail_one_in;
        history.engine.device.fails_left = plan.fails_left;
        let first = usize::from(plan.config.broken != Some(Broken::TwoRoots));
        let sturdy = &history.engine.root_blocks[first..];
        history.engine.device.sturdy = match plan.failing {
            Failing::Most => sturdy.iter().fold(0, |bits, block| bits | 1 << block),
            Failing::OneRoot => !(1 << history.engine.root_blocks[0]),
            Failing::RootsInTurn => u64::MAX,
            Failing::All => 0,
        };
        Ok(history)
    }

    /// Format until it is not cut any more, then mount, or go on in the session that formatted.
    fn format(&mut self) -> Done {
        loop {
            let cut_in = if self.below(2) == 0 { self.below(9) } else { u64::MAX };
            self.engine.device.power_on(cut_in);
            match self.engine.write_first_root() {
                Ok(()) if self.plan.about == About::NewDatabase => {
                    self.engine.begin_new();
                    return Ok(());
                }
                Ok(()) => return self.remount(),
                Err(Stop::Cut) => self.tally.cuts += 1,
                Err(stop) => return Err(stop),
            }
        }
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.engine.device.below(bound)
    }

    /// Mount after a cut, with every operation of the mount cut again, then compare.
    pub(crate) fn remount(&mut self) -> Done {
        self.spare_roots();
        loop {
            let (again, reach) = if self.plan.is_storm { (15, 7) } else { (14, 9) };
            let cut_in = if self.below(16) < again { self.below(reach) } else { u64::MAX };
            self.engine.device.power_on(cut_in);
            self.tally.mounts += 1;
            match self.engine.mount() {
                Ok(()) => break,
                Err(Stop::Cut) => self.tally.cuts += 1,
                Err(stop) => return Err(stop),
            }
        }
        self.engine.device.power_on(u64::MAX);
        self.open = None;
        self.held.clear();
        self.remount_ring();
        self.tally.spans_max = self.tally.spans_max.max(self.engine.state.spans.len());
        if let Some(rows) = self.in_flight.take()
            && self.check_keys(&self.shown(&rows), self.engine.state.commit).is_ok()
        {
            self.committed = rows;
        }
        self.check()
    }

    fn keys(&self) -> impl Iterator<Item = u8> + use<> {
        let count = if self.plan.config.has_ring { RING_KEY_COUNT } else { 0 };
        (0..self.plan.key_count).chain((0..count).map(|key| RING_KEYS + key))
    }

    fn check_keys(&mut self, rows: &Rows, limit: u32) -> Done {
        for key in self.keys() {
            let found = self.engine.lookup(key, limit, false)?.row;
            let found = found.filter(|(_, row)| !row.is_tombstone).map(|(_, row)| row);
            if found.map(|row| (row.id, row.value)) != rows.get(&key).copied() {
                return differs("a lookup shows another row");
            }
        }
        Ok(())
    }

    fn check_scan(&mut self, rows: &Rows, limit: u32) -> Done {
        let mut found = self.engine.scan(limit)?;
        found.sort_by_key(|row| row.key);
        if !same(&found, rows.iter()) {
            return differs("a scan shows other rows");
        }
        for value in 0..VALUES {
            let found = self.by_value(value, limit)?;
            if !same(&found, rows.iter().filter(|(_, row)| row.1 == value)) {
                return differs("a secondary lookup shows other rows");
            }
        }
        Ok(())
    }

    /// The rows with a value, by the secondary index.
    fn by_value(&mut self, value: u8, limit: u32) -> Done<Vec<Row>> {
        let mut found = Vec::new();
        for at in self.engine.secondary(value, false)? {
            for (place, row) in self.engine.cell_rows(at, false)? {
                let is_sought = row.value == value && !row.is_tombstone && row.commit <= limit;
                if is_sought && self.engine.is_current(place, &row, limit)? {
                    found.push(row);
                }
            }
        }
        found.sort_by_key(|row| row.key);
        Ok(found)
    }

    /// Compare everything that is committed, by key; now and then by scan, and for snapshots.
    pub(crate) fn check(&mut self) -> Done {
        self.tally.checks += 1;
        self.settle_ring();
        let rows = self.shown(&self.committed);
        let commit = self.engine.state.commit;
        self.check_keys(&rows, commit)?;
        if self.below(4) == 0 {
            self.check_scan(&rows, commit)?;
        }
        let held = std::mem::take(&mut self.held);
        for (commit, rows) in &held {
            self.check_keys(rows, *commit)?;
            if self.below(4) == 0 {
                self.check_scan(rows, *commit)?;
            }
        }
        self.held = held;
        self.check_open()
    }

    /// Compare everything, by every way.
    pub(crate) fn check_all(&mut self) -> Done {
        self.settle_ring();
        let rows = self.shown(&self.committed);
        self.check_scan(&rows, self.engine.state.commit)?;
        for (commit, rows) in self.held.clone() {
            self.check_scan(&rows, commit)?;
        }
        self.check()
    }

    /// A record in the midst of things, where the broken rule lets it be.
    pub(crate) fn record_now(&mut self) -> Done {
        if self.plan.config.broken == Some(Broken::RecordInTransaction) {
            self.engine.write_record(false)?;
        }
        Ok(())
    }

    fn check_open(&mut self) -> Done {
        let Some(rows) = self.open.as_ref().map(|rows| self.shown(rows)) else { return Ok(()) };
        for key in self.keys() {
            let limit = self.engine.state.commit + 1;
            let found = self.engine.lookup(key, limit, true)?.row;
            let found = found.filter(|(_, row)| !row.is_tombstone).map(|(_, row)| row);
            if found.map(|row| (row.id, row.value)) != rows.get(&key).copied() {
                return differs("the transaction sees another row");
            }
        }
        Ok(())
    }

    pub(crate) fn begin(&mut self) {
        self.engine.begin();
        self.open = Some(self.committed.clone());
    }

    /// Put a version of `key`, or delete it.
    pub(crate) fn put(&mut self, key: u8, value: Option<u8>, len: u8) -> Done {
        let id = self.next_id;
        self.next_id += 1;
        let is_done = self.engine.write(id, key, value, len)?;
        let Some(open) = &mut self.open else { return differs("no transaction") };
        if is_done {
            match value {
                Some(value) => open.insert(key, (id, value)),
                None => open.remove(&key),
            };
        }
        Ok(())
    }

    pub(crate) fn commit(&mut self) -> Done {
        self.in_flight.clone_from(&self.open);
        let is_nvram = self.plan.config.nvram_units > 0;
        self.engine.commit(is_nvram)?;
        if let Some(rows) = self.in_flight.take() {
            self.committed = rows;
        }
        self.open = None;
        Ok(())
    }

    pub(crate) fn rollback(&mut self) -> Done {
        self.open = None;
        self.in_flight = None;
        self.engine.rollback()
    }

    /// Do something in which a read may fail.
    pub(crate) fn with_failing_read(&mut self, work: impl FnOnce(&mut Self) -> Done) -> Done {
        if self.plan.about == About::FailingReads && self.below(4) == 0 {
            self.engine.device.unread_in = Some(self.below(5));
        }
        let outcome = work(self);
        self.engine.device.unread_in = None;
        outcome
    }

    /// Undo what a rollback left in which a read failed, as the next call does.
    fn finish_rollback(&mut self) -> Done {
        if self.open.is_none() && self.engine.open.is_some() { self.rollback() } else { Ok(()) }
    }

    pub(crate) fn hold(&mut self) {
        self.settle_ring();
        let commit = self.engine.state.commit;
        self.engine.hold();
        self.held.push((commit, self.shown(&self.committed)));
    }

    pub(crate) fn let_snapshots_go(&mut self) {
        self.engine.snapshots.clear();
        self.held.clear();
    }

    /// A draw of a statement.
    fn statement(&mut self) -> Done {
        let is_ring = self.plan.config.has_ring && self.below(3) == 0;
        let key_count = if is_ring { RING_KEY_COUNT } else { self.plan.key_count };
        let key = self.below(u64::from(key_count)) as u8 + if is_ring { RING_KEYS } else { 0 };
        if self.below(if is_ring { 12 } else { 4 }) == 0 {
            let len = 1 + self.below(2) as u8;
            return self.put(key, None, len);
        }
        let value = self.below(u64::from(VALUES)) as u8;
        let len = if self.below(12) == 0 { 10 + self.below(18) } else { 1 + self.below(6) };
        self.put(key, Some(value), len as u8)
    }

    fn transaction(&mut self) -> Done {
        self.begin();
        let count = if self.below(8) == 0 { 8 + self.below(24) } else { 1 + self.below(4) };
        for _ in 0..count {
            self.with_failing_read(Self::statement)?;
            match self.below(40) {
                0 | 1 => self.engine.flush()?,
                2 => self.with_failing_read(|it| it.engine.merge_slice())?,
                3 => self.check()?,
                4 => self.engine.compact_slice()?,
                5 => self.record_now()?,
                6 if self.plan.has_large() => self.engine.outgrow(),
                7 | 8 if self.plan.has_large() => self.engine.merge_opens()?,
                _ => self.flush_full()?,
            }
        }
        if self.below(6) == 0 { self.with_failing_read(Self::rollback) } else { self.commit() }
    }

    /// The memory table is small.
    fn flush_full(&mut self) -> Done {
        let open = self.engine.open.as_ref().map_or(0, |open| open.mem.len());
        if self.engine.mem.len() + open > 24 { self.engine.flush() } else { Ok(()) }
    }

    /// What is done between transactions.
    fn maintain(&mut self) -> Done {
        match self.below(if self.plan.config.has_ring { 34 } else { 30 }) {
            30.. => self.advance_ring(),
            24.. => self.engine.copy_slice(),
            0..=7 => self.with_failing_read(|it| it.engine.compact_slice()),
            8..=11 => self.engine.flush(),
            12..=18 => self.with_failing_read(|it| it.engine.merge_slice()),
            19 => self.engine.write_record(false),
            20..=22 if self.held.len() < 2 => {
                self.hold();
                Ok(())
            }
            _ => {
                if !self.plan.holds || self.below(3) == 0 {
                    self.let_snapshots_go();
                }
                Ok(())
            }
        }
    }

    fn goes_on_moving(&mut self) -> bool {
        let is_moving = self.plan.config.lingers && self.engine.state.victim.is_some();
        is_moving && self.below(2) == 0
    }

    /// Make room: compaction, merges and a record.
    fn make_room(&mut self) -> Done {
        self.let_snapshots_go();
        for _ in 0..12 {
            match self.engine.compact_slice() {
                Ok(()) | Err(Stop::Full) => {}
                Err(stop) => return Err(stop),
            }
        }
        self.advance_ring()?;
        self.engine.write_record(false)?;
        self.engine.merge_slice()
    }

    /// Have one of the root blocks fail, if there was time for another in place of the last one.
    fn wear_roots(&mut self) {
        let Engine { root_blocks, device, .. } = &mut self.engine;
        device.sturdy = !root_blocks.iter().fold(0, |bits, block| bits | 1 << block);
        if self.roots_to_failure == 0 {
            (device.fails_left, self.roots_to_failure) = (1, ROOTS_BETWEEN_FAILURES);
        }
    }

    /// In a mount no root block fails that did not fail before.
    fn spare_roots(&mut self) {
        if self.plan.failing == Failing::RootsInTurn {
            self.engine.device.sturdy = u64::MAX;
        }
    }

    fn step(&mut self) -> Done {
        if self.plan.failing == Failing::RootsInTurn {
            self.wear_roots();
        }
        self.finish_rollback()?;
        let outcome = match self.below(3) {
            0 if self.goes_on_moving() => self.engine.compact_slice(),
            0 => self.maintain(),
            _ => self.transaction(),
        };
        let outcome = match outcome {
            Err(stop @ (Stop::Full | Stop::Unread)) => {
                self.tally.full += u64::from(stop == Stop::Full);
                self.tally.unread += u64::from(stop == Stop::Unread);
                self.with_failing_read(Self::rollback)
            }
            other => other,
        };
        match outcome {
            // The next call undoes the rest.
            Err(Stop::Unread) => return Ok(()),
            other => other?,
        }
        let room = self.engine.free_count().saturating_sub(u32::from(self.plan.config.list_len));
        if room < 11 {
            // Snapshots are too old before the writer has to wait.
            self.let_snapshots_go();
        }
        if room < 8 {
            match self.make_room() {
                Ok(()) | Err(Stop::Full) => {}
                Err(stop) => return Err(stop),
            }
        }
        if self.below(24) == 0 { self.check() } else { Ok(()) }
    }

    /// Work until the power goes, or the session is closed and opened again.
    fn live(&mut self) -> Done {
        let cut_in = self.below(self.plan.life_len);
        self.engine.device.power_on(cut_in);
        loop {
            let epoch = self.engine.root.epoch;
            self.step()?;
            let has_new_root = self.engine.root.epoch > epoch;
            if has_new_root && self.engine.device.fails_left == 0 {
                self.roots_to_failure = self.roots_to_failure.saturating_sub(1);
            }
            if self.below(if self.plan.is_storm { 4 } else { 20 }) == 0 {
                self.finish_rollback()?;
                self.engine.close()?;
                if self.below(8) == 0 {
                    return Ok(());
                }
                self.reopen()?;
            }
        }
    }

    /// Open after a clean stop, within the same life.
    fn reopen(&mut self) -> Done {
        self.let_snapshots_go();
        self.spare_roots();
        self.tally.mounts += 1;
        self.engine.mount()?;
        self.check()
    }

    pub(crate) fn run(&mut self) -> Done {
        for _ in 0..self.plan.lives {
            match self.live() {
                Ok(()) | Err(Stop::Cut) => {}
                Err(stop) => return Err(stop),
            }
            self.tally.cuts += 1;
            self.remount()?;
        }
        Ok(())
    }
}

/// Roots that a session writes before another root block may fail: it names others, one goes to
/// them, and one more lets the old ones go.
const ROOTS_BETWEEN_FAILURES: u32 = 4;
/// Values of the secondary index.
const VALUES: u8 = 4;

fn same<'a>(found: &[Row], rows: impl Iterator<Item = (&'a u8, &'a (u32, u8))>) -> bool {
    let found = found.iter().map(|row| (row.key, row.id, row.value));
    found.eq(rows.map(|(key, (id, value))| (*key, *id, *value)))
}
