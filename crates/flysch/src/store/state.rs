//! The state of the store in a log record: all runs, and the merge under way.
//!
//! ```text
//! 1 | runs | (marks | body) … | job | distinct, one byte for each index
//! job     0, or 1 for a small one, or 2 + index | drops, fenced | body | coding 3 | index + 1, even | entries
//!         | planned | units | least | greatest - least | floor | distinct
//!         | done: index | code | pointer | given
//! ```
//!
//! The body of a run is that of the [table](super::table). Kinds, counts of runs, marks, drops,
//! codings and indexes are bytes, numbers are varints.
//!
//! 1. Every number is checked against the geometry and the configuration before it is used.

use super::bytes::{Parser, Writer};
use super::entry::{INDEX_MAX, Shape};
use super::error::StateError;
use super::group::Drops;
use super::job::Job;
use super::merge::{INPUTS_MAX, Position};
use super::run::{FENCED, Head, IN_JOB, IN_ROUND, MERGED, OPEN, PUT_OFF, Run, Section};
use super::table::{BOUNDS_SIZE, FRONT, recent_size, run_count};
use super::unit::Coding;
use super::writer::Output;
use super::{Store, StoreConfig};
use crate::row::varint::VARINT_MAX;

/// The version of this format.
const VERSION: u8 = 1;
/// Greatest number of entries of a unit: each takes two bits at least.
const UNIT_ENTRIES_MAX: u64 = 2048;
/// Greatest number of bytes of a job without its run: nine bytes, numbers of five bytes and two of
/// 64 bits, and a least and a greatest key.
const JOB_REST: usize = 9 + 6 * 5 + 2 * VARINT_MAX + BOUNDS_SIZE;
/// The marks of a run that are written to the state.
const KEPT: u8 = IN_ROUND | IN_JOB | MERGED | FENCED;

/// What numbers of a state are checked against.
pub(crate) struct Limits<'a> {
    pub(crate) config: &'a StoreConfig,
    pub(crate) shapes: &'a [Shape; INDEX_MAX],
}

impl Limits<'_> {
    /// Read a run into an empty one, and check its numbers; None where one is impossible.
    pub(crate) fn parse(&self, bytes: &mut Parser<'_>, run: &mut Run) -> Option<()> {
        self.config.form().parse(bytes, run)?;
        let numbers = &self.config.numbers;
        let in_space = run.extents().iter().all(|extent| {
            extent.first < numbers.page_count() && extent.count <= numbers.page_count() / 2
        });
        let units = u64::from(run.pages()) * u64::from(self.config.layout.cells);
        let in_units = u64::from(run.entries) <= u64::from(run.units) * UNIT_ENTRIES_MAX;
        let in_runs = u64::from(run.units) <= units && run.distinct <= run.entries;
        let is_sane = run.head.flags < 8 && self.has_level(run);
        (in_space && in_units && in_runs && is_sane).then_some(())
    }

    /// Whether the run's index has such a level.
    fn has_level(&self, run: &Run) -> bool {
        let head = run.head;
        head.is_recent() || head.level < self.config.indexes[usize::from(head.indexes)].levels
    }

    pub(crate) fn emit_job(&self, job: &Job, out: &mut Writer<'_>) {
        let Output { run, index, section, coding, floor, distinct, .. } = &job.out;
        debug_assert!(section.least <= section.greatest, "the bounds are in order");
        debug_assert!(section.units <= run.units, "a section is a part of its run");
        debug_assert!(section.entries <= run.entries, "and so are its entries");
        out.byte(job.index.map_or(1, |index| index + 2));
        let is_fenced = u8::from(run.head.is(FENCED));
        let drops = u8::from(job.drops.keeps_all) << 1 | u8::from(job.drops.is_bottom);
        out.byte(is_fenced << 2 | drops);
        let (form, mut run) = (self.config.form(), *run);
        form.fit(&mut run, recent_size(self.config) - FRONT);
        form.emit(&run, out);
        let Coding { rice, delta, flags, has_dups } = *coding;
        out.byte(rice | u8::from(has_dups) << 7);
        out.byte(delta);
        out.byte(flags);
        out.byte(index.map_or(0, |index| index + 1) | u8::from(section.is_even) << 7);
        for number in [section.entries, section.planned, section.units] {
            out.word(number);
        }
        out.number(section.least);
        out.number(section.greatest - section.least);
        out.number(*floor);
        out.word(*distinct);
        let Position { index, code, pointer, given } = job.done;
        out.byte(index);
        out.number(code);
        out.word(pointer);
        out.word(u32::from(given));
    }

    /// Read a job of a kind into an empty one; None where a number is impossible.
    #[inline(never)]
    pub(crate) fn parse_job(&self, kind: u8, bytes: &mut Parser<'_>, job: &mut Job) -> Option<()> {
        let index = kind.checked_sub(2);
        let drops = bytes.byte().filter(|drops| *drops < 8)?;
        let is_fenced = drops & 4 != 0;
        let drops = Drops { keeps_all: drops & 2 != 0, is_bottom: drops & 1 != 0 };
        let run = &mut job.out.run;
        self.parse(bytes, run)?;
        run.head.marks |= if is_fenced { FENCED } else { 0 };
        run.head.marks |= if index.is_none() { MERGED } else { 0 };
        let (rice, delta, flags) = (bytes.byte()?, bytes.byte()?, bytes.byte()?);
        let coding = Coding { rice: rice & 63, delta, flags, has_dups: rice & 0x80 != 0 };
        let place = bytes.byte()?;
        let (out_index, is_even) = ((place & 0x7F).checked_sub(1), place & 0x80 != 0);
        let (entries, planned, units) = (bytes.word()?, bytes.word()?, bytes.word()?);
        let least = bytes.number()?;
        let greatest = least.checked_add(bytes.number()?)?;
        let section =
            Section { entries, planned, units, start: 0, least, greatest, is_even, is_fenced };
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
            && index.is_none_or(|index| index < count && run.head.indexes == index)
            && index.is_none() == run.head.is_recent()
            && !(is_fenced && (run.head.is_recent() || planned > 0))
            && (out_index.is_none() == (run.units == 0))
            && delta < 32
            && flags & !run.head.flags == 0
            && floor.max(done.code) <= shape.code_max()
            && (run.entries == 0 || out_index == Some(done.index))
            && section.units <= run.units
            && section.entries <= run.entries
            && section.planned <= self.config.numbers.page_count();
        let start = run.units.checked_sub(section.units)?;
        (job.index, job.drops, job.done) = (index, drops, done);
        job.resume = (run.entries > 0).then_some(done);
        (job.out.index, job.out.section) = (out_index, Section { start, ..section });
        (job.out.coding, job.out.floor, job.out.distinct) = (coding, floor, distinct);
        is_sane.then_some(())
    }
}

