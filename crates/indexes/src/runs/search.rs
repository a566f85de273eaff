//! Searching one run for the entries of a hash.

use flysch_nand::Nand;

use super::entry::Shape;
use super::merge::Reading;
use super::run::Run;
use super::unit::{HEADER_SIZE, Header, UnitReader};
use crate::flash::FlashError;

/// The most entries that are returned at a time.
const FOUND_MAX: usize = 16;
/// How many units are read one after another before the search jumps ahead.
const STEPS_MAX: u32 = 2;

/// The entries that were found, ascending.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Found {
    entries: [u64; FOUND_MAX],
    len: usize,
}

impl Found {
    pub(super) fn as_slice(&self) -> &[u64] {
        &self.entries[..self.len]
    }

    fn push(&mut self, entry: u64) {
        self.entries[self.len] = entry;
        self.len += 1;
    }

    const fn is_full(&self) -> bool {
        self.len == FOUND_MAX
    }
}

/// The state of a search.
#[derive(Clone, Copy, Debug)]
pub(super) struct Search {
    hash: u32,
    /// The least entry to return.
    pub(super) from: u64,
    /// The unit at which the search continues.
    unit: u32,
    /// Whether no further entry will be found.
    pub(super) is_over: bool,
}

impl Search {
    pub(super) const fn new(hash: u32, from: u64) -> Self {
        Self { hash, from, unit: 0, is_over: false }
    }

    /// Whether entries of the hash may be in the part that a job has already written.
    pub(super) fn is_within(&self, done: u64, out: &Run, pointer_bits: u8) -> bool {
        self.hash <= out.shape(pointer_bits).hash(done)
    }

    /// Leave out entries up to `done`.
    pub(super) fn skip(&mut self, done: u64, shape: Shape) {
        self.from = self.from.max(done + 1);
        self.is_over |= shape.hash(self.from) > self.hash;
    }

    /// Once the job's output has been searched, continue in the run itself with entries greater
    /// than `done`.
    pub(super) fn turn_to(&mut self, done: u64, shape: Shape) {
        if self.is_over {
            self.is_over = false;
            self.unit = 0;
            self.skip(done, shape);
        }
    }

    /// Find the next entries in `run`, from its unit `at` on. `unit` is a buffer for one unit.
    pub(super) fn run<N: Nand>(
        &mut self,
        reading: &mut Reading<'_, '_, '_, N>,
        run: &Run,
        unit: &mut [u8],
    ) -> Result<Found, FlashError> {
        let shape = run.shape(reading.pointer_bits);
        let mut found = Found::default();
        let mut number = shape.target(self.hash, run.units).max(run.at).max(self.unit);
        let mut steps = 0;
        while number < run.used {
            reading.read(run, number, 0, unit)?;
            let header = Header::parse(unit).ok_or_else(|| reading.corrupt(run, number))?;
            let mut entries = UnitReader::new(header);
            let mut last_hash = header.first;
            while !entries.is_done() && last_hash <= self.hash {
                let entry = entries.next(unit, 0, shape);
                let entry = entry.map_err(|_| reading.corrupt(run, number))?;
                last_hash = shape.hash(entry);
                if last_hash != self.hash || entry < self.from {
                    continue;
                }
                found.push(entry);
                if found.is_full() {
                    self.from = entry + 1;
                    self.unit = number;
                    self.is_over = shape.hash(self.from) != self.hash;
                    return Ok(found);
                }
            }
            if last_hash > self.hash || !header.spills {
                break;
            }
            steps += 1;
            number = if steps == STEPS_MAX && last_hash < self.hash {
                leap(reading, run, self.hash, number)?
            } else {
                number + 1
            };
        }
        self.is_over = true;
        Ok(found)
    }
}

/// The last unit whose first hash is below `hash`, but at least the one after `unit`, whose first
/// hash must be `hash`. Cost: two reads of a header for each doubling of the distance.
fn leap<N: Nand>(
    reading: &mut Reading<'_, '_, '_, N>,
    run: &Run,
    hash: u32,
    unit: u32,
) -> Result<u32, FlashError> {
    let mut is_below = |unit| {
        let mut header = [0; HEADER_SIZE];
        reading.read(run, unit, 0, &mut header)?;
        let header = Header::parse(&header).ok_or_else(|| reading.corrupt(run, unit))?;
        Ok::<bool, FlashError>(header.first < hash)
    };
    let (mut low, mut high, mut step) = (unit, run.used, 1);
    while low + step < high {
        if is_below(low + step)? {
            low += step;
            step *= 2;
        } else {
            high = low + step;
        }
    }
    while low + 1 < high {
        let middle = low.midpoint(high);
        if is_below(middle)? {
            low = middle;
        } else {
            high = middle;
        }
    }
    Ok(low.max(unit + 1))
}
