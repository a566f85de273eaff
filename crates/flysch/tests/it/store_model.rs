//! The index store against ordered maps: random histories, sliced and mounted at random.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use flysch::media::Partition;
use flysch::store::{
    Entry, IndexPlan, Order, Probe, Range, Rows, SHARED, Solo, Store, StoreConfig, StoreError,
    TAKE_BACK, TOMBSTONE,
};
use flysch_chip::{Chip, Clock, Part, Prng};
use flysch_nand::Geometry;

/// How keys come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Keys {
    Random,
    Ascending,
    Descending,
    Bursty,
    Zipf,
}

#[derive(Clone, Copy, Debug)]
struct History {
    seed: u64,
    geometry: (u32, u32, u32),
    ram: usize,
    operations: usize,
    keys: Keys,
    /// Different codes, about.
    codes: u64,
    order: Order,
    rows: Rows,
    is_updated: bool,
    levels: u8,
    /// Whether merges get so few slices that large ones are put off for small ones.
    lags: bool,
    /// Operations after which a snapshot is opened or let go, about: runs have what was replaced
    /// meanwhile. 0: never.
    keeps: u64,
}

const BASE: History = History {
    seed: 1,
    geometry: (1024, 8, 96),
    ram: 5600,
    operations: 3000,
    keys: Keys::Random,
    codes: 1 << 40,
    order: Order::Hash,
    rows: Rows::One,
    is_updated: false,
    levels: 3,
    lags: false,
    keeps: 0,
};

pub(crate) fn geometry((page_size, pages_per_block, block_count): (u32, u32, u32)) -> Geometry {
    let part = Part::named("w25n01gv").unwrap();
    Geometry { page_size, pages_per_block, block_count, ..part.geometry }
}

/// The live pointers of each code of each index, the newest last.
type Model = [BTreeMap<u64, Vec<u32>>; 3];

/// A store on a chip of its own. The RAM becomes as large as it needs.
pub(crate) fn store(config: StoreConfig, geometry: Geometry, ram: &mut Vec<u8>) -> Solo<'_, Chip> {
    let partition = Partition { first: 0, count: geometry.block_count };
    ram.resize(Solo::<Chip>::carved(&config, partition), 0);
    let part = Part { geometry, ..Part::named("w25n01gv").unwrap() };
    Solo::new(Chip::new(Arc::new(part), Clock::new(), 1), partition, config, ram)
}

pub(crate) fn range(index: u8, (from, to): (u64, u64), descends: bool) -> Range {
    if descends { Range::descending(index, from, to) } else { Range::new(index, from, to) }
}

struct World<'a> {
    history: History,
    solo: Solo<'a, Chip>,
    model: Model,
    /// What the memory table holds.
    held: Vec<Entry>,
    flushes: u32,
    next: u32,
    pointers: u32,
    mask: u64,
}

/// The code of a pointer in an index of few codes: those of keys are the least and the greatest
/// there are, and some between. A cursor that descended left out rows of either.
fn side_code(pointer: u32, index: u64) -> u64 {
    match u64::from(pointer) % 7 {
        0 if index == 2 => 0,
        6 if index == 2 => u64::MAX,
        number => number * 1000 + index,
    }
}

fn check(history: History) {
    let History { order, rows, is_updated, levels, .. } = history;
    let geometry = geometry(history.geometry);
    let plan = IndexPlan { order, rows, is_updated, levels, capacity: 20_000 };
    let side = IndexPlan { rows: Rows::Many, order: Order::Hash, is_updated: false, ..plan };
    let plans = [plan, side, IndexPlan { order: Order::Key, ..side }];
    let config = StoreConfig::plan(history.ram, &plans, &geometry, geometry.block_count);
    let config = config.unwrap_or_else(|error| panic!("{error:?}: {history:?}"));
    let mut ram = Vec::new();
    let solo = store(config, geometry, &mut ram);
    let mask = u64::MAX >> (64 - plan.code_bits());
    let pointers = 1 << config.pointer_bits();
    let model = Model::default();
    let mut world =
        World { history, solo, model, held: Vec::new(), flushes: 0, next: 0, pointers, mask };
    world.run();
}

