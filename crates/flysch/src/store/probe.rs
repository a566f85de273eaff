//! Lookups of one code. They can be continued in a later call, and borrow nothing between calls.
//!
//! In an index with one row for each key, a probe goes from source to source: the memory table,
//! then the runs from the newest to the oldest. Where nothing is ever replaced it takes the largest
//! level first. If entries or runs changed between two calls it begins anew, and may give entries
//! again. That is allowed, for the first row of the key is the answer whenever it is asked. Where a
//! key has many rows, a probe is a [`Range`] of one code, which goes on behind the last pointer
//! that it gave.

use flysch_nand::Nand;

use super::config::Rows;
use super::entry::{Entry, TAKE_BACK};
use super::error::StoreError;
use super::memtable::Segment;
use super::range::{Held, Range};
use super::read::Reading;
use super::run::{LEARNT, OPEN, Run};
use super::table::SOURCES_MAX;
use super::{Store, StoreConfig};
use crate::media::Media;

/// Pointers of take-backs that are remembered at a time.
const BACKS_MAX: usize = 4;
/// Entries that a probe of a code with many rows holds.
const HELD_MAX: usize = 8;

/// As a number of passed entries: the source has no more.
const EXHAUSTED: u16 = u16::MAX;

/// A lookup of one code.
#[derive(Clone, Debug)]
pub struct Probe {
    sole: SoleProbe,
    /// Whether a code has many rows, which are looked for in another way.
    is_many: bool,
    many: Range<[Held; HELD_MAX]>,
}

/// A lookup of one code in an index with one row for each key.
#[derive(Clone, Debug)]
pub(crate) struct SoleProbe {
    index: u8,
    code: u64,
    /// Whether no row of the code was ever replaced, whatever became of others in the index.
    is_final: bool,
    /// The counts of changes in the store for which the rest is valid; None before the first call.
    generation: Option<(u32, u32)>,
    /// The present source; in a run the present unit, once it is known; and how many of its entries
    /// were passed.
    source: u8,
    unit: Option<u32>,
    passed: u16,
    backs: [u32; BACKS_MAX],
    back_count: u8,
}

/// A source of entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Memory(Segment),
    /// The run at this place of the table.
    Run(u8),
}

impl Place {
    const fn run(slot: usize) -> Self {
        Self::Run(slot as u8)
    }
}

impl Probe {
    /// A probe for the rows of a code.
    ///
    /// # Panics
    /// Where the store has no such index.
    pub fn new(config: &StoreConfig, index: u8, code: u64) -> Self {
        assert!(index < config.index_count, "the store has the index");
        let is_many = config.indexes[usize::from(index)].rows == Rows::Many;
        Self { sole: SoleProbe::new(index, code), is_many, many: Range::new(index, code, code) }
    }

    /// Whether a code has many rows.
    pub(crate) const fn is_many(&self) -> bool {
        self.is_many
    }

    /// Go on behind the entry that has this pointer, which is returned, in an index with many rows
    /// for each key.
    pub(crate) fn pass(&mut self, pointer: u32) -> Entry {
        assert!(self.is_many, "the newest entry of a unique key comes first");
        self.many.pass(pointer)
    }

    /// The next entry; None behind the last. In a unique index the newest comes first, in others
    /// entries come by pointer. `cell` is lent as a buffer. Cost: one read for each level, and for
    /// each recent run whose Bloom filter does not rule the code out; up to three in a run of
    /// ordered codes or of codes with many rows.
    #[inline(never)]
    pub fn next<N: Nand>(
        &mut self,
        store: &Store<'_>,
        media: &mut Media<'_, N>,
        cell: &mut [u8],
    ) -> Result<Option<Entry>, StoreError> {
        if self.is_many {
            self.many.next(store, media, cell)
        } else {
            self.sole.next(store, media, cell)
        }
    }
}

impl SoleProbe {
    /// A probe for the row of a code.
    pub(crate) const fn new(index: u8, code: u64) -> Self {
        Self {
            index,
            code,
            is_final: false,
            generation: None,
            source: 0,
            unit: None,
            passed: 0,
            backs: [0; BACKS_MAX],
            back_count: 0,
        }
    }

    /// The same where no row of the code was ever replaced, nor will be while the probe is used: it
    /// goes to the largest level first, which is the likeliest to have the row.
    pub(crate) const fn of_final(index: u8, code: u64) -> Self {
        Self { is_final: true, ..Self::new(index, code) }
    }

    /// The next entry; None behind the last. Cost: as [`Probe::next`].
    #[inline(never)]
    pub(crate) fn next<N: Nand>(
        &mut self,
        store: &Store<'_>,
        media: &mut Media<'_, N>,
        cell: &mut [u8],
    ) -> Result<Option<Entry>, StoreError> {
        let generation = Some(store.generation());
        if self.generation != generation {
            (self.source, self.unit, self.passed, self.back_count) = (0, None, 0, 0);
            self.generation = generation;
        }
        let mut reading = Reading::new(media, cell, &store.lost);
        while let Some(place) = store.place(self.index, self.source, self.is_final) {
            match self.next_in(store, place, &mut reading)? {
                Some(entry) if entry.is(TAKE_BACK) => self.take_back(entry.pointer),
                Some(entry) if self.backs().contains(&entry.pointer) => {}
                Some(entry) => return Ok(Some(entry)),
                None => (self.source, self.unit, self.passed) = (self.source + 1, None, 0),
            }
        }
        Ok(None)
    }

    /// The next entry of the code in one source, be it a take-back. Cost: as [`Probe::next`] in
    /// that source; none where the buffer holds the unit.
    pub(crate) fn next_in<N: Nand>(
        &mut self,
        store: &Store<'_>,
        place: Place,
        reading: &mut Reading<'_, '_, N>,
    ) -> Result<Option<Entry>, StoreError> {
        match place {
            Place::Memory(segment) => Ok(self.in_memory(store, segment)),
            Place::Run(slot) => self.in_run(store, usize::from(slot), reading),
        }
    }

