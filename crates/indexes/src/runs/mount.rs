//! Creates an index of runs, and finds an existing one.

use flysch_nand::{BlockAddr, Nand, PageAddr};

use super::job::Job;
use super::log::{Log, area_count};
use super::memtable::Memtable;
use super::merge::Reading;
use super::record::{Head, RecordView, peek_len};
use super::run::{BY_SMALL, LOG, RECENT, Run, RunTable};
use super::unit::{Header, UnitReader};
use super::{FlushNote, LARGE, Runs, RunsConfig, SMALL};
use crate::area::restore::is_sound;
use crate::area::{Areas, Extent};
use crate::bloom::Bloom;
use crate::flash::{Flash, FlashError};
use crate::{ConfigError, IndexError};

impl<'ram> Runs<'ram> {
    /// Make an empty index. What its areas held is lost.
    pub fn create<N: Nand>(
        flash: &mut Flash<'_, N>,
        config: RunsConfig,
        ram: &'ram mut [u8],
    ) -> Result<Self, IndexError> {
        let mut runs = Self::new(flash, config, ram)?;
        runs.areas.wipe(flash)?;
        runs.commit(flash)?;
        Ok(runs)
    }

    /// Find an existing index. Cost: five OOB reads for each free block, reads of the last pages of
    /// each area, and of every recent unit.
    pub fn mount<N: Nand>(
        flash: &mut Flash<'_, N>,
        config: RunsConfig,
        ram: &'ram mut [u8],
    ) -> Result<Self, IndexError> {
        let mut runs = Self::new(flash, config, ram)?;
        let (head, extents) = runs.find_record(flash)?;
        runs.config.seed = head.seed;
        runs.log.sequence = head.sequence;
        runs.flushed = head.flushed;
        runs.large_target = head.target;
        let recorded = extents[usize::from(RECENT)].tail;
        let extents = &extents[..area_count(&config)];
        runs.areas.restore(flash, extents, runs.out)?;
        runs.find_flushed(flash, recorded)?;
        runs.count = runs.flushed;
        for area in 0..extents.len() {
            match runs.jobs.iter().position(|job| is_output(job.as_ref(), area)) {
                Some(slot) => runs.resume(flash, slot)?,
                None => runs.areas.skip(flash, area),
            }
        }
        runs.begin_bloom();
        while !runs.bloom_is_sound && runs.jobs[SMALL].is_none() {
            runs.extend_bloom(flash)?;
        }
        runs.commit(flash)?;
        Ok(runs)
    }

    fn new<N: Nand>(
        flash: &Flash<'_, N>,
        config: RunsConfig,
        ram: &'ram mut [u8],
    ) -> Result<Self, IndexError> {
        let geometry = flash.geometry();
        config.check(geometry)?;
        ConfigError::check_ram(config.ram_size(geometry), ram.len())?;
        let (memtable, ram) = ram.split_at_mut(config.memtable_size);
        let (bloom, ram) = ram.split_at_mut(config.bloom_size);
        let (window, ram) = ram.split_at_mut(config.window_size);
        let (out, ram) = ram.split_at_mut(config.out_size(geometry));
        let blocks = &mut ram[..usize::from(config.blocks_max) * 2];
        let area_count = area_count(&config) as u8;
        Ok(Self {
            config,
            areas: Areas::new(blocks, config.first_area, area_count),
            memtable: Memtable::new(memtable, config.entry_size()),
            bloom: Bloom::new(bloom),
            bloom_is_sound: true,
            out,
            window,
            table: RunTable::new(),
            jobs: [None; 2],
            log: Log::new(&config, geometry),
            count: 0,
            flushed: 0,
            large_target: 0,
            commit_due: false,
            rate: 256,
            owed: 0,
            learning: None,
        })
    }

    /// Find the last commit record, and list the runs and jobs that it names.
    fn find_record<N: Nand>(
        &mut self,
        flash: &mut Flash<'_, N>,
    ) -> Result<(Head, [Extent; 16]), IndexError> {
        let mut limit = u32::MAX;
        while let Some(number) = self.areas.newest(flash, usize::from(LOG), limit)? {
            let mut best = None;
            for block in (0..flash.geometry().block_count).map(BlockAddr) {
                if self.areas.is_block(flash, usize::from(LOG), number, block)? {
                    let found = self.scan_log(flash, block)?;
                    best = newer(best, found);
                }
            }
            if let Some(found) = best {
                return self.take_record(flash, found);
            }
            limit = number;
        }
        Err(IndexError::Missing)
    }

