//! Cursors and probes of the index store while it changes, beside a list of all that was put.
//!
//! What has to hold is little, so that it can be asked at every step. A cursor gives what was there
//! from its beginning to its end, each entry once, in order. It says of no entry that it is the
//! newest of its code where it is not.

use std::collections::{BTreeMap, BTreeSet};

use flysch::store::{
    Entry, IndexPlan, Order, Probe, Range, Rows, SHARED, Solo, Store, StoreConfig, TAKE_BACK,
    TOMBSTONE,
};
use flysch_chip::{Chip, Prng};

use super::store_model::{geometry, range, store};
use super::told;

const BLOCKS: u32 = 128;

/// How a history goes.
#[derive(Clone, Copy, Debug)]
struct History {
    seed: u64,
    page_size: u32,
    ram: usize,
    plan: IndexPlan,
    codes: u64,
    /// Of 16 entries, about how many are shared, are tombstones, and take another one back.
    mix: (u64, u64, u64),
    /// Operations after which a snapshot is opened or let go, about; 0: never.
    keeps: u64,
    /// Whether merges get few slices.
    lags: bool,
    /// Whether transactions are rolled back.
    rolls: bool,
}

/// The greatest code of an index.
fn greatest(plan: IndexPlan) -> u64 {
    u64::MAX >> (64 - plan.code_bits())
}

/// The entries of a code that count.
#[derive(Clone, Debug, Default)]
struct Code {
    /// The pointer of the newest entry that is not shared, and whether that is a tombstone.
    newest: Option<(u32, bool)>,
    /// Pointers of the shared entries, or of all in an index with many rows for each key.
    others: BTreeSet<u32>,
}

impl Code {
    fn has(&self, pointer: u32) -> bool {
        self.newest == Some((pointer, false)) || self.others.contains(&pointer)
    }

    fn rows(&self) -> impl Iterator<Item = u32> {
        let newest = self.newest.filter(|(_, is_tombstone)| !is_tombstone);
        self.others.iter().copied().chain(newest.map(|(pointer, _)| pointer))
    }
}

/// A cursor under way.
struct Walk {
    range: Range,
    ends: (u64, u64),
    descends: bool,
    /// What was there at all times since it began.
    due: BTreeSet<(u64, u32)>,
    last: Option<(u64, u32)>,
}

struct World<'a> {
    history: History,
    solo: Solo<'a, Chip>,
    model: BTreeMap<u64, Code>,
    /// When each entry was put.
    times: BTreeMap<(u64, u32), u64>,
    /// What is committed and only in RAM: it is put again after a mount.
    held: Vec<Entry>,
    /// The open transaction: what was put, and the codes as they were before each.
    open: Vec<(Entry, Code)>,
    flushes: u32,
    walks: Vec<Walk>,
    stride: u64,
    pointers: u64,
}

impl History {
    fn random(seed: u64) -> Self {
        let mut prng = Prng::new(seed);
        let mut one_of = |all: &[u64]| all[prng.below(all.len() as u64) as usize];
        let plan = IndexPlan {
            order: if one_of(&[0, 1]) == 0 { Order::Key } else { Order::Hash },
            rows: if one_of(&[0, 1, 2]) == 0 { Rows::Many } else { Rows::One },
            is_updated: true,
            levels: one_of(&[2, 3, 4]) as u8,
            capacity: one_of(&[2, 40, 1000, 20_000]) as u32,
        };
        Self {
            seed,
            page_size: one_of(&[512, 1024, 2048, 4096]) as u32,
            ram: one_of(&[5200, 5600, 7000, 9000, 14_000, 20_000]) as usize,
            plan,
            codes: one_of(&[1, 2, 5, 20, 60, 100, 200, 1000]).min(greatest(plan)),
            mix: (one_of(&[0, 0, 3, 8, 15]), one_of(&[0, 1, 4]), one_of(&[0, 1, 5])),
            keeps: one_of(&[0, 0, 50, 400, 3000]),
            lags: one_of(&[0, 0, 1]) == 1,
            rolls: one_of(&[0, 1]) == 1,
        }
    }

    /// Play so many steps. Returns whether the store takes such a configuration.
    fn play(self, steps: u64) -> bool {
        let geometry = geometry((self.page_size, 8, BLOCKS));
        let Ok(config) = StoreConfig::plan(self.ram, &[self.plan], &geometry, BLOCKS) else {
            return false;
        };
        let mut ram = Vec::new();
        let pointers = 1 << config.pointer_bits();
        let mut world = World {
            history: self,
            solo: store(config, geometry, &mut ram),
            model: BTreeMap::new(),
            times: BTreeMap::new(),
            held: Vec::new(),
            open: Vec::new(),
            flushes: 0,
            walks: Vec::new(),
            stride: greatest(self.plan) / self.codes,
            pointers,
        };
        let mut prng = Prng::new(self.seed);
        for step in 1..steps.min(pointers) {
            world.step(step, &mut prng);
        }
        world.commit();
        world.solo.flush().unwrap();
        world.solo.settle().unwrap();
        world.ask_all();
        true
    }
}

