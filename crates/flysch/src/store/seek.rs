//! Finding the unit of a section in which a code begins, a read at a time.
//!
//! The answer is the first unit that ends with the code or a greater one. A guess is read first:
//! where a section was planned the code says it, else the least and the greatest code of the run
//! do. Then leaps that double, then halves.

use flysch_nand::Nand;

use super::entry::Shape;
use super::error::StoreError;
use super::read::Reading;
use super::run::Run;

/// A search under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seek {
    code: u64,
    /// The unit is one of these.
    low: u32,
    high: u32,
    next: u32,
    /// How far the next leap goes; 0 where the unit lies between two that were read.
    leap: u32,
}

impl Seek {
    /// Look for `code` in the section of `index`.
    pub(crate) fn new(run: &Run, index: u8, code: u64, shape: Shape) -> Self {
        let section = run.section(index);
        let further = section.units.saturating_sub(1);
        let (start, end) = (section.start, section.start + further);
        if section.planned > 0 {
            let unit = start + section.target(code, shape).min(further);
            return Self { code, low: unit, high: end, next: unit, leap: 1 };
        }
        if run.is_recent() {
            return Self { code, low: start, high: end, next: start + further / 2, leap: 0 };
        }
        let (least, greatest) = run.bounds();
        let width = u128::from(greatest.saturating_sub(least)) + 1;
        let place = u128::from(code.saturating_sub(least)) * u128::from(section.units) / width;
        let guess = start + place.min(u128::from(further)) as u32;
        Self { code, low: start, high: end, next: guess, leap: 1 }
    }

    /// The unit, once it was found.
    pub(crate) const fn unit(&self) -> u32 {
        self.low
    }

    /// Look at one more unit; whether the search is over. Cost: at most one read.
    pub(crate) fn step<N: Nand>(
        &mut self,
        reading: &mut Reading<'_, '_, N>,
        run: &Run,
        shape: Shape,
    ) -> Result<bool, StoreError> {
        debug_assert!(self.low <= self.high, "the unit lies somewhere");
        if self.low == self.high {
            return Ok(true);
        }
        let unit = match self.leap {
            0 => self.low.midpoint(self.high),
            _ => self.next.clamp(self.low, self.high),
        };
        let (header, mut reader) = reading.open(run, unit, shape)?;
        let mut greatest = header.first;
        while !reader.is_done() && greatest < self.code {
            reading.step(&mut reader, run, unit, shape)?;
            greatest = reader.entry(0).code;
        }
        let is_behind = greatest < self.code && header.spills;
        let begins_here = header.first < self.code || unit == self.low;
        if !is_behind && begins_here {
            (self.low, self.high) = (unit, unit);
        } else if is_behind {
            // The last unit does not spill, unless the run lies.
            self.low = (unit + 1).min(self.high);
        } else {
            self.high = unit;
        }
        self.go_on(unit, is_behind);
        Ok(self.low == self.high)
    }

    /// Where to look next: on in the same direction, twice as far; once it turns, between.
    const fn go_on(&mut self, unit: u32, is_behind: bool) {
        if self.leap == 0 {
            return;
        }
        let next =
            if is_behind { unit.saturating_add(self.leap) } else { unit.saturating_sub(self.leap) };
        let on = if is_behind { next <= self.high } else { next >= self.low };
        let turns = is_behind != (self.next <= next);
        self.next = next;
        self.leap = if on && !turns { self.leap * 2 } else { 0 };
    }
}