impl World<'_> {
    fn run(&mut self) {
        let mut prng = Prng::new(self.history.seed);
        for operation in 0..self.history.operations {
            self.step(operation as u64, &mut prng);
            if self.history.keeps > 0 && prng.below(self.history.keeps) == 0 {
                self.solo.store_mut().keep_all(prng.below(3) > 0);
            }
            if prng.below(400) == 0 {
                self.remount();
            }
            if prng.below(700) == 0 {
                self.compare(&mut prng, 60);
            }
            while prng.below(3) > 0 && !self.history.lags && self.solo.store().is_due() {
                self.solo.work().unwrap();
            }
        }
        self.compare(&mut prng, 2000);
        self.solo.flush().unwrap();
        self.solo.settle().unwrap();
        self.compare(&mut prng, 2000);
    }

    fn code(&self, operation: u64, prng: &mut Prng) -> u64 {
        let History { keys, codes, order, .. } = self.history;
        let number = match keys {
            Keys::Random => prng.below(codes),
            Keys::Ascending => operation,
            Keys::Descending => (1 << 30) - operation % (1 << 20),
            Keys::Bursty => operation / 64 * 1_000_003 + prng.below(8),
            Keys::Zipf => codes / (prng.below(codes) + 1),
        };
        match order {
            Order::Key => number,
            Order::Hash => (number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 17) & self.mask,
        }
    }

    fn step(&mut self, operation: u64, prng: &mut Prng) {
        let code = self.code(operation, prng);
        let live = self.model[0].get(&code).cloned().unwrap_or_default();
        let pointer = self.next % self.pointers;
        let is_one = self.history.rows == Rows::One;
        if !live.is_empty() && is_one && !self.history.is_updated {
            return;
        }
        self.next += 1;
        let deletes = self.history.is_updated && !live.is_empty() && prng.below(4) == 0;
        if is_one {
            let flags = if deletes { TOMBSTONE } else { 0 };
            self.put(Entry { index: 0, code, pointer, flags });
            self.model[0].insert(code, if deletes { vec![] } else { vec![pointer] });
        } else if deletes {
            let victim = live[prng.below(live.len() as u64) as usize];
            self.put(Entry { index: 0, code, pointer: victim, flags: TAKE_BACK });
            self.model[0].get_mut(&code).unwrap().retain(|&old| old != victim);
            return;
        } else {
            self.put(Entry { index: 0, code, pointer, flags: 0 });
            self.model[0].entry(code).or_default().push(pointer);
        }
        for index in [1, 2] {
            let value = side_code(pointer, index);
            self.put(Entry { index: index as u8, code: value, pointer, flags: 0 });
            self.model[index as usize].entry(value).or_default().push(pointer);
        }
    }

    fn put(&mut self, entry: Entry) {
        let put = if self.history.lags { self.put_alone(&entry) } else { self.insert(&entry) };
        put.unwrap_or_else(|error| panic!("{error}: {:?}", self.history));
        if self.solo.flushes != self.flushes {
            self.held.clear();
            self.flushes = self.solo.flushes;
        }
        self.held.push(entry);
    }

    fn insert(&mut self, entry: &Entry) -> Result<(), StoreError> {
        self.solo.insert(entry).map(drop)
    }

    /// Put an entry; a slice of work is done for every sixteenth alone, and where there is no room.
    fn put_alone(&mut self, entry: &Entry) -> Result<(), StoreError> {
        if !self.solo.store().has_room(1) {
            self.solo.flush()?;
        }
        self.solo.store_mut().put(entry)?;
        self.solo.store_mut().commit();
        if entry.pointer.is_multiple_of(16) { self.solo.work().map(drop) } else { Ok(()) }
    }

    /// Lose the RAM; the caller puts again what was not flushed.
    fn remount(&mut self) {
        let mut state = vec![0; Store::state_size_max(self.solo.store().config())];
        self.solo.remount(&mut state).unwrap();
        for entry in &self.held {
            self.solo.store_mut().put(entry).unwrap();
            self.solo.store_mut().commit();
        }
    }

    fn compare(&mut self, prng: &mut Prng, count: usize) {
        for index in 0..3 {
            let codes: Vec<u64> = self.model[index].keys().copied().collect();
            for _ in 0..count.min(codes.len() * 2) {
                let code = codes[prng.below(codes.len() as u64) as usize];
                self.compare_code(index as u8, code);
            }
        }
        for _ in 0..20 {
            let absent = prng.below(self.mask);
            self.compare_code(0, absent);
        }
        if self.history.order == Order::Key {
            let end = prng.below(self.history.codes.min(1 << 41));
            self.compare_range(0, end / 2, end);
        }
        for (from, to) in [(0, 3005), (0, u64::MAX), (3002, u64::MAX)] {
            self.compare_range(2, from, to);
        }
    }

    fn compare_code(&mut self, index: u8, code: u64) {
        let wanted = self.model[usize::from(index)].get(&code).cloned().unwrap_or_default();
        let mut probe = Probe::new(self.solo.store().config(), index, code);
        let mut found = Vec::new();
        while let Some(entry) = self.solo.next(&mut probe).unwrap() {
            assert_eq!((entry.index, entry.code), (index, code));
            found.push(entry);
        }
        if index == 0 && self.history.rows == Rows::One {
            let newest = found.first().filter(|entry| !entry.is(TOMBSTONE));
            let newest = newest.map(|entry| entry.pointer);
            assert_eq!(newest, wanted.first().copied(), "code {code}: {:?}", self.history);
            return;
        }
        let found: Vec<u32> = found.iter().map(|entry| entry.pointer).collect();
        let wanted: BTreeSet<u32> = wanted.into_iter().collect();
        let wanted: Vec<u32> = wanted.into_iter().collect();
        assert_eq!(found, wanted, "index {index}, code {code}: {:?}", self.history);
    }

    fn compare_range(&mut self, index: u8, from: u64, to: u64) {
        let mut wanted: Vec<(u64, u32)> = Vec::new();
        for (code, pointers) in self.model[usize::from(index)].range(from..=to) {
            let pointers: BTreeSet<u32> = pointers.iter().copied().collect();
            wanted.extend(pointers.into_iter().map(|pointer| (*code, pointer)));
        }
        for descends in [false, true] {
            let mut range = range(index, (from, to), descends);
            let mut found = Vec::new();
            while let Some(entry) = self.solo.next_of(&mut range).unwrap() {
                if !entry.is(TOMBSTONE) {
                    found.push((entry.code, entry.pointer));
                }
            }
            if descends {
                found.reverse();
            }
            assert_eq!(found, wanted, "{from}..={to} of {index}, {descends}: {:?}", self.history);
        }
    }
}

