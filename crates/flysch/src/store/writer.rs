//! Writing a run: ascending entries into units, units into pages.
//!
//! One call fills one page. Between calls the only state is [`Output`]: the entry that did not fit
//! any more is seen again.

use super::entry::{Entry, INDEX_MAX, Shape};
use super::error::StoreError;
use super::plan::{Estimate, rice_of};
use super::run::{Run, Section};
use super::unit::{Coding, UnitWriter};
use crate::media::{CELL_DATA, HEADER_SIZE, Layout};

/// What a source has next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// The least entry that is left.
    Entry(Entry),
    /// Nothing more.
    End,
    /// More, but no more reads are allowed in this call.
    Pause,
}

/// Where ascending entries come from.
pub(crate) trait Source {
    /// See the next entry.
    fn peek(&mut self) -> Result<Next, StoreError>;
    /// Go past the entry that was seen.
    fn pop(&mut self);
    /// How many entries an index has here.
    fn estimate(&self, index: u8) -> Estimate;
}

/// A run being written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Output {
    pub(crate) run: Run,
    /// The index being written, or none yet.
    pub(crate) index: Option<u8>,
    pub(crate) section: Section,
    pub(crate) coding: Coding,
    /// The last code written of the index.
    pub(crate) floor: u64,
    /// Codes of the index that differ.
    pub(crate) distinct: u32,
    /// Whether every section is packed, planned or not.
    pub(crate) packs: bool,
}

/// How a page ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fill {
    /// The page is full and more entries may come.
    Full,
    /// No entry is left.
    Last,
    /// No entry came at all: there is no page.
    End,
    /// No entry came before the reads were used up: there is no page.
    Pause,
}

/// Logarithms of the gaps in a unit.
#[derive(Clone, Copy, Debug, Default)]
struct Gaps {
    codes: (u32, u32),
    pointers: (u32, u32),
}

impl Output {
    /// An output that begins with `run`.
    pub(crate) fn new(run: Run) -> Self {
        Self { run, ..Self::default() }
    }

    /// Fill a page's frame with the next units.
    pub(crate) fn fill(
        &mut self,
        source: &mut impl Source,
        frame: &mut [u8],
        layout: Layout,
        shapes: &[Shape; INDEX_MAX],
    ) -> Result<Fill, StoreError> {
        frame.fill(0);
        let before = *self;
        for cell in 0..layout.cells as usize {
            match source.peek()? {
                Next::End => return Ok(if cell == 0 { Fill::End } else { Fill::Last }),
                Next::Pause if self.run.entries == before.run.entries => {
                    *self = before;
                    return Ok(Fill::Pause);
                }
                Next::Pause => self.pad(layout.cell_mut(frame, cell), shapes),
                Next::Entry(entry) => {
                    if self.index != Some(entry.index) {
                        self.begin(source, entry.index, shapes, layout.cells);
                    }
                    self.fill_unit(source, layout.cell_mut(frame, cell), shapes)?;
                }
            }
        }
        let is_last = source.peek()? == Next::End;
        Ok(if is_last { Fill::Last } else { Fill::Full })
    }

    /// Begin the section of an index.
    fn begin(&mut self, source: &impl Source, index: u8, shapes: &[Shape; INDEX_MAX], cells: u32) {
        debug_assert!(self.index.is_none_or(|last| last < index), "indexes ascend");
        let shape = shapes[usize::from(index)];
        let estimate = source.estimate(index);
        let planned = estimate.planned(shape, CELL_DATA - HEADER_SIZE);
        // The pages of a level are its own: the units of the last one are there in any case.
        let whole = if self.run.is_recent() { 1 } else { cells };
        let planned = if self.packs { 0 } else { planned.next_multiple_of(whole) };
        self.index = Some(index);
        self.section = Section { planned, start: self.run.units, ..Section::default() };
        self.coding = estimate.coding(shape);
        self.floor = 0;
        self.distinct = 0;
    }

    /// Fill one unit with entries of one index.
    fn fill_unit(
        &mut self,
        source: &mut impl Source,
        unit: &mut [u8],
        shapes: &[Shape; INDEX_MAX],
    ) -> Result<(), StoreError> {
        let Some(index) = self.index else { unreachable!("a section was begun") };
        let shape = shapes[usize::from(index)];
        let mut writer = UnitWriter::new(self.coding, shape);
        let floor = self.floor;
        let mut gaps = Gaps::default();
        let mut last = None;
        let spills = loop {
            let entry = match source.peek()? {
                Next::Entry(entry) if entry.index == index => entry,
                Next::Entry(_) | Next::End => break false,
                Next::Pause => break true,
            };
            let Section { planned, units, .. } = self.section;
            let is_due = planned == 0 || self.section.target(entry.code, shape) <= units;
            if !is_due || !writer.push(unit, shape, &entry) {
                break is_due;
            }
            self.note(&entry, last, &mut gaps);
            last = Some(entry);
            source.pop();
        };
        writer.close(unit, shape, spills, floor);
        self.end_unit();
        self.learn(&gaps);
        Ok(())
    }

    /// An empty unit, behind which what belongs there will come.
    fn pad(&mut self, unit: &mut [u8], shapes: &[Shape; INDEX_MAX]) {
        let Some(index) = self.index else { unreachable!("the page has an entry") };
        let shape = shapes[usize::from(index)];
        UnitWriter::new(self.coding, shape).close(unit, shape, true, self.floor);
        self.end_unit();
    }

    fn note(&mut self, entry: &Entry, last: Option<Entry>, gaps: &mut Gaps) {
        let is_same = self.section.entries > 0 && entry.code == self.floor;
        if let Some(last) = last {
            let (sums, gap) = if is_same {
                (&mut gaps.pointers, u64::from(entry.pointer.abs_diff(last.pointer)))
            } else {
                (&mut gaps.codes, entry.code - last.code)
            };
            *sums = (sums.0 + gap.max(1).ilog2(), sums.1 + 1);
        }
        if !self.run.is_recent() {
            let first = if self.section.entries == 0 { entry.code } else { self.run.bounds().0 };
            self.run.set_bounds(first, entry.code);
        }
        self.distinct += u32::from(!is_same);
        self.run.distinct += u32::from(!is_same);
        self.run.entries += 1;
        self.section.entries += 1;
        self.floor = entry.code;
    }

    fn end_unit(&mut self) {
        self.run.units += 1;
        self.section.units += 1;
        if let Some(index) = self.index {
            let fits = self.run.set_section(index, &self.section);
            debug_assert!(fits, "recent runs are kept small enough");
        }
    }

    /// Code the next unit by the gaps of this one, where codes are no hashes.
    fn learn(&mut self, gaps: &Gaps) {
        if self.section.planned == 0
            && let Some(rice) = rice_of(gaps.codes.0, gaps.codes.1)
        {
            self.coding.rice = rice;
        }
        if let Some(delta) = rice_of(gaps.pointers.0, gaps.pointers.1) {
            self.coding.delta = delta.min(31);
        }
    }
}
