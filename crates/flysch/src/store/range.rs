//! Cursors over the entries of an index between two codes, either way, borrowing nothing.
//!
//! A refill looks into each source once and keeps the entries that come next. An entry is given
//! once every source was asked for what comes before it: that is the *bound*. A source that has
//! more than the unit that was read moves the bound to the end of that unit.
//!
//! 1. The cursor's place is the last code and pointer given; it holds whatever happens to the runs.
//!    The units where the next refill begins are remembered only while the runs stay as they are.
//! 2. Of a one-row key the newest sole entry is given, tombstones too, and all shared ones. A
//!    snapshot asks a [`Probe`](super::Probe) for older ones.

use flysch_nand::Nand;

use super::Store;
use super::entry::{Entry, TAKE_BACK};
use super::error::StoreError;
use super::memtable::Segment;
use super::read::Reading;
use super::run::{OPEN, RUNS_MAX, Run};
use super::seek::Seek;
use crate::media::Media;

/// Code and pointer in the direction of the cursor: both are inverted where it descends.
type Key = (u64, u32);

/// A cursor over entries, `HELD` of which it holds.
#[derive(Clone, Debug)]
pub struct Range<const HELD: usize = 24> {
    index: u8,
    descends: bool,
    /// The least and the greatest code, inverted where the cursor descends.
    from: u64,
    to: u64,
    /// The key given last.
    last: Option<Key>,
    held: [(Key, u8); HELD],
    len: u8,
    given: u8,
    /// What has this key or a greater one was not seen in every source.
    bound: Option<Key>,
    is_over: bool,
    /// The unit of each run in which the next refill begins, and the runs for which that holds.
    hints: [u32; RUNS_MAX],
    hinted: Option<u32>,
    /// The entries put when the held ones were taken.
    puts: u32,
}

/// The unit is not known.
const NO_HINT: u32 = u32::MAX;

impl<const HELD: usize> Range<HELD> {
    /// Go through the entries of codes `from..=to`, ascending.
    pub fn new(index: u8, from: u64, to: u64) -> Self {
        Self {
            index,
            descends: false,
            from,
            to,
            last: None,
            held: [((0, 0), 0); HELD],
            len: 0,
            given: 0,
            bound: None,
            is_over: from > to,
            hints: [NO_HINT; RUNS_MAX],
            hinted: None,
            puts: 0,
        }
    }

    /// Go through the entries of codes `from..=to`, descending from `to`.
    pub fn descending(index: u8, from: u64, to: u64) -> Self {
        let mut range = Self::new(index, from, to);
        (range.from, range.to, range.descends) = (!to, !from, true);
        range
    }

    /// The next entry. `cell` is lent to read into. Cost: none while entries are held; else about
    /// one read for each run, and two more for each where the runs changed.
    pub fn next<N: Nand>(
        &mut self,
        store: &Store<'_>,
        media: &mut Media<'_, N>,
        cell: &mut [u8],
    ) -> Result<Option<Entry>, StoreError> {
        if (self.hinted, self.puts) != (Some(store.run_changes), store.puts) {
            self.forget_held();
        }
        loop {
            while self.given < self.len {
                let (key, flags) = self.held[usize::from(self.given)];
                self.given += 1;
                self.last = Some(key);
                if flags & TAKE_BACK == 0 {
                    return Ok(Some(self.entry(key, flags)));
                }
            }
            if self.is_over {
                return Ok(None);
            }
            self.refill(store, &mut Reading::new(media, cell))?;
        }
    }

    /// A row may have been replaced: what is held is asked for again, but for the rest of the code
    /// that was given last.
    fn forget_held(&mut self) {
        let is_same = |(key, _): &&(Key, u8)| self.last.is_some_and(|(code, _)| code == key.0);
        let held = &self.held[usize::from(self.given)..usize::from(self.len)];
        let kept = held.iter().take_while(is_same).count();
        if kept < held.len() {
            self.len = self.given + kept as u8;
            self.is_over = false;
        }
    }

    fn entry(&self, (code, pointer): Key, flags: u8) -> Entry {
        let (code, pointer) = if self.descends { (!code, !pointer) } else { (code, pointer) };
        Entry { index: self.index, code, pointer, flags }
    }

