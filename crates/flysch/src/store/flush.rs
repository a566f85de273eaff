//! Flushing the memory table: its entries become a recent run of a page or two.
//!
//! 1. A run names programmed pages only: entries of rows that are in the tail stay in RAM.
//! 2. Open entries become a run of their own. Committed entries are flushed before them.
//! 3. A take-back of an entry that was in RAM is not flushed, nor is the entry. Where an older run
//!    has the same entry, the next reader that meets it takes it back.

use flysch_nand::Nand;

use super::entry::{Entry, INDEX_MAX};
use super::error::StoreError;
use super::fence::Fence;
use super::job::program;
use super::memtable::{Memtable, Segment};
use super::plan::{Estimate, are_even};
use super::run::{LEARNT, OPEN, Run};
use super::writer::{Fill, Next, Output, Source};
use super::{Lent, Reach, Store};
use crate::media::{Layout, Media, Space};

/// Decides by an entry's pointer whether it is flushed. It is a trait object, so that the code of a
/// flush exists only once.
pub(crate) type IsDue<'a> = dyn Fn(u32) -> bool + 'a;

/// The entries of a segment that are to be flushed.
struct Flushed<'a, 'ram> {
    memtable: &'a Memtable<'ram>,
    segment: Segment,
    is_due: &'a IsDue<'a>,
    index: u8,
    place: usize,
}

impl Flushed<'_, '_> {
    /// The entries of an index that are flushed.
    fn entries(&self, index: u8) -> impl Iterator<Item = (usize, Entry)> + '_ {
        self.entries_from(index, 0)
    }

    /// Those of them at a place of the memory table or behind it.
    fn entries_from(&self, index: u8, place: usize) -> impl Iterator<Item = (usize, Entry)> + '_ {
        let (from, to) = self.memtable.places(self.segment, index);
        let entries =
            (from.max(place)..to).map(move |place| (place, self.memtable.entry(index, place)));
        entries.filter(|(_, entry)| (self.is_due)(entry.pointer) && !entry.is_spent())
    }
}

impl Source for Flushed<'_, '_> {
    fn peek(&mut self) -> Result<Next, StoreError> {
        while usize::from(self.index) < INDEX_MAX {
            let next = self.entries_from(self.index, self.place).next();
            if let Some((place, entry)) = next {
                self.place = place;
                return Ok(Next::Entry(entry));
            }
            (self.index, self.place) = (self.index + 1, 0);
        }
        Ok(Next::End)
    }

    fn pop(&mut self) {
        self.place += 1;
    }

    fn estimate(&self, index: u8) -> Estimate {
        let mut estimate = Estimate { is_exact: true, ..Estimate::default() };
        let mut last = None;
        for (_, entry) in self.entries(index) {
            estimate.least = if last.is_none() { entry.code } else { estimate.least };
            estimate.greatest = entry.code;
            estimate.entries += 1;
            estimate.distinct += u32::from(last != Some(entry.code));
            estimate.flags |= entry.flags;
            last = Some(entry.code);
        }
        let codes = self.entries(index).map(|(_, entry)| entry.code);
        estimate.is_even = are_even(codes, &estimate);
        estimate
    }
}

