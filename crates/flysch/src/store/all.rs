//! All entries of one code, in no order: what a reader needs that orders the rows itself.
//!
//! A [`Probe`](super::Probe) gives entries from the newest to the oldest, and a
//! [`Range`](super::Range) in the order of their pointers. Where a code has many entries both read
//! a unit several times. Here each unit is read once for every few dozen entries: where a key has
//! many rows by a [`Sweep`], which passes over entries that were taken back, else source by source.

use flysch_nand::Nand;

use super::config::Rows;
use super::entry::{Entry, TAKE_BACK};
use super::error::StoreError;
use super::memtable::Segment;
use super::probe::Place;
use super::read::Reading;
use super::sweep::{Batch, Sight, Sweep};
use super::{Store, StoreConfig};
use crate::media::Media;

/// A walk over the entries of one code. The store does not change until it ends.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "one is on the stack at a time")]
pub(crate) enum All {
    /// By the pointers, from this one on; None behind the last.
    Swept(Sweep, Option<u32>),
    Listed(Listed),
}

/// A walk from source to source.
#[derive(Debug)]
pub(crate) struct Listed {
    index: u8,
    code: u64,
    /// The number of the present source.
    source: u8,
    /// In a run, the present unit; None before the first.
    unit: Option<u32>,
    /// Entries of the code that were given of this unit, or of this segment of the memory table.
    passed: u16,
}

impl All {
    /// A walk over the entries of a code.
    pub(crate) const fn new(config: &StoreConfig, index: u8, code: u64) -> Self {
        match config.indexes[index as usize].rows {
            Rows::Many => Self::Swept(Sweep::new(index, code), Some(0)),
            Rows::One => Self::Listed(Listed { index, code, source: 0, unit: None, passed: 0 }),
        }
    }

    /// The pointers of some more entries, each once; false behind the last. `cell` is lent as a
    /// buffer. Cost: none in the memory table; else one read, and for the first of a run those of a
    /// lookup.
    #[inline(never)]
    pub(crate) fn next<N: Nand>(
        &mut self,
        store: &Store<'_>,
        (media, cell): (&mut Media<'_, N>, &mut [u8]),
        some: &mut Batch,
    ) -> Result<bool, StoreError> {
        *some = Batch::EMPTY;
        match self {
            Self::Swept(sweep, next) => {
                let Some(from) = *next else { return Ok(false) };
                sweep.go(store, (media, cell), from, some)?;
                *next = some.rest();
            }
            Self::Listed(listed) => {
                let mut reading = Reading::new(media, cell, &store.lost);
                if !listed.next(store, &mut reading, some)? {
                    return Ok(false);
                }
            }
        }
        some.end();
        Ok(true)
    }
}

impl Listed {
    /// Give some entries of one source; false behind the last source.
    fn next<N: Nand>(
        &mut self,
        store: &Store<'_>,
        reading: &mut Reading<'_, '_, N>,
        some: &mut Batch,
    ) -> Result<bool, StoreError> {
        let Some(place) = store.place(self.index, self.source, false) else { return Ok(false) };
        let has_more = match place {
            Place::Memory(segment) => self.in_memory(store, segment, some),
            Place::Run(slot) => self.in_run(store, usize::from(slot), reading, some)?,
        };
        if !has_more {
            (self.source, self.unit, self.passed) = (self.source + 1, None, 0);
        }
        Ok(true)
    }

    /// Give entries of a segment of the memory table; returns whether it has more.
    fn in_memory(&mut self, store: &Store<'_>, segment: Segment, some: &mut Batch) -> bool {
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
            add(&entry, some);
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
        some: &mut Batch,
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
                add(&entry, some);
                self.passed = place;
            }
        }
        let next = unit + 1 + u32::from(section.is_fence(unit + 1, shape));
        (self.unit, self.passed) = (Some(next), 0);
        Ok(header.spills && next < section.start + section.units)
    }
}

/// Give the pointer of an entry, for which there is room.
fn add(entry: &Entry, some: &mut Batch) {
    debug_assert!(!entry.is(TAKE_BACK), "newer entries hide those of a unique key");
    some.see(entry.pointer);
}
