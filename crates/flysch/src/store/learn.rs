//! Filling the Bloom filters of recent runs that a merge wrote or a mount found: their units are
//! read, a few at a time.

use flysch_nand::Nand;

use super::entry::INDEX_MAX;
use super::error::StoreError;
use super::read::Reading;
use super::run::{Head, LEARNT};
use super::{Store, Work};
use crate::media::Media;

impl Store<'_> {
    /// The place of the oldest recent run whose Bloom filter is not filled.
    pub(crate) fn unlearnt(&self) -> Option<usize> {
        let is_unlearnt = |head: Head| !head.is(LEARNT) && head.bloom_size > 0;
        let mut recents = self.runs.recents().filter(|(_, head)| is_unlearnt(*head));
        recents.find(|(slot, _)| !self.is_shunned(*slot)).map(|(slot, _)| slot)
    }

    /// Add the codes of some units of a recent run to its Bloom filter. Cost: a read for each unit,
    /// at most [`StoreConfig::reads_max`](super::StoreConfig::reads_max) of them.
    #[inline(never)]
    pub(crate) fn learn<N: Nand>(
        &mut self,
        media: &mut Media<'_, N>,
        cell: &mut [u8],
    ) -> Result<Work, StoreError> {
        let Some(slot) = self.unlearnt() else { return Ok(Work::default()) };
        let run = self.runs.run(slot);
        let filter = self.filter(slot);
        let mut reading = Reading::new(media, cell, &self.lost);
        // A run whose filter was begun may be gone, or have to wait for an older one.
        let (begun, next) = self.learning;
        let from = if begun == run.name() { next } else { 0 };
        let to = run.units.min(from + self.config.reads_max());
        for index in 0..INDEX_MAX as u8 {
            let section = run.section(index);
            let shape = self.shapes[usize::from(index)];
            let units = section.start.max(from)..(section.start + section.units).min(to);
            for unit in units {
                let (_, mut reader) = reading.open(&run, unit, shape)?;
                while !reader.is_done() {
                    reading.step(&mut reader, &run, unit, shape)?;
                    self.blooms.add(filter, index, reader.entry(index).code);
                }
            }
        }
        let reads = reading.reads;
        self.learning = (run.name(), to);
        if to == run.units {
            self.learning = (0, 0);
            self.mark(slot, LEARNT);
        }
        Ok(Work { reads, programs: 0, is_left: true })
    }
}
