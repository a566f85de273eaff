//! The state of the store in a log record: the runs and the merge under way.
//!
//! ```text
//! 1 | runs | run … | job | distinct, one byte for each index
//! run     level | index or gone | marks 5, flags 3 | pieces | (first, count) … | units | entries
//!         | distinct | sections or bounds
//! section entries [ | planned | units ]               of a recent run, one for each index
//! bounds  planned | fences [ | least | greatest - least ]           of a level; two of keys only
//! job     0, or 1 for a small one, or 2 + index | drops | run | coding 3 | index + 1 | entries
//!         | planned | units | floor | distinct | done: index | code | pointer | given
//! ```
//!
//! Levels, marks and counts of pieces are bytes, numbers are seven bits a byte, the least first.
//!
//! 1. Every number is checked against the geometry and the configuration before it is believed.

use super::entry::{INDEX_MAX, Shape};
use super::error::StateError;
use super::group::Drops;
use super::job::{Job, MERGED};
use super::merge::{INPUTS_MAX, Position};
use super::run::{EXTENTS_MAX, Extent, IN_JOB, IN_ROUND, OPEN, RECENT, RUNS_MAX, Run, Section};
use super::unit::Coding;
use super::writer::Output;
use super::{Store, StoreConfig};

/// The version of this format.
const VERSION: u8 = 1;
/// Entries of a unit, at most: no entry is coded in less than two bits.
const UNIT_ENTRIES_MAX: u64 = 2048;
/// The marks that the state keeps.
const KEPT: u8 = IN_ROUND | IN_JOB | MERGED;

/// Bytes being written.
struct Writer<'a> {
    bytes: &'a mut [u8],
    at: usize,
}

impl Writer<'_> {
    fn byte(&mut self, byte: u8) {
        self.bytes[self.at] = byte;
        self.at += 1;
    }

    fn number(&mut self, mut value: u64) {
        while value > 0x7F {
            self.byte(value as u8 | 0x80);
            value >>= 7;
        }
        self.byte(value as u8);
    }
}

/// Bytes being read; none where they end too early or a number is too long.
struct Parser<'a> {
    bytes: &'a [u8],
}

impl Parser<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(*first)
    }

    fn number(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let part = u64::from(byte & 0x7F);
            if part << shift >> shift != part {
                return None;
            }
            value |= part << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    fn word(&mut self) -> Option<u32> {
        self.number().and_then(|value| u32::try_from(value).ok())
    }
}

/// What numbers are checked against.
struct Limits<'a> {
    config: &'a StoreConfig,
    shapes: &'a [Shape; INDEX_MAX],
}