#[test]
fn unique_hashes_are_found() {
    for seed in 0..4 {
        check(History { seed, ..BASE });
        check(History { seed, is_updated: true, codes: 2000, ..BASE });
    }
}

#[test]
fn many_rows_a_key_are_found() {
    for (seed, codes) in [(1, 1), (2, 60), (3, 1200), (4, 1 << 40)] {
        check(History { seed, codes, rows: Rows::Many, ..BASE });
        check(History { seed, codes, rows: Rows::Many, is_updated: true, ..BASE });
    }
}

#[test]
fn keys_in_order_are_found() {
    for keys in [Keys::Random, Keys::Ascending, Keys::Descending, Keys::Bursty, Keys::Zipf] {
        let history = History { keys, order: Order::Key, ..BASE };
        check(history);
        check(History { codes: 3000, is_updated: true, ..history });
        check(History { codes: 3000, rows: Rows::Many, ..history });
    }
}

#[test]
fn merges_that_are_put_off_lose_nothing() {
    for seed in 0..3 {
        let history = History { seed, lags: true, operations: 5000, codes: 2500, ..BASE };
        check(history);
        check(History { is_updated: true, ..history });
        check(History { is_updated: true, order: Order::Key, ..history });
        check(History { is_updated: true, rows: Rows::Many, ..history });
    }
}

/// What snapshots keep lies beside what replaced it, over many units of a run: the newest is found.
#[test]
fn what_snapshots_keep_hides_nothing_newer() {
    for (seed, codes) in [(0, 3), (1, 20), (2, 150), (3, 2500)] {
        let history = History { seed, codes, keeps: 200, is_updated: true, ..BASE };
        check(history);
        check(History { order: Order::Key, ..history });
        check(History { order: Order::Key, lags: true, ..history });
    }
}

#[test]
fn pages_of_any_size_do() {
    for (geometry, ram) in
        [((512, 16, 200), 5200), ((2048, 16, 64), 12_000), ((4096, 8, 64), 20_000)]
    {
        check(History { geometry, ram, ..BASE });
        check(History { geometry, ram, is_updated: true, codes: 3000, order: Order::Key, ..BASE });
    }
}