impl Store<'_> {
    pub(crate) const fn limits(&self) -> Limits<'_> {
        Limits { config: &self.config, shapes: &self.shapes }
    }

    /// Greatest number of bytes of a state without runs and without a merge.
    pub(crate) const STATE_MIN: usize = 3 + INDEX_MAX;

    /// Bytes of the longest state. It has as many runs as fit the table of runs, where each takes
    /// three bytes more than in the state, and a job.
    pub const fn state_size_max(config: &StoreConfig) -> usize {
        let runs = run_count(config) * (FRONT - 1);
        2 + config.table_size - runs + recent_size(config) + JOB_REST + config.index_count as usize
    }

    /// Write the state for a log record; returns the number of bytes.
    ///
    /// # Panics
    /// Where `out` is shorter than the state: [`Store::state_size_max`] is enough.
    pub fn emit_state(&self, out: &mut [u8]) -> usize {
        let runs = || self.runs.heads().filter(|(_, head)| !head.is(OPEN));
        let mut out = Writer::new(out);
        out.byte(VERSION);
        out.byte(runs().count() as u8);
        for (slot, head) in runs() {
            let is_input = head.is(if self.put_off.is_some() { PUT_OFF } else { IN_JOB });
            out.byte(head.marks & KEPT & !IN_JOB | if is_input { IN_JOB } else { 0 });
            out.copy(self.runs.body(slot));
        }
        match &self.job {
            _ if self.put_off.is_some() => out.copy(self.put_off.bytes()),
            Some(job) => self.limits().emit_job(job, &mut out),
            None => out.byte(0),
        }
        for index in 0..usize::from(self.config.index_count) {
            debug_assert!((1..=256).contains(&self.distinct[index]), "the share fits a byte");
            out.byte((self.distinct[index] - 1) as u8);
        }
        debug_assert!(out.at <= Self::state_size_max(&self.config), "the state has its bytes");
        out.at
    }

    /// Replace all runs and the memory table by the state from a log record.
    ///
    /// # Errors
    /// Where a number cannot be; the store is empty then.
    #[inline(never)]
    pub fn load_state(&mut self, bytes: &[u8]) -> Result<(), StateError> {
        self.clear();
        let loaded = self.load(&mut Parser { bytes });
        if loaded.is_err() {
            self.clear();
        }
        loaded
    }

    fn clear(&mut self) {
        self.runs.clear();
        self.job = None;
        self.put_off.clear();
        self.inputs.clear();
        self.memtable.clear();
        self.hints.forget(None);
        self.noted.clear();
        self.run_changes = self.run_changes.wrapping_add(1);
        self.puts = self.puts.wrapping_add(1);
        self.learning = (0, 0);
    }

    #[inline(never)]
    fn load(&mut self, bytes: &mut Parser<'_>) -> Result<(), StateError> {
        if bytes.byte() != Some(VERSION) {
            return Err(StateError::Length);
        }
        let count = bytes.byte().ok_or(StateError::Length)?;
        for number in 0..count {
            self.load_run(bytes).ok_or(StateError::Run(number))?;
        }
        let kind = bytes.byte().ok_or(StateError::Length)?;
        if kind > 0 {
            let limits = Limits { config: &self.config, shapes: &self.shapes };
            let job = self.job.insert(Job::NONE);
            limits.parse_job(kind, bytes, job).ok_or(StateError::Job)?;
            if !self.job.as_ref().is_some_and(|job| self.has_inputs(job)) {
                return Err(StateError::Job);
            }
        } else if self.runs.heads().any(|(_, head)| head.is(IN_JOB)) {
            return Err(StateError::Job);
        }
        for index in 0..usize::from(self.config.index_count) {
            self.distinct[index] = u16::from(bytes.byte().ok_or(StateError::Length)?) + 1;
        }
        if bytes.bytes.is_empty() { Ok(()) } else { Err(StateError::Length) }
    }

    /// Read the next run of a state; None where it cannot be.
    #[inline(never)]
    fn load_run(&mut self, bytes: &mut Parser<'_>) -> Option<()> {
        let marks = bytes.byte().filter(|marks| marks & !KEPT == 0)?;
        let mut run = Run::EMPTY;
        self.limits().parse(bytes, &mut run)?;
        self.is_in_order(&run).then_some(())?;
        run.head.marks = marks;
        let is_level = !run.head.is_recent();
        (!run.head.is(FENCED) || is_level && run.units >= 2).then_some(())?;
        let at = self.runs.slots().end;
        if is_level {
            self.runs.insert(at, &mut run);
        } else {
            self.list_recent(at, &mut run);
        }
        Some(())
    }

    /// Whether a run may follow those that were read so far.
    fn is_in_order(&self, run: &Run) -> bool {
        let head = run.head;
        let is_new = head.is_recent() || self.runs.level(head.indexes, head.level).is_none();
        let is_behind = head.is_recent() || self.runs.recents().next().is_none();
        is_new && is_behind && run.entries > 0 && self.runs.room() > 0
    }

    /// Whether the marked runs are what a job can have as inputs.
    fn has_inputs(&self, job: &Job) -> bool {
        let inputs = || self.runs.heads().map(|(_, head)| head).filter(|head| head.is(IN_JOB));
        let level = job.out.run.head.level;
        let fits = |head: Head| match job.index {
            None => head.is_recent(),
            Some(index) if head.is_recent() => head.is(IN_ROUND) && head.serves(index),
            Some(index) => head.indexes == index && head.level <= level,
        };
        let flags = inputs().fold(0, |flags, head| flags | head.flags);
        let is_named = (1..=INPUTS_MAX).contains(&inputs().count()) && inputs().all(fits);
        is_named && flags & !job.out.run.head.flags == 0
    }
}

