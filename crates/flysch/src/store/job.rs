//! Jobs: the one merge under way, and the round it belongs to.
//!
//! A *small* job merges recent runs to one recent run of all indexes. When enough is recent a
//! *round* begins: the recent runs of that time are merged into levels, by a *large* job for each
//! index. A call does one step.
//!
//! 1. Lookups read the inputs until the job ends, and its output from then on.
//! 2. The inputs of a job are contiguous in age. What comes meanwhile is no input of it.
//! 3. Whether a job may drop anything is decided when it begins.

use flysch_nand::Nand;

use super::entry::INDEX_MAX;
use super::error::StoreError;
use super::group::{Drops, Group};
use super::levels::target_level;
use super::merge::{INPUTS_MAX, Merge, Position};
use super::read::Reading;
use super::row_blocks::RowBlocks;
use super::run::{IN_JOB, IN_ROUND, LEARNT, OPEN, Run};
use super::writer::{Fill, Output};
use super::{Lent, Store, Work};
use crate::media::{Kind, Label, Media, MediaError};

/// A merge under way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Job {
    /// The index of a large job; none for a small one.
    pub(crate) index: Option<u8>,
    pub(crate) drops: Drops,
    pub(crate) out: Output,
    pub(crate) group: Group,
    /// The entry that the output ends with.
    pub(crate) done: Position,
    /// Where the inputs are to be opened, after a mount.
    pub(crate) resume: Option<Position>,
}

/// What is to be merged next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    Small,
    /// A round begins.
    Round,
    /// The part of the round that holds an index.
    Large(u8),
}

/// The mark of a run that a small job has written.
pub(crate) const MERGED: u8 = 16;
/// Programs that may fail one after another.
const FAILURES_MAX: u32 = 4;

