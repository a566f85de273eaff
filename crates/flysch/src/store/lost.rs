//! Pages of runs that cannot be read any more: which they are, and how the store goes on with them.
//!
//! ```text
//! found ▸ shunned: no merge reads their runs ▸ the caller puts their entries again, into new runs
//!       ▸ renewed: merges take the pages for empty, and write the runs without them ▸ none is left
//! ```
//!
//! 1. Until their entries are in other runs on flash, lookups that come to a lost page fail, and no
//!    merge lets its run go.
//! 2. Nothing of this is in the state. After a mount the pages are found again, and entries that
//!    were put again are there twice, at most.

use flysch_nand::Nand;

use super::Store;
use super::entry::INDEX_MAX;
use super::error::StoreError;
use super::job::Due;
use super::read::Reading;
use super::run::{Head, IN_JOB, IN_ROUND, OPEN, PUT_OFF, Run};
use crate::media::{CELL_DATA, Media, MediaError, Numbers, Page, Space};

/// Greatest number of stretches of lost pages at a time.
pub(crate) const STRETCHES_MAX: usize = 8;
/// How often a page is read before it counts as lost.
const TRIES: u32 = 4;

/// Consecutive lost pages of one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stretch {
    first: Page,
    count: u32,
}

/// The lost pages that are known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lost {
    stretches: [Stretch; STRETCHES_MAX],
    len: u8,
    /// Whether readers take the pages for empty.
    pub(crate) is_passed_over: bool,
    /// Whether merges do as well, and write the runs again.
    is_renewed: bool,
}

impl Lost {
    pub(crate) const NONE: Self = Self {
        stretches: [Stretch { first: Page { space: Space::Young, number: 0 }, count: 0 };
            STRETCHES_MAX],
        len: 0,
        is_passed_over: false,
        is_renewed: false,
    };

    fn stretches(&self) -> &[Stretch] {
        &self.stretches[..usize::from(self.len)]
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.len == 0
    }

    fn has(&self, page: Page, numbers: Numbers) -> bool {
        self.stretches().iter().any(|stretch| {
            stretch.first.space == page.space
                && numbers.distance(stretch.first.number, page.number) < stretch.count
        })
    }

    /// Whether readers take this page for empty.
    pub(crate) fn hides(&self, page: Page, numbers: Numbers) -> bool {
        self.is_passed_over && self.has(page, numbers)
    }

    /// Whether lost pages keep merges from their runs.
    const fn holds_up(&self) -> bool {
        !self.is_empty() && !self.is_renewed
    }

    /// Add a page behind those that were found before; false where there is no room for it.
    /// `is_first` says that a run begins with it.
    fn add(&mut self, page: Page, is_first: bool, numbers: Numbers) -> bool {
        if let Some(last) = self.stretches[..usize::from(self.len)].last_mut()
            && !is_first
            && last.first.space == page.space
            && numbers.advance(last.first.number, last.count) == page.number
        {
            last.count += 1;
            return true;
        }
        let Some(next) = self.stretches.get_mut(usize::from(self.len)) else { return false };
        *next = Stretch { first: page, count: 1 };
        self.len += 1;
        debug_assert!(usize::from(self.len) <= STRETCHES_MAX, "there is room for the stretch");
        true
    }
}

/// What came of looking at a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Looked {
    /// It can be read.
    Sound,
    /// A run lost it.
    Lost,
    /// A merge had written it, and was stopped. It goes on after a mount, unless the state without
    /// it is recorded.
    Stopped,
}

/// What a page is a part of.
#[derive(Clone, Copy, Debug)]
enum Source {
    /// A run; whether it begins there.
    Run { is_first: bool },
    /// What a merge has written so far, the one whose inputs have this mark.
    Merge(u8),
}

/// What a stretch of lost pages may have held.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Gap {
    /// A bit for each index.
    pub(crate) indexes: u8,
    /// Least and greatest code.
    pub(crate) codes: (u64, u64),
    /// Least and greatest pointer.
    pub(crate) pointers: (u32, u32),
}

impl Gap {
    /// Whether an entry may have been lost.
    pub(crate) fn may_have_held(&self, index: u8, code: u64, pointer: u32) -> bool {
        self.indexes >> index & 1 == 1
            && (self.codes.0..=self.codes.1).contains(&code)
            && (self.pointers.0..=self.pointers.1).contains(&pointer)
    }
}

/// Read a page, and read it again before its error is believed.
pub(crate) fn insist<T>(mut read: impl FnMut() -> Result<T, MediaError>) -> Result<T, MediaError> {
    for _ in 1..TRIES {
        match read() {
            Ok(found) => return Ok(found),
            Err(MediaError::PowerLost) => return Err(MediaError::PowerLost),
            Err(_) => {}
        }
    }
    read()
}