    fn backs(&self) -> &[u32] {
        &self.backs[..usize::from(self.back_count)]
    }

    fn take_back(&mut self, pointer: u32) {
        if usize::from(self.back_count) < BACKS_MAX {
            self.backs[usize::from(self.back_count)] = pointer;
            self.back_count += 1;
        }
    }

    fn in_memory(&mut self, store: &Store<'_>, segment: Segment) -> Option<Entry> {
        let wanted = Entry { index: self.index, code: self.code, ..Entry::default() };
        let place = store.memtable.find(segment, &wanted) + usize::from(self.passed);
        let (_, end) = store.memtable.places(segment, self.index);
        self.passed += 1;
        let entry = (place < end).then(|| store.memtable.entry(self.index, place));
        entry.filter(|entry| entry.code == self.code)
    }

    /// The next entry of the code in a run.
    fn in_run<N: Nand>(
        &mut self,
        store: &Store<'_>,
        slot: usize,
        reading: &mut Reading<'_, '_, N>,
    ) -> Result<Option<Entry>, StoreError> {
        let shape = store.shapes[usize::from(self.index)];
        if self.passed == EXHAUSTED {
            return Ok(None);
        }
        let run = &store.runs.run(slot);
        let first = match self.unit {
            None => store.first_unit((slot, run), (self.index, self.code), reading)?,
            known => known,
        };
        let Some(first) = first else { return Ok(None) };
        let section = run.section(self.index);
        for unit in first..section.start + section.units {
            if section.is_fence(unit, shape) {
                continue;
            }
            let (header, mut reader) = reading.open(run, unit, shape)?;
            let (mut place, mut found, mut below) = (0, None, None);
            while !reader.is_done() {
                reading.step(&mut reader, run, unit, shape)?;
                let entry = reader.entry(self.index);
                if entry.code > self.code {
                    let below = below.filter(|_| place == 0 && section.is_fenced);
                    below.inspect(|&below| store.hints.note_gap(run, unit, (below, entry.code)));
                    return Ok(self.finish(found));
                }
                if entry.code < self.code {
                    below = Some(entry.code);
                    continue;
                }
                place += 1;
                if found.is_some() {
                    (self.unit, self.passed) = (Some(unit), place - 1);
                    return Ok(found);
                }
                found = (place > self.passed).then_some(entry);
            }
            if !header.spills {
                return Ok(self.finish(found));
            }
            (self.unit, self.passed) = (Some(unit + 1), 0);
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(self.finish(None))
    }

    /// Note that the run has no entry of the code behind the one found.
    const fn finish(&mut self, found: Option<Entry>) -> Option<Entry> {
        self.passed = EXHAUSTED;
        found
    }
}

impl Store<'_> {
    /// The sources of an index, from the newest to the oldest: open ones, then committed ones.
    pub(crate) fn order<'o>(
        &self,
        index: u8,
        order: &'o mut [Place; SOURCES_MAX],
    ) -> &'o mut [Place] {
        let mut len = 0;
        let mut push = |place: Place| {
            assert!(len < SOURCES_MAX, "an index has a bounded number of runs");
            order[len] = place;
            len += 1;
        };
        let recents = |is_open: bool| {
            self.runs.slots().rev().filter(move |&slot| {
                let head = self.runs.head(slot);
                head.is_recent() && head.serves(index) && head.is(OPEN) == is_open
            })
        };
        push(Place::Memory(Segment::Open));
        recents(true).map(Place::run).for_each(&mut push);
        push(Place::Memory(Segment::Committed));
        recents(false).map(Place::run).for_each(&mut push);
        let levels = 0..self.config.indexes[usize::from(index)].levels;
        let levels = levels.filter_map(|level| self.runs.level(index, level));
        levels.map(Place::run).for_each(push);
        &mut order[..len]
    }

    /// The `number`-th source of an index in the order of lookups: the newest first, or the largest
    /// run first where rows of the index are never replaced, or that of the code was not. None
    /// behind the last.
    pub(crate) fn place(&self, index: u8, number: u8, is_final: bool) -> Option<Place> {
        let mut order = [Place::Memory(Segment::Open); SOURCES_MAX];
        let order = self.order(index, &mut order);
        let committed = Place::Memory(Segment::Committed);
        if (is_final || !self.is_updated(index))
            && let Some(at) = order.iter().position(|place| *place == committed)
        {
            order[at + 1..].reverse();
        }
        order.get(usize::from(number)).copied()
    }

    /// The unit of a run in which a code begins, if it is there; None where it cannot be. Cost:
    /// none where the run's bounds, its Bloom filter or a hint rule it out; else see
    /// [`Seek`](super::seek::Seek).
    pub(crate) fn first_unit<N: Nand>(
        &self,
        (slot, run): (usize, &Run),
        (index, code): (u8, u64),
        reading: &mut Reading<'_, '_, N>,
    ) -> Result<Option<u32>, StoreError> {
        if !self.may_hold(slot, run, index, code) || self.hints.deny(run, code) {
            return Ok(None);
        }
        self.unit_of(run, (index, code), reading).map(Some)
    }

    /// Whether a run may hold a code, by its bounds and its Bloom filter. Nothing is read.
    pub(crate) fn may_hold(&self, slot: usize, run: &Run, index: u8, code: u64) -> bool {
        let is_denied =
            || run.head.is(LEARNT) && !self.blooms.may_hold(self.filter(slot), index, code);
        run.section(index).spans(code) && !is_denied()
    }
}