#[test]
fn shared_codes_are_told_apart_by_pointer() {
    let geometry = geometry((1024, 8, 96));
    let plan = IndexPlan { levels: 2, capacity: 1000, is_updated: true, ..IndexPlan::default() };
    let config = StoreConfig::plan(5600, &[plan], &geometry, 96).unwrap();
    let mut ram = Vec::new();
    let mut solo = store(config, geometry, &mut ram);
    let mut live: BTreeSet<u32> = BTreeSet::from([7999]);
    solo.insert(&Entry { index: 0, code: 77, pointer: 7999, flags: 0 }).unwrap();
    for pointer in 1..4000 {
        let code = u64::from(pointer) * 31 % 3000 + 100;
        solo.insert(&Entry { index: 0, code, pointer, flags: 0 }).unwrap();
        if pointer % 400 == 1 {
            solo.insert(&Entry { index: 0, code: 77, pointer, flags: SHARED }).unwrap();
            live.insert(pointer);
        } else if pointer % 400 == 151 && pointer > 400 {
            let flags = SHARED | TAKE_BACK;
            solo.insert(&Entry { index: 0, code: 77, pointer: pointer - 550, flags }).unwrap();
            live.remove(&(pointer - 550));
        }
    }
    solo.flush().unwrap();
    solo.settle().unwrap();
    let mut probe = Probe::new(solo.store().config(), 0, 77);
    let mut found = BTreeSet::new();
    while let Some(entry) = solo.next(&mut probe).unwrap() {
        assert!(found.insert(entry.pointer), "each is given once");
    }
    assert_eq!(found, live);
}

/// A row may come to a cell whose row was taken back, and have the same code: page numbers begin
/// again. Of an entry and its take-backs the newest counts. Where both meet in the memory table
/// they go, so that an older entry may come to light; its row says that it is gone.
#[test]
fn a_row_where_another_one_was_taken_back_is_found() {
    for (seed, order) in [(1, Order::Hash), (2, Order::Key), (3, Order::Hash)] {
        let geometry = geometry((1024, 8, 96));
        let plan = IndexPlan {
            order,
            rows: Rows::Many,
            levels: 2,
            capacity: 1000,
            ..IndexPlan::default()
        };
        let config = StoreConfig::plan(5600, &[plan], &geometry, 96).unwrap();
        let mut ram = Vec::new();
        let mut solo = store(config, geometry, &mut ram);
        let (mut prng, mut live) = (Prng::new(seed), BTreeMap::new());
        for turn in 1..6000 {
            let pointer = prng.below(400) as u32;
            let (code, flags) = match live.remove(&pointer) {
                Some(code) => (code, TAKE_BACK),
                None => (prng.below(3), 0),
            };
            if flags == 0 {
                live.insert(pointer, code);
            }
            solo.insert(&Entry { index: 0, code, pointer, flags }).unwrap();
            if turn % 250 > 0 {
                continue;
            }
            for code in 0..3 {
                let mut probe = Probe::new(solo.store().config(), 0, code);
                let mut found = BTreeSet::new();
                while let Some(entry) = solo.next(&mut probe).unwrap() {
                    assert!(found.insert(entry.pointer), "{} is given once", entry.pointer);
                }
                let of_code = live.iter().filter(|(_, other)| **other == code);
                let wanted: BTreeSet<u32> = of_code.map(|(pointer, _)| *pointer).collect();
                let story = format!("seed {seed}, turn {turn}, code {code}");
                assert!(found.is_superset(&wanted), "{found:?} has not all of {wanted:?}: {story}");
                let gone = found.len() - wanted.len();
                assert!(gone * 4 <= wanted.len(), "{gone} beside {}: {story}", wanted.len());
            }
        }
    }
}

