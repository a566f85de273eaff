//! Cursors over the entries of an index between two codes, ascending or descending. They borrow
//! nothing between calls.
//!
//! The *sources* of a cursor are the segments of the memory table and the runs. For each source the
//! cursor knows its *next* key, below which the source has nothing left to give. The cursor holds
//! some entries, and gives one once no source's next key is below it. Else it reads a unit of the
//! source with the least next key, and holds what is there. Where that is too much, it forgets the
//! greatest entries, and sets the next keys of their sources back to them. It then holds nothing of
//! these sources from there on, for that is read again. So a source that comes late in the order is
//! not read before its turn.
//!
//! 1. The place of a cursor is the last code and pointer that it gave, which stay valid whatever
//!    happens to the runs. What it knows of its sources is valid only while the runs stay as they
//!    are.
//! 2. In a unique index a cursor gives the newest entry of each code that is not shared, be it a
//!    tombstone's, and all shared ones. Where a code has both, all are given as shared, for they
//!    come in the order of their pointers, and any of them may be the newest. For older ones a
//!    snapshot asks a [`Probe`](super::Probe).
//! 3. Sources are numbered from the newest to the oldest. Those of the open transaction come before
//!    committed ones.

use flysch_nand::Nand;

use super::Store;
use super::entry::{Entry, SHARED, TAKE_BACK};
use super::error::StoreError;
use super::memtable::Segment;
use super::probe::Place;
use super::read::Reading;
use super::run::Run;
use super::table::SOURCES_MAX;
use crate::media::Media;

/// Code and pointer, as the cursor orders them: both are inverted where it descends.
type Key = (u64, u32);

/// The next key of a source that has nothing left. No entry has it: pointers have fewer than 32
/// bits.
const NONE: Key = (u64::MAX, u32::MAX);
/// The bits of a pointer that are inverted where a cursor descends.
const POINTER: u32 = u32::MAX >> 1;
/// The number of a source's unit while that is not known.
const NO_UNIT: u32 = u32::MAX;

/// What a cursor knows about its sources.
#[derive(Clone, Debug)]
struct Sources {
    /// Number of sources: segments of the memory table, and runs.
    count: u8,
    places: [Place; SOURCES_MAX],
    next_codes: [u64; SOURCES_MAX],
    next_pointers: [u32; SOURCES_MAX],
    /// For each source the unit that was read last, and a bit, set where that unit has nothing
    /// left.
    units: [u32; SOURCES_MAX],
    spent: u32,
    /// A bit for each source, set where its unit goes on with a code that began on an earlier one.
    straddles: u32,
    /// A bit for each source, set where entries of an earlier unit may be held. They are all of the
    /// least code that the source has left.
    turned: u32,
}

impl Sources {
    const fn next(&self, source: usize) -> Key {
        (self.next_codes[source], self.next_pointers[source])
    }

    const fn set_next(&mut self, source: usize, (code, pointer): Key) {
        (self.next_codes[source], self.next_pointers[source]) = (code, pointer);
    }

    fn push(&mut self, place: Place, next: Key) {
        let at = usize::from(self.count);
        assert!(at < SOURCES_MAX, "an index has a bounded number of runs");
        self.set_next(at, next);
        self.places[at] = place;
        self.forget(at);
        self.count += 1;
    }

    /// Note whether the unit of a source has nothing left.
    const fn spend(&mut self, source: usize, is_spent: bool) {
        self.spent = self.spent & !(1 << source) | (is_spent as u32) << source;
    }

    /// Note whether the unit of a source goes on with a code that began on an earlier one.
    const fn straddle(&mut self, source: usize, does: bool) {
        self.straddles = self.straddles & !(1 << source) | (does as u32) << source;
    }

    /// Note whether entries of an earlier unit of a source may be held.
    const fn turn(&mut self, source: usize, is_turned: bool) {
        self.turned = self.turned & !(1 << source) | (is_turned as u32) << source;
    }

    /// Forget the unit of a source: it has to be looked up again.
    const fn forget(&mut self, source: usize) {
        self.units[source] = NO_UNIT;
        self.spend(source, false);
        self.straddle(source, false);
        self.turn(source, false);
    }

    /// The source with the least next key.
    fn least(&self) -> (usize, Key) {
        let all = (0..usize::from(self.count)).map(|source| (source, self.next(source)));
        all.min_by_key(|(_, next)| *next).unwrap_or((0, NONE))
    }
}