    /// The last valid record in a block of the log: its sequence number, page and sector.
    fn scan_log<N: Nand>(
        &mut self,
        flash: &mut Flash<'_, N>,
        block: BlockAddr,
    ) -> Result<Option<Place>, FlashError> {
        let geometry = *flash.geometry();
        let first = geometry.first_page(block).0;
        let mut best = None;
        for page in (first..first + geometry.pages_per_block).rev() {
            let page = PageAddr(page);
            for sector in (0..geometry.sectors_per_page).rev() {
                let column = sector * geometry.sector_size();
                if let Some(record) = self.read_record(flash, page, column)? {
                    let sequence = record.head().sequence;
                    best = newer(best, Some(Place { sequence, page, column }));
                }
            }
            if best.is_some() {
                break;
            }
        }
        Ok(best)
    }

    fn read_record<N: Nand>(
        &mut self,
        flash: &mut Flash<'_, N>,
        page: PageAddr,
        column: u32,
    ) -> Result<Option<RecordView<'_>>, FlashError> {
        let sector_size = flash.geometry().sector_size() as usize;
        let room = (flash.geometry().page_size - column) as usize;
        for size in [sector_size, self.out.len().min(room)] {
            match flash.read(page, column, &mut self.out[..size]) {
                Ok(()) => {}
                Err(FlashError::Uncorrectable(_)) => return Ok(None),
                Err(error) => return Err(error),
            }
            match peek_len(self.out) {
                None => return Ok(None),
                Some(len) if len > size => {}
                Some(len) => return Ok(RecordView::check(&self.out[..len])),
            }
        }
        Ok(None)
    }

    fn take_record<N: Nand>(
        &mut self,
        flash: &mut Flash<'_, N>,
        found: Place,
    ) -> Result<(Head, [Extent; 16]), IndexError> {
        let config = self.config;
        let runs_max = self.log.runs_max();
        let mut runs = RunTable::new();
        let mut jobs = [None; 2];
        let mut extents = [Extent::default(); 16];
        let record = self.read_record(flash, found.page, found.column)?;
        let record = record.ok_or(IndexError::Missing)?;
        let head = record.head();
        let shape = [config.hash_bits, config.pointer_bits, config.levels];
        if head.shape != shape || record.extents().count() != area_count(&config) {
            return Err(IndexError::Missing);
        }
        extents.iter_mut().zip(record.extents()).for_each(|(to, from)| *to = from);
        let areas = area_count(&config) as u8;
        if record.runs().chain(record.jobs()).any(|run| run.place >= areas) {
            return Err(IndexError::Missing);
        }
        record.runs().take(runs_max).for_each(|run| runs.insert(run));
        for out in record.jobs() {
            let slot = if out.frozen == BY_SMALL { SMALL } else { LARGE };
            let reader = out.frozen;
            jobs[slot] = Some(Job { reader, out: Run { frozen: 0, ..out }, done: None });
        }
        self.table = runs;
        self.jobs = jobs;
        Ok((head, extents))
    }

    /// List the runs that were flushed after the record. The tags of their pages describe them.
    fn find_flushed<N: Nand>(
        &mut self,
        flash: &mut Flash<'_, N>,
        recorded: u32,
    ) -> Result<(), FlashError> {
        let area = usize::from(RECENT);
        let tail = self.areas.extent(area).tail;
        let mut run: Option<Run> = None;
        for page in recorded..tail {
            let Some(place) = self.areas.locate(flash, area, page) else { continue };
            let Some(tag) = flash.tag(place)? else { continue };
            let note = FlushNote::parse(tag.note);
            if note.page == 0 {
                run = Some(Run { first: page, ..note.plan(&self.config, flash.geometry()) });
            }
            let Some(part) = &mut run else { continue };
            if page - part.first != u32::from(note.page) || !self.is_page_sound(flash, place)? {
                run = None;
                continue;
            }
            let (units, entries) = self.measure_page(flash, place)?;
            part.used += units;
            part.count += entries;
            if part.count == u32::from(note.count) && note.flushed > self.flushed {
                if part.count > 0 && !self.table.is_full() {
                    self.table.insert(*part);
                }
                self.flushed = note.flushed;
                run = None;
            }
        }
        Ok(())
    }

    /// Whether a page of a run was completely written, as a whole or by sectors.
    fn is_page_sound<N: Nand>(
        &mut self,
        flash: &mut Flash<'_, N>,
        page: PageAddr,
    ) -> Result<bool, FlashError> {
        let sector_size = flash.geometry().sector_size() as usize;
        if !is_sound(flash, page, self.out)? {
            return Ok(false);
        }
        for sector in 0..flash.geometry().sectors_per_page {
            let unit = &mut self.out[..sector_size];
            match flash.read(page, sector * sector_size as u32, unit) {
                Ok(()) if Header::parse(unit).is_none() => break,
                Ok(()) if Header::check(unit) => {}
                Ok(()) | Err(FlashError::Uncorrectable(_)) => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// The number of units in a complete page, and of entries in them.
    fn measure_page<N: Nand>(
        &mut self,
        flash: &mut Flash<'_, N>,
        page: PageAddr,
    ) -> Result<(u32, u32), FlashError> {
        let sector_size = flash.geometry().sector_size();
        let mut entries = 0;
        for sector in 0..flash.geometry().sectors_per_page {
            let unit = &mut self.out[..sector_size as usize];
            flash.read(page, sector * sector_size, unit)?;
            let Some(header) = Header::parse(unit) else { return Ok((sector, entries)) };
            entries += u32::from(header.count);
        }
        Ok((flash.geometry().sectors_per_page, entries))
    }

    /// Continue a job after the last complete page that it wrote.
    fn resume<N: Nand>(&mut self, flash: &mut Flash<'_, N>, slot: usize) -> Result<(), FlashError> {
        let mut job = self.jobs[slot].expect("the job was found in the record");
        let area = usize::from(job.out.place);
        let per_page = flash.geometry().sectors_per_page;
        let mut tail = self.areas.extent(area).tail.max(job.out.first);
        while tail > job.out.first {
            let place = self.locate(flash, area, tail - 1)?;
            if self.is_page_sound(flash, place)? && self.measure_page(flash, place)?.0 == per_page {
                break;
            }
            tail -= 1;
        }
        self.areas.set_tail(area, tail);
        job.out.used = (tail - job.out.first) * per_page;
        job.out.count = 0;
        if tail > job.out.first {
            let place = self.locate(flash, area, tail - 1)?;
            job.out.count = flash.tag(place)?.map_or(0, |tag| tag.note as u32);
            job.done = self.last_entry(flash, &job.out)?;
        }
        if !self.areas.needs_block(flash, area) {
            self.areas.relocate(flash, area, false, self.out)?;
        }
        self.seek(flash, &job);
        self.jobs[slot] = Some(job);
        Ok(())
    }

    fn locate<N: Nand>(
        &self,
        flash: &Flash<'_, N>,
        area: usize,
        page: u32,
    ) -> Result<PageAddr, FlashError> {
        self.areas.locate(flash, area, page).ok_or(FlashError::Corrupt(PageAddr(page)))
    }

    /// The last entry of a run.
    fn last_entry<N: Nand>(
        &mut self,
        flash: &mut Flash<'_, N>,
        run: &Run,
    ) -> Result<Option<u64>, FlashError> {
        let pointer_bits = self.config.pointer_bits;
        let unit_size = flash.geometry().sector_size();
        let areas = &mut self.areas;
        let mut reading = Reading { flash, areas, pointer_bits, unit_size };
        let unit = &mut self.out[..unit_size as usize];
        for number in (0..run.used).rev() {
            reading.read(run, number, 0, unit)?;
            let header = Header::parse(unit).ok_or_else(|| reading.corrupt(run, number))?;
            let mut entries = UnitReader::new(header);
            let mut last = None;
            while !entries.is_done() {
                let entry = entries.next(unit, 0, run.shape(pointer_bits));
                last = Some(entry.map_err(|_| reading.corrupt(run, number))?);
            }
            if last.is_some() {
                return Ok(last);
            }
        }
        Ok(None)
    }

    /// Let the inputs of a job begin at the entry at which its output ends.
    fn seek<N: Nand>(&mut self, flash: &mut Flash<'_, N>, job: &Job) {
        let Some(done) = job.done else { return };
        let pointer_bits = self.config.pointer_bits;
        let hash = job.out.shape(pointer_bits).hash(done);
        let unit_size = flash.geometry().sector_size();
        let reading = Reading { flash, areas: &mut self.areas, pointer_bits, unit_size };
        for run in self.table.iter_mut().filter(|run| run.frozen & job.reader != 0) {
            let hash = hash << (run.hash_bits - job.out.hash_bits.min(run.hash_bits));
            let target = run.shape(pointer_bits).target(hash, run.units);
            run.at = reading.first_kept(run, target);
        }
    }
}

/// The position of a commit record.
#[derive(Clone, Copy, Debug)]
struct Place {
    sequence: u32,
    page: PageAddr,
    column: u32,
}

fn newer(one: Option<Place>, other: Option<Place>) -> Option<Place> {
    match (one, other) {
        (Some(one), Some(other)) if one.sequence > other.sequence => Some(one),
        (one, None) => one,
        (_, other) => other,
    }
}

fn is_output(job: Option<&Job>, area: usize) -> bool {
    job.is_some_and(|job| usize::from(job.out.place) == area)
}