impl World<'_> {
    fn step(&mut self, step: u64, prng: &mut Prng) {
        let History { keeps, rolls, lags, codes, .. } = self.history;
        let entry = self.entry(step, prng);
        self.put(entry, step);
        if prng.below(6) > 0 {
            self.commit();
        } else if rolls && prng.below(4) == 0 {
            self.roll_back();
        }
        if keeps > 0 && prng.below(keeps) == 0 {
            self.solo.store_mut().keep_all(prng.below(2) == 0);
        }
        if self.solo.store().is_due() && (!lags || prng.below(16) == 0) {
            self.solo.work().unwrap();
        }
        if prng.below(300) == 0 {
            self.remount();
        }
        if prng.below(8) == 0 {
            let code = prng.below(codes) * self.stride;
            self.probe(code);
            self.all(code);
        }
        if prng.below(60) == 0 && self.walks.len() < 3 {
            self.begin(prng.below(codes), prng.below(codes), prng.below(2) == 0);
        }
        for at in (0..self.walks.len()).rev() {
            if prng.below(3) == 0 {
                self.go_on(at, prng.below(30));
            }
        }
        if prng.below(400) == 0 {
            self.ask_all();
        }
    }

    /// The entry that is put next.
    fn entry(&self, step: u64, prng: &mut Prng) -> Entry {
        let History { codes, plan, mix: (shared, tombstones, backs), .. } = self.history;
        let code = prng.below(codes) * self.stride;
        let shared = if plan.rows == Rows::One && prng.below(16) < shared { SHARED } else { 0 };
        let others = self.model.get(&code).map(|code| &code.others);
        let some = others.and_then(|others| others.iter().nth(prng.below(9) as usize));
        if let Some(&pointer) = some.filter(|_| prng.below(16) < backs) {
            let shared = if plan.rows == Rows::One { SHARED } else { 0 };
            return Entry { index: 0, code, pointer, flags: TAKE_BACK | shared };
        }
        let ends = plan.rows == Rows::One && prng.below(16) < tombstones;
        // Rows come one behind the other, or anywhere.
        let stride = if self.history.seed.is_multiple_of(2) { 1 } else { 0x9E37 };
        let pointer = (step * stride % self.pointers) as u32;
        Entry { index: 0, code, pointer, flags: shared | if ends { TOMBSTONE } else { 0 } }
    }

    fn put(&mut self, entry: Entry, step: u64) {
        if !self.solo.store().has_room(1) {
            self.commit();
            self.solo.flush().unwrap();
        }
        self.forget_flushed();
        self.solo.store_mut().put(&entry).unwrap();
        let code = self.model.entry(entry.code).or_default();
        self.open.push((entry, code.clone()));
        let is_shared = self.history.plan.rows == Rows::Many || entry.is(SHARED);
        if entry.is(TAKE_BACK) {
            code.others.remove(&entry.pointer);
        } else {
            self.times.insert((entry.code, entry.pointer), step);
            if !is_shared {
                code.newest = Some((entry.pointer, entry.is(TOMBSTONE)));
            } else if !entry.is(TOMBSTONE) {
                code.others.insert(entry.pointer);
            }
        }
        self.forgive();
    }

    /// What was flushed is on flash and survives a mount.
    fn forget_flushed(&mut self) {
        if self.flushes != self.solo.flushes {
            self.held.clear();
            self.flushes = self.solo.flushes;
        }
    }

    fn commit(&mut self) {
        self.solo.store_mut().commit();
        self.held.extend(self.open.drain(..).map(|(entry, _)| entry));
    }

    fn roll_back(&mut self) {
        self.solo.store_mut().roll_back();
        for (entry, before) in self.open.drain(..).rev() {
            self.model.insert(entry.code, before);
        }
        self.forgive();
    }

    /// Cursors need not give what is gone.
    fn forgive(&mut self) {
        let model = &self.model;
        for walk in &mut self.walks {
            walk.due.retain(|(code, pointer)| model[code].has(*pointer));
        }
    }

    /// Lose the RAM, with the snapshots, and put again what was only there.
    fn remount(&mut self) {
        self.roll_back();
        self.solo.store_mut().keep_all(false);
        self.forget_flushed();
        let mut state = vec![0; Store::state_size_max(self.solo.store().config())];
        self.solo.remount(&mut state).unwrap();
        for entry in &self.held {
            self.solo.store_mut().put(entry).unwrap();
            self.solo.store_mut().commit();
        }
    }

    fn begin(&mut self, one: u64, other: u64, descends: bool) {
        let (from, to) = (one.min(other) * self.stride, one.max(other) * self.stride);
        let range = range(0, (from, to), descends);
        let of_code = |(code, entries): (&u64, &Code)| {
            entries.rows().map(|pointer| (*code, pointer)).collect::<Vec<_>>()
        };
        let due = self.model.range(from..=to).flat_map(of_code).collect();
        self.walks.push(Walk { range, ends: (from, to), descends, due, last: None });
    }

    fn go_on(&mut self, at: usize, count: u64) {
        for _ in 0..count {
            let walk = &mut self.walks[at];
            let next = self.solo.next_of(&mut walk.range).unwrap();
            let story = || format!("{:?}", self.history);
            let Some(entry) = next else {
                assert!(walk.due.is_empty(), "{:?} were not given: {}", walk.due, story());
                self.walks.remove(at);
                return;
            };
            let key = (entry.code, entry.pointer);
            let is_behind = |last| if walk.descends { key < last } else { key > last };
            assert!(walk.last.is_none_or(is_behind), "{key:?}, {:?}: {}", walk.last, story());
            assert!((walk.ends.0..=walk.ends.1).contains(&entry.code), "{key:?}: {}", story());
            walk.last = Some(key);
            walk.due.remove(&key);
            self.judge(&entry);
        }
    }

    /// Whether an entry that was given may be one.
    fn judge(&self, entry: &Entry) {
        let code = &self.model[&entry.code];
        let story = || format!("{entry:?} of {code:?}: {:?}", self.history);
        assert!(self.times.contains_key(&(entry.code, entry.pointer)), "{}", story());
        if self.history.plan.rows == Rows::Many {
            assert!(code.has(entry.pointer), "{}", story());
        } else if !entry.is(SHARED) {
            assert_eq!(code.newest, Some((entry.pointer, entry.is(TOMBSTONE))), "{}", story());
            assert!(code.others.is_empty(), "{}", story());
        }
    }

    /// All pointers of a code, as they come in no order. No entry of one row is taken back where
    /// these are asked for.
    fn all(&mut self, code: u64) {
        let is_many = self.history.plan.rows == Rows::Many;
        if !is_many && self.history.mix.2 > 0 {
            return;
        }
        let mut all = BTreeSet::new();
        self.solo.all(0, code, |pointer| all.extend([pointer])).unwrap();
        let of_code = self.model.get(&code).cloned().unwrap_or_default();
        let story = || format!("{all:?} of {code}, {of_code:?}: {:?}", self.history);
        assert!(of_code.rows().all(|row| all.contains(&row)), "{}", story());
        assert!(!is_many || all == of_code.others, "{}", story());
    }

    fn probe(&mut self, code: u64) {
        let mut probe = Probe::new(self.solo.store().config(), 0, code);
        let mut found = Vec::new();
        while let Some(entry) = self.solo.next(&mut probe).unwrap() {
            found.push(entry);
        }
        let of_code = self.model.get(&code).cloned().unwrap_or_default();
        let story = || format!("{found:?} of {code}, {of_code:?}: {:?}", self.history);
        let pointers: BTreeSet<u32> = found.iter().map(|entry| entry.pointer).collect();
        assert!(of_code.rows().all(|row| pointers.contains(&row)), "{}", story());
        if self.history.plan.rows == Rows::Many {
            assert!(found.iter().all(|entry| of_code.has(entry.pointer)), "{}", story());
            assert!(found.is_sorted_by_key(|entry| entry.pointer), "{}", story());
            return;
        }
        if let Some(alone) = found.iter().find(|entry| !entry.is(SHARED)) {
            let newest = Some((alone.pointer, alone.is(TOMBSTONE)));
            assert_eq!(newest, of_code.newest, "{}", story());
        }
        let rows = found.iter().filter(|entry| of_code.has(entry.pointer));
        let times = rows.map(|entry| self.times[&(code, entry.pointer)]);
        assert!(times.is_sorted_by(|one, other| one > other), "{}", story());
    }

    /// Ask for each code, and for all of them.
    fn ask_all(&mut self) {
        for number in 0..self.history.codes {
            self.probe(number * self.stride);
            self.all(number * self.stride);
        }
        for descends in [false, true] {
            self.begin(0, self.history.codes - 1, descends);
            self.go_on(self.walks.len() - 1, u64::MAX);
        }
    }
}

/// `FLYSCH_HISTORIES` histories from seed `FLYSCH_SEED` on.
#[test]
fn cursors_give_what_stays_while_the_store_changes() {
    let first = told("FLYSCH_SEED").unwrap_or(1);
    let count: u64 = told("FLYSCH_HISTORIES").unwrap_or(24);
    let played = (first..first + count).filter(|seed| History::random(*seed).play(3000)).count();
    assert!(played as u64 > count / 4, "{played} of {count} configurations are taken");
}

/// A unit in the middle of a code's was empty: a cursor that had to forget some of the code took it
/// for the end of what it had to look at, and left out the rest.
#[test]
fn an_empty_unit_ends_no_code() {
    assert!(History::random(20_049).play(20_000), "the configuration is taken");
}