impl Limits<'_> {
    fn emit(&self, run: &Run, out: &mut Writer<'_>) {
        let marks = run.marks & KEPT;
        out.byte(run.level);
        out.byte(if run.is_recent() { run.gone } else { run.index });
        out.byte(marks << 3 | run.flags);
        out.byte(run.extent_count);
        for extent in run.extents() {
            out.number(u64::from(extent.first));
            out.number(u64::from(extent.count));
        }
        for number in [run.units, run.entries, run.distinct] {
            out.number(u64::from(number));
        }
        if run.is_recent() {
            for index in 0..self.config.index_count {
                let section = run.section(index);
                out.number(u64::from(section.entries));
                if section.entries > 0 {
                    out.byte(section.planned as u8);
                    out.byte(section.units as u8);
                }
            }
            return;
        }
        out.number(u64::from(run.section(run.index).planned));
        out.number(u64::from(run.fences));
        if self.shapes[usize::from(run.index)].is_ordered() {
            let (least, greatest) = run.bounds();
            out.number(least);
            out.number(greatest - least);
        }
    }

    fn parse(&self, bytes: &mut Parser<'_>) -> Option<Run> {
        let (level, index, marks) = (bytes.byte()?, bytes.byte()?, bytes.byte()?);
        let mut run = Run::default();
        (run.level, run.flags, run.marks) = (level, marks & 7, marks >> 3);
        if run.marks & !KEPT != 0 {
            return None;
        }
        self.parse_extents(&mut run, bytes)?;
        (run.units, run.entries, run.distinct) = (bytes.word()?, bytes.word()?, bytes.word()?);
        if level == RECENT {
            run.gone = index;
            self.parse_sections(&mut run, bytes)?;
        } else {
            self.parse_level(&mut run, index, bytes)?;
        }
        let units = u64::from(run.pages()) * u64::from(self.config.layout.cells);
        let in_pages = u64::from(run.units) + u64::from(run.fences) <= units;
        let in_units = u64::from(run.entries) <= u64::from(run.units) * UNIT_ENTRIES_MAX;
        (in_pages && in_units && run.distinct <= run.entries).then_some(run)
    }

    fn parse_extents(&self, run: &mut Run, bytes: &mut Parser<'_>) -> Option<()> {
        let numbers = &self.config.numbers;
        let count = bytes.byte()?;
        for _ in 0..count {
            let extent = Extent { first: bytes.word()?, count: bytes.word()? };
            let is_sane = extent.first < numbers.page_count()
                && (1..=numbers.page_count() / 2).contains(&extent.count);
            if !is_sane || !run.add_extent(extent) {
                return None;
            }
        }
        Some(())
    }

    fn parse_sections(&self, run: &mut Run, bytes: &mut Parser<'_>) -> Option<()> {
        let (mut entries, mut units) = (0, 0);
        for index in 0..self.config.index_count {
            let mut section = Section { entries: bytes.word()?, ..Section::default() };
            if section.entries > 0 {
                section.planned = u32::from(bytes.byte()?);
                section.units = u32::from(bytes.byte()?);
            }
            let is_whole = (section.entries > 0) == (section.units > 0);
            if !is_whole || !run.set_section(index, &section) {
                return None;
            }
            entries += section.entries;
            units += section.units;
        }
        (entries == run.entries && units == run.units).then_some(())
    }

    fn parse_level(&self, run: &mut Run, index: u8, bytes: &mut Parser<'_>) -> Option<()> {
        let known = &self.config.indexes[..usize::from(self.config.index_count)];
        let plan = known.get(usize::from(index)).filter(|plan| run.level < plan.levels)?;
        run.index = index;
        let (planned, fences) = (bytes.word()?, bytes.word()?);
        run.fences = fences;
        let is_sane = planned <= self.config.numbers.page_count();
        run.set_section(index, &Section { planned, ..Section::default() });
        let shape = self.shapes[usize::from(index)];
        let (least, width) = match plan.order {
            super::Order::Key => (bytes.number()?, bytes.number()?),
            super::Order::Hash => (0, shape.code_max()),
        };
        run.set_bounds(least, least.checked_add(width)?);
        is_sane.then_some(())
    }

    fn emit_job(&self, job: &Job, out: &mut Writer<'_>) {
        let Output { run, index, section, coding, floor, distinct, packs: _ } = &job.out;
        out.byte(job.index.map_or(1, |index| index + 2));
        out.byte(u8::from(job.drops.keeps_all) << 1 | u8::from(job.drops.is_bottom));
        self.emit(run, out);
        let Coding { rice, delta, flags, has_dups } = *coding;
        out.byte(rice | u8::from(has_dups) << 7);
        out.byte(delta);
        out.byte(flags);
        out.byte(index.map_or(0, |index| index + 1));
        for number in [section.entries, section.planned, section.units] {
            out.number(u64::from(number));
        }
        out.number(*floor);
        out.number(u64::from(*distinct));
        let Position { index, code, pointer, given } = job.done;
        out.byte(index);
        out.number(code);
        out.number(u64::from(pointer));
        out.number(u64::from(given));
    }

    fn parse_job(&self, kind: u8, bytes: &mut Parser<'_>) -> Option<Job> {
        let index = kind.checked_sub(2);
        let drops = bytes.byte().filter(|drops| *drops < 4)?;
        let drops = Drops { keeps_all: drops & 2 != 0, is_bottom: drops & 1 != 0 };
        let run = self.parse(bytes)?;
        let (rice, delta, flags) = (bytes.byte()?, bytes.byte()?, bytes.byte()?);
        let coding = Coding { rice: rice & 63, delta, flags, has_dups: rice & 0x80 != 0 };
        let out_index = bytes.byte()?.checked_sub(1);
        let section = Section {
            entries: bytes.word()?,
            planned: bytes.word()?,
            units: bytes.word()?,
            start: 0,
        };
        let (floor, distinct) = (bytes.number()?, bytes.word()?);
        let done = Position {
            index: bytes.byte()?,
            code: bytes.number()?,
            pointer: bytes.word()?,
            given: u16::try_from(bytes.number()?).ok()?,
        };
        let count = self.config.index_count;
        let shape = self.shapes.get(usize::from(out_index.unwrap_or(0)))?;
        let is_sane = out_index.is_none_or(|index| index < count)
            && index.is_none_or(|index| index < count && run.index == index)
            && index.is_none() == run.is_recent()
            && (out_index.is_none() == (run.units == 0))
            && delta < 32
            && flags & !run.flags == 0
            && floor.max(done.code) <= shape.code_max()
            && (run.entries == 0 || out_index == Some(done.index))
            && section.units <= run.units
            && section.entries <= run.entries;
        let section = Section { start: run.units.checked_sub(section.units)?, ..section };
        let out = Output { run, index: out_index, section, coding, floor, distinct, packs: false };
        let resume = (out.run.entries > 0).then_some(done);
        let job = Job { index, drops, out, done, resume, ..Job::default() };
        is_sane.then_some(job)
    }
}