/// An entry that a cursor holds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Held {
    code: u64,
    pointer: u32,
    flags: u8,
    /// Twice the number of its source, and one more where a unit of it was read since that has
    /// newer entries. So the greater of two is the older one.
    age: u8,
}

impl Held {
    const fn key(self) -> Key {
        (self.code, self.pointer)
    }

    const fn source(self) -> usize {
        (self.age / 2) as usize
    }
}

/// A cursor over entries, with the entries that it holds in the order in which they are given. The
/// number of those is a parameter only where a cursor is made, so that the code exists once.
#[derive(Clone, Debug)]
pub struct Range<H: ?Sized = [Held; HELD]> {
    index: u8,
    descends: bool,
    /// The least and the greatest code that are given, inverted where the cursor descends.
    from: u64,
    to: u64,
    /// The key of the entry given last; None before the first.
    last: Option<Key>,
    /// The last code that was seen to have shared entries.
    shared: Option<u64>,
    len: u8,
    sources: Sources,
    /// The counts of changes in the store for which the sources are known; None where they are not.
    known: Option<(u32, u32)>,
    held: H,
}

/// How many entries a cursor holds as a rule.
const HELD: usize = 40;

impl<const ROOM: usize> Range<[Held; ROOM]> {
    /// A cursor over the entries of codes `from..=to`, ascending.
    pub const fn new(index: u8, from: u64, to: u64) -> Self {
        Self::between(index, (from, to), false)
    }

    /// A cursor over the entries of codes `from..=to`, descending from `to`.
    pub const fn descending(index: u8, from: u64, to: u64) -> Self {
        Self::between(index, (from, to), true)
    }

    #[inline(never)]
    pub(crate) const fn between(index: u8, (from, to): (u64, u64), descends: bool) -> Self {
        let (from, to) = if descends { (!to, !from) } else { (from, to) };
        Self {
            index,
            descends,
            from,
            to,
            last: None,
            shared: None,
            len: 0,
            sources: Sources {
                count: 0,
                places: [Place::Memory(Segment::Open); SOURCES_MAX],
                next_codes: [0; SOURCES_MAX],
                next_pointers: [0; SOURCES_MAX],
                units: [NO_UNIT; SOURCES_MAX],
                spent: 0,
                straddles: 0,
                turned: 0,
            },
            known: None,
            held: [Held { code: 0, pointer: 0, flags: 0, age: 0 }; ROOM],
        }
    }

    /// Go on behind the entry of the one code that has this pointer, which is returned. Others of
    /// the code may be newer.
    pub(crate) fn pass(&mut self, pointer: u32) -> Entry {
        assert!(self.from == self.to && !self.descends, "entries of a code come by pointer");
        (self.last, self.known) = (Some((self.from, pointer)), None);
        Entry { index: self.index, code: self.from, pointer, flags: SHARED }
    }

    /// The next entry; None behind the last. `cell` is lent as a buffer. Cost: none while an entry
    /// is held that comes before all others; else a read of each run whose turn it is, and two more
    /// for each where the runs changed.
    pub fn next<N: Nand>(
        &mut self,
        store: &Store<'_>,
        media: &mut Media<'_, N>,
        cell: &mut [u8],
    ) -> Result<Option<Entry>, StoreError> {
        let any: &mut Range<[Held]> = self;
        any.give(store, Reading::new(media, cell, &store.lost))
    }
}

impl Range<[Held]> {
    #[inline(never)]
    fn give<N: Nand>(
        &mut self,
        store: &Store<'_>,
        mut reading: Reading<'_, '_, N>,
    ) -> Result<Option<Entry>, StoreError> {
        self.survey(store);
        loop {
            let (source, next) = self.sources.least();
            let first = self.held().first().filter(|first| first.key() < next);
            if let Some(first) = first.copied() {
                let flags = first.flags | self.flags_beside(first, next);
                self.remove(0);
                debug_assert!(
                    self.last.is_none_or(|last| last < first.key()),
                    "entries are given in their order, each once"
                );
                self.last = Some(first.key());
                if flags & TAKE_BACK == 0 {
                    return Ok(Some(self.entry(first.key(), flags)));
                }
                continue;
            }
            if next == NONE {
                return Ok(None);
            }
            match self.sources.places[source] {
                Place::Memory(segment) => self.read_memory(store, source, segment),
                Place::Run(slot) => self.read_run(store, source, slot, &mut reading)?,
            }
            debug_assert!(self.sources.next(source) > next, "a source that is read goes on");
        }
    }

