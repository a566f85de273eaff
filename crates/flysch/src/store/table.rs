//! The table of runs: what RAM holds about each run, in as few bytes as possible.
//!
//! ```text
//! run      length | marks | Bloom filter 2 | body
//! body     level | index, or a bit for each that it serves | flags 4, splitters 1, pieces 3
//!          | a bit for each even index
//!          | (first, count) … | units | entries | distinct | pointers | plan or sections
//! pointers least | greatest - least
//! plan     units planned [ | least | greatest - least ] [ | count | splitter 2 … ]
//!                                      of a level; codes and splitters if they are keys
//! section  entries [ | planned | units [ | least | greatest - least ] ]
//!                                      of a recent run, one for each index; codes if they are keys
//! ```
//!
//! Marks, levels, counts, plans and units of sections are bytes, the size of the Bloom filter is a
//! u16, other numbers are varints. The body is the same in the state of a log record.
//!
//! 1. Level runs come first, in any order. Recent runs follow, the oldest first.

use super::bytes::{Parser, Writer};
use super::config::StoreConfig;
use super::entry::INDEX_MAX;
use super::run::{EXTENTS_MAX, Extent, Head, Run, Section};
use crate::bytes::array;
use crate::row::varint;

/// Greatest number of recent runs that exist at a time.
pub(crate) const RECENTS_MAX: usize = 12;
/// Greatest number of levels of an index.
pub(crate) const LEVELS_MAX: usize = 4;
/// Greatest number of sources of an index: segments of the memory table, recent runs, levels.
pub(crate) const SOURCES_MAX: usize = 2 + RECENTS_MAX + LEVELS_MAX;
/// Bytes in front of the body.
pub(crate) const FRONT: usize = 4;
/// In the byte of flags: the number of pieces, and whether splitters follow the plan.
const PIECES: u8 = 7;
const HAS_SPLITTERS: u8 = 8;
const _: () = assert!(EXTENTS_MAX <= PIECES as usize);
/// Greatest number of bytes of a run in the table.
const RECORD_MAX: usize = 255;

/// The facts on which the encoding of a run depends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Form {
    pub(crate) index_count: u8,
    /// A bit for each index, set where its codes are ordered keys.
    pub(crate) keys: u8,
}

impl Form {
    /// Write the body of a run.
    pub(crate) fn emit(self, run: &Run, out: &mut Writer<'_>) {
        let Head { level, indexes, flags, .. } = run.head;
        out.byte(level);
        out.byte(indexes);
        let has_splitters = if run.splitters.is_some() { HAS_SPLITTERS } else { 0 };
        out.byte(flags << 4 | has_splitters | run.extents().len() as u8);
        out.byte(run.evens);
        for extent in run.extents() {
            out.word(extent.first);
            out.word(extent.count);
        }
        let (least, greatest) = run.pointers;
        for number in [run.units, run.entries, run.distinct, least, greatest.wrapping_sub(least)] {
            out.word(number);
        }
        if !run.head.is_recent() {
            let section = run.section(indexes);
            out.word(section.planned);
            self.emit_bounds(indexes, &section, out);
            return run.emit_splitters(out);
        }
        for index in 0..self.index_count {
            let section = run.section(index);
            out.word(section.entries);
            if section.entries > 0 {
                out.byte(section.planned as u8);
                out.byte(section.units as u8);
                self.emit_bounds(index, &section, out);
            }
        }
    }

    /// Leave out splitters of a run until its body has so many bytes at most.
    #[inline(never)]
    pub(crate) fn fit(self, run: &mut Run, room: usize) {
        let size = |run: &Run| {
            let mut body = [0; RECORD_MAX];
            let mut out = Writer::new(&mut body);
            self.emit(run, &mut out);
            out.at
        };
        while run.splitters.is_some() && size(run) > room {
            run.thin_out();
        }
    }

    fn emit_bounds(self, index: u8, section: &Section, out: &mut Writer<'_>) {
        if self.keys >> index & 1 == 1 {
            out.number(section.least);
            out.number(section.greatest - section.least);
        }
    }