impl Store<'_> {
    /// Flush the committed entries whose rows are programmed, which `is_programmed` tells of a
    /// pointer. Returns the number of programs: one for each page that the entries fill, one or two
    /// as a rule.
    ///
    /// # Errors
    /// [`StoreError::Crowded`] where the table of runs is full: nothing was done.
    pub fn flush<N: Nand>(
        &mut self,
        media: &mut Media<'_, N>,
        lent: &mut Lent<'_>,
        is_programmed: &IsDue<'_>,
    ) -> Result<u32, StoreError> {
        self.flush_segment(media, lent, Segment::Committed, is_programmed)
    }

    /// Flush the open entries whose rows are programmed, as an open run. Returns the number of
    /// programs. Committed entries that stay in the memory table are older than the run, but
    /// lookups meet them first. So none of them may have been replaced by an open entry.
    ///
    /// # Errors
    /// [`StoreError::Crowded`] where the table of runs is full.
    pub fn flush_open<N: Nand>(
        &mut self,
        media: &mut Media<'_, N>,
        lent: &mut Lent<'_>,
        is_programmed: &IsDue<'_>,
    ) -> Result<u32, StoreError> {
        self.flush_segment(media, lent, Segment::Open, is_programmed)
    }

    #[inline(never)]
    fn flush_segment<N: Nand>(
        &mut self,
        media: &mut Media<'_, N>,
        lent: &mut Lent<'_>,
        segment: Segment,
        is_due: &IsDue<'_>,
    ) -> Result<u32, StoreError> {
        if self.runs.room() == 0 {
            return Err(StoreError::Crowded);
        }
        let mut source = Flushed { memtable: &self.memtable, segment, is_due, index: 0, place: 0 };
        let flags =
            (0..INDEX_MAX as u8).fold(0, |flags, index| flags | source.estimate(index).flags);
        let mut out = Output::new(Run::recent(flags));
        let mut programs = 0;
        out.packs = self.overflows(&mut source, &out, (media.layout(), lent.page))?;
        (source.index, source.place) = (0, 0);
        loop {
            let mut none = Fence::new(&mut []);
            let to = (&self.shapes, &mut none);
            let fill = out.fill(&mut source, lent.page, media.layout(), to)?;
            if fill == Fill::End {
                break;
            }
            if !program(media, Space::Young, lent, &mut out.run)? {
                return Err(StoreError::Crowded);
            }
            programs += 1;
            if fill == Fill::Last {
                break;
            }
        }
        if programs > 0 {
            self.reach = Reach::Flush;
            self.take_over(&mut out.run, segment, is_due);
        } else {
            self.forget(segment, is_due);
        }
        Ok(programs)
    }

    /// Whether a section whose units are found from their codes would take a page more than a
    /// packed one. With few units, chance fills the last one too often. Nothing is programmed.
    fn overflows(
        &self,
        source: &mut Flushed<'_, '_>,
        out: &Output,
        (layout, page): (Layout, &mut [u8]),
    ) -> Result<bool, StoreError> {
        let mut pages = [0; 2];
        for (packs, pages) in [false, true].into_iter().zip(&mut pages) {
            let mut out = Output { packs, ..*out };
            (source.index, source.place) = (0, 0);
            let mut none = Fence::new(&mut []);
            while out.fill(source, page, layout, (&self.shapes, &mut none))? == Fill::Full {
                *pages += 1;
            }
        }
        Ok(pages[0] > pages[1])
    }

    /// Put a flushed run into the table of runs, with its Bloom filter, and remove its entries from
    /// RAM.
    fn take_over(&mut self, run: &mut Run, segment: Segment, is_due: &IsDue<'_>) {
        debug_assert!(run.head.is_recent(), "what is flushed is recent");
        debug_assert!(run.entries > 0, "a run holds entries");
        let opens = self.runs.heads().filter(|(_, head)| head.is(OPEN)).count();
        let is_open = segment == Segment::Open;
        run.head.marks = if is_open { OPEN } else { 0 };
        let at = self.runs.slots().end - if is_open { 0 } else { opens };
        self.list_recent(at, run);
        self.inputs.note_listed(at);
        let filter = self.filter(at);
        for index in 0..INDEX_MAX as u8 {
            let (from, to) = self.memtable.places(segment, index);
            for place in from..to {
                let entry = self.memtable.entry(index, place);
                if is_due(entry.pointer) {
                    self.blooms.add(filter, index, entry.code);
                }
            }
        }
        self.mark(at, LEARNT);
        self.run_changes += 1;
        self.forget(segment, is_due);
    }

    /// Remove from RAM what was flushed, and take-backs that are of no use without it.
    fn forget(&mut self, segment: Segment, is_due: &IsDue<'_>) {
        self.memtable.retain(segment, |entry| !is_due(entry.pointer));
        self.puts = self.puts.wrapping_add(1);
    }
}
