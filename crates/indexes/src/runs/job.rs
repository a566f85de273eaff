//! Jobs: merges in progress. Each step of a job writes one page. After a mount, it continues from
//! the pages that it wrote.
//!
//! 1. The small job merges recent runs. The large job merges all recent runs into a level, or into
//!    the existence filter before that.
//! 2. Inputs are kept until the job ends. Only pages of a level that are already contained in the
//!    output are released earlier, once a commit record names the job.

use flysch_nand::Nand;

use super::config::Pace;
use super::entry::{Shape, plan};
use super::level::target_level;
use super::merge::{Merge, Projection, Reading};
use super::run::{BY_FILTER, BY_LARGE, BY_SMALL, FILTER, IN_BLOOM, LEVEL, MERGED, RECENT, Run};
use super::writer::{Stroke, fill};
use super::{LARGE, Runs, SMALL};
use crate::flash::{Flash, FlashError};

/// A merge in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Job {
    /// The bit in [`Run::frozen`] that marks the inputs of this job.
    pub(super) reader: u8,
    /// The run that it writes.
    pub(super) out: Run,
    /// The last entry that it wrote or dropped. None at the beginning.
    pub(super) done: Option<u64>,
}

impl Runs<'_> {
    /// Begin a job if one is due. Returns whether one began.
    pub(super) fn start_due<N: Nand>(&mut self, flash: &Flash<'_, N>) -> bool {
        let fresh = |run: &&Run| run.is_recent() && run.is_free();
        let recent = self.table.as_slice().iter().filter(fresh);
        let count: u32 = recent.clone().map(|run| run.count).sum();
        let flushed = recent.clone().filter(|run| run.place == RECENT).count();
        let is_small_due = self.jobs[SMALL].is_none() && flushed >= usize::from(self.config.fan);
        let is_to_be_frozen = self.jobs[SMALL].is_none() && count >= self.config.recents_max;
        if (is_small_due || is_to_be_frozen && recent.count() > 1) && self.is_filling() {
            self.start_small(flash);
            return true;
        }
        if self.jobs[LARGE].is_none() && self.jobs[SMALL].is_none() {
            let pending = self.table.as_slice().iter().any(|run| run.frozen & BY_LARGE != 0);
            if pending {
                self.start_large(flash);
                return true;
            }
            if count >= self.config.recents_max {
                self.freeze_recents();
                if self.config.filter_bits > 0 {
                    self.start_filter(flash);
                } else {
                    self.start_large(flash);
                }
                return true;
            }
        }
        if is_small_due {
            self.start_small(flash);
            return true;
        }
        false
    }

    fn start_small<N: Nand>(&mut self, flash: &Flash<'_, N>) {
        let takes_merged = self.is_filling();
        for run in self.table.iter_mut() {
            if run.is_free() && (run.place == RECENT || run.place == MERGED && takes_merged) {
                run.frozen |= BY_SMALL;
            }
        }
        self.jobs[SMALL] = Some(self.open_job(flash, BY_SMALL, MERGED));
    }

    /// Mark all recent runs, and the levels that they will be merged with.
    fn freeze_recents(&mut self) {
        let target = target_level(self.table.as_slice(), &self.config, self.flushed);
        for run in self.table.iter_mut() {
            let level = (LEVEL..=LEVEL + target).contains(&run.place);
            if run.is_recent() || level {
                run.frozen |= BY_LARGE;
            }
        }
        self.large_target = target;
    }

    fn start_large<N: Nand>(&mut self, flash: &Flash<'_, N>) {
        let place = LEVEL + self.large_target;
        let job = self.open_job(flash, BY_LARGE, place);
        // At this rate, the job ends when four fifths of the next recent entries were inserted.
        let pages = job.out.units / flash.geometry().sectors_per_page;
        self.rate = 256.max(pages.saturating_mul(320) / self.config.recents_max);
        self.jobs[LARGE] = Some(job);
        self.commit_due = true;
    }

    /// Begin to merge the new hashes into the existence filter. If there is no filter, or if it has
    /// too few hash bits, it is built from all hashes.
    fn start_filter<N: Nand>(&mut self, flash: &Flash<'_, N>) {
        let bits = self.filter_hash_bits();
        let old = self.table.as_slice().iter().find(|run| run.place == FILTER).copied();
        let rebuild = old.is_none_or(|old| old.hash_bits != bits);
        for run in self.table.iter_mut() {
            let is_input = match run.place {
                FILTER => !rebuild,
                RECENT | MERGED => run.frozen & BY_LARGE != 0,
                _ => rebuild,
            };
            if is_input {
                run.frozen |= BY_FILTER;
            }
        }
        self.jobs[LARGE] = Some(self.open_job(flash, BY_FILTER, FILTER));
        self.commit_due = true;
    }

    /// Number of hash bits that the existence filter should have for the present number of entries.
    fn filter_hash_bits(&self) -> u8 {
        let keys = self.flushed.max(1).next_power_of_two().ilog2() as u8;
        (keys + self.config.filter_bits).min(self.config.hash_bits)
    }

    fn open_job<N: Nand>(&mut self, flash: &Flash<'_, N>, reader: u8, place: u8) -> Job {
        let inputs = self.table.as_slice().iter().filter(|run| run.frozen & reader != 0);
        let (mut count, mut antis) = (0, 0);
        for run in inputs {
            count += run.count;
            antis += run.antis;
        }
        let is_filter = place == FILTER;
        let hash_bits = if is_filter { self.filter_hash_bits() } else { self.config.hash_bits };
        let pointer_bits = if is_filter { 0 } else { self.config.pointer_bits };
        let antis = if is_filter || self.is_bottom(place) { 0 } else { antis };
        let shape = Shape { hash_bits, pointer_bits, rice: 0, has_antis: antis > 0 };
        let unit_size = flash.geometry().sector_size();
        let fill_percent = u32::from(self.config.fill_percent);
        let (rice, units) = plan(count, shape, unit_size, fill_percent);
        let first = self.areas.extent(usize::from(place)).tail;
        for run in self.table.iter_mut().filter(|run| run.frozen & reader != 0) {
            (run.at, run.within) = (0, None);
        }
        let out = Run { place, rice, hash_bits, first, units, antis, ..Run::default() };
        Job { reader, out, done: None }
    }

    /// Whether no run is older than one at `place`.
    fn is_bottom(&self, place: u8) -> bool {
        place >= LEVEL
            && !self.table.as_slice().iter().any(|run| run.place > place && run.place >= LEVEL)
    }

    /// Write the next pages of a job. The job ends after its last page.
    pub(super) fn stroke<N: Nand>(
        &mut self,
        flash: &mut Flash<'_, N>,
        slot: usize,
        pages: u32,
    ) -> Result<(), FlashError> {
        loop {
            match self.write_pages(flash, slot, pages) {
                Ok(Stroke::Full) => return Ok(()),
                Ok(Stroke::Last) => {
                    self.finish(slot);
                    return Ok(());
                }
                Err(FlashError::ProgramFailed(_)) => {
                    let place = self.jobs[slot].expect("a job is under way").out.place;
                    self.areas.relocate(flash, usize::from(place), true, self.out)?;
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn write_pages<N: Nand>(
        &mut self,
        flash: &mut Flash<'_, N>,
        slot: usize,
        pages: u32,
    ) -> Result<Stroke, FlashError> {
        let mut job = self.jobs[slot].expect("a job is under way");
        let unit_size = flash.geometry().sector_size();
        let pointer_bits = self.config.pointer_bits;
        let drops_antis = job.reader == BY_LARGE && self.is_bottom(job.out.place);
        let trims = slot == LARGE && !self.commit_due;
        let projection = (job.out.place == FILTER)
            .then_some(Projection { from: self.shape(), hash_bits: job.out.hash_bits });
        let inputs = self.table.as_slice().iter().filter(|run| run.frozen & job.reader != 0);
        let borrows = slot == LARGE && self.config.pace == Pace::Synchronous;
        let buffer = if borrows && self.bloom.memory().len() > self.window.len() {
            self.bloom_is_sound = false;
            self.bloom.memory()
        } else {
            &mut *self.window
        };
        let areas = &mut self.areas;
        let reading = Reading { flash, areas, pointer_bits, unit_size };
        let mut merge = Merge::open(reading, inputs.copied(), buffer, job.done)
            .project(projection)
            .drop_antis(drops_antis)
            .start()?;
        let mut outcome = Ok(Stroke::Full);
        let mut reached = merge.positions();
        for _ in 0..pages {
            let mut out = job.out;
            outcome = write_page(&mut merge, &mut out, self.out);
            if outcome.is_err() {
                break;
            }
            if trims {
                merge.trim(&reached);
            }
            job.out = out;
            job.done = merge.done();
            reached = merge.positions();
            if outcome == Ok(Stroke::Last) {
                break;
            }
        }
        self.jobs[slot] = Some(job);
        let inputs = self.table.iter_mut().filter(|run| run.frozen & job.reader != 0);
        inputs
            .zip(reached)
            .for_each(|(run, place)| (run.at, run.within) = (place.unit, place.within));
        outcome
    }

    /// Replace the inputs of a job by its output.
    fn finish(&mut self, slot: usize) {
        let Job { reader, mut out, .. } = self.jobs[slot].take().expect("a job is under way");
        let runs = self.table.as_slice();
        let mut inputs = runs.iter().filter(|run| run.frozen & reader != 0);
        out.frozen = if inputs.all(|run| run.frozen & IN_BLOOM != 0) { IN_BLOOM } else { 0 };
        if reader == BY_FILTER {
            self.table.retain(|run| run.place != FILTER);
            self.table.iter_mut().for_each(|run| run.frozen &= !BY_FILTER);
        } else {
            self.table.retain(|run| run.frozen & reader == 0);
        }
        if out.count > 0 {
            self.table.insert(out);
        }
        if reader == BY_LARGE {
            self.begin_bloom();
        }
        self.commit_due = true;
    }
}

/// Write one page of the output.
fn write_page<N: Nand>(
    merge: &mut Merge<'_, '_, '_, N>,
    run: &mut Run,
    out: &mut [u8],
) -> Result<Stroke, FlashError> {
    let (pointer_bits, unit_size, page_size) = merge.layout();
    let mut stroke = Stroke::Full;
    for column in (0..page_size).step_by(out.len()) {
        stroke = fill(run, pointer_bits, unit_size, merge, out)?;
        merge.program(run, column, out)?;
        if stroke == Stroke::Last {
            break;
        }
    }
    merge.advance_output(run);
    Ok(stroke)
}
