//! Entries of one code in the order of their pointers, a stretch at a time: what several criteria
//! at once are answered from.
//!
//! A [`Range`](super::Range) gives entry by entry and holds few, so where a unit has hundreds of the
//! code it reads the unit many times. A sweep goes over the units of a stretch once, and shows what
//! it meets to a *sight*: the least pointers that fit a [`Batch`], or [`Marks`] on those of another
//! index.
//!
//! 1. Sweeps go forward: no stretch begins before the one that was swept last.
//! 2. Within a run the pointers of a code ascend.

use flysch_nand::Nand;

use super::Store;
use super::entry::{Entry, TAKE_BACK};
use super::error::StoreError;
use super::memtable::Segment;
use super::probe::Place;
use super::read::Reading;
use super::table::SOURCES_MAX;
use crate::media::Media;

/// Most pointers of a batch.
pub(crate) const BATCH: usize = 64;
/// The number of a unit that is not known yet.
const UNKNOWN: u32 = u32::MAX;

/// What looks at the pointers of a stretch.
pub(crate) trait Sight {
    /// The greatest pointer that is of interest by now.
    fn limit(&self) -> u32;
    /// Whether the limit may fall while pointers are shown.
    fn falls(&self) -> bool;
    /// The entries of another key are shown from now on.
    fn begin(&mut self);
    /// Look at a pointer that is not greater.
    fn see(&mut self, pointer: u32);
    /// The entry with this pointer was taken back: older ones of the key do not count.
    fn pass_over(&mut self, pointer: u32);
}

/// Some pointers, each once, in ascending order: the least of those that were shown.
#[derive(Clone, Debug)]
pub(crate) struct Batch {
    all: [u32; BATCH],
    len: u8,
    /// A bit for each pointer: whether an entry with it was shown, and whether the present key's
    /// was taken back.
    seen: u64,
    ended: u64,
}

/// Which pointers of a batch were shown.
#[derive(Debug)]
pub(crate) struct Marks<'b> {
    batch: &'b Batch,
    marked: u64,
    ended: u64,
}

/// A sweep over the entries of one code.
#[derive(Debug)]
pub(crate) struct Sweep {
    index: u8,
    code: u64,
    /// The state of the store for which the stands are valid.
    generation: Option<(u32, u32)>,
    stands: [Stand; SOURCES_MAX],
}

/// Where a sweep stands in a run.
#[derive(Clone, Copy, Debug)]
struct Stand {
    /// The unit in which the last stretch began.
    unit: u32,
    /// The last unit that was read, and the first pointer of the code there.
    ahead: u32,
    first: u32,
}

impl Batch {
    pub(crate) const EMPTY: Self = Self { all: [0; BATCH], len: 0, seen: 0, ended: 0 };

    pub(crate) fn as_slice(&self) -> &[u32] {
        &self.all[..usize::from(self.len)]
    }

    pub(crate) const fn is_full(&self) -> bool {
        self.len as usize == BATCH
    }

    /// The pointer at which the next batch begins; None where all that was shown fitted.
    pub(crate) fn rest(&self) -> Option<u32> {
        let last = self.as_slice().last().filter(|_| self.is_full());
        last.and_then(|last| last.checked_add(1))
    }

    /// Keep the pointers for which a bit is set.
    pub(crate) fn keep(&mut self, marked: u64) {
        let mut kept = 0;
        for place in 0..usize::from(self.len) {
            if marked >> place & 1 == 1 {
                self.all[kept] = self.all[place];
                kept += 1;
            }
        }
        self.len = kept as u8;
        debug_assert!(self.as_slice().is_sorted(), "they stay in order");
    }

    /// Keep the pointers of entries that were not taken back. No more are shown.
    pub(crate) fn end(&mut self) {
        self.keep(self.seen);
    }

    /// The bit of a pointer, for which a place is made; none where it is too great.
    fn bit(&mut self, pointer: u32) -> u64 {
        let at = self.as_slice().partition_point(|kept| *kept < pointer);
        if self.as_slice().get(at) == Some(&pointer) {
            return 1 << at;
        }
        if at == BATCH {
            return 0;
        }
        let len = usize::from(self.len).min(BATCH - 1);
        self.all.copy_within(at..len, at + 1);
        self.all[at] = pointer;
        self.len = len as u8 + 1;
        for bits in [&mut self.seen, &mut self.ended] {
            *bits = *bits & !(u64::MAX << at) | *bits >> at << 1 << at;
        }
        debug_assert!((self.seen | self.ended) >> at & 1 == 0, "the place is new");
        1 << at
    }
}

impl Sight for Batch {
    fn limit(&self) -> u32 {
        if self.is_full() { self.all[BATCH - 1] } else { u32::MAX }
    }

    fn falls(&self) -> bool {
        true
    }

    fn begin(&mut self) {
        self.ended = 0;
    }

    fn see(&mut self, pointer: u32) {
        let bit = self.bit(pointer);
        self.seen |= bit & !self.ended;
    }

    fn pass_over(&mut self, pointer: u32) {
        let bit = self.bit(pointer);
        self.ended |= bit;
    }
}

