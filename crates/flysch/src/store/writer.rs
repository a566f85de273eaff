//! Writing a run: entries in ascending order are packed into units, and units into pages.
//!
//! One call fills one page. [`Output`] is all that is kept between calls: an entry that did not fit
//! is asked of the source again.

use super::entry::{Entry, INDEX_MAX, Shape};
use super::error::StoreError;
use super::fence::{Behind, Fence, ends_group, group_of, group_start};
use super::plan::{Estimate, rice_of};
use super::run::{FENCED, Run, Section};
use super::unit::{Coding, UnitWriter};
use crate::media::{CELL_DATA, HEADER_SIZE, Layout, Page};

/// What a source gives next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// The least entry that is left.
    Entry(Entry),
    /// Nothing more.
    End,
    /// There are more, but this call may not read any more.
    Pause,
}

/// A source of ascending entries.
pub(crate) trait Source {
    /// The next entry, which stays the next one.
    fn peek(&mut self) -> Result<Next, StoreError>;
    /// Go on to the entry behind.
    fn pop(&mut self);
    /// How many entries the source has of an index, and of which kind.
    fn estimate(&self, index: u8) -> Estimate;
}

/// A run that is being written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Output {
    pub(crate) run: Run,
    /// The index whose section is being written; None before the first.
    pub(crate) index: Option<u8>,
    pub(crate) section: Section,
    pub(crate) coding: Coding,
    /// The last code of the index that was written.
    pub(crate) floor: u64,
    /// Number of different codes of the index so far.
    pub(crate) distinct: u32,
    /// Whether all sections are packed, even where they could be planned.
    pub(crate) packs: bool,
    /// Whether the last fence was written.
    pub(crate) is_ended: bool,
}

/// How filling a page ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fill {
    /// The page is full, and there may be more entries.
    Full,
    /// The page has the last entries.
    Last,
    /// There were no entries left: there is no page.
    End,
    /// The reads were used up before the first entry: there is no page.
    Pause,
}

/// Sums of logarithms of the gaps in a unit, from which the coding of the next one follows.
#[derive(Clone, Copy, Debug, Default)]
struct Gaps {
    codes: (u32, u32),
    pointers: (u32, u32),
}

impl Output {
    /// An output that continues `run`.
    pub(crate) const fn new(run: Run) -> Self {
        Self {
            run,
            index: None,
            section: Section::NONE,
            coding: Coding { rice: 0, delta: 0, flags: 0, has_dups: false },
            floor: 0,
            distinct: 0,
            packs: false,
            is_ended: false,
        }
    }