    /// [`SHARED`] where entries that are shared stand beside an entry, of the same code: one of
    /// them may be newer. It is taken for granted where not all of the code can be held.
    fn flags_beside(&mut self, first: Held, next: Key) -> u8 {
        let is_beside = |held: &Held| held.code == first.code && held.flags & SHARED != 0;
        let is_shared = self.held().iter().any(is_beside);
        if is_shared {
            self.shared = Some(first.code);
        }
        let is_cut = next != NONE && next.0 == first.code;
        debug_assert!(first.key() < next, "no source has an entry before it");
        if is_cut || self.shared == Some(first.code) { SHARED } else { 0 }
    }

    fn entry(&self, (code, pointer): Key, flags: u8) -> Entry {
        let (code, pointer) =
            if self.descends { (!code, pointer ^ POINTER) } else { (code, pointer) };
        Entry { index: self.index, code, pointer, flags }
    }

    const fn key(&self, entry: &Entry) -> Key {
        let Entry { code, pointer, .. } = *entry;
        if self.descends { (!code, pointer ^ POINTER) } else { (code, pointer) }
    }

    /// The key at which the cursor goes on. Entries that are held are forgotten, as their rows may
    /// have been replaced. Only the rest of the code that was given last stays, in a unique index:
    /// that code was read in all sources, unless it has more entries than can be held.
    fn start(&mut self, is_unique: bool) -> Key {
        let kept = self.last.map_or(0, |(code, _)| {
            self.held().iter().take_while(|held| held.code == code).count() as u8
        });
        self.len = 0;
        let Some((code, pointer)) = self.last else { return (self.from, 0) };
        let (_, ahead) = self.sources.least();
        let is_cut = ahead != NONE && ahead.0 == code;
        if !is_unique || is_cut {
            return next((code, pointer));
        }
        self.len = kept;
        next((code, u32::MAX))
    }

    /// Find out which sources there are, unless that is known.
    fn survey(&mut self, store: &Store<'_>) {
        let known = Some(store.generation());
        if self.known == known {
            return;
        }
        self.known = known;
        let shape = store.shapes[usize::from(self.index)];
        let start = self.start(shape.is_unique);
        self.sources.count = 0;
        if start == NONE || start.0 > self.to {
            return;
        }
        let mut order = [Place::Memory(Segment::Open); SOURCES_MAX];
        for place in store.order(self.index, &mut order) {
            let first = match *place {
                Place::Memory(_) => Some(start),
                Place::Run(slot) => self.first_of(store, usize::from(slot)),
            };
            if let Some(first) = first {
                self.sources.push(*place, first.max(start));
            }
        }
    }

    /// The key below which a run has nothing; None where it has no entry of the index at all.
    fn first_of(&self, store: &Store<'_>, slot: usize) -> Option<Key> {
        let run = &store.runs.run(slot);
        let section = run.section(self.index);
        let (from, to) = if self.descends { (!self.to, !self.from) } else { (self.from, self.to) };
        if from > section.greatest || section.least > to {
            return None;
        }
        if from != to {
            let edge = if self.descends { !section.greatest } else { section.least };
            return Some((edge.max(self.from), 0));
        }
        let pointer = if self.descends { run.pointers.1 ^ POINTER } else { run.pointers.0 };
        let is_unique = store.shapes[usize::from(self.index)].is_unique;
        let is_there = store.may_hold(slot, run, self.index, from);
        is_there.then_some((self.from, if is_unique { 0 } else { pointer }))
    }

    fn read_memory(&mut self, store: &Store<'_>, source: usize, segment: Segment) {
        let (start, end) = store.memtable.places(segment, self.index);
        let (from, to) = if self.descends { (!self.to, !self.from) } else { (self.from, self.to) };
        let low = Entry { index: self.index, code: from, ..Entry::default() };
        let start = store.memtable.find(segment, &low).max(start);
        let is_unique = store.shapes[usize::from(self.index)].is_unique;
        let after = self.sources.next(source);
        self.sources.set_next(source, NONE);
        for place in start..end {
            let entry = store.memtable.entry(self.index, place);
            if entry.code > to {
                break;
            }
            if self.key(&entry) >= after {
                self.take(&entry, source, is_unique);
            }
        }
    }

