//! Finding the unit of a section in which a code begins, a read at a time.
//!
//! A planned section says it by itself. In a packed one the answer is the last unit whose first
//! code is below the one sought: a guess, leaps that double from it, then halves.

use flysch_nand::Nand;

use super::entry::Shape;
use super::error::StoreError;
use super::read::Reading;
use super::run::Run;

/// A search under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seek {
    code: u64,
    /// The unit is not before this one, and before that one.
    low: u32,
    high: u32,
    guess: u32,
    /// How far the next leap goes; 0 where the unit is known to lie between two that were read.
    leap: u32,
}

impl Seek {
    /// Look for `code` in the section of `index`.
    pub(crate) fn new(run: &Run, index: u8, code: u64, shape: &Shape) -> Self {
        let section = run.section(index);
        let last = section.units.saturating_sub(1);
        if section.planned > 0 {
            let unit = section.start + section.target(code, shape).min(last);
            return Self { code, low: unit, high: unit + 1, guess: unit, leap: 0 };
        }
        let (low, high) = (section.start, section.start + section.units.max(1));
        let (least, greatest) = match run.is_recent() {
            true => (0, shape.code_max()),
            false => run.bounds(),
        };
        let width = u128::from(greatest.saturating_sub(least)) + 1;
        let place = u128::from(code.saturating_sub(least)) * u128::from(section.units) / width;
        let guess = low + place.min(u128::from(last)) as u32;
        Self { code, low, high, guess, leap: 1 }
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
        shape: &Shape,
    ) -> Result<bool, StoreError> {
        if self.high - self.low <= 1 {
            return Ok(true);
        }
        let unit = if self.leap == 0 {
            self.low.midpoint(self.high)
        } else {
            self.guess.clamp(self.low + 1, self.high - 1)
        };
        let (header, _) = reading.open(run, unit, shape)?;
        let is_below = header.first < self.code;
        if is_below {
            self.low = unit;
        } else {
            self.high = unit;
        }
        self.go_on(unit, is_below);
        Ok(self.high - self.low <= 1)
    }

    /// Where to look next: on in the same direction, twice as far; once it turns, between.
    const fn go_on(&mut self, unit: u32, is_below: bool) {
        if self.leap == 0 {
            return;
        }
        let next = if is_below { unit + self.leap } else { unit.saturating_sub(self.leap) };
        let is_open = if is_below { next < self.high } else { next > self.low };
        self.guess = next;
        self.leap = if is_open { self.leap * 2 } else { 0 };
    }
}
