//! Lookups: the largest runs are searched first. Recent runs are only searched if the Bloom filter
//! has the hash.

use core::ops::ControlFlow;

use flysch_nand::Nand;

use super::entry::is_anti;
use super::job::Job;
use super::merge::Reading;
use super::run::{BY_FILTER, FILTER, LEVEL, Run};
use super::search::{Found, Search};
use super::{LARGE, Runs};
use crate::IndexError;
use crate::flash::{Flash, FlashError};

impl Runs<'_> {
    /// Call `visit` with the pointers of a key until it breaks. Pointers of other keys with the
    /// same hash may be among them; cancelled pointers are not.
    ///
    /// Cost: one sector read for each level. In addition, one for each recent run if the Bloom
    /// filter has the hash. With the existence filter, one in total for most absent keys. It is
    /// more only if a key has so many pointers that they fill units. If deletions are recent, each
    /// newer run with anti-entries is read too for each pointer.
    pub fn lookup<N: Nand, E: From<IndexError>>(
        &mut self,
        flash: &mut Flash<'_, N>,
        key: &[u8],
        mut visit: impl FnMut(&mut Flash<'_, N>, u32) -> Result<ControlFlow<()>, E>,
    ) -> Result<(), E> {
        let hash = self.hash(key);
        let is_recent = !self.bloom_is_sound || self.bloom.may_contain(hash);
        if is_recent && self.visit_memtable(flash, hash, &mut visit)?.is_break() {
            return Ok(());
        }
        if !self.may_be_in_levels(flash, hash).map_err(IndexError::from)? && !is_recent {
            return Ok(());
        }
        for place in 0..self.table.as_slice().len() {
            let run = self.table.as_slice()[place];
            if run.place == FILTER || run.is_recent() && !is_recent {
                continue;
            }
            if self.visit_run(flash, hash, (place, is_recent), &mut visit)?.is_break() {
                return Ok(());
            }
        }
        Ok(())
    }

    fn visit_run<N: Nand, E: From<IndexError>>(
        &mut self,
        flash: &mut Flash<'_, N>,
        hash: u32,
        (place, is_recent): (usize, bool),
        visit: &mut impl FnMut(&mut Flash<'_, N>, u32) -> Result<ControlFlow<()>, E>,
    ) -> Result<ControlFlow<()>, E> {
        let run = self.table.as_slice()[place];
        let shape = self.shape();
        let mut search = Search::new(hash, shape.entry(hash, 0, false));
        while !search.is_over {
            let found = self.find(flash, &run, &mut search).map_err(IndexError::from)?;
            for &entry in found.as_slice() {
                if is_anti(entry) || self.is_cancelled(flash, entry, place, is_recent)? {
                    continue;
                }
                if visit(flash, shape.pointer(entry))?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn visit_memtable<N: Nand, E>(
        &self,
        flash: &mut Flash<'_, N>,
        hash: u32,
        visit: &mut impl FnMut(&mut Flash<'_, N>, u32) -> Result<ControlFlow<()>, E>,
    ) -> Result<ControlFlow<()>, E> {
        let shape = self.shape();
        let first = self.memtable.find(shape.entry(hash, 0, false));
        let mut last = None;
        for place in first..self.memtable.len() {
            let entry = self.memtable.entry(place);
            if shape.hash(entry) != hash {
                break;
            }
            let is_dead = is_anti(entry) || last == Some(entry) || self.holds(entry | 1);
            last = Some(entry);
            if !is_dead && visit(flash, shape.pointer(entry))?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Whether the memory table contains exactly this entry.
    fn holds(&self, entry: u64) -> bool {
        let place = self.memtable.find(entry);
        place < self.memtable.len() && self.memtable.entry(place) == entry
    }

    /// Whether a run newer than the one at `place`, or the memory table, cancels the entry.
    fn is_cancelled<N: Nand>(
        &mut self,
        flash: &mut Flash<'_, N>,
        entry: u64,
        place: usize,
        is_recent: bool,
    ) -> Result<bool, IndexError> {
        let anti = entry | 1;
        if is_recent && self.holds(anti) {
            return Ok(true);
        }
        let hash = self.shape().hash(entry);
        for newer in place + 1..self.table.as_slice().len() {
            let run = self.table.as_slice()[newer];
            if run.antis == 0 || run.is_recent() && !is_recent {
                continue;
            }
            if self.find_first(flash, &run, Search::new(hash, anti))? == Some(anti) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether the levels may contain the hash: false only if the existence filter does not have
    /// it.
    fn may_be_in_levels<N: Nand>(
        &mut self,
        flash: &mut Flash<'_, N>,
        hash: u32,
    ) -> Result<bool, FlashError> {
        let Some(filter) = self.table.as_slice().iter().find(|run| run.place == FILTER) else {
            let rebuilt = self.jobs[LARGE].is_some_and(|job| job.out.place == FILTER);
            return Ok(self.config.filter_bits == 0 || rebuilt || self.has_levels());
        };
        let filter = *filter;
        let short = hash >> (self.config.hash_bits - filter.hash_bits);
        Ok(self.find_first(flash, &filter, Search::new(short, 0))?.is_some())
    }

    fn has_levels(&self) -> bool {
        self.table.as_slice().iter().any(|run| run.place >= LEVEL)
    }

    fn find_first<N: Nand>(
        &mut self,
        flash: &mut Flash<'_, N>,
        run: &Run,
        mut search: Search,
    ) -> Result<Option<u64>, FlashError> {
        while !search.is_over {
            let found = self.find(flash, run, &mut search)?;
            if let Some(first) = found.as_slice().first() {
                return Ok(Some(*first));
            }
        }
        Ok(None)
    }

    /// Find the next entries of a hash in a run. If a job is merging the run, the entries up to the
    /// job's `done` are already in its output. They are searched there, but only once: when the
    /// oldest input of the job is searched.
    fn find<N: Nand>(
        &mut self,
        flash: &mut Flash<'_, N>,
        run: &Run,
        search: &mut Search,
    ) -> Result<Found, FlashError> {
        let pointer_bits = self.config.pointer_bits;
        let unit_size = flash.geometry().sector_size();
        let job = self.jobs.into_iter().flatten().find(|job| moves(job, run));
        let oldest = self
            .table
            .as_slice()
            .iter()
            .find(|other| job.is_some_and(|job| other.frozen & job.reader != 0));
        let is_oldest = oldest.is_some_and(|oldest| oldest == run);
        let areas = &mut self.areas;
        let mut reading = Reading { flash, areas, pointer_bits, unit_size };
        let unit = &mut self.out[..unit_size as usize];
        let mut rest = Run { at: 0, ..*run };
        if let Some((job, done)) = job.and_then(|job| Some((job, job.done?))) {
            if is_oldest && search.from <= done && search.is_within(done, &job.out, pointer_bits) {
                let found = search.run(&mut reading, &job.out, unit)?;
                search.turn_to(done, run.shape(pointer_bits));
                return Ok(found);
            }
            search.skip(done, run.shape(pointer_bits));
            rest.at = run.at;
        }
        if search.is_over {
            return Ok(Found::default());
        }
        search.run(&mut reading, &rest, unit)
    }
}

/// Whether a job is merging the entries of a run into its output.
fn moves(job: &Job, run: &Run) -> bool {
    run.frozen & job.reader != 0 && (job.reader != BY_FILTER || run.place == FILTER)
}
