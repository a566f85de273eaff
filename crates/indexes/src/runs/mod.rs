//! Hash-ordered runs: entries of hash and pointer, sorted by hash, merged level by level.
//!
//! ```text
//! memory table ─flush▸ recent runs ─small job▸ merged runs ─large job▸ level 0 ▸ level 1 ▸ …
//!              (guarded by one Bloom filter in RAM)             [existence filter]
//! ```
//!
//! The unit of a run in which a hash is found follows from the hash: `hash * units / 2^hash_bits`.
//! So a probe reads one unit, and no directory is needed. Keys are not stored; the caller must
//! check the record.
//!
//! 1. Entries ascend within a run. Each entry is in one run only.
//! 2. Runs are ordered by age, from the last level to the memory table. The inputs of a job are
//!    neighbours in this order.
//! 3. What a commit record names stays readable until the next record is on flash. Recent runs and
//!    the output of a job are found by the tags of their own pages.
//! 4. A mount restores the state after some number of insertions and deletions, which
//!    [`Runs::flushed`] returns. Later ones must be repeated.

mod config;
mod entry;
mod job;
mod level;
mod log;
mod lookup;
mod memtable;
mod merge;
mod mount;
mod record;
mod run;
mod search;
mod unit;
mod writer;

pub use config::{Output, Pace, RunsConfig};

use flysch_nand::Nand;

use self::entry::{Shape, is_anti, plan};
use self::job::Job;
use self::log::Log;
use self::memtable::Memtable;
use self::merge::Reading;
use self::run::{BY_SMALL, IN_BLOOM, RECENT, Run, RunTable};
use self::unit::{Header, UnitReader};
use self::writer::{Source, Stroke, fill};
use crate::IndexError;
use crate::area::Areas;
use crate::bloom::Bloom;
use crate::flash::{Flash, FlashError};
use crate::hash::hash64;

/// How many units of a run are added to the Bloom filter at a time. This takes as much time as
/// merging a page.
const LEARNT_MAX: u32 = 16;
/// The slot of the job that merges recent runs.
const SMALL: usize = 0;
/// The slot of the job that merges into the levels or the filter.
const LARGE: usize = 1;

/// An index of hash-ordered runs.
#[derive(Debug)]
pub struct Runs<'ram> {
    config: RunsConfig,
    areas: Areas<'ram>,
    memtable: Memtable<'ram>,
    bloom: Bloom<'ram>,
    /// Whether the Bloom filter contains all recent hashes. Otherwise it is not used.
    bloom_is_sound: bool,
    /// The page or sector that is being written. Between two operations, the unit that is being
    /// read.
    out: &'ram mut [u8],
    /// The windows of merges.
    window: &'ram mut [u8],
    table: RunTable,
    jobs: [Option<Job>; 2],
    log: Log,
    /// Number of insertions and deletions so far.
    count: u32,
    /// How many of these are on flash.
    flushed: u32,
    /// The level that the large job merges into.
    large_target: u8,
    /// Whether the state has changed in a way that only a commit record stores.
    commit_due: bool,
    /// Steps of work for each insertion, in 1/256ths; below, the steps that are due.
    rate: u32,
    owed: u32,
    /// The recent run that is being added to the Bloom filter: its first page, and the next unit to
    /// add.
    learning: Option<(u32, u32)>,
}

