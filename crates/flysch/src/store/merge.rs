//! Merging runs: repeatedly the least entry of several inputs, without those that newer ones
//! replace.
//!
//! Each input is read through a window of its own, which keeps its bytes from one call to the next.
//! After a mount the windows are empty. The inputs are then opened again at the code of the last
//! entry that was written, and entries that come before it are passed over.

use flysch_nand::Nand;

use super::entry::{Entry, INDEX_MAX, SHARED, Shape, TAKE_BACK, key};
use super::error::StoreError;
use super::group::{Drops, Fate, Group};
use super::plan::{Estimate, meet_evenly};
use super::read::Reading;
use super::row_blocks::RowBlocks;
use super::run::{Head, IN_JOB, Run};
use super::seek::Seek;
use super::table::{LEVELS_MAX, RECENTS_MAX, Runs};
use super::unit::{Header, Malformed, UnitReader, entry_size_max};
use super::writer::{Next, Source};
use crate::media::CELL_DATA;

/// Greatest number of inputs of a merge.
pub(crate) const INPUTS_MAX: usize = RECENTS_MAX + 3;
/// Bytes of the smallest window.
pub(crate) const WINDOW_MIN: usize = 40;
const _: () = assert!(
    WINDOW_MIN > entry_size_max(Shape { code_bits: 64, pointer_bits: 32, is_unique: false }),
    "a window holds an entry"
);

/// Up to which entry the output of a merge has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) index: u8,
    pub(crate) code: u64,
    /// The pointer of that entry.
    pub(crate) pointer: u32,
    /// How many entries of its code were passed with it.
    pub(crate) given: u16,
}

/// What is to be done next with an input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    /// Find the first unit.
    #[default]
    Closed,
    /// Read the header of a unit.
    Unit,
    /// Decode the next entry.
    Next,
    /// Wait: the entry is decoded, and is compared with those of other inputs.
    Ready,
    /// Nothing: the input has no more entries.
    Done,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor {
    slot: u8,
    index: u8,
    stage: Stage,
    /// The present unit, and the one behind the section's last.
    unit: u32,
    end: u32,
    reader: UnitReader,
    /// Where the window begins in the buffer, and its size.
    at: u16,
    size: u16,
    /// From which byte of the unit's payload on the window holds it, and how many bytes.
    base: u16,
    len: u16,
    payload: u16,
}

impl Cursor {
    const NONE: Self = Self {
        slot: 0,
        index: 0,
        stage: Stage::Closed,
        unit: 0,
        end: 0,
        reader: UnitReader::NONE,
        at: 0,
        size: 0,
        base: 0,
        len: 0,
        payload: 0,
    };
}

/// The inputs of the merge under way, from the newest to the oldest.
#[derive(Clone, Debug)]
pub(crate) struct Inputs {
    /// Whether the last page took nearly as many reads as are allowed.
    pub(crate) is_tight: bool,
    /// The search for the first unit of an input that is being opened.
    seek: Option<Seek>,
    cursors: [Cursor; INPUTS_MAX],
    len: u8,
}

impl Inputs {
    /// No input was opened yet.
    pub(crate) const NONE: Self =
        Self { is_tight: false, seek: None, cursors: [Cursor::NONE; INPUTS_MAX], len: 0 };

    /// Whether no input was opened yet.
    pub(crate) const fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(crate) const fn clear(&mut self) {
        (self.len, self.seek) = (0, None);
    }

    /// Take the marked runs as inputs, the newest first, and share `size` bytes out as their
    /// windows, in proportion to the square roots of their lengths: that takes the fewest reads. An
    /// entry takes `entry_max` bytes at most.
    pub(crate) fn open(
        &mut self,
        runs: &Runs<'_>,
        index: Option<u8>,
        (size, entry_max): (usize, usize),
    ) {
        self.len = 0;
        let is_marked = |head: Head| head.is(IN_JOB);
        for slot in runs.slots().rev() {
            let head = runs.head(slot);
            if is_marked(head) && head.is_recent() {
                self.push(slot, index);
            }
        }
        for level in 0..LEVELS_MAX as u8 {
            let is_wanted = |head: Head| is_marked(head) && head.level == level;
            if let Some((slot, _)) = runs.heads().find(|(_, head)| is_wanted(*head)) {
                self.push(slot, index);
            }
        }
        self.share(runs, index, (size, entry_max));
    }

    /// Note that a run was listed at a place of the table, before some of the inputs.
    pub(crate) fn note_listed(&mut self, at: usize) {
        for cursor in &mut self.cursors[..usize::from(self.len)] {
            cursor.slot += u8::from(usize::from(cursor.slot) >= at);
        }
    }