    /// Read the body of a run into an empty one; None where the bytes cannot be one. Whether its
    /// pages exist is not checked.
    #[inline(never)]
    pub(crate) fn parse(self, bytes: &mut Parser<'_>, run: &mut Run) -> Option<()> {
        debug_assert!(run.extents().is_empty(), "nothing was read before");
        let (level, indexes, counts) = (bytes.byte()?, bytes.byte()?, bytes.byte()?);
        run.head = Head { level, indexes, flags: counts >> 4, ..Head::default() };
        let evens = bytes.byte()?;
        for _ in 0..counts & PIECES {
            let extent = Extent { first: bytes.word()?, count: bytes.word()? };
            if extent.count == 0 || !run.add_extent(extent) {
                return None;
            }
        }
        (run.units, run.entries, run.distinct) = (bytes.word()?, bytes.word()?, bytes.word()?);
        let least = bytes.word()?;
        run.pointers = (least, least.wrapping_add(bytes.word()?));
        let has_splitters = counts & HAS_SPLITTERS != 0;
        if run.head.is_recent() {
            (!has_splitters).then_some(())?;
            self.parse_sections(run, bytes)?;
            run.evens = evens;
            // A recent run does not serve an index any more whose entries went to a level.
            let is_served = indexes & !run.head.indexes == 0;
            run.head.indexes = indexes;
            return is_served.then_some(());
        }
        let section = Section { planned: bytes.word()?, ..Section::default() };
        (indexes < self.index_count).then_some(())?;
        let section = self.parse_bounds(indexes, section, bytes)?;
        run.set_section(indexes, &section);
        run.evens = evens;
        if has_splitters { run.parse_splitters(bytes) } else { Some(()) }
    }

    fn parse_sections(self, run: &mut Run, bytes: &mut Parser<'_>) -> Option<()> {
        let (mut entries, mut units) = (0, 0);
        for index in 0..self.index_count {
            let mut section = Section { greatest: u64::MAX, ..Section::default() };
            section.entries = bytes.word()?;
            if section.entries > 0 {
                section.planned = u32::from(bytes.byte()?);
                section.units = u32::from(bytes.byte()?);
                section = self.parse_bounds(index, section, bytes)?;
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

    fn parse_bounds(self, index: u8, section: Section, bytes: &mut Parser<'_>) -> Option<Section> {
        if self.keys >> index & 1 == 0 {
            return Some(Section { greatest: u64::MAX, ..section });
        }
        let least = bytes.number()?;
        let greatest = least.checked_add(bytes.number()?)?;
        Some(Section { least, greatest, ..section })
    }

    /// Greatest number of bytes of a run in a space of `page_count` pages, without its sections and
    /// bounds.
    const fn front_size(page_count: u32, pointer_bits: u8) -> usize {
        let page = varint::len(page_count as u64);
        let pointer = varint::len(1 << pointer_bits);
        FRONT + 4 + EXTENTS_MAX * 2 * page + 3 * COUNT_SIZE + 2 * pointer
    }
}

/// Bytes that a number of entries or units takes at most.
const COUNT_SIZE: usize = 4;
/// Greatest number of bytes of a least and a greatest key: both together have 64 bits and a carry.
pub(crate) const BOUNDS_SIZE: usize = 19;

/// Greatest number of bytes of all level runs. Splitters take what runs leave of it, as few are as
/// long as they can be.
const fn levels_size(config: &StoreConfig) -> usize {
    let front = Form::front_size(config.numbers.page_count(), config.pointer_bits());
    let keys = config.key_level_count() as usize;
    config.level_count() as usize * (front + COUNT_SIZE) + keys * BOUNDS_SIZE
}

/// Greatest number of bytes of a recent run.
pub(crate) const fn recent_size(config: &StoreConfig) -> usize {
    let front = Form::front_size(config.numbers.page_count(), config.pointer_bits());
    let keys = config.form().keys.count_ones() as usize;
    front + config.index_count as usize * 5 + keys * BOUNDS_SIZE
}

/// Number of runs that fit the table if all are as long as they can be.
pub(crate) const fn run_count(config: &StoreConfig) -> usize {
    let recents = (config.table_size - levels_size(config)) / recent_size(config);
    config.level_count() as usize + recents
}

/// Bytes of a table with room for all levels and `recents` recent runs, even if all are as long as
/// they can be.
pub(crate) const fn table_size(config: &StoreConfig, recents: usize) -> usize {
    levels_size(config) + recents * recent_size(config)
}

/// The table of runs. Its memory is the caller's.
#[derive(Debug)]
pub(crate) struct Runs<'ram> {
    bytes: &'ram mut [u8],
    form: Form,
    used: u16,
    len: u8,
    /// Greatest number of bytes of a recent run; below, of all level runs.
    longest: u8,
    reserved: u16,
}

impl<'ram> Runs<'ram> {
    pub(crate) fn new(bytes: &'ram mut [u8], config: &StoreConfig) -> Self {
        let form = config.form();
        let longest = recent_size(config);
        assert!(longest <= RECORD_MAX, "the length of a run is a byte");
        let reserved = levels_size(config) as u16;
        Self { bytes, form, used: 0, len: 0, longest: longest as u8, reserved }
    }

    pub(crate) const fn clear(&mut self) {
        (self.used, self.len) = (0, 0);
    }

    /// The places of the runs in the table.
    pub(crate) const fn slots(&self) -> core::ops::Range<usize> {
        0..self.len as usize
    }

    /// Recent runs that certainly still fit, even if they and the levels become as long as they
    /// can.
    pub(crate) fn room(&self) -> usize {
        let recents = self.recents().map(|(slot, _)| self.size_of(slot));
        let (count, size) = recents.fold((0, 0), |(count, all), size| (count + 1, all + size));
        let left = self.bytes.len() - usize::from(self.reserved);
        let fitting = left.saturating_sub(size) / usize::from(self.longest);
        fitting.min(RECENTS_MAX.saturating_sub(count))
    }

    fn offset(&self, slot: usize) -> usize {
        debug_assert!(slot <= usize::from(self.len), "runs follow each other");
        (0..slot).fold(0, |at, _| at + usize::from(self.bytes[at]))
    }

    /// Bytes of a run in the table.
    fn size_of(&self, slot: usize) -> usize {
        usize::from(self.bytes[self.offset(slot)])
    }

    /// The head of a run.
    pub(crate) fn head(&self, slot: usize) -> Head {
        self.head_at(self.offset(slot))
    }

    fn head_at(&self, at: usize) -> Head {
        let bytes: [u8; 7] = array(&self.bytes[at..at + 7]);
        Head {
            level: bytes[4],
            indexes: bytes[5],
            marks: bytes[1],
            flags: bytes[6] >> 4,
            bloom_size: u16::from_le_bytes([bytes[2], bytes[3]]),
        }
    }

    /// The heads of all runs with their places, in the order of the table.
    pub(crate) fn heads(&self) -> impl Iterator<Item = (usize, Head)> + Clone + '_ {
        let mut at = 0;
        self.slots().map(move |slot| {
            let head = self.head_at(at);
            at += usize::from(self.bytes[at]);
            (slot, head)
        })
    }

    /// The heads and places of the recent runs, the oldest first.
    pub(crate) fn recents(&self) -> impl Iterator<Item = (usize, Head)> + '_ {
        self.heads().filter(|(_, head)| head.is_recent())
    }

