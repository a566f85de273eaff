//! The log: commit records, one after another.

use flysch_nand::{Geometry, Nand, PageAddr};

use super::Runs;
use super::config::RunsConfig;
use super::record::{self, Head, record_size};
use super::run::{LEVEL, LOG, RUNS_MAX};
use crate::flash::{Flash, FlashError};

/// The position for the next commit record.
#[derive(Clone, Copy, Debug)]
pub(super) struct Log {
    pub(super) sequence: u32,
    /// The page of the last record, and the next sector in it, if the rest of the page can be
    /// programmed.
    open: Option<(PageAddr, u32)>,
    runs_max: usize,
}

impl Log {
    pub(super) fn new(config: &RunsConfig, geometry: &Geometry) -> Self {
        let fixed = record_size(area_count(config), 0, 2);
        let room = (config.out_size(geometry) - fixed) / super::run::RUN_SIZE;
        Self { sequence: 0, open: None, runs_max: room.min(RUNS_MAX) }
    }

    /// Number of runs that fit in the table and in a record.
    pub(super) const fn runs_max(&self) -> usize {
        self.runs_max
    }
}

/// Number of areas of an index.
pub(super) fn area_count(config: &RunsConfig) -> usize {
    usize::from(LEVEL + config.levels)
}

impl Runs<'_> {
    /// Write a commit record of the state, and release all blocks that it does not name. Cost: one
    /// program of a sector, or of a page if pages cannot be programmed in parts.
    pub(super) fn commit<N: Nand>(&mut self, flash: &mut Flash<'_, N>) -> Result<(), FlashError> {
        self.log.sequence += 1;
        loop {
            match self.write_record(flash) {
                Err(FlashError::ProgramFailed(_)) if self.log.open.is_some() => {
                    self.log.open = None;
                }
                Err(FlashError::ProgramFailed(_)) => {
                    self.areas.relocate(flash, usize::from(LOG), true, self.out)?;
                }
                Err(error) => return Err(error),
                Ok(()) => break,
            }
        }
        self.commit_due = false;
        self.trim(flash);
        Ok(())
    }

    fn write_record<N: Nand>(&mut self, flash: &mut Flash<'_, N>) -> Result<(), FlashError> {
        let config = &self.config;
        let head = Head {
            sequence: self.log.sequence,
            flushed: self.flushed,
            seed: config.seed,
            target: self.large_target,
            shape: [config.hash_bits, config.pointer_bits, config.levels],
        };
        let area_count = area_count(config);
        let mut extents = [crate::area::Extent::default(); 16];
        for (area, extent) in extents[..area_count].iter_mut().enumerate() {
            *extent = self.areas.extent(area);
        }
        let extents = extents[..area_count].iter().copied();
        let len = record::emit(self.out, &head, extents, self.table.as_slice(), &self.jobs);
        let geometry = *flash.geometry();
        let sectors = (len as u32).div_ceil(geometry.sector_size());
        let parts = geometry.partial_programs >= geometry.sectors_per_page;
        if let Some((page, sector)) = self.log.open
            && sector + sectors <= geometry.sectors_per_page
        {
            let data = &self.out[..(sectors * geometry.sector_size()) as usize];
            flash.program_part(page, sector * geometry.sector_size(), data)?;
            self.log.open = Some((page, sector + sectors));
            return Ok(());
        }
        self.log.open = None;
        let page = self.areas.open(flash, usize::from(LOG))?;
        let size = if parts { sectors * geometry.sector_size() } else { geometry.page_size };
        let data = &self.out[..size as usize];
        self.areas.program(flash, usize::from(LOG), data, 0)?;
        self.areas.advance(usize::from(LOG));
        self.log.open = parts.then_some((page, sectors));
        Ok(())
    }

    /// Release every block that is no longer needed.
    fn trim<N: Nand>(&mut self, flash: &mut Flash<'_, N>) {
        for area in 0..area_count(&self.config) as u8 {
            let tail = self.areas.extent(usize::from(area)).tail;
            let outputs = self.jobs.iter().flatten().map(|job| job.out);
            let runs = self.table.as_slice().iter().copied().chain(outputs);
            let needed = runs.filter(|run| run.place == area).map(|run| run.first).min();
            let last = if area == LOG { tail - 1 } else { tail };
            self.areas.trim(flash, usize::from(area), needed.unwrap_or(last));
        }
    }
}