impl Store<'_> {
    /// The job that is due.
    pub(crate) fn due(&self) -> Option<Due> {
        if let Some(index) = self.next_of_round() {
            return Some(Due::Large(index));
        }
        let recents = || self.runs.recents().map(|(_, run)| run).filter(|run| !run.is(OPEN));
        let fresh = recents().filter(|run| !run.is(MERGED)).count();
        let count = recents().count();
        let entries: u32 = recents().map(|run| run.entries).sum();
        let is_crowded = count + self.levels_max() >= INPUTS_MAX || self.runs.room() <= 3;
        if fresh >= usize::from(self.config.fan) || is_crowded && fresh > 1 {
            return Some(Due::Small);
        }
        let is_enough = entries > 0 && entries >= self.recents_limit();
        (is_enough || is_crowded && count > 0).then_some(Due::Round)
    }

    /// Begin the job that is due, if one is; nothing is read.
    pub(crate) fn start_due(&mut self) -> bool {
        debug_assert!(self.job.is_none(), "one job at a time");
        if self.due() == Some(Due::Round) {
            self.freeze();
        }
        match self.due() {
            Some(Due::Small) => self.start_small(),
            Some(Due::Large(index)) => self.start_large(index),
            Some(Due::Round) | None => return false,
        }
        true
    }

    /// Entries that are recent before a round begins: fewer where the table is small.
    pub(crate) fn recents_limit(&self) -> u32 {
        let all: u32 = self.runs.as_slice().iter().map(|run| run.entries).sum();
        self.config.recents_max.min(all / 4)
    }

    fn levels_max(&self) -> usize {
        let levels = self.config.indexes.iter().map(|index| usize::from(index.levels));
        levels.max().unwrap_or(1)
    }

    /// Mark what is recent as a round.
    fn freeze(&mut self) {
        let recents = self.runs.as_mut_slice().iter_mut().filter(|run| run.is_recent());
        recents.filter(|run| !run.is(OPEN)).for_each(|run| run.marks |= IN_ROUND);
    }

    /// The index whose part of the round is merged next.
    fn next_of_round(&self) -> Option<u8> {
        let round = || self.runs.as_slice().iter().filter(|run| run.is(IN_ROUND));
        (0..INDEX_MAX as u8).find(|&index| round().any(|run| run.serves(index)))
    }

    fn start_small(&mut self) {
        let recents = self.runs.as_mut_slice().iter_mut().filter(|run| run.is_recent());
        let inputs = recents.filter(|run| run.marks & (OPEN | MERGED | IN_ROUND) == 0);
        let mut flags = 0;
        for run in inputs {
            run.marks |= IN_JOB;
            flags |= run.flags;
        }
        let drops = Drops { keeps_all: self.keeps_all, is_bottom: false };
        let mut run = Run::recent(flags);
        run.marks = MERGED;
        self.job = Some(Job { drops, out: Output::new(run), ..Job::default() });
        self.inputs.clear();
    }

    fn start_large(&mut self, index: u8) {
        let round = || self.runs.as_slice().iter().filter(|run| run.is(IN_ROUND));
        let fresh: u32 = round().map(|run| run.section(index).entries).sum();
        let mut sizes = [0; 8];
        let levels = self.config.indexes[usize::from(index)].levels;
        for run in self.runs.as_slice().iter().filter(|run| !run.is_recent() && run.index == index)
        {
            sizes[usize::from(run.level)] = run.entries;
        }
        let target = self.target(index, fresh, &sizes[..usize::from(levels)]);
        let mut is_bottom = true;
        let mut flags = 0;
        for run in self.runs.as_mut_slice() {
            let is_level = !run.is_recent() && run.index == index;
            if is_level && run.level <= target || run.is(IN_ROUND) && run.serves(index) {
                run.marks |= IN_JOB;
                flags |= run.flags;
            }
            is_bottom &= !is_level || run.level <= target;
        }
        let drops = Drops { keeps_all: self.keeps_all, is_bottom };
        let run = Run::of_level(index, target, flags, 0);
        let out = Output::new(run);
        self.job = Some(Job { index: Some(index), drops, out, ..Job::default() });
        self.inputs.clear();
    }

    /// The level into which the fresh entries of an index go. Where rows are replaced a lookup has
    /// to go from the newest level to the oldest: an index of one-row keys then keeps two of them.
    fn target(&self, index: u8, fresh: u32, sizes: &[u32]) -> u8 {
        let is_unique = self.shapes[usize::from(index)].is_unique;
        if sizes.len() < 3 || !is_unique || !self.is_updated(index) {
            return target_level(fresh, sizes) as u8;
        }
        let two = [sizes[0], sizes[1..].iter().sum()];
        if target_level(fresh, &two) == 0 { 0 } else { sizes.len() as u8 - 1 }
    }

    /// Write the next page of the job, or read on towards it. Cost: the reads of
    /// [`StoreConfig::reads_max`](super::StoreConfig::reads_max) and one program, more programs
    /// where some fail.
    pub(crate) fn step<N: Nand>(
        &mut self,
        media: &mut Media<'_, N>,
        lent: &mut Lent<'_>,
    ) -> Result<Work, StoreError> {
        let Some(mut job) = self.job else { return Ok(Work::default()) };
        if self.inputs.is_empty() {
            self.inputs.open(self.runs.as_slice(), job.index, self.windows.len());
        }
        let layout = media.layout();
        let mut done = job.done;
        let blocks = RowBlocks::of(media, &self.config);
        let mut merge = Merge {
            reading: Reading::new(media, lent.cell),
            runs: self.runs.as_slice(),
            shapes: &self.shapes,
            inputs: &mut self.inputs,
            windows: self.windows,
            group: &mut job.group,
            drops: job.drops,
            index: job.index,
            distinct: &self.distinct,
            resume: &mut job.resume,
            done: &mut done,
            reads_max: self.config.reads_max(),
            blocks,
        };
        let is_tight = core::mem::take(&mut merge.inputs.is_tight);
        let filled = if is_tight {
            merge.prefetch().map(|()| Fill::Pause)
        } else {
            job.out.fill(&mut merge, lent.page, layout, &self.shapes)
        };
        let reads = merge.reading.reads;
        merge.inputs.is_tight = !is_tight && reads + 3 >= merge.reads_max;
        let mut work = Work { reads, programs: 0, is_left: true };
        let fill = match filled {
            Ok(fill) => fill,
            Err(error) => {
                self.restart(job.done);
                return Err(error);
            }
        };
        if matches!(fill, Fill::Full | Fill::Last) {
            let space = job.out.run.space();
            let programmed = program(media, space, lent, &mut job.out.run);
            match programmed {
                Ok(true) => {}
                Ok(false) => {
                    self.abandon();
                    return Ok(work);
                }
                Err(error) => {
                    self.restart(job.done);
                    return Err(error);
                }
            }
            work.programs = 1;
            job.done = done;
        }
        self.job = Some(job);
        if matches!(fill, Fill::Last | Fill::End) {
            self.finish(&job);
        }
        Ok(work)
    }

    /// Open the inputs again at the last page that was programmed.
    fn restart(&mut self, done: Position) {
        self.inputs.clear();
        if let Some(job) = &mut self.job {
            job.group = Group::default();
            job.resume = (job.out.run.entries > 0).then_some(done);
        }
    }

    /// Begin the job anew: its output is in too many pieces.
    fn abandon(&mut self) {
        if let Some(job) = &mut self.job {
            let run = &job.out.run;
            let mut fresh = match job.index {
                Some(index) => Run::of_level(index, run.level, run.flags, 0),
                None => Run::recent(run.flags),
            };
            fresh.marks = run.marks;
            *job = Job {
                index: job.index,
                drops: job.drops,
                out: Output::new(fresh),
                ..Job::default()
            };
        }
        self.inputs.clear();
    }

    /// Put the output in the place of the inputs.
    fn finish(&mut self, job: &Job) {
        let out = job.out.run;
        self.job = None;
        self.inputs.clear();
        self.run_changes += 1;
        if out.entries > 64 {
            let index = usize::from(job.out.index.unwrap_or(0));
            let share =
                u64::from(job.out.distinct) * 256 / u64::from(job.out.section.entries.max(1));
            self.distinct[index] = share.clamp(1, 256) as u16;
        }
        match job.index {
            None => self.replace_recents(out),
            Some(index) => self.replace_levels(index, out),
        }
    }

    fn replace_recents(&mut self, mut out: Run) {
        let runs = self.runs.as_slice();
        let inputs = runs.iter().position(|run| run.is(IN_JOB));
        let Some(at) = inputs else { return };
        let is_round = runs[at].is(IN_ROUND);
        self.drop_runs(|run| run.is(IN_JOB));
        if out.entries > 0 {
            out.marks |= if is_round { IN_ROUND } else { 0 };
            self.list_recent(at, out);
        }
    }

    fn replace_levels(&mut self, index: u8, out: Run) {
        for run in self.runs.as_mut_slice() {
            if run.is_recent() && run.is(IN_JOB) {
                run.gone |= 1 << index;
                run.marks &= !IN_JOB;
            }
        }
        let is_spent = |run: &Run| !(0..INDEX_MAX as u8).any(|index| run.serves(index));
        self.drop_runs(|run| run.is(IN_JOB) || run.is(IN_ROUND) && is_spent(run));
        if out.entries > 0 {
            self.runs.insert(0, out);
        }
    }

    /// Forget runs, and their Bloom filters.
    pub(crate) fn drop_runs(&mut self, is_dropped: impl Fn(&Run) -> bool) {
        for slot in (0..self.runs.as_slice().len()).rev() {
            let run = self.runs.as_slice()[slot];
            if is_dropped(&run) && run.bloom_size > 0 {
                let (at, size) = self.filter(slot);
                let end = self.filters_end();
                self.blooms.remove(at, size, end);
                self.runs.as_mut_slice()[slot].bloom_size = 0;
            }
        }
        self.runs.retain(|run| !is_dropped(run));
    }

    /// List a recent run, with room for its Bloom filter.
    pub(crate) fn list_recent(&mut self, at: usize, mut run: Run) {
        let end = self.filters_end();
        let share = self.config.filter_size(run.entries);
        let size = share.min(self.blooms.size() - end).min(0xFFFF);
        run.bloom_size = 0;
        run.marks &= !LEARNT;
        self.runs.insert(at, run);
        let (start, _) = self.filter(at);
        self.blooms.insert(start, size, end);
        self.runs.as_mut_slice()[at].bloom_size = size as u16;
    }

    /// Where a run's Bloom filter lies, and its size.
    pub(crate) fn filter(&self, slot: usize) -> (usize, usize) {
        let runs = self.runs.as_slice();
        let sizes = runs[..slot].iter().map(|run| usize::from(run.bloom_size));
        (sizes.sum(), usize::from(runs[slot].bloom_size))
    }

    fn filters_end(&self) -> usize {
        self.runs.as_slice().iter().map(|run| usize::from(run.bloom_size)).sum()
    }
}

/// Program a frame as the next page of a run; false where the run is in too many pieces.
pub(crate) fn program<N: Nand>(
    media: &mut Media<'_, N>,
    space: crate::media::Space,
    lent: &mut Lent<'_>,
    run: &mut Run,
) -> Result<bool, StoreError> {
    let used = media.layout().payload_size() as u16;
    let label = Label { kind: Kind::Run, owner: run.index, used, commit: lent.commit, rows: 0 };
    let mut failures = 0;
    loop {
        match media.append(space, label, lent.page) {
            Ok(page) => return Ok(run.add_page(page.number, media.numbers())),
            Err(MediaError::ProgramFailed(page)) => {
                failures += 1;
                if failures == FAILURES_MAX {
                    return Err(MediaError::ProgramFailed(page).into());
                }
            }
            Err(error) => return Err(error.into()),
        }
    }
}