/// Put entries of few codes, `flags` of each, and ask ranges of either direction for those that a
/// cursor must give: all shared ones, and the newest of the others of each code.
fn check_ranges(codes: u64, (page_size, ram): (u32, usize), keeps: bool, flags: &[u8]) {
    let geometry = geometry((page_size, 8, 96));
    let plan = IndexPlan {
        order: Order::Key,
        levels: 2,
        capacity: 4000,
        is_updated: true,
        ..IndexPlan::default()
    };
    let config = StoreConfig::plan(ram, &[plan], &geometry, 96).unwrap();
    let mut memory = Vec::new();
    let mut solo = store(config, geometry, &mut memory);
    solo.store_mut().keep_all(keeps);
    let (mut prng, mut shared, mut newest) = (Prng::new(codes), BTreeSet::new(), BTreeMap::new());
    for number in 1..2500_u32 {
        let pointer = number.wrapping_mul(0x9E37) % 8192;
        let code = prng.below(codes) << 50;
        let flags = flags[prng.below(flags.len() as u64) as usize];
        solo.insert(&Entry { index: 0, code, pointer, flags }).unwrap();
        if flags == SHARED {
            shared.insert((code, pointer));
        } else {
            newest.insert(code, pointer);
        }
        if number % 50 > 0 {
            continue;
        }
        let alone = newest.iter().map(|(code, pointer)| (*code, *pointer));
        let wanted: BTreeSet<(u64, u32)> = shared.iter().copied().chain(alone).collect();
        for descends in [false, true] {
            let mut range = range(0, (0, u64::MAX), descends);
            let mut found = BTreeSet::new();
            while let Some(entry) = solo.next_of(&mut range).unwrap() {
                found.insert((entry.code, entry.pointer));
            }
            let lost: Vec<_> = wanted.difference(&found).collect();
            assert!(lost.is_empty(), "{codes} codes, {number}, {descends}: {lost:?}");
        }
    }
}

/// One code has more shared entries than a cursor holds. The cursor forgot some that it had met on
/// the last unit of a code, and sought them on the unit behind.
#[test]
fn a_range_gives_all_shared_entries_of_a_code() {
    for codes in [2, 3, 7, 20, 60] {
        check_ranges(codes, (1024, 5600), false, &[SHARED]);
    }
}

/// A run keeps what was replaced for a snapshot, and some codes have shared entries beside. A
/// cursor that had forgotten the newest entry of a code kept an older one of the same run, and
/// passed over the newest as older when it read the run again.
#[test]
fn a_range_gives_the_newest_of_what_a_run_kept() {
    for codes in [8, 20, 30, 60, 200] {
        check_ranges(codes, (2048, 9000), true, &[SHARED, 0, 0]);
    }
}

/// F5: a state with a right seal and wild numbers is refused, and lookups in one that is believed
/// end with an answer or an error.
#[test]
fn states_that_lie_are_refused_or_harmless() {
    let geometry = geometry((1024, 8, 96));
    let plan = IndexPlan { levels: 2, capacity: 20_000, ..IndexPlan::default() };
    let plans = [plan, IndexPlan { order: Order::Key, rows: Rows::Many, ..plan }];
    let config = StoreConfig::plan(6000, &plans, &geometry, 96).unwrap();
    let mut ram = Vec::new();
    let mut solo = store(config, geometry, &mut ram);
    let mut prng = Prng::new(3);
    let mut state = vec![0; Store::state_size_max(&config)];
    let mut refused = 0;
    for round in 0..4000 {
        if round < 1500 {
            let (code, pointer) = (prng.below(1 << 20), prng.below(1 << 12) as u32);
            solo.insert(&Entry { index: 0, code, pointer, flags: 0 }).unwrap();
            solo.insert(&Entry { index: 1, code, pointer, flags: 0 }).unwrap();
            continue;
        }
        let len = if round == 1500 { solo.remount(&mut state).unwrap() } else { state.len() };
        state.truncate(len);
        let mut wrong = state.clone();
        for _ in 0..=prng.below(3) {
            let at = prng.below(len as u64) as usize;
            wrong[at] = if prng.below(2) == 0 { prng.below(256) as u8 } else { wrong[at] ^ 1 };
        }
        wrong.truncate(if prng.below(8) == 0 { prng.below(len as u64) as usize } else { len });
        if solo.store_mut().load_state(&wrong).is_err() {
            refused += 1;
            continue;
        }
        for index in 0..2 {
            let mut probe = Probe::new(&config, index, prng.below(1 << 20));
            for _ in 0..50 {
                if !matches!(solo.next(&mut probe), Ok(Some(_))) {
                    break;
                }
            }
        }
    }
    assert!(refused > 500, "{refused} refused");
}