impl Runs<'_> {
    /// Number of insertions and deletions that are on flash. After a mount, repeat all later ones.
    pub const fn flushed(&self) -> u32 {
        self.flushed
    }

    pub const fn config(&self) -> &RunsConfig {
        &self.config
    }

    /// Number of flash pages that runs take.
    pub fn page_count(&self, geometry: &flysch_nand::Geometry) -> u32 {
        let per_page = geometry.sectors_per_page;
        self.table.as_slice().iter().map(|run| run.used.div_ceil(per_page)).sum()
    }

    /// Number of flash blocks that the index uses.
    pub fn block_count(&self) -> u32 {
        self.areas.block_count()
    }

    /// The hash of a key. Keys with equal hashes are distinguished by reading their records.
    pub fn hash(&self, key: &[u8]) -> u32 {
        (hash64(key, self.config.seed) as u32) >> (32 - self.config.hash_bits)
    }

    /// Insert a key's pointer. Cost, if merging is spread: at most the program of a page, the
    /// merging of a page, or an erase.
    ///
    /// # Panics
    /// If the pointer has more bits than configured.
    pub fn insert<N: Nand>(
        &mut self,
        flash: &mut Flash<'_, N>,
        key: &[u8],
        pointer: u32,
    ) -> Result<(), IndexError> {
        let entry = self.entry(key, pointer, false);
        self.put(flash, entry)
    }

    /// Cancel a key's pointer. The pair must have been inserted, and must never be inserted again.
    /// If pointers name pages, no other record of the page may have the same [`Runs::hash`]. Cost:
    /// that of an insert.
    pub fn delete<N: Nand>(
        &mut self,
        flash: &mut Flash<'_, N>,
        key: &[u8],
        pointer: u32,
    ) -> Result<(), IndexError> {
        let entry = self.entry(key, pointer, true);
        self.put(flash, entry)
    }

    /// Write everything to flash.
    pub fn flush<N: Nand>(&mut self, flash: &mut Flash<'_, N>) -> Result<(), IndexError> {
        if self.memtable.len() > 0 {
            self.flush_memtable(flash)?;
        }
        Ok(())
    }

    /// Finish all jobs.
    pub fn settle<N: Nand>(&mut self, flash: &mut Flash<'_, N>) -> Result<(), IndexError> {
        while self.work(flash, u32::MAX)? {}
        Ok(())
    }

    const fn shape(&self) -> Shape {
        let RunsConfig { hash_bits, pointer_bits, .. } = self.config;
        Shape { hash_bits, pointer_bits, rice: 0, has_antis: true }
    }

    fn entry(&self, key: &[u8], pointer: u32, is_anti: bool) -> u64 {
        assert!(
            u64::from(pointer) >> self.config.pointer_bits == 0,
            "pointer {pointer} is too long"
        );
        self.shape().entry(self.hash(key), pointer, is_anti)
    }

    fn put<N: Nand>(&mut self, flash: &mut Flash<'_, N>, entry: u64) -> Result<(), IndexError> {
        self.memtable.insert(entry);
        self.bloom.insert(self.shape().hash(entry));
        self.count += 1;
        if self.memtable.is_full() {
            self.flush_memtable(flash)?;
            if self.config.pace == Pace::Synchronous || self.is_crowded() {
                self.settle(flash)?;
            }
        } else if self.config.pace == Pace::Spread {
            self.owed += self.rate;
            while self.owed >= 256 {
                self.owed -= 256;
                self.work(flash, 1)?;
            }
        }
        Ok(())
    }

    /// Whether delayed work must be done before more entries can be recent.
    fn is_crowded(&self) -> bool {
        self.table.as_slice().len() + 3 >= self.log.runs_max()
    }

    /// Whether the table of runs is filling up, so that runs that were merged before must be merged
    /// again. It needs room for the levels, for what is being merged into them, and for runs that
    /// are flushed in the meantime.
    fn is_filling(&self) -> bool {
        let runs = self.table.as_slice();
        let fresh = runs.iter().filter(|run| run.is_recent() && run.is_free()).count();
        let lasting = usize::from(self.config.levels) + usize::from(self.config.filter_bits > 0);
        let coming = usize::from(self.config.fan) + 1;
        runs.len().max(lasting + fresh + 1) + coming + 2 >= self.log.runs_max()
    }

    /// Do one bounded step of the work that is due. Returns whether there was any.
    fn work<N: Nand>(&mut self, flash: &mut Flash<'_, N>, pages: u32) -> Result<bool, FlashError> {
        if !flash.is_ready() && self.config.pace == Pace::Spread {
            flash.prepare()?;
        } else if self.commit_due {
            self.commit(flash)?;
        } else if !self.bloom_is_sound && self.jobs[LARGE].is_none() {
            self.extend_bloom(flash)?;
        } else if self.jobs[SMALL].is_some() {
            self.stroke(flash, SMALL, pages)?;
        } else if self.start_due(flash) {
            return Ok(true);
        } else if self.jobs[LARGE].is_some() {
            self.stroke(flash, LARGE, pages)?;
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    fn flush_memtable<N: Nand>(&mut self, flash: &mut Flash<'_, N>) -> Result<(), FlashError> {
        loop {
            match self.write_memtable(flash) {
                Err(FlashError::ProgramFailed(_)) => {
                    self.areas.relocate(flash, usize::from(RECENT), true, self.out)?;
                }
                Err(error) => return Err(error),
                Ok(()) => break,
            }
        }
        self.memtable.clear();
        self.flushed = self.count;
        Ok(())
    }

    fn write_memtable<N: Nand>(&mut self, flash: &mut Flash<'_, N>) -> Result<(), FlashError> {
        let geometry = *flash.geometry();
        let unit_size = geometry.sector_size();
        let area = usize::from(RECENT);
        let has_antis = (0..self.memtable.len()).any(|place| is_anti(self.memtable.entry(place)));
        let mut source = MemorySource { memtable: &self.memtable, place: 0 };
        let mut count = 0;
        while source.peek()?.is_some() {
            source.pop()?;
            count += 1;
        }
        let mut note = FlushNote { flushed: self.count, count, has_antis, page: 0 };
        let mut run = note.plan(&self.config, &geometry);
        run.first = self.areas.extent(area).tail;
        let mut source = MemorySource { memtable: &self.memtable, place: 0 };
        let mut stroke = Stroke::Full;
        while stroke == Stroke::Full {
            self.areas.open(flash, area)?;
            for column in (0..geometry.page_size).step_by(self.out.len()) {
                let pointer_bits = self.config.pointer_bits;
                let unit_size = unit_size as usize;
                stroke = fill(&mut run, pointer_bits, unit_size, &mut source, self.out)?;
                if column == 0 {
                    self.areas.program(flash, area, self.out, note.emit())?;
                } else {
                    let page = self.areas.open(flash, area)?;
                    flash.program_part(page, column, self.out)?;
                }
                if stroke == Stroke::Last {
                    break;
                }
            }
            self.areas.advance(area);
            note.page += 1;
        }
        run.frozen = IN_BLOOM;
        if run.count > 0 {
            self.table.insert(run);
        }
        Ok(())
    }

    /// Clear the Bloom filter and begin to add all recent runs again.
    fn begin_bloom(&mut self) {
        self.bloom.clear();
        self.bloom_is_sound = false;
        self.learning = None;
        for place in 0..self.memtable.len() {
            self.bloom.insert(self.shape().hash(self.memtable.entry(place)));
        }
        self.table.iter_mut().for_each(|run| run.frozen &= !IN_BLOOM);
    }

    /// Add units of a recent run to the Bloom filter. Cost: a read of each, at most [`LEARNT_MAX`].
    fn extend_bloom<N: Nand>(&mut self, flash: &mut Flash<'_, N>) -> Result<(), FlashError> {
        let unread = |run: &&mut Run| run.is_recent() && run.frozen & (IN_BLOOM | BY_SMALL) == 0;
        let reads_it = self.jobs[SMALL].is_some();
        let Some(run) = self.table.iter_mut().find(unread) else {
            self.bloom_is_sound = !reads_it;
            if reads_it {
                self.stroke(flash, SMALL, 1)?;
            }
            return Ok(());
        };
        let known = self.learning.filter(|(first, _)| *first == run.first);
        let from = known.map_or(0, |(_, unit)| unit);
        let to = run.used.min(from + LEARNT_MAX);
        if to == run.used {
            run.frozen |= IN_BLOOM;
        }
        self.learning = Some((run.first, to));
        let run = *run;
        let pointer_bits = self.config.pointer_bits;
        let unit_size = flash.geometry().sector_size();
        let shape = run.shape(pointer_bits);
        let areas = &mut self.areas;
        let mut reading = Reading { flash, areas, pointer_bits, unit_size };
        let unit = &mut self.out[..unit_size as usize];
        for number in from..to {
            reading.read(&run, number, 0, unit)?;
            let header = Header::parse(unit).ok_or_else(|| reading.corrupt(&run, number))?;
            let mut entries = UnitReader::new(header);
            while !entries.is_done() {
                let entry = entries.next(unit, 0, shape);
                let entry = entry.map_err(|_| reading.corrupt(&run, number))?;
                self.bloom.insert(shape.hash(entry));
            }
        }
        Ok(())
    }
}

/// The memory table's entries, without duplicates and cancelled pairs.
struct MemorySource<'a, 'ram> {
    memtable: &'a Memtable<'ram>,
    place: usize,
}

impl MemorySource<'_, '_> {
    fn at(&self, place: usize) -> Option<u64> {
        (place < self.memtable.len()).then(|| self.memtable.entry(place))
    }
}

impl Source for MemorySource<'_, '_> {
    fn peek(&mut self) -> Result<Option<u64>, FlashError> {
        while let Some(entry) = self.at(self.place) {
            let next = self.at(self.place + 1);
            if next == Some(entry) {
                self.place += 1;
            } else if !is_anti(entry) && next == Some(entry | 1) {
                self.place += 2;
            } else {
                return Ok(Some(entry));
            }
        }
        Ok(None)
    }

    fn pop(&mut self) -> Result<(), FlashError> {
        self.place += 1;
        Ok(())
    }
}

/// The note in the tag of a recent run's page, which describes the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FlushNote {
    /// Number of insertions and deletions that are on flash with this run.
    flushed: u32,
    /// Number of entries of the run.
    count: u16,
    has_antis: bool,
    /// The page's number within the run.
    page: u8,
}