    const fn key(&self, entry: &Entry) -> Key {
        if self.descends { (!entry.code, !entry.pointer) } else { (entry.code, entry.pointer) }
    }

    fn refill<N: Nand>(
        &mut self,
        store: &Store<'_>,
        reading: &mut Reading<'_, '_, N>,
    ) -> Result<(), StoreError> {
        let is_unique = store.shapes[usize::from(self.index)].is_unique;
        if is_unique && let Some((code, pointer)) = &mut self.last {
            // All of the code was given, unless the bound cut it: what is left of it is older.
            let is_cut = self.bound.is_some_and(|(bound, _)| bound == *code);
            *pointer = if is_cut { *pointer } else { u32::MAX };
        }
        (self.len, self.given, self.bound) = (0, 0, None);
        self.puts = store.puts;
        if self.hinted != Some(store.run_changes) {
            self.hints = [NO_HINT; RUNS_MAX];
            self.hinted = Some(store.run_changes);
        }
        self.read_memory(store, Segment::Open);
        let recents = || store.runs.recents().rev();
        let opens = recents().filter(|(_, run)| run.is(OPEN)).map(|(slot, _)| slot);
        self.read_runs(store, opens, reading)?;
        self.read_memory(store, Segment::Committed);
        let recents = recents().filter(|(_, run)| !run.is(OPEN)).map(|(slot, _)| slot);
        let index = self.index;
        let levels = (0..store.config.indexes[usize::from(index)].levels)
            .filter_map(|level| store.runs.level(index, level));
        self.read_runs(store, recents.chain(levels), reading)?;
        self.is_over = self.bound.is_none();
        Ok(())
    }

    /// Look into some runs, the newest first.
    fn read_runs<N: Nand>(
        &mut self,
        store: &Store<'_>,
        slots: impl Iterator<Item = usize>,
        reading: &mut Reading<'_, '_, N>,
    ) -> Result<(), StoreError> {
        for slot in slots {
            if store.runs.as_slice()[slot].serves(self.index) && self.may_be_in(store, slot) {
                self.read_run(store, slot, reading)?;
            }
        }
        Ok(())
    }

    fn may_be_in(&self, store: &Store<'_>, slot: usize) -> bool {
        let run = &store.runs.as_slice()[slot];
        let (from, to) = self.codes();
        if from == to {
            return store.may_hold(slot, self.index, from);
        }
        let (least, greatest) = run.bounds();
        run.is_recent() || from <= greatest && least <= to
    }

    /// The least and the greatest code.
    const fn codes(&self) -> (u64, u64) {
        if self.descends { (!self.to, !self.from) } else { (self.from, self.to) }
    }

    fn read_memory(&mut self, store: &Store<'_>, segment: Segment) {
        let (start, end) = store.memtable.places(segment, self.index);
        let (from, to) = self.codes();
        let low = Entry { index: self.index, code: from, ..Entry::default() };
        let start = store.memtable.find(segment, &low).max(start);
        let is_unique = store.shapes[usize::from(self.index)].is_unique;
        for place in start..end {
            let entry = store.memtable.entry(self.index, place);
            if entry.code > to {
                break;
            }
            self.take(&entry, is_unique);
        }
    }

    /// Take the entries of one unit that are wanted; of more where it holds none.
    fn read_run<N: Nand>(
        &mut self,
        store: &Store<'_>,
        slot: usize,
        reading: &mut Reading<'_, '_, N>,
    ) -> Result<(), StoreError> {
        let run = &store.runs.as_slice()[slot];
        let mut unit = match self.hints[slot] {
            NO_HINT => self.seek(store, run, reading)?,
            unit => unit,
        };
        self.hints[slot] = unit;
        loop {
            let Some((edge, least)) = self.read_unit(store, run, unit, reading)? else {
                return Ok(());
            };
            let is_beyond = self.bound.is_some_and(|bound| edge >= bound);
            if is_beyond || least.is_some_and(|least| least < edge) {
                self.lower(edge);
                return Ok(());
            }
            unit = if self.descends { unit - 1 } else { unit + 1 };
            if least.is_none() && self.hints[slot].abs_diff(unit) == 1 {
                self.hints[slot] = unit;
            }
        }
    }

