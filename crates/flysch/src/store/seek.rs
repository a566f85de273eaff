//! Finding the unit of a section in which a code begins. Each step takes one read, so that a merge
//! can pause between two.
//!
//! The unit looked for is the first one that ends with the code or with a greater one. A first
//! guess follows from the plan of the section, or else from its least and greatest code. From there
//! the search leaps on, each leap twice as far, and then halves the distance. Where a section has
//! fences, one of them tells the unit, and splitters tell which fences there are to choose from.

use flysch_nand::Nand;

use super::Store;
use super::entry::Shape;
use super::error::StoreError;
use super::fence::{self, Found, fence_of, group_of, group_start};
use super::hints::Guide;
use super::read::Reading;
use super::run::Run;
use super::splitters::Stretch;

/// The state of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seek {
    code: u64,
    index: u8,
    /// The range in which the unit lies; a range of groups, as long as fences are read.
    low: u32,
    high: u32,
    next: u32,
    /// How many units the next leap passes; 0 once the unit lies between two that were read.
    leap: u32,
    by_fences: bool,
    /// The fence that told the unit; None where none did.
    told_by: Option<u32>,
}

/// A fenced section of at most so many units is searched without its fence.
const FEW: u32 = 3;

impl Seek {
    /// A search for `code` in the section of `index`.
    pub(crate) fn new(run: &Run, index: u8, code: u64, shape: Shape) -> Self {
        let section = run.section(index);
        let by_fences = section.is_fenced && section.units > FEW;
        let count = section.units - u32::from(section.is_fenced && !by_fences);
        let further = count.saturating_sub(1);
        let (low, high) = (section.start, section.start + further);
        let unit = if section.planned > 0 {
            section.start + section.target(code, shape).min(further)
        } else {
            section.start + section.part(code, count, shape).min(further)
        };
        if by_fences {
            let (last, guess) = (group_of(high, shape), group_of(unit, shape));
            let all = Stretch { low: 0, high: last, guess };
            let Stretch { low, high, guess } = run.narrow(code, last, shape).unwrap_or(all);
            let (next, told_by) = (guess, None);
            return Self { code, index, low, high, next, leap: 0, by_fences, told_by };
        }
        let low = if section.planned > 0 { unit } else { low };
        Self { code, index, low, high, next: unit, leap: 1, by_fences, told_by: None }
    }

    /// Go where a hint leads to.
    const fn follow(&mut self, hint: Guide) {
        match hint {
            Guide::Unit(unit) => {
                self.end(unit);
            }
            Guide::Group(group) => self.next = group,
        }
    }

    /// The unit that was found.
    pub(crate) const fn unit(&self) -> u32 {
        self.low
    }

    /// Read one more unit; true once the search is over. Cost: at most one read.
    pub(crate) fn step<N: Nand>(
        &mut self,
        reading: &mut Reading<'_, '_, N>,
        run: &Run,
        shape: Shape,
    ) -> Result<bool, StoreError> {
        debug_assert!(self.low <= self.high, "the unit lies somewhere");
        if self.by_fences {
            return self.step_group(reading, run, shape);
        }
        if self.low == self.high {
            return Ok(true);
        }
        let mut unit = match self.leap {
            0 => self.low.midpoint(self.high),
            _ => self.next.clamp(self.low, self.high),
        };
        let section = run.section(self.index);
        // Neither a fence nor a lost unit tells anything: the unit before it is asked.
        while unit > self.low && (section.is_fence(unit, shape) || reading.hides(run, unit)) {
            unit -= 1;
        }
        if reading.hides(run, unit) {
            return Ok(self.end(unit));
        }
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
            // The last unit does not spill, unless the run is damaged.
            let is_fence = section.is_fence(unit + 1, shape);
            self.low = (unit + 1 + u32::from(is_fence)).min(self.high);
        } else {
            self.high = unit;
        }
        self.go_on(unit, is_behind);
        Ok(self.low == self.high)
    }

    /// Read the fence of one more group. Cost: one read.
    fn step_group<N: Nand>(
        &mut self,
        reading: &mut Reading<'_, '_, N>,
        run: &Run,
        shape: Shape,
    ) -> Result<bool, StoreError> {
        let group = if self.leap < 2 { self.next } else { self.low.midpoint(self.high) };
        let group = group.clamp(self.low, self.high);
        let count = run.section(self.index).units;
        let unit = fence_of(group, count, shape);
        let found = if reading.hides(run, unit) {
            Some(Found::Blank)
        } else {
            fence::find(reading.unit(run, unit)?, self.code, group == 0, shape)
        };
        self.leap += 1;
        let start = group_start(group, shape);
        match found.ok_or_else(|| reading.malformed(run, unit))? {
            Found::Unit(at) => {
                self.told_by = Some(unit);
                return Ok(self.end(start + at));
            }
            // The code lies before this group, and behind the groups before it: so between the two.
            Found::Before if group == self.low => return Ok(self.end(start.saturating_sub(2))),
            Found::Before => (self.high, self.next) = (group - 1, group - 1),
            Found::Behind | Found::Ahead if group == self.high => {
                return Ok(self.end(fence_of(group, count, shape) - 1));
            }
            Found::Behind | Found::Ahead => (self.low, self.next) = (group + 1, group + 1),
            Found::Blank => {
                let end = fence_of(self.high, count, shape) - 1;
                (self.low, self.high) = (group_start(self.low, shape), end);
                (self.leap, self.by_fences) = (0, false);
            }
        }
        Ok(false)
    }

    const fn end(&mut self, unit: u32) -> bool {
        (self.low, self.high, self.by_fences) = (unit, unit, false);
        true
    }

    /// Where to read next: further in the same direction, twice as far; once the direction turns,
    /// in the middle.
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

impl Store<'_> {
    /// The unit of a run's section in which a code begins, or would begin. Cost: none where a hint
    /// tells it; else a read for each step of a [`Seek`].
    pub(crate) fn unit_of<N: Nand>(
        &self,
        run: &Run,
        (index, code): (u8, u64),
        reading: &mut Reading<'_, '_, N>,
    ) -> Result<u32, StoreError> {
        let shape = self.shapes[usize::from(index)];
        let mut seek = Seek::new(run, index, code, shape);
        let is_packed = run.section(index).planned == 0;
        if is_packed && let Some(hint) = self.hints.find(run, index, code) {
            seek.follow(hint);
        }
        while !seek.step(reading, run, shape)? {}
        let unit = seek.unit();
        if let Some(fence) = seek.told_by {
            let group = group_of(unit, shape);
            let at = unit - group_start(group, shape);
            // The buffer still holds the fence.
            if let Some([near, far]) = fence::about(reading.unit(run, fence)?, at, shape) {
                self.hints.note_unit(run, unit, near);
                self.hints.note_group(run, group, far);
            }
        } else if is_packed && reading.holds(run, unit) {
            self.note_read(run, (index, unit), reading)?;
        }
        Ok(unit)
    }

    /// Note which codes are in the unit that was read last.
    fn note_read<N: Nand>(
        &self,
        run: &Run,
        (index, unit): (u8, u32),
        reading: &mut Reading<'_, '_, N>,
    ) -> Result<(), StoreError> {
        let shape = self.shapes[usize::from(index)];
        let (header, mut reader) = reading.open(run, unit, shape)?;
        while !reader.is_done() {
            reading.step(&mut reader, run, unit, shape)?;
        }
        self.hints.note_unit(run, unit, (header.first, reader.entry(index).code));
        Ok(())
    }
}