impl<'b> Marks<'b> {
    pub(crate) const fn new(batch: &'b Batch) -> Self {
        Self { batch, marked: 0, ended: 0 }
    }

    pub(crate) const fn bits(&self) -> u64 {
        self.marked
    }

    /// The bit of a pointer; none where the batch does not have it.
    fn bit(&self, pointer: u32) -> u64 {
        self.batch.as_slice().binary_search(&pointer).map_or(0, |place| 1 << place)
    }
}

impl Sight for Marks<'_> {
    fn limit(&self) -> u32 {
        self.batch.as_slice().last().copied().unwrap_or(0)
    }

    fn falls(&self) -> bool {
        false
    }

    fn begin(&mut self) {
        self.ended = 0;
    }

    fn see(&mut self, pointer: u32) {
        self.marked |= self.bit(pointer) & !self.ended;
    }

    fn pass_over(&mut self, pointer: u32) {
        self.ended |= self.bit(pointer);
    }
}

impl Sweep {
    pub(crate) const fn new(index: u8, code: u64) -> Self {
        let stand = Stand { unit: UNKNOWN, ahead: UNKNOWN, first: u32::MAX };
        Self { index, code, generation: None, stands: [stand; SOURCES_MAX] }
    }

    /// Show the pointers from `from` on, up to the limit of `sight`. `cell` is lent as a buffer.
    /// Cost: for each run with entries there one read, and one for each further unit of them; the
    /// first stretch takes those of a lookup as well.
    #[inline(never)]
    pub(crate) fn go<N: Nand>(
        &mut self,
        store: &Store<'_>,
        (media, cell): (&mut Media<'_, N>, &mut [u8]),
        from: u32,
        sight: &mut dyn Sight,
    ) -> Result<(), StoreError> {
        debug_assert!(
            !store.has_one_row(self.index),
            "a unique index gives the newest entry first"
        );
        let generation = Some(store.generation());
        if self.generation != generation {
            *self = Self { generation, ..Self::new(self.index, self.code) };
        }
        sight.begin();
        let mut reading = Reading::new(media, cell, &store.lost);
        let mut source = 0;
        while let Some(place) = store.place(self.index, source, false) {
            match place {
                Place::Memory(segment) => self.in_memory(store, segment, from, sight),
                Place::Run(slot) => {
                    let at = (source, usize::from(slot));
                    self.in_run(store, at, &mut reading, (from, sight))?;
                }
            }
            source += 1;
        }
        Ok(())
    }

    fn in_memory(&self, store: &Store<'_>, segment: Segment, from: u32, sight: &mut dyn Sight) {
        let wanted = Entry { index: self.index, code: self.code, ..Entry::default() };
        let first = store.memtable.find(segment, &wanted);
        let (_, end) = store.memtable.places(segment, self.index);
        let entries = (first..end).map(|place| store.memtable.entry(self.index, place));
        for entry in entries.take_while(|entry| entry.code == self.code) {
            let is_within = entry.pointer >= from && entry.pointer <= sight.limit();
            if is_within {
                show(&entry, sight);
            }
        }
    }

    fn in_run<N: Nand>(
        &mut self,
        store: &Store<'_>,
        (source, slot): (u8, usize),
        reading: &mut Reading<'_, '_, N>,
        (from, sight): (u32, &mut dyn Sight),
    ) -> Result<(), StoreError> {
        let run = store.runs.run(slot);
        let (least, greatest) = run.pointers;
        if greatest < from || least > sight.limit() {
            return Ok(());
        }
        let stand = &mut self.stands[usize::from(source)];
        let key = (self.index, self.code);
        stand.unit = match stand.ahead {
            UNKNOWN => match store.first_unit((slot, &run), key, reading)? {
                Some(unit) => unit,
                None => return Ok(()),
            },
            // What takes the first entry of a unit back may end the unit before.
            ahead if stand.first < from => ahead,
            _ => stand.unit,
        };
        let shape = store.shapes[usize::from(self.index)];
        let section = run.section(self.index);
        let mut unit = stand.unit;
        loop {
            let (header, mut reader) = reading.open(&run, unit, shape)?;
            (stand.ahead, stand.first) = (unit, u32::MAX);
            while !reader.is_done() {
                reading.step(&mut reader, &run, unit, shape)?;
                let entry = reader.entry(self.index);
                if entry.code < self.code {
                    continue;
                }
                if entry.code > self.code {
                    return Ok(());
                }
                stand.first = stand.first.min(entry.pointer);
                if entry.pointer > sight.limit() {
                    return Ok(());
                }
                if entry.pointer >= from {
                    show(&entry, sight);
                }
            }
            unit += 1 + u32::from(section.is_fence(unit + 1, shape));
            if !header.spills || unit >= section.start + section.units {
                return Ok(());
            }
            if !sight.falls() {
                // The next stretch begins behind what this one shows.
                stand.unit = unit;
            }
        }
    }
}

/// Show an entry, or that it was taken back. Newer entries are shown first.
fn show(entry: &Entry, sight: &mut dyn Sight) {
    if entry.is(TAKE_BACK) { sight.pass_over(entry.pointer) } else { sight.see(entry.pointer) }
}