    /// Read the next unit of a run and hold its entries. Where the unit has none that are wanted,
    /// further units are read.
    #[inline(never)]
    fn read_run<N: Nand>(
        &mut self,
        store: &Store<'_>,
        source: usize,
        slot: u8,
        reading: &mut Reading<'_, '_, N>,
    ) -> Result<(), StoreError> {
        let run = store.runs.run(usize::from(slot));
        let after = self.sources.next(source);
        if self.sources.units[source] == NO_UNIT {
            self.sources.units[source] = self.seek(store, &run, after, reading)?;
        }
        let mut goes_on = self.sources.straddles >> source & 1 == 1;
        let mut has_turned = self.sources.turned >> source & 1 == 1;
        let (mut is_cut, mut edge) = (false, after);
        loop {
            let mut unit = self.sources.units[source];
            let is_turned = self.sources.spent >> source & 1 == 1;
            if is_turned {
                let section = run.section(self.index);
                let shape = store.shapes[usize::from(self.index)];
                let turn = |unit: u32| if self.descends { unit - 1 } else { unit + 1 };
                unit = turn(unit);
                unit = if section.is_fence(unit, shape) { turn(unit) } else { unit };
            }
            if !is_cut {
                self.sources.set_next(source, NONE);
            }
            self.sources.units[source] = unit;
            self.sources.straddle(source, false);
            self.sources.turn(source, false);
            self.sources.spend(source, false);
            let (first, its_edge) = self.read_unit(store, &run, (source, after), reading)?;
            edge = its_edge.unwrap_or(edge);
            let given_up = self.sources.next(source);
            goes_on = (goes_on || is_turned) && first == Some(after.0);
            // The entries that were forgotten are of a code that goes on, so they may lie on any of
            // its units. The least ones are held, and the code is looked up again.
            let has_given_up = given_up != NONE;
            let goes_further = has_given_up && given_up.0 == edge.0 && given_up > edge;
            is_cut |= goes_further || has_given_up && goes_on && given_up.0 == after.0;
            has_turned |= is_turned;
            self.sources.straddle(source, goes_on);
            self.sources.turn(source, has_turned);
            if is_cut && !goes_further {
                self.sources.forget(source);
                return Ok(());
            }
            if !is_cut {
                // The entries that were forgotten are still on this unit.
                if edge == NONE || given_up <= edge {
                    return Ok(());
                }
                self.sources.set_next(source, edge);
            }
            self.sources.spend(source, true);
            if !is_cut && edge > after {
                return Ok(());
            }
        }
    }

    /// Hold the entries of a unit from key `after` on. Returns the first code on it, and the key at
    /// which the next unit goes on; None where it is empty, as the next one then goes on where this
    /// one was to.
    fn read_unit<N: Nand>(
        &mut self,
        store: &Store<'_>,
        run: &Run,
        (source, after): (usize, Key),
        reading: &mut Reading<'_, '_, N>,
    ) -> Result<(Option<u64>, Option<Key>), StoreError> {
        let shape = store.shapes[usize::from(self.index)];
        let section = run.section(self.index);
        let unit = self.sources.units[source];
        let (header, mut reader) = reading.open(run, unit, shape)?;
        let mut ends = (None, None);
        if self.descends {
            self.age(source);
        }
        while !reader.is_done() {
            reading.step(&mut reader, run, unit, shape)?;
            let entry = reader.entry(self.index);
            let key = self.key(&entry);
            ends = (ends.0.or(Some(key)), Some(key));
            if key >= after && key.0 <= self.to {
                self.take(&entry, source, shape.is_unique);
            }
        }
        let is_last = if self.descends {
            unit == section.start
        } else {
            // A planned unit that does not spill tells nothing about other units' codes.
            let has_one_code = section.planned == 0 || self.from == self.to;
            let count = section.units - u32::from(section.is_fenced);
            unit + 1 == section.start + count || has_one_code && !header.spills
        };
        let (first, edge) = if self.descends { (ends.1, ends.0) } else { ends };
        let edge = edge.map(|key| match key {
            (code, _) if code > self.to => NONE,
            (code, _) if shape.is_unique => (code, 0),
            // What takes it back may end the unit before.
            key if self.descends => key,
            key => next(key),
        });
        let edge = if is_last { Some(NONE) } else { edge };
        Ok((first.map(|(code, _)| code), edge))
    }

    /// The unit of a run in which a key has to be looked for.
    fn seek<N: Nand>(
        &self,
        store: &Store<'_>,
        run: &Run,
        (code, _): Key,
        reading: &mut Reading<'_, '_, N>,
    ) -> Result<u32, StoreError> {
        let shape = store.shapes[usize::from(self.index)];
        let code = if self.descends { (!code).checked_add(1) } else { Some(code) };
        let Some(code) = code.filter(|code| *code <= shape.code_max()) else {
            // The units of the greatest code are the last ones.
            let section = run.section(self.index);
            return Ok(section.start + section.units - 1 - u32::from(section.is_fenced));
        };
        store.unit_of(run, (self.index, code), reading)
    }

