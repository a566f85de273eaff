//! Jobs: a job is the one merge under way, as it goes on from call to call.
//!
//! A *small* job merges recent runs to one recent run of all indexes. When there are enough recent
//! entries a *round* begins: a *large* job for each index merges the recent runs of that time into
//! a level. Each call does one step.
//!
//! 1. Lookups read the inputs until the job ends, and then its output.
//! 2. The inputs of a job follow each other in age. Runs that are flushed meanwhile are not among
//!    them.
//! 3. Whether a job may drop anything is decided when it begins.

use flysch_nand::Nand;

use super::entry::INDEX_MAX;
use super::error::StoreError;
use super::group::{Drops, Group};
use super::levels::target_level;
use super::merge::{INPUTS_MAX, Merge, Position};
use super::read::Reading;
use super::row_blocks::RowBlocks;
use super::run::{Head, IN_JOB, IN_ROUND, LEARNT, MERGED, OPEN, Run};
use super::table::LEVELS_MAX;
use super::unit::entry_size_max;
use super::writer::{Fill, Output};
use super::{Lent, Store, Work};
use crate::media::{Kind, Label, Media};

/// A merge under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Job {
    /// The index of a large job; None for a small one.
    pub(crate) index: Option<u8>,
    pub(crate) drops: Drops,
    pub(crate) out: Output,
    pub(crate) group: Group,
    /// The last entry of the output that is on flash.
    pub(crate) done: Position,
    /// From which entry on the inputs are to be opened, after a mount; None where they are open.
    pub(crate) resume: Option<Position>,
}

impl Job {
    /// A job that is to be filled.
    pub(crate) const NONE: Self = Self {
        index: None,
        drops: Drops { keeps_all: false, is_bottom: false },
        out: Output::new(Run::EMPTY),
        group: Group::NONE,
        done: Position { index: 0, code: 0, pointer: 0, given: 0 },
        resume: None,
    };
}

/// Which merge is to be begun or continued next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    Small,
    /// A small job of runs of the open transaction.
    Open,
    /// A new round is to begin.
    Round,
    /// The large job of this index, in the round.
    Large(u8),
    /// The large job that was put off is to be continued.
    PutOff,
}

/// How many recent runs there are, how many of them no small merge wrote, and their entries. Runs
/// of an open transaction do not count.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Recents {
    pub(crate) count: usize,
    fresh: usize,
    pub(crate) entries: u32,
}