/// Fill the payload of a cell that is taken for empty: no entries, and the next unit may go on.
pub(super) fn blank(cell: &mut [u8], from: usize) {
    cell[..CELL_DATA].fill(0);
    super::unit::spill(&mut cell[from..CELL_DATA]);
}

impl Store<'_> {
    /// Forget what is known of lost pages, before they are looked for.
    pub(crate) const fn forget_lost(&mut self) {
        self.lost = Lost::NONE;
    }

    /// What is known of lost pages.
    pub(crate) const fn lost(&self) -> &Lost {
        &self.lost
    }

    /// Have lookups take lost pages for empty, or not any more. What they noted without those pages
    /// is not what the index says.
    pub(crate) fn pass_over_lost(&mut self, is_passed_over: bool) {
        self.lost.is_passed_over = is_passed_over;
        self.noted.clear();
    }

    /// Look whether page `number` of the runs, counted over all of them, can be read; None behind
    /// the last. A merge whose output cannot be read is stopped, and loses nothing. Cost: one read,
    /// and three more where it cannot.
    ///
    /// # Errors
    /// That of the page, where so many are lost that there is no room for it.
    pub(crate) fn look_for_lost<N: Nand>(
        &mut self,
        media: &mut Media<'_, N>,
        frame: &mut [u8],
        number: u32,
    ) -> Result<Option<Looked>, StoreError> {
        let numbers = media.numbers();
        let Some((page, source)) = self.numbered(number) else { return Ok(None) };
        debug_assert!(!page.space.holds_rows(), "runs lie in spaces of their own");
        debug_assert!(!self.lost.is_passed_over, "a page is really read");
        match (insist(|| media.read(page, 0, frame)), source) {
            (Ok(()), _) => Ok(Some(Looked::Sound)),
            (Err(MediaError::PowerLost), _) => Err(MediaError::PowerLost.into()),
            (Err(_), Source::Run { is_first }) if self.lost.add(page, is_first, numbers) => {
                Ok(Some(Looked::Lost))
            }
            (Err(error), Source::Run { .. }) => Err(error.into()),
            (Err(_), Source::Merge(mark)) => {
                self.stop_job(mark);
                Ok(Some(Looked::Stopped))
            }
        }
    }

    /// The page of this number, counted over all runs and over what merges have written so far.
    fn numbered(&self, number: u32) -> Option<(Page, Source)> {
        let mut left = number;
        let mut find = |run: &Run| {
            let found = self.page_of(run, left);
            left -= if found.is_some() { 0 } else { run.pages() };
            found.map(|page| (page, left == 0))
        };
        if let Some((page, is_first)) = self.runs.iter().find_map(|run| find(&run)) {
            return Some((page, Source::Run { is_first }));
        }
        if let Some((page, _)) = self.job.as_ref().and_then(|job| find(&job.out.run)) {
            return Some((page, Source::Merge(IN_JOB)));
        }
        let (page, _) = self.put_off_run().and_then(|run| find(&run))?;
        Some((page, Source::Merge(PUT_OFF)))
    }

    /// Stop the merge whose inputs have a mark. It begins anew when it is due.
    fn stop_job(&mut self, mark: u8) {
        if mark == IN_JOB {
            self.job = None;
            self.inputs.clear();
        } else {
            self.put_off.clear();
        }
        self.runs.change(|head| head.marks &= !mark);
    }

    /// Stop merges that read a run with lost pages. None begins until [`Store::renew_lost`].
    pub(crate) fn shun_lost(&mut self) {
        for mark in [IN_JOB, PUT_OFF] {
            let is_marked = |slot| self.runs.head(slot).is(mark) && self.has_lost(slot);
            if self.runs.slots().any(is_marked) {
                self.stop_job(mark);
            }
        }
    }

    /// From now on merges take lost pages for empty, and write their runs without them: what they
    /// held is in other runs on flash.
    pub(crate) const fn renew_lost(&mut self) {
        (self.lost.is_passed_over, self.lost.is_renewed) = (true, true);
    }

    /// Forget lost pages that no run names any more.
    pub(crate) fn drop_lost(&mut self) {
        if self.lost.is_empty() {
            return;
        }
        let (runs, numbers) = (&self.runs, self.config.numbers);
        let known = self.lost;
        self.lost.len = 0;
        for stretch in known.stretches() {
            let is_of = |run: &Run| is_in(run, stretch, numbers);
            if runs.iter().any(|run| is_of(&run)) {
                self.lost.stretches[usize::from(self.lost.len)] = *stretch;
                self.lost.len += 1;
            }
        }
        self.lost.is_passed_over &= !self.lost.is_empty();
    }

    /// Whether a run has lost pages.
    pub(crate) fn has_lost(&self, slot: usize) -> bool {
        if self.lost.is_empty() {
            return false;
        }
        let (run, numbers) = (self.runs.run(slot), self.config.numbers);
        self.lost.stretches().iter().any(|stretch| is_in(&run, stretch, numbers))
    }

    /// Whether no merge may read a run, nor any that is older, as it has lost pages.
    pub(crate) fn is_shunned(&self, slot: usize) -> bool {
        self.lost.holds_up() && self.has_lost(slot)
    }

    /// Whether lost pages keep most merges from being begun.
    pub(crate) const fn is_held_up(&self) -> bool {
        self.lost.holds_up()
    }

    /// Whether a small merge of the runs that are newer than all those with lost pages is due.
    pub(crate) fn is_small_due_beside_lost(&self) -> bool {
        let from = self.small_from(0, OPEN | IN_ROUND);
        let is_free = |&(slot, head): &(usize, Head)| slot >= from && !head.is(OPEN);
        let count = self.runs.recents().filter(is_free).count();
        count >= usize::from(self.config.fan) || self.runs.room() <= 2 && count > 1
    }

    /// The merge that writes a run with lost pages again, when nothing else is due.
    pub(crate) fn due_for_lost(&self) -> Option<Due> {
        let slot = self.runs.slots().find(|&slot| self.has_lost(slot))?;
        let head = self.runs.head(slot);
        Some(if head.is_recent() { Due::Round } else { Due::Large(head.indexes) })
    }

    /// The lowest level of an index that has lost pages; 0 where none has.
    pub(crate) fn lost_level(&self, index: u8) -> u8 {
        let levels = self.runs.slots().filter(|&slot| self.has_lost(slot));
        let heads = levels.map(|slot| self.runs.head(slot));
        let own = heads.filter(|head| !head.is_recent() && head.indexes == index);
        own.map(|head| head.level).max().unwrap_or(0)
    }

    /// What the stretch of this number may have held: nothing behind the last. Cost: as a rule the
    /// reads of the units before it and behind it.
    pub(crate) fn gap<N: Nand>(
        &self,
        number: usize,
        media: &mut Media<'_, N>,
        cell: &mut [u8],
    ) -> Result<Gap, StoreError> {
        let numbers = self.config.numbers;
        let Some(stretch) = self.lost.stretches().get(number) else { return Ok(Gap::default()) };
        let Some(run) = self.runs.iter().find(|run| is_in(run, stretch, numbers)) else {
            return Ok(Gap::default());
        };
        if run.head.is_recent() {
            let indexes = run.head.indexes;
            return Ok(Gap { indexes, codes: (0, u64::MAX), pointers: run.pointers });
        }
        let passed_over = Lost { is_passed_over: true, ..self.lost };
        let mut reading = Reading::new(media, cell, &passed_over);
        let codes = self.codes_about(&run, stretch, &mut reading)?;
        let indexes = 1 << run.head.indexes;
        Ok(Gap { indexes, codes, pointers: run.pointers })
    }

    /// The last code before a stretch of a level's pages, and the first one behind it.
    fn codes_about<N: Nand>(
        &self,
        run: &Run,
        stretch: &Stretch,
        reading: &mut Reading<'_, '_, N>,
    ) -> Result<(u64, u64), StoreError> {
        let index = run.head.indexes;
        let (section, shape) = (run.section(index), self.shapes[usize::from(index)]);
        let (mut least, mut greatest) = (section.least, section.greatest);
        let pages = run.units.div_ceil(self.config.layout.cells);
        let first = (0..pages).find(|page| self.page_of(run, *page) == Some(stretch.first));
        let from = first.unwrap_or(0) * self.config.layout.cells;
        let to = (from + stretch.count * self.config.layout.cells).min(run.units);
        for unit in (0..from).rev().filter(|unit| !section.is_fence(*unit, shape)) {
            let (header, mut reader) = reading.open(run, unit, shape)?;
            while !reader.is_done() {
                reading.step(&mut reader, run, unit, shape)?;
                least = reader.entry(index).code;
            }
            if header.count > 0 {
                break;
            }
        }
        for unit in (to..run.units).filter(|unit| !section.is_fence(*unit, shape)) {
            let (header, _) = reading.open(run, unit, shape)?;
            if header.count > 0 {
                greatest = header.first;
                break;
            }
        }
        debug_assert!(least <= greatest, "codes of a level ascend");
        Ok((least, greatest))
    }

    fn page_of(&self, run: &Run, number: u32) -> Option<Page> {
        let cells = self.config.layout.cells;
        run.place(number * cells, cells, self.config.numbers).map(|(page, _)| page)
    }
}

/// Whether a stretch of lost pages is one of a run.
fn is_in(run: &Run, stretch: &Stretch, numbers: Numbers) -> bool {
    run.head.space() == stretch.first.space
        && run
            .extents()
            .iter()
            .any(|extent| numbers.distance(extent.first, stretch.first.number) < extent.count)
}

const _: () = assert!(INDEX_MAX == 8, "the indexes of a gap are the bits of a byte");