#[cfg(test)]
mod tests {
    use flysch_nand::Geometry;

    use super::super::IndexPlan;
    use super::super::run::Extent;
    use super::*;

    const LEVELS: u8 = 2;

    /// Whether a state is believed that has this run.
    fn is_believed(run: &Run) -> bool {
        let geometry = Geometry {
            page_size: 2048,
            oob_size: 64,
            sectors_per_page: 4,
            partial_programs: 4,
            pages_per_block: 8,
            block_count: 32,
            in_order: true,
        };
        let plans = [IndexPlan { levels: LEVELS, capacity: 1000, ..IndexPlan::NONE }];
        let config = StoreConfig::plan(20_000, &plans, &geometry, 32).unwrap();
        let shapes = config.shapes();
        let mut bytes = [0; 200];
        let mut out = Writer::new(&mut bytes);
        config.form().emit(run, &mut out);
        let at = out.at;
        let (mut parser, mut found) = (Parser { bytes: &bytes[..at] }, Run::EMPTY);
        let limits = Limits { config: &config, shapes: &shapes };
        limits.parse(&mut parser, &mut found).is_some()
    }

    #[test]
    fn runs_that_no_store_has_are_not_believed() {
        let mut run = Run::of_level(0, LEVELS - 1, 0);
        assert!(run.add_extent(Extent { first: 511, count: 3 }));
        assert!(run.set_section(0, &Section { least: 1, greatest: 9000, ..Section::default() }));
        (run.units, run.entries, run.distinct) = (12, 900, 900);
        assert!(is_believed(&run), "the last page, the last level and all cells");
        let spoil: [fn(&mut Run); 6] = [
            |run| run.head.level = LEVELS,
            |run| run.head.flags = 8,
            |run| run.units = 13,
            |run| run.entries = 12 * UNIT_ENTRIES_MAX as u32 + 1,
            |run| run.distinct = 901,
            |run| assert!(run.add_extent(Extent { first: 512, count: 1 })),
        ];
        for (number, spoil) in spoil.iter().enumerate() {
            let mut spoilt = run;
            spoil(&mut spoilt);
            assert!(!is_believed(&spoilt), "lie {number}: {spoilt:?}");
        }
    }
}