    fn push(&mut self, slot: usize, index: Option<u8>) {
        assert!(usize::from(self.len) < INPUTS_MAX, "a merge has a bounded number of inputs");
        let cursor = Cursor { slot: slot as u8, index: index.unwrap_or(0), ..Cursor::NONE };
        self.cursors[usize::from(self.len)] = cursor;
        self.len += 1;
    }

    fn share(&mut self, runs: &Runs<'_>, index: Option<u8>, (size, entry_max): (usize, usize)) {
        let cursors = &mut self.cursors[..usize::from(self.len)];
        let weight = |cursor: &Cursor| {
            let slot = usize::from(cursor.slot);
            let units = match index {
                Some(index) => runs.section(slot, index).units,
                None => runs.run(slot).units,
            };
            u64::from(units + 1).isqrt() + 1
        };
        let all: u64 = cursors.iter().map(weight).sum();
        let spare = size - cursors.len() * WINDOW_MIN;
        // An entry that may not end in a window begins the next one.
        let common = entry_max - 1;
        debug_assert!(common < WINDOW_MIN, "a window holds an entry and more");
        let mut at = 0;
        for cursor in cursors {
            let more = spare as u64 * weight(cursor) / all.max(1);
            // A unit is a whole number of windows: a remainder would cost another read.
            let reads = (CELL_DATA - common).div_ceil(WINDOW_MIN + more as usize - common);
            let size = common + (CELL_DATA - common).div_ceil(reads);
            (cursor.at, cursor.size) = (at as u16, size as u16);
            at += size;
        }
        assert!(at <= size, "the windows fit their memory");
    }
}

/// A merge of inputs.
pub(crate) struct Merge<'a, 'm, N> {
    pub(crate) reading: Reading<'a, 'm, N>,
    pub(crate) runs: &'a Runs<'a>,
    pub(crate) shapes: &'a [Shape; INDEX_MAX],
    pub(crate) inputs: &'a mut Inputs,
    pub(crate) windows: &'a mut [u8],
    pub(crate) group: &'a mut Group,
    pub(crate) drops: Drops,
    /// The index that is merged; None for all of them.
    pub(crate) index: Option<u8>,
    /// How many of 256 entries have different codes, for each index.
    pub(crate) distinct: &'a [u16; INDEX_MAX],
    /// The last entry written before the inputs were opened; None where there was none.
    pub(crate) resume: &'a mut Option<Position>,
    /// The last entry that was written.
    pub(crate) done: &'a mut Position,
    pub(crate) reads_max: u32,
    /// Which blocks of rows there are: entries of others are dropped.
    pub(crate) blocks: &'a RowBlocks,
}

impl<N: Nand> Merge<'_, '_, N> {
    /// Decode the next entry of every input; false where that would take more reads than are
    /// allowed.
    #[inline(never)]
    fn ready(&mut self) -> Result<bool, StoreError> {
        for at in 0..usize::from(self.inputs.len) {
            while !matches!(self.inputs.cursors[at].stage, Stage::Ready | Stage::Done) {
                if self.reading.reads >= self.reads_max {
                    return Ok(false);
                }
                self.advance(at)?;
            }
        }
        Ok(true)
    }

    /// Read on in windows that are half empty, so that the next page takes fewer reads.
    #[inline(never)]
    pub(crate) fn prefetch(&mut self) -> Result<(), StoreError> {
        for at in 0..usize::from(self.inputs.len) {
            let mut cursor = self.inputs.cursors[at];
            let end = usize::from(cursor.base + cursor.len);
            let left = end.saturating_sub(cursor.reader.byte());
            let is_within = matches!(cursor.stage, Stage::Ready | Stage::Next);
            let has_more = end < usize::from(cursor.payload) && left < usize::from(cursor.len) / 2;
            if is_within && has_more && self.reading.reads < self.reads_max {
                let run = self.runs.run(usize::from(cursor.slot));
                let byte = cursor.reader.byte();
                self.load(&mut cursor, &run, byte)?;
                self.inputs.cursors[at] = cursor;
            }
        }
        Ok(())
    }