impl Store<'_> {
    const fn limits(&self) -> Limits<'_> {
        Limits { config: &self.config, shapes: &self.shapes }
    }

    /// Bytes of the longest state.
    pub const fn state_size_max(config: &StoreConfig) -> usize {
        let pieces = EXTENTS_MAX * 10;
        let run = 4 + pieces + 15 + if config.index_count > 5 { 32 } else { 20 };
        3 + INDEX_MAX + RUNS_MAX * run + run + 64
    }

    /// Write what a log record must hold. Says how many bytes it took.
    ///
    /// # Panics
    /// Where `out` is shorter than the state: [`Store::state_size_max`] is enough.
    pub fn emit_state(&self, out: &mut [u8]) -> usize {
        let runs = self.runs.as_slice().iter().filter(|run| !run.is(OPEN));
        let mut out = Writer { bytes: out, at: 0 };
        out.byte(VERSION);
        out.byte(runs.clone().count() as u8);
        runs.for_each(|run| self.limits().emit(run, &mut out));
        match &self.job {
            Some(job) => self.limits().emit_job(job, &mut out),
            None => out.byte(0),
        }
        for index in 0..usize::from(self.config.index_count) {
            out.byte((self.distinct[index] - 1) as u8);
        }
        out.at
    }

    /// Take over what a log record held, in the place of all runs and of the memory table.
    ///
    /// # Errors
    /// Where a number cannot be; the store is empty then.
    pub fn load_state(&mut self, bytes: &[u8]) -> Result<(), StateError> {
        self.clear();
        let loaded = self.load(&mut Parser { bytes });
        if loaded.is_err() {
            self.clear();
        }
        loaded
    }

    fn clear(&mut self) {
        self.runs = super::Runs::new();
        self.job = None;
        self.inputs.clear();
        self.memtable.retain(|_| false);
        self.memtable.roll_back();
        self.run_changes = self.run_changes.wrapping_add(1);
        self.puts = self.puts.wrapping_add(1);
        self.learning = 0;
    }

    fn load(&mut self, bytes: &mut Parser<'_>) -> Result<(), StateError> {
        if bytes.byte() != Some(VERSION) {
            return Err(StateError::Length);
        }
        let count = bytes.byte().ok_or(StateError::Length)?;
        for number in 0..count {
            let run = self.limits().parse(bytes).filter(|run| self.is_in_order(run));
            let run = run.ok_or(StateError::Run(number))?;
            let at = self.runs.as_slice().len();
            if run.is_recent() {
                self.list_recent(at, run);
            } else {
                self.runs.insert(at, run);
            }
        }
        let kind = bytes.byte().ok_or(StateError::Length)?;
        if kind > 0 {
            let job = self.limits().parse_job(kind, bytes).filter(|job| self.has_inputs(job));
            self.job = Some(job.ok_or(StateError::Job)?);
        } else if self.runs.as_slice().iter().any(|run| run.is(IN_JOB)) {
            return Err(StateError::Job);
        }
        for index in 0..usize::from(self.config.index_count) {
            self.distinct[index] = u16::from(bytes.byte().ok_or(StateError::Length)?) + 1;
        }
        if bytes.bytes.is_empty() { Ok(()) } else { Err(StateError::Length) }
    }

    /// Whether a run may follow those that are listed.
    fn is_in_order(&self, run: &Run) -> bool {
        let is_new = run.is_recent() || self.runs.level(run.index, run.level).is_none();
        let is_behind = run.is_recent() || self.runs.recents().next().is_none();
        is_new && is_behind && run.entries > 0 && self.runs.room() > 2
    }

    /// Whether the marked runs are what a job merges.
    fn has_inputs(&self, job: &Job) -> bool {
        let inputs = || self.runs.as_slice().iter().filter(|run| run.is(IN_JOB));
        let fits = |run: &Run| match job.index {
            None => run.is_recent(),
            Some(index) if run.is_recent() => run.is(IN_ROUND) && run.serves(index),
            Some(index) => run.index == index && run.level <= job.out.run.level,
        };
        let flags = inputs().fold(0, |flags, run| flags | run.flags);
        let is_named = (1..=INPUTS_MAX).contains(&inputs().count()) && inputs().all(fits);
        is_named && flags & !job.out.run.flags == 0
    }
}