    pub(crate) fn run(&self, slot: usize) -> Run {
        let mut run = Run::EMPTY;
        let body = &mut Parser { bytes: self.body(slot) };
        let Some(()) = self.form.parse(body, &mut run) else {
            unreachable!("a run was listed here")
        };
        run.head = self.head(slot);
        run
    }

    /// The part of a run that holds an index.
    #[inline(never)]
    pub(crate) fn section(&self, slot: usize, index: u8) -> Section {
        self.run(slot).section(index)
    }

    /// Number of entries of a run.
    #[inline(never)]
    pub(crate) fn entries(&self, slot: usize) -> u32 {
        self.run(slot).entries
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Run> + '_ {
        self.slots().map(|slot| self.run(slot))
    }

    /// The body of a run, encoded as in the state.
    pub(crate) fn body(&self, slot: usize) -> &[u8] {
        let at = self.offset(slot);
        &self.bytes[at + FRONT..at + usize::from(self.bytes[at])]
    }

    /// The place of the run that is a level of an index; None where the level is empty.
    pub(crate) fn level(&self, index: u8, level: u8) -> Option<usize> {
        let is_wanted = |head: Head| head.level == level && head.indexes == index;
        self.heads().find(|(_, head)| is_wanted(*head)).map(|(slot, _)| slot)
    }

    /// Change the head of a run. Its level stays.
    pub(crate) fn set_head(&mut self, slot: usize, head: Head) {
        let at = self.offset(slot);
        debug_assert!(self.bytes[at + 4] == head.level, "a run keeps its level");
        debug_assert!(self.bytes[at + 6] >> 4 == head.flags, "a run keeps its flags");
        self.bytes[at + 1] = head.marks;
        self.bytes[at + 2..at + 4].copy_from_slice(&head.bloom_size.to_le_bytes());
        self.bytes[at + 5] = head.indexes;
    }

    /// Change the heads of all runs.
    pub(crate) fn change(&mut self, change: impl Fn(&mut Head)) {
        for slot in self.slots() {
            let mut head = self.head(slot);
            change(&mut head);
            self.set_head(slot, head);
        }
    }