    /// Do the next step with an input. Cost: at most one read.
    fn advance(&mut self, at: usize) -> Result<(), StoreError> {
        let mut cursor = self.inputs.cursors[at];
        match cursor.stage {
            Stage::Closed => self.open(&mut cursor)?,
            Stage::Unit if cursor.unit >= cursor.end => self.turn(&mut cursor),
            Stage::Unit => {
                let run = self.runs.run(usize::from(cursor.slot));
                let shape = self.shapes[usize::from(cursor.index)];
                if run.section(cursor.index).is_fence(cursor.unit, shape) {
                    cursor.unit += 1;
                    self.inputs.cursors[at] = cursor;
                    return Ok(());
                }
                self.load(&mut cursor, &run, 0)?;
                let header = Header::parse(&self.windows[window(&cursor)], shape);
                let header = header.ok_or_else(|| self.reading.malformed(&run, cursor.unit))?;
                cursor.reader = UnitReader::new(&header, shape);
                cursor.stage = Stage::Next;
            }
            Stage::Next if cursor.reader.is_done() => {
                cursor.unit += 1;
                cursor.stage = Stage::Unit;
            }
            Stage::Next => self.decode(&mut cursor)?,
            Stage::Ready | Stage::Done => {}
        }
        self.inputs.cursors[at] = cursor;
        Ok(())
    }

    /// Find the unit of an input in which the merge goes on.
    fn open(&mut self, cursor: &mut Cursor) -> Result<(), StoreError> {
        let run = &self.runs.run(usize::from(cursor.slot));
        let from = self.resume.filter(|from| from.index >= cursor.index);
        cursor.index = from.map_or(cursor.index, |from| from.index);
        let section = run.section(cursor.index);
        (cursor.unit, cursor.end) = (section.start, section.start + section.units);
        cursor.stage = Stage::Unit;
        let Some(from) = from else { return Ok(()) };
        let shape = self.shapes[usize::from(cursor.index)];
        let mut seek =
            self.inputs.seek.unwrap_or_else(|| Seek::new(run, cursor.index, from.code, shape));
        if seek.step(&mut self.reading, run, shape)? {
            cursor.unit = seek.unit();
            self.inputs.seek = None;
        } else {
            self.inputs.seek = Some(seek);
            cursor.stage = Stage::Closed;
        }
        Ok(())
    }

    /// Go on with the section of the next index, if there is one and it is merged.
    fn turn(&self, cursor: &mut Cursor) {
        let run = self.runs.run(usize::from(cursor.slot));
        let next = (cursor.index + 1..INDEX_MAX as u8)
            .find(|&next| self.index.is_none() && run.section(next).units > 0);
        cursor.stage = if next.is_some() { Stage::Unit } else { Stage::Done };
        if let Some(next) = next {
            let section = run.section(next);
            cursor.index = next;
            (cursor.unit, cursor.end) = (section.start, section.start + section.units);
        }
    }

    fn decode(&mut self, cursor: &mut Cursor) -> Result<(), StoreError> {
        let byte = cursor.reader.byte();
        let end = usize::from(cursor.base + cursor.len);
        let shape = self.shapes[usize::from(cursor.index)];
        if byte + entry_size_max(shape) > end && end < usize::from(cursor.payload) {
            let run = self.runs.run(usize::from(cursor.slot));
            return self.load(cursor, &run, byte);
        }
        let bytes = &self.windows[window(cursor)];
        let stepped = cursor.reader.advance(bytes, usize::from(cursor.base), shape);
        if stepped == Err(Malformed) {
            let run = self.runs.run(usize::from(cursor.slot));
            return Err(self.reading.malformed(&run, cursor.unit));
        }
        cursor.stage = Stage::Ready;
        Ok(())
    }

    /// Fill an input's window with the bytes of its unit from byte `base` on. Cost: one read.
    fn load(&mut self, cursor: &mut Cursor, run: &Run, base: usize) -> Result<(), StoreError> {
        let payload = self.reading.unit(run, cursor.unit)?;
        let base = base.min(payload.len());
        let len = usize::from(cursor.size).min(payload.len() - base);
        self.windows[usize::from(cursor.at)..][..len].copy_from_slice(&payload[base..base + len]);
        debug_assert!(base + len <= payload.len(), "the window lies in its unit");
        (cursor.base, cursor.len) = (base as u16, len as u16);
        cursor.payload = payload.len() as u16;
        Ok(())
    }

    /// The input with the least entry. Of several with the same entry it is the newest.
    fn least(&self) -> Option<(usize, Entry)> {
        let cursors = self.inputs.cursors[..usize::from(self.inputs.len)].iter();
        let heads = cursors.enumerate().filter(|(_, cursor)| cursor.stage == Stage::Ready);
        let heads = heads.map(|(at, cursor)| (at, cursor.reader.entry(cursor.index)));
        heads.min_by_key(|(at, entry)| (self.rank(entry), *at))
    }

    fn rank(&self, entry: &Entry) -> (u8, u64, u32) {
        let is_unique = self.shapes[usize::from(entry.index)].is_unique;
        (entry.index, entry.code, if is_unique { 0 } else { entry.pointer })
    }