    /// Note that a unit is read whose entries of a code are newer than those that are held of its
    /// source: in a run the newest come first, and a cursor that descends reads the units of a code
    /// from the last to the first.
    fn age(&mut self, source: usize) {
        for held in &mut self.held[..usize::from(self.len)] {
            held.age |= u8::from(held.source() == source);
        }
    }

    /// Hold an entry, unless a newer one that replaces it is held, or it lies where its source is
    /// read again.
    fn take(&mut self, entry: &Entry, source: usize, is_unique: bool) {
        let key = self.key(entry);
        debug_assert!(key != NONE, "what ends a source is no entry");
        if key >= self.sources.next(source) {
            return;
        }
        let age = 2 * source as u8;
        if is_unique && entry.is_sole() {
            let is_sole = |held: &Held| Entry { flags: held.flags, ..*entry }.is_sole();
            let other = self.held().iter().position(|held| held.code == key.0 && is_sole(held));
            if let Some(at) = other {
                if self.held[at].age <= age {
                    return;
                }
                self.remove(at);
            }
        }
        let at = self.place_of(key);
        let new = Held { code: key.0, pointer: key.1, flags: entry.flags, age };
        let same = self.held[..usize::from(self.len)].get_mut(at);
        if let Some(same) = same.filter(|same| same.key() == key) {
            // A shared entry and one that is not may name the same cell: neither replaces the
            // other.
            let shared = (same.flags | entry.flags) & SHARED;
            if same.age > age {
                *same = new;
            }
            same.flags |= if is_unique { shared } else { 0 };
            return;
        }
        if usize::from(self.len) == self.held.len() {
            self.give_up(key, source, is_unique);
            if key >= self.sources.next(source) {
                return;
            }
        }
        self.insert(new);
    }

    /// Make room for an entry: forget the greatest of the held entries and of this one. The source
    /// of the forgotten one goes on there.
    fn give_up(&mut self, new: Key, source: usize, is_unique: bool) {
        debug_assert_eq!(usize::from(self.len), self.held.len(), "else there is room");
        let last = self.held[self.held.len() - 1];
        let (key, source) =
            if last.key() > new { (last.key(), last.source()) } else { (new, source) };
        // Which of the entries of a code is the newest is known only once all of them were read. So
        // the whole code is read again, unless it has more entries than can be held.
        let key = if is_unique && key.0 != self.held[0].code { (key.0, 0) } else { key };
        let next = self.sources.next(source).min(key);
        self.sources.set_next(source, next);
        self.forget_from(key, source);
        let is_least = |held: &Held| held.source() != source || held.code >= key.0;
        if self.sources.turned >> source & 1 == 1 && self.held().iter().all(is_least) {
            // The forgotten entry may lie on the unit before.
            self.sources.forget(source);
        }
        self.sources.spend(source, false);
    }

    /// Forget what is held of a source from a key on: it is read again.
    fn forget_from(&mut self, key: Key, source: usize) {
        let first = self.place_of(key);
        let mut len = first;
        for at in first..usize::from(self.len) {
            let held = self.held[at];
            if held.source() != source {
                self.held[len] = held;
                len += 1;
            }
        }
        self.len = len as u8;
    }

    /// Hold an entry. There is room for it, and none with its key.
    fn insert(&mut self, new: Held) {
        let (at, len) = (self.place_of(new.key()), usize::from(self.len));
        debug_assert!(len < self.held.len(), "there is room for the entry");
        self.held.copy_within(at..len, at + 1);
        self.held[at] = new;
        self.len += 1;
        debug_assert!(
            self.held().is_sorted_by(|one, other| one.key() < other.key()),
            "what is held ascends, and no key is there twice"
        );
    }

    /// Where an entry of this key stands among those that are held, or comes to stand.
    fn place_of(&self, key: Key) -> usize {
        self.held().partition_point(|held| held.key() < key)
    }

    fn held(&self) -> &[Held] {
        &self.held[..usize::from(self.len)]
    }

    fn remove(&mut self, at: usize) {
        debug_assert!(at < usize::from(self.len), "the entry is held");
        self.held.copy_within(at + 1..usize::from(self.len), at);
        self.len -= 1;
    }
}

/// The next greater key.
const fn next((code, pointer): Key) -> Key {
    match (code, pointer) {
        NONE => NONE,
        (code, u32::MAX) => (code + 1, 0),
        (code, pointer) => (code, pointer + 1),
    }
}