    /// Take the entries of a unit. Where more may follow in the next one: the key from which on
    /// they do, and the least new key of the unit.
    fn read_unit<N: Nand>(
        &mut self,
        store: &Store<'_>,
        run: &Run,
        unit: u32,
        reading: &mut Reading<'_, '_, N>,
    ) -> Result<Option<(Key, Option<Key>)>, StoreError> {
        let shape = store.shapes[usize::from(self.index)];
        let section = run.section(self.index);
        let (header, mut reader) = reading.open(run, unit, shape)?;
        let start = self.last.map_or((self.from, 0), next);
        let (mut ends, mut least) = ((None, None), None);
        while !reader.is_done() {
            reading.step(&mut reader, run, unit, shape)?;
            let entry = reader.entry(self.index);
            let key = self.key(&entry);
            ends = (ends.0.or(Some(key)), Some(key));
            if key >= start && least.is_none_or(|least| key < least) {
                least = Some(key);
            }
            self.take(&entry, shape.is_unique);
        }
        let is_last = if self.descends {
            unit == section.start
        } else {
            unit + 1 == section.start + section.units || !header.spills
        };
        let edge = if self.descends { ends.0 } else { ends.1 };
        let Some((code, pointer)) = edge else {
            let none = if self.last.is_some() { self.last } else { Some((self.from, 0)) };
            return Ok(none.filter(|_| !is_last).map(|key| (key, None)));
        };
        if is_last || code > self.to {
            return Ok(None);
        }
        let edge = if shape.is_unique { (code, 0) } else { next((code, pointer)) };
        Ok(Some((edge, least)))
    }

    /// The unit in which the cursor begins in a run.
    fn seek<N: Nand>(
        &self,
        store: &Store<'_>,
        run: &Run,
        reading: &mut Reading<'_, '_, N>,
    ) -> Result<u32, StoreError> {
        let shape = store.shapes[usize::from(self.index)];
        let (code, _) = self.last.unwrap_or((self.from, 0));
        let code = if self.descends { (!code).saturating_add(1) } else { code };
        let mut seek = Seek::new(run, self.index, code.min(shape.code_max()), shape);
        while !seek.step(reading, run, shape)? {}
        Ok(seek.unit())
    }

    /// Hold an entry if it is wanted and no newer one ends it.
    fn take(&mut self, entry: &Entry, is_unique: bool) {
        let key = self.key(entry);
        let is_new = self.last.is_none_or(|last| key > last);
        let in_bound = self.bound.is_none_or(|bound| key < bound);
        if key.0 < self.from || key.0 > self.to || !is_new || !in_bound {
            return;
        }
        let len = usize::from(self.len);
        let at = self.held[..len].partition_point(|(held, _)| *held < key);
        if self.held[..len].get(at).is_some_and(|(held, _)| *held == key) {
            return;
        }
        let is_sole = |flags: u8| Entry { flags, ..*entry }.is_sole();
        let mut others = self.held[..len].iter().filter(|((code, _), _)| *code == key.0);
        if is_unique && entry.is_sole() && others.any(|(_, flags)| is_sole(*flags)) {
            return;
        }
        self.insert(at, (key, entry.flags), is_unique);
    }

    fn insert(&mut self, at: usize, held: (Key, u8), is_unique: bool) {
        if usize::from(self.len) == HELD {
            let greatest = self.held[HELD - 1].0.max(held.0);
            let is_one_code = self.held[0].0.0 == greatest.0;
            self.lower(if is_unique && !is_one_code { (greatest.0, 0) } else { greatest });
            if self.bound.is_some_and(|bound| held.0 >= bound) {
                return;
            }
        }
        let len = usize::from(self.len);
        debug_assert!(at <= len && len < HELD, "there is room for the entry");
        self.held.copy_within(at..len, at + 1);
        self.held[at] = held;
        self.len += 1;
    }

    /// Give up what has this key or a greater one for now.
    fn lower(&mut self, bound: Key) {
        let bound = self.bound.map_or(bound, |old| old.min(bound));
        self.bound = Some(bound);
        let len = usize::from(self.len);
        self.len = self.held[..len].partition_point(|(held, _)| *held < bound) as u8;
    }
}

/// The key behind a key.
const fn next((code, pointer): Key) -> Key {
    if pointer == u32::MAX { (code.saturating_add(1), 0) } else { (code, pointer + 1) }
}