impl FlushNote {
    fn emit(self) -> u64 {
        let flags = u64::from(self.has_antis);
        u64::from(self.flushed)
            | u64::from(self.count) << 32
            | u64::from(self.page) << 48
            | flags << 56
    }

    fn parse(note: u64) -> Self {
        Self {
            flushed: note as u32,
            count: (note >> 32) as u16,
            has_antis: note >> 56 & 1 != 0,
            page: (note >> 48) as u8,
        }
    }

    /// The run before its first unit is written. Its units fill whole pages.
    fn plan(self, config: &RunsConfig, geometry: &flysch_nand::Geometry) -> Run {
        let RunsConfig { hash_bits, pointer_bits, .. } = *config;
        let shape = Shape { hash_bits, pointer_bits, rice: 0, has_antis: self.has_antis };
        let count = u32::from(self.count);
        let (rice, units) = plan(count, shape, geometry.sector_size(), FLUSH_FILL_PERCENT);
        let units = match config.output {
            Output::Page => units.next_multiple_of(geometry.sectors_per_page),
            Output::Sector => units,
        };
        let antis = u32::from(self.has_antis);
        Run { place: RECENT, rice, hash_bits, units, antis, ..Run::default() }
    }
}

/// How full the units of a flushed memory table are planned to be. It is below 100, so that an
/// entry that does not fit in its unit still fits in the page.
const FLUSH_FILL_PERCENT: u32 = 97;