    /// Fill a page with the next units. At an error and at [`Fill::Pause`] the caller has to put
    /// back what the output was before.
    pub(crate) fn fill(
        &mut self,
        source: &mut dyn Source,
        frame: &mut [u8],
        layout: Layout,
        (shapes, fence): (&[Shape; INDEX_MAX], &mut Fence<'_>),
    ) -> Result<Fill, StoreError> {
        debug_assert_eq!(frame.len(), layout.page_size(), "a frame is a page");
        frame.fill(0);
        let before = self.run.entries;
        for cell in 0..layout.cells as usize {
            let next = source.peek()?;
            if next != Next::Pause && self.is_fence_due(next, shapes) {
                self.put_fence(next, layout.cell_mut(frame, cell), (shapes, fence));
                continue;
            }
            match next {
                Next::End => return Ok(if cell == 0 { Fill::End } else { Fill::Last }),
                Next::Pause if self.run.entries == before => return Ok(Fill::Pause),
                Next::Pause if self.is_fence_due(next, shapes) => {
                    self.put_fence(next, layout.cell_mut(frame, cell), (shapes, fence));
                }
                Next::Pause => self.pad(layout.cell_mut(frame, cell), (shapes, fence)),
                Next::Entry(entry) => {
                    if self.index != Some(entry.index) {
                        self.begin(source, entry.index, (shapes, fence.is_kept()), layout.cells);
                    }
                    self.fill_unit(source, layout.cell_mut(frame, cell), (shapes, fence))?;
                }
            }
        }
        let is_last = source.peek()? == Next::End && !self.is_fence_due(Next::End, shapes);
        Ok(if is_last { Fill::Last } else { Fill::Full })
    }

    /// Whether the next cell has to be a fence: behind a full group, or at the end.
    fn is_fence_due(&self, next: Next, shapes: &[Shape; INDEX_MAX]) -> bool {
        let Some(index) = self.index else { return false };
        let shape = shapes[usize::from(index)];
        let units = self.run.units;
        let is_written = units > 0 && ends_group(units - 1, shape);
        let is_next = ends_group(units, shape) || next == Next::End && !is_written;
        self.section.is_fenced && !self.is_ended && is_next
    }

    fn put_fence(
        &mut self,
        next: Next,
        cell: &mut [u8],
        (shapes, fence): (&[Shape; INDEX_MAX], &mut Fence<'_>),
    ) {
        let Some(index) = self.index else { unreachable!("a section was begun") };
        let behind = match next {
            Next::Entry(entry) => Behind::Known(entry.code),
            Next::Pause => Behind::Unknown,
            Next::End => Behind::Nothing,
        };
        self.is_ended = next == Next::End;
        let shape = shapes[usize::from(index)];
        fence.emit(self.run.units, (behind, self.floor), shape, cell);
        self.end_unit();
    }

    /// Begin the section of an index.
    fn begin(
        &mut self,
        source: &dyn Source,
        index: u8,
        (shapes, has_fences): (&[Shape; INDEX_MAX], bool),
        cells: u32,
    ) {
        debug_assert!(self.index.is_none_or(|last| last < index), "indexes ascend");
        let shape = shapes[usize::from(index)];
        let estimate = source.estimate(index);
        let planned = estimate.planned(shape, CELL_DATA - HEADER_SIZE);
        // A level has pages of its own, so all units of its last page are there in any case.
        let whole = if self.run.head.is_recent() { 1 } else { cells };
        let planned = if self.packs { 0 } else { planned.next_multiple_of(whole) };
        let is_keys = shape.is_ordered();
        let (least, greatest) =
            if is_keys { (estimate.least, estimate.greatest) } else { (0, u64::MAX) };
        self.index = Some(index);
        let start = self.run.units;
        let is_even = is_keys && estimate.is_even;
        // A level of hashes of which too many are equal is packed, but has no fences.
        let is_fenced = has_fences && planned == 0 && !self.run.head.is_recent();
        self.section =
            Section { entries: 0, planned, units: 0, start, least, greatest, is_even, is_fenced };
        self.run.head.marks |= if is_fenced { FENCED } else { 0 };
        self.run.splitters = (is_fenced && is_keys).then_some(0);
        self.is_ended = false;
        self.coding = estimate.coding(shape);
        self.floor = 0;
        self.distinct = 0;
    }

    /// Fill one unit with entries of one index.
    #[inline(never)]
    fn fill_unit(
        &mut self,
        source: &mut dyn Source,
        unit: &mut [u8],
        (shapes, fence): (&[Shape; INDEX_MAX], &mut Fence<'_>),
    ) -> Result<(), StoreError> {
        let Some(index) = self.index else { unreachable!("a section was begun") };
        let shape = shapes[usize::from(index)];
        let mut writer = UnitWriter::new(self.coding, shape);
        let floor = self.floor;
        let mut gaps = Gaps::default();
        let mut last = None;
        let is_first = self.section.entries == 0;
        if self.section.is_fenced
            && let Next::Entry(entry) = source.peek()?
        {
            self.check(&entry)?;
            let goes_on = !is_first && entry.code == floor;
            self.note_unit(entry.code, goes_on, shape, fence);
        }
        let spills = loop {
            let entry = match source.peek()? {
                Next::Entry(entry) if entry.index == index => entry,
                Next::Entry(_) | Next::End => break false,
                Next::Pause => break true,
            };
            self.check(&entry)?;
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

    /// Refuse an entry that is not where its run says that it has entries, or that comes behind a
    /// greater one: a damaged run gives such.
    fn check(&self, entry: &Entry) -> Result<(), StoreError> {
        let is_next = self.section.entries == 0 || self.floor <= entry.code;
        if self.section.spans(entry.code) && is_next {
            return Ok(());
        }
        Err(StoreError::Malformed(Page { space: self.run.head.space(), number: 0 }))
    }

    /// Write an empty unit: what belongs there comes in a later one.
    fn pad(&mut self, unit: &mut [u8], (shapes, fence): (&[Shape; INDEX_MAX], &mut Fence<'_>)) {
        let Some(index) = self.index else { unreachable!("the page has an entry") };
        let shape = shapes[usize::from(index)];
        if self.section.is_fenced {
            self.note_unit(self.floor, true, shape, fence);
        }
        UnitWriter::new(self.coding, shape).close(unit, shape, true, self.floor);
        self.end_unit();
    }

    /// Note with which code the next unit begins, and whether that code began before.
    fn note_unit(&mut self, first: u64, goes_on: bool, shape: Shape, fence: &mut Fence<'_>) {
        let unit = self.run.units;
        fence.note(unit, first, goes_on, shape);
        let group = group_of(unit, shape);
        if unit == group_start(group, shape) {
            self.run.note_group(group, first);
        }
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
        debug_assert!(self.section.spans(entry.code), "the bounds of a section were known");
        debug_assert!(
            self.section.entries == 0 || self.floor <= entry.code,
            "codes of a section ascend"
        );
        debug_assert!(self.index == Some(entry.index), "the entry is one of the section");
        self.run.note_pointer(entry.pointer);
        self.distinct += u32::from(!is_same);
        self.run.distinct += u32::from(!is_same);
        self.run.entries += 1;
        self.section.entries += 1;
        self.floor = entry.code;
    }

    fn end_unit(&mut self) {
        self.run.units += 1;
        self.section.units += 1;
        // There are far more units than planned, so the codes were not as even as they looked.
        // Units that stay empty because reads were used up are few.
        let Section { planned, units, .. } = self.section;
        self.section.is_even &= planned == 0 || units <= planned + planned / 4 + 4;
        if let Some(index) = self.index {
            let fits = self.run.set_section(index, &self.section);
            debug_assert!(fits, "recent runs are kept small enough");
        }
    }

    /// Choose the coding of the next unit by the gaps of this one, unless codes are hashes.
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
