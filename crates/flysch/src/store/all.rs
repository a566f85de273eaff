//! All entries of one code, in no order: what a reader needs that orders the rows itself.
//!
//! A [`Probe`](super::Probe) gives entries from the newest to the oldest, and a
//! [`Range`](super::Range) in the order of their pointers. Where a code has many entries both read
//! a unit several times. Here each unit is read once for every few dozen entries.

use flysch_nand::Nand;

use super::Store;
use super::entry::{Entry, TAKE_BACK};
use super::error::StoreError;
use super::memtable::Segment;
use super::probe::Place;
use super::read::Reading;
use crate::media::Media;

/// Most entries that are given at a time.
const ROOM: usize = 32;

/// A walk over the entries of one code. The store does not change until it ends.
#[derive(Debug)]
pub(crate) struct All {
    index: u8,
    code: u64,
    /// The number of the present source.
    source: u8,
    /// In a run, the present unit; None before the first.
    unit: Option<u32>,
    /// Entries of the code that were given of this unit, or of this segment of the memory table.
    passed: u16,
}

/// Pointers of some entries, each once, in ascending order.
#[derive(Debug)]
pub(crate) struct Pointers {
    all: [u32; ROOM],
    len: u8,
}

impl Pointers {
    const fn new() -> Self {
        Self { all: [0; ROOM], len: 0 }
    }

    pub(crate) fn as_slice(&self) -> &[u32] {
        &self.all[..usize::from(self.len)]
    }

    const fn is_full(&self) -> bool {
        self.len as usize == ROOM
    }

    fn add(&mut self, entry: &Entry) {
        let len = usize::from(self.len);
        let at = self.as_slice().partition_point(|pointer| *pointer < entry.pointer);
        let is_there = self.as_slice().get(at) == Some(&entry.pointer);
        if !is_there && !entry.is(TAKE_BACK) {
            debug_assert!(len < ROOM, "there is room for it");
            self.all.copy_within(at..len, at + 1);
            self.all[at] = entry.pointer;
            self.len += 1;
        }
    }
}

impl All {
    pub(crate) const fn new(index: u8, code: u64) -> Self {
        Self { index, code, source: 0, unit: None, passed: 0 }
    }

    /// Some more entries; None behind the last. `cell` is lent as a buffer. Cost: none in the
    /// memory table; else one read, and for the first of a run those of a lookup.
    #[inline(never)]
    pub(crate) fn next<N: Nand>(
        &mut self,
        store: &Store<'_>,
        media: &mut Media<'_, N>,
        cell: &mut [u8],
    ) -> Result<Option<Pointers>, StoreError> {
        let mut some = Pointers::new();
        let mut reading = Reading::new(media, cell, &store.lost);
        while let Some(place) = store.place(self.index, self.source, false) {
            let has_more = match place {
                Place::Memory(segment) => self.in_memory(store, segment, &mut some),
                Place::Run(slot) => {
                    self.in_run(store, usize::from(slot), &mut reading, &mut some)?
                }
            };
            if !has_more {
                (self.source, self.unit, self.passed) = (self.source + 1, None, 0);
            }
            if some.len > 0 {
                return Ok(Some(some));
            }
        }
        Ok(None)
    }

    /// Give entries of a segment of the memory table; returns whether it has more.
    fn in_memory(&mut self, store: &Store<'_>, segment: Segment, some: &mut Pointers) -> bool {
        let wanted = Entry { index: self.index, code: self.code, ..Entry::default() };
        let first = store.memtable.find(segment, &wanted) + usize::from(self.passed);
        let (_, end) = store.memtable.places(segment, self.index);
        for place in first..end {
            let entry = store.memtable.entry(self.index, place);
            if entry.code != self.code {
                break;
            }
            if some.is_full() {
                return true;
            }
            some.add(&entry);
            self.passed += 1;
        }
        false
    }

    /// Give entries of a unit of a run; returns whether the run may have more.
    fn in_run<N: Nand>(
        &mut self,
        store: &Store<'_>,
        slot: usize,
        reading: &mut Reading<'_, '_, N>,
        some: &mut Pointers,
    ) -> Result<bool, StoreError> {
        let run = &store.runs.run(slot);
        let shape = store.shapes[usize::from(self.index)];
        let section = run.section(self.index);
        let unit = match self.unit {
            None => store.first_unit((slot, run), (self.index, self.code), reading)?,
            known => known,
        };
        let Some(unit) = unit else { return Ok(false) };
        let (header, mut reader) = reading.open(run, unit, shape)?;
        let mut place = 0;
        while !reader.is_done() {
            reading.step(&mut reader, run, unit, shape)?;
            let entry = reader.entry(self.index);
            if entry.code > self.code {
                return Ok(false);
            }
            if entry.code < self.code {
                continue;
            }
            place += 1;
            if place > self.passed {
                if some.is_full() {
                    self.unit = Some(unit);
                    return Ok(true);
                }
                some.add(&entry);
                self.passed = place;
            }
        }
        let next = unit + 1 + u32::from(section.is_fence(unit + 1, shape));
        (self.unit, self.passed) = (Some(next), 0);
        Ok(header.spills && next < section.start + section.units)
    }
}