impl Store<'_> {
    /// The job that is due; None where none is.
    pub(crate) fn due(&self) -> Option<Due> {
        if let Some(due) = self.due_before() {
            return Some(due);
        }
        if self.is_held_up() {
            let small = self.is_small_due_beside_lost().then_some(Due::Small);
            return small.or_else(|| self.is_open_due().then_some(Due::Open));
        }
        if let Some(index) = self.next_of_round() {
            return Some(Due::Large(index));
        }
        let Recents { count, fresh, entries } = self.recents();
        let is_crowded = count + self.levels_max() >= INPUTS_MAX || self.runs.room() <= 2;
        let is_small_due = fresh >= usize::from(self.config.fan) || is_crowded && fresh > 1;
        if is_small_due && !self.is_behind_by(entries) {
            return Some(Due::Small);
        }
        // The other half of the table is for the runs that are flushed while a round goes on.
        let has_half = (count - fresh) * 2 >= count + self.runs.room();
        let is_enough =
            entries >= self.recents_limit() || has_half || is_crowded || self.is_pressed();
        if is_enough && entries > 0 {
            return Some(Due::Round);
        }
        self.is_open_due().then_some(Due::Open).or_else(|| self.due_for_lost())
    }

    pub(crate) fn recents(&self) -> Recents {
        let mut all = Recents::default();
        for (slot, head) in self.runs.recents().filter(|(_, head)| !head.is(OPEN)) {
            all.count += 1;
            all.fresh += usize::from(!head.is(MERGED));
            all.entries += self.runs.entries(slot);
        }
        all
    }

    /// Begin the job that is due, if one is. Nothing is read.
    pub(crate) fn start_due(&mut self) -> bool {
        debug_assert!(self.job.is_none(), "one job at a time");
        if self.due() == Some(Due::Round) {
            self.freeze();
        }
        match self.due() {
            Some(Due::Small) => self.start_small(),
            Some(Due::Open) => self.start_open(),
            Some(Due::Large(index)) => self.start_large(index),
            Some(Due::PutOff) => self.take_up(),
            Some(Due::Round) | None => return false,
        }
        true
    }

    /// Number of recent entries from which on a round begins: fewer where the table of runs is
    /// small.
    pub(crate) fn recents_limit(&self) -> u32 {
        let all: u32 = self.runs.slots().map(|slot| self.runs.entries(slot)).sum();
        self.config.recents_max.min(all / 4)
    }

    fn levels_max(&self) -> usize {
        let levels = self.config.indexes.iter().map(|index| usize::from(index.levels));
        levels.max().unwrap_or(1)
    }

    /// Mark recent runs as the inputs of a round: the oldest ones, as many as a merge takes beside
    /// its levels.
    fn freeze(&mut self) {
        self.mark_oldest((0, INPUTS_MAX - self.levels_max()), IN_ROUND, OPEN);
    }

    /// Mark the `count` oldest recent runs, from a place of the table on, that have none of the
    /// marks `without`. Returns the flags that occur in their entries.
    pub(crate) fn mark_oldest(
        &mut self,
        (from, count): (usize, usize),
        marks: u8,
        without: u8,
    ) -> u8 {
        let (mut left, mut flags) = (count, 0);
        for slot in self.runs.slots().skip(from) {
            let head = self.runs.head(slot);
            if left > 0 && head.is_recent() && head.marks & without == 0 {
                self.mark(slot, marks);
                flags |= head.flags;
                left -= 1;
            }
        }
        flags
    }

    /// The index whose large job of the round is next; None where all are done.
    fn next_of_round(&self) -> Option<u8> {
        let round = || self.runs.heads().filter(|(_, head)| head.is(IN_ROUND));
        (0..INDEX_MAX as u8).find(|&index| round().any(|(_, head)| head.serves(index)))
    }

    #[inline(never)]
    fn start_large(&mut self, index: u8) {
        let is_fresh = |head: Head| head.is(IN_ROUND) && head.serves(index);
        let is_level = |head: Head| !head.is_recent() && head.indexes == index;
        let (mut fresh, mut sizes) = (0, [0; LEVELS_MAX]);
        for (slot, head) in self.runs.heads() {
            if is_fresh(head) {
                fresh += self.runs.section(slot, index).entries;
            } else if is_level(head) {
                sizes[usize::from(head.level)] = self.runs.entries(slot);
            }
        }
        let levels = self.config.indexes[usize::from(index)].levels;
        let target = self.target(index, fresh, &sizes[..usize::from(levels)]);
        let target = if self.is_pressed() { levels - 1 } else { target };
        let target = target.max(self.lost_level(index));
        let mut is_bottom = true;
        let mut flags = 0;
        for slot in self.runs.slots() {
            let head = self.runs.head(slot);
            if is_level(head) && head.level <= target || is_fresh(head) {
                self.mark(slot, IN_JOB);
                flags |= head.flags;
            }
            is_bottom &= !is_level(head) || head.level <= target;
        }
        let drops = Drops { keeps_all: self.keeps_all, is_bottom };
        let head = Head { level: target, indexes: index, flags, ..Head::default() };
        debug_assert!(target < levels, "the index has the level");
        self.begin(Some(index), drops, head);
        self.taken_up_at = 0;
    }

    /// Begin a job whose output is a run with this head.
    pub(crate) fn begin(&mut self, index: Option<u8>, drops: Drops, head: Head) {
        debug_assert!(index.is_none() == head.is_recent(), "a level is of one index");
        let job = self.job.insert(Job::NONE);
        (job.index, job.drops, job.out.run.head) = (index, drops, head);
        self.inputs.clear();
    }

    /// The level into which fresh entries of an index are merged. In a unique index whose rows are
    /// replaced, a lookup goes from the newest level to the oldest, so it gets two levels only.
    fn target(&self, index: u8, fresh: u32, sizes: &[u32]) -> u8 {
        let is_unique = self.shapes[usize::from(index)].is_unique;
        if sizes.len() < 3 || !is_unique || !self.is_updated(index) {
            return target_level(fresh, sizes) as u8;
        }
        let two = [sizes[0], sizes[1..].iter().sum()];
        if target_level(fresh, &two) == 0 { 0 } else { sizes.len() as u8 - 1 }
    }

    /// Do one step of the job: read inputs, and program the next page if it becomes full. Cost: the
    /// reads of [`StoreConfig::reads_max`](super::StoreConfig::reads_max) and one program, more
    /// programs where some fail.
    #[inline(never)]
    pub(crate) fn step<N: Nand>(
        &mut self,
        media: &mut Media<'_, N>,
        lent: &mut Lent<'_>,
    ) -> Result<Work, StoreError> {
        let Some(job) = &self.job else { return Ok(Work::default()) };
        if job.index.is_some() && self.may_put_off(job) && self.is_small_due() {
            self.put_off();
            self.start_small();
            return Ok(Work { is_left: true, ..Work::default() });
        }
        if self.inputs.is_empty() {
            let entry_max = self.shapes.into_iter().map(entry_size_max).max().unwrap_or(1);
            self.inputs.open(&self.runs, job.index, (self.windows.len(), entry_max));
        }
        let before = job.out;
        let mut done = job.done;
        let (filled, reads) = self.fill(media, lent, &mut done);
        let mut work = Work { reads, programs: 0, is_left: true };
        let fill = match filled {
            Ok(fill) => fill,
            Err(error) => {
                self.restart(&before);
                return Err(error);
            }
        };
        let Some(job) = &mut self.job else { return Ok(work) };
        if fill == Fill::Pause {
            job.out = before;
        }
        if matches!(fill, Fill::Full | Fill::Last) {
            let space = job.out.run.head.space();
            let programmed = program(media, space, lent, &mut job.out.run);
            match programmed {
                Ok(true) => {}
                Ok(false) => {
                    job.out = before;
                    self.abandon();
                    return Ok(work);
                }
                Err(error) => {
                    self.restart(&before);
                    return Err(error);
                }
            }
            work.programs = 1;
            job.done = done;
        }
        if matches!(fill, Fill::Last | Fill::End) {
            self.finish();
        }
        Ok(work)
    }

    /// Fill the lent page with the next entries of the job, or only read ahead. `done` becomes the
    /// last entry on the page. Returns the number of reads as well.
    #[inline(never)]
    fn fill<N: Nand>(
        &mut self,
        media: &mut Media<'_, N>,
        lent: &mut Lent<'_>,
        done: &mut Position,
    ) -> (Result<Fill, StoreError>, u32) {
        let Some(job) = &mut self.job else { return (Ok(Fill::Pause), 0) };
        let layout = media.layout();
        let blocks = RowBlocks::of(media, &self.config);
        let mut merge = Merge {
            reading: Reading::new(media, lent.cell, &self.lost),
            runs: &self.runs,
            shapes: &self.shapes,
            inputs: &mut self.inputs,
            windows: self.windows,
            group: &mut job.group,
            drops: job.drops,
            index: job.index,
            distinct: &self.distinct,
            resume: &mut job.resume,
            done,
            reads_max: self.config.reads_max(),
            blocks: &blocks,
        };
        let is_tight = core::mem::take(&mut merge.inputs.is_tight);
        let filled = if is_tight {
            merge.prefetch().map(|()| Fill::Pause)
        } else {
            job.out.fill(&mut merge, lent.page, layout, (&self.shapes, &mut self.fence))
        };
        let reads = merge.reading.reads;
        merge.inputs.is_tight = !is_tight && reads + 3 >= merge.reads_max;
        (filled, reads)
    }

    /// Open the inputs again behind the last entry that was programmed. The output is what it was
    /// before the page that was not.
    #[inline(never)]
    fn restart(&mut self, before: &Output) {
        self.inputs.clear();
        if let Some(job) = &mut self.job {
            job.out = *before;
            job.group = Group::NONE;
            job.resume = (job.out.run.entries > 0).then_some(job.done);
        }
    }

    /// Begin the job anew, because its output lies in too many pieces.
    #[inline(never)]
    fn abandon(&mut self) {
        let Some(job) = &self.job else { return };
        let (index, drops, mut head) = (job.index, job.drops, job.out.run.head);
        (head.indexes, head.bloom_size) = (if index.is_some() { head.indexes } else { 0 }, 0);
        self.begin(index, drops, head);
    }

    /// Replace the inputs by the output in the table of runs.
    #[inline(never)]
    fn finish(&mut self) {
        let Some(job) = &self.job else { return };
        let (index, mut out) = (job.index, job.out.run);
        debug_assert!(job.index.is_none() == out.head.is_recent(), "a level is of one index");
        debug_assert!(out.distinct <= out.entries, "codes that differ are entries");
        self.inputs.clear();
        self.run_changes += 1;
        self.full_merges = self.full_merges.wrapping_add(u32::from(job.drops.is_bottom));
        if out.entries > 64 {
            let index = usize::from(job.out.index.unwrap_or(0));
            let share =
                u64::from(job.out.distinct) * 256 / u64::from(job.out.section.entries.max(1));
            self.distinct[index] = share.clamp(1, 256) as u16;
        }
        self.job = None;
        match index {
            None => self.replace_recents(&mut out),
            Some(index) => self.replace_levels(index, &mut out),
        }
    }

    #[inline(never)]
    fn replace_recents(&mut self, out: &mut Run) {
        let inputs = self.runs.heads().find(|(_, head)| head.is(IN_JOB));
        let Some((at, head)) = inputs else { return };
        self.drop_runs(|head| head.is(IN_JOB));
        if out.entries > 0 {
            out.head.marks |= head.marks & (IN_ROUND | OPEN);
            self.list_recent(at, out);
        }
    }

    #[inline(never)]
    fn replace_levels(&mut self, index: u8, out: &mut Run) {
        self.runs.change(|head| {
            if head.is_recent() && head.is(IN_JOB) {
                head.indexes &= !(1 << index);
                head.marks &= !IN_JOB;
            }
        });
        self.drop_runs(|head| head.is(IN_JOB) || head.is(IN_ROUND) && head.indexes == 0);
        if out.entries > 0 {
            self.runs.insert(0, out);
        }
        self.is_pressed &= self.next_of_round().is_some();
    }

    /// Remove runs from the table, and their Bloom filters.
    pub(crate) fn drop_runs(&mut self, is_dropped: impl Fn(&Head) -> bool) {
        for slot in self.runs.slots().rev() {
            let head = self.runs.head(slot);
            if is_dropped(&head) {
                let (at, size) = self.filter(slot);
                self.blooms.remove(at, size, self.filters_end());
                self.hints.forget(Some(&self.runs.run(slot)));
                self.runs.remove(slot);
            }
        }
        debug_assert!(
            self.hints.are_of(&self.runs),
            "what is remembered is of runs that are there"
        );
        self.drop_lost();
    }

    /// Put a recent run into the table, with room for its Bloom filter.
    #[inline(never)]
    pub(crate) fn list_recent(&mut self, at: usize, run: &mut Run) {
        let end = self.filters_end();
        debug_assert!(run.head.is_recent(), "levels have no filter");
        debug_assert!(end <= self.blooms.size(), "filters fit their memory");
        let share = self.config.filter_size(run.entries);
        let size = share.min(self.blooms.size() - end).min(0xFFFF);
        run.head.bloom_size = size as u16;
        run.head.marks &= !LEARNT;
        self.runs.insert(at, run);
        let (start, _) = self.filter(at);
        self.blooms.insert(start, size, end);
    }

    /// Where the Bloom filter of a run begins, and how many bytes it has.
    pub(crate) fn filter(&self, slot: usize) -> (usize, usize) {
        let before = self.runs.heads().take(slot);
        let at = before.map(|(_, head)| usize::from(head.bloom_size)).sum();
        debug_assert!(at <= self.blooms.size(), "the filter is in its memory");
        (at, usize::from(self.runs.head(slot).bloom_size))
    }

    fn filters_end(&self) -> usize {
        self.runs.heads().map(|(_, head)| usize::from(head.bloom_size)).sum()
    }
}

/// Program a page as the next one of a run; false where the run would have too many pieces.
pub(crate) fn program<N: Nand>(
    media: &mut Media<'_, N>,
    space: crate::media::Space,
    lent: &mut Lent<'_>,
    run: &mut Run,
) -> Result<bool, StoreError> {
    debug_assert!(space == run.head.space(), "a run stays in its space");
    debug_assert!(lent.page.len() == media.layout().page_size(), "a page is programmed whole");
    let used = media.layout().payload_size() as u16;
    let owner = if run.head.is_recent() { 0 } else { run.head.indexes };
    let label = Label { kind: Kind::Run, owner, used, commit: lent.commit, rows: 0 };
    let page = media.append_somewhere(space, label, lent.page)?;
    Ok(run.add_page(page.number, media.numbers()))
}