    /// Whether the entry was already written when the inputs were opened.
    fn was_given(&self, entry: &Entry) -> bool {
        let is_unique = self.shapes[usize::from(entry.index)].is_unique;
        self.resume.is_some_and(|from| {
            let place = (from.index, from.code);
            if (entry.index, entry.code) != place {
                return (entry.index, entry.code) < place;
            }
            if is_unique { self.group.passed < from.given } else { entry.pointer <= from.pointer }
        })
    }

    fn pass(&mut self, at: usize, entry: &Entry, fate: Fate) {
        self.group.note(entry, fate);
        self.inputs.cursors[at].stage = Stage::Next;
    }

    fn fate(&self, at: usize, entry: &Entry) -> Fate {
        let shape = self.shapes[usize::from(entry.index)];
        let is_gone = !self.blocks.hold(entry.pointer);
        if self.is_pair(at, entry) {
            return Fate::Goes;
        }
        self.group.fate(entry, shape, self.drops, is_gone)
    }

    /// Whether a take-back and the entry that it cancels are next to each other: both may be
    /// dropped.
    fn is_pair(&self, at: usize, entry: &Entry) -> bool {
        let cursors = self.inputs.cursors[..usize::from(self.inputs.len)].iter();
        let mut older = cursors.skip(at + 1).filter(|cursor| cursor.stage == Stage::Ready);
        let shape = self.shapes[usize::from(entry.index)];
        entry.is(TAKE_BACK)
            && !shape.is_unique
            && !self.drops.keeps_all
            && older.any(|cursor| {
                let old = cursor.reader.entry(cursor.index);
                old.index == entry.index && key(&old) == key(entry)
            })
    }
}

fn window(cursor: &Cursor) -> core::ops::Range<usize> {
    debug_assert!(cursor.len <= cursor.size, "a window has its size");
    let at = usize::from(cursor.at);
    at..at + usize::from(cursor.len)
}

impl<N: Nand> Source for Merge<'_, '_, N> {
    #[inline(never)]
    fn peek(&mut self) -> Result<Next, StoreError> {
        loop {
            if !self.ready()? {
                return Ok(Next::Pause);
            }
            let Some((at, entry)) = self.least() else { return Ok(Next::End) };
            self.group.turn_to(&entry);
            let fate = self.fate(at, &entry);
            let was_given = self.was_given(&entry);
            if fate == Fate::Stays && !was_given {
                *self.resume = None;
                return Ok(Next::Entry(self.group.waiting().unwrap_or(entry)));
            }
            self.pass(at, &entry, if was_given { Fate::Stays } else { fate });
        }
    }

    fn pop(&mut self) {
        let Some((at, entry)) = self.least() else { unreachable!("an entry was seen") };
        if let Some(Entry { index, code, pointer, .. }) = self.group.waiting() {
            let given = self.group.release();
            *self.done = Position { index, code, pointer, given };
            return;
        }
        self.pass(at, &entry, Fate::Stays);
        let Entry { index, code, pointer, .. } = entry;
        *self.done = Position { index, code, pointer, given: self.group.passed };
    }

    #[inline(never)]
    fn estimate(&self, index: u8) -> Estimate {
        let is_input = |head: Head| head.is(IN_JOB) && head.serves(index);
        let marked = self.runs.heads().filter(|(_, head)| is_input(*head));
        let mut all = Estimate { least: u64::MAX, ..Estimate::default() };
        for (slot, head) in marked.clone() {
            let run = self.runs.run(slot);
            let section = run.section(index);
            all.entries += section.entries;
            all.flags |= head.flags;
            let share = u64::from(self.distinct[usize::from(index)]);
            all.distinct += if head.is_recent() {
                (u64::from(section.entries) * share / 256) as u32
            } else {
                run.distinct
            };
            all.least = all.least.min(section.least);
            all.greatest = all.greatest.max(section.greatest);
        }
        // A code may have more take-backs than can be remembered: then they are kept.
        let shape = self.shapes[usize::from(index)];
        let may_stay = shape.is_unique && all.flags & TAKE_BACK != 0;
        // A tombstone is kept where shared entries of its code are.
        let drops_all = self.drops.is_bottom && !self.drops.keeps_all && !may_stay;
        let flags = if drops_all && all.flags & SHARED == 0 { 0 } else { all.flags };
        let distinct = all.distinct.clamp(1, all.entries.max(1));
        let sections = marked.map(|(slot, _)| self.runs.section(slot, index));
        let is_even = shape.is_ordered() && meet_evenly(sections, &all);
        Estimate { distinct, flags, is_even, ..all }
    }
}