    /// Insert a run at a place of the table. A level keeps as many of its splitters as there is
    /// room for.
    pub(crate) fn insert(&mut self, slot: usize, run: &mut Run) {
        if !run.head.is_recent() {
            let room = usize::from(self.reserved).saturating_sub(self.levels_used());
            self.form.fit(run, room.saturating_sub(FRONT));
        }
        let at = self.offset(slot);
        let used = usize::from(self.used);
        assert!(used + FRONT < self.bytes.len(), "merges end before the table is full");
        // The run is written behind the others, then rotated to its place.
        debug_assert!(slot <= usize::from(self.len), "runs follow each other");
        debug_assert!(run.entries > 0 && run.units > 0, "what is listed holds something");
        let mut out = Writer::new(&mut self.bytes[used..]);
        out.byte(0);
        out.byte(run.head.marks);
        out.copy(&run.head.bloom_size.to_le_bytes());
        self.form.emit(run, &mut out);
        let len = out.at;
        self.bytes[used] = len as u8;
        debug_assert!(len <= RECORD_MAX, "the length of a run is a byte");
        self.bytes[at..used + len].rotate_right(len);
        self.used += len as u16;
        self.len += 1;
    }

    /// Bytes of the level runs.
    fn levels_used(&self) -> usize {
        let levels = self.heads().filter(|(_, head)| !head.is_recent());
        levels.map(|(slot, _)| self.size_of(slot)).sum()
    }

    pub(crate) fn remove(&mut self, slot: usize) {
        let at = self.offset(slot);
        let len = usize::from(self.bytes[at]);
        debug_assert!(slot < usize::from(self.len), "the run is listed");
        debug_assert!(at + len <= usize::from(self.used), "its bytes are in use");
        self.bytes.copy_within(at + len..usize::from(self.used), at);
        self.used -= len as u16;
        self.len -= 1;
    }
}

const _: () = assert!(INDEX_MAX == 8, "the indexes of a run are the bits of a byte");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_come_back_and_keep_their_order() {
        let mut memory = [0; 500];
        let form = Form { index_count: 3, keys: 0b100 };
        let mut runs =
            Runs { bytes: &mut memory, form, used: 0, len: 0, longest: 120, reserved: 60 };
        let mut recent = Run::recent(5);
        let section = Section {
            entries: 7,
            planned: 1,
            units: 2,
            least: 9,
            greatest: u64::MAX - 5,
            start: 0,
            is_even: true,
            is_fenced: false,
        };
        assert!(recent.set_section(2, &section));
        (recent.units, recent.entries, recent.pointers) = (2, 7, (3, 70_000));
        let mut level = Run::of_level(1, 2, 0);
        assert!(level.add_extent(Extent { first: 9000, count: 777 }));
        (level.units, level.entries, level.distinct) = (3000, 100_000, 999);
        runs.insert(0, &mut recent);
        runs.insert(0, &mut level);
        recent.head.bloom_size = 513;
        recent.head.marks = 1;
        runs.insert(1, &mut recent);
        assert_eq!(runs.run(0), level);
        assert_eq!(runs.run(1), recent);
        assert_eq!(runs.run(2).head.bloom_size, 0);
        assert_eq!((runs.level(1, 2), runs.level(1, 1)), (Some(0), None));
        assert_eq!(runs.room(), 3);
        runs.remove(1);
        runs.change(|head| head.marks |= 4);
        assert!(runs.heads().all(|(_, head)| head.marks == 4));
        assert!(runs.run(1).head.is_recent());
    }

    #[test]
    fn a_level_has_the_splitters_for_which_there_is_room() {
        let form = Form { index_count: 1, keys: 1 };
        let mut level = Run::of_level(0, 1, 0);
        (level.units, level.entries, level.splitters) = (400, 9000, Some(0));
        (0..=14).for_each(|group| level.note_group(group, u64::from(group) << 20));
        for (reserved, count) in [(99, Some(14)), (50, Some(7)), (40, Some(3)), (0, None)] {
            let mut memory = [0; 200];
            let mut runs =
                Runs { bytes: &mut memory, form, used: 0, len: 0, longest: 60, reserved };
            runs.insert(0, &mut { level });
            assert_eq!(runs.run(0).splitters, count);
            let used = runs.levels_used();
            assert!(used <= usize::from(reserved) || count.is_none(), "{used} of {reserved}");
        }
    }
}
