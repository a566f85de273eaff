//! The tail: rows that are not on a page yet.
//!
//! 1. A row is in the tail as a whole: none begins on a page and ends in the tail.
//! 2. Committed rows come first, then those of the open transaction.
//! 3. Rows give their commit relative to `base`, which goes into the header of the page.
//! 4. New rows and the rows of each ring are *parts* of the tail. Rows of all parts stand in the
//!    order in which they were appended, and a part becomes a page of its own. The place of a row
//!    is that within its part.

use crate::bytes::array;
use crate::media::{CELL_SIZE, Layout, Space, clear, note_first};
use crate::row::{Encoder, RowView, Schema, Summary};

/// Number of parts: one for new rows, and one for each possible ring.
pub(crate) const PARTS: usize = 1 + Space::RINGS.len();
/// The space to which each part goes.
pub(crate) const PART_SPACES: [Space; PARTS] = [Space::Hot, Space::RingA, Space::RingB];

/// The part that goes to a space.
pub(crate) const fn part_of(space: Space) -> usize {
    match space {
        Space::Hot | Space::Cold | Space::Young | Space::Old => 0,
        Space::RingA => 1,
        Space::RingB => 2,
    }
}

/// The rows of all tables that are not programmed yet.
#[derive(Debug)]
pub(crate) struct Tail<'ram> {
    bytes: &'ram mut [u8],
    len: usize,
    committed: usize,
    /// The commit relative to which rows give theirs: the next one when the first row came.
    base: u32,
    /// How far commits had come when the first row of each part came; None where that is not known.
    starts: [Option<Moment>; PARTS],
    /// Number of bytes in each part.
    lens: [usize; PARTS],
    /// A bit in each part for each table whose rows go to it.
    tables: [u16; PARTS],
}

impl<'ram> Tail<'ram> {
    /// An empty tail. `bytes` has the size of a page's payload.
    pub(crate) fn new(bytes: &'ram mut [u8], schema: &Schema<'_>) -> Self {
        let mut tables = [u16::MAX, 0, 0];
        for (part, (table, _)) in (1..PARTS).zip(schema.rings()) {
            tables[part] = 1 << table;
            tables[0] &= !(1 << table);
        }
        Self {
            bytes,
            len: 0,
            committed: 0,
            base: 0,
            starts: [None; PARTS],
            lens: [0; PARTS],
            tables,
        }
    }

    /// The rows of all parts, in the order in which they were appended.
    pub(crate) fn rows(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// The committed rows.
    pub(crate) fn committed(&self) -> &[u8] {
        &self.bytes[..self.committed]
    }

    /// The space to which rows of a table go.
    pub(crate) fn space_of(&self, table: u8) -> Space {
        let part = self.tables.iter().position(|tables| tables >> table & 1 != 0);
        debug_assert!(part.is_some(), "each table is in one part");
        PART_SPACES[part.unwrap_or(0)]
    }

    /// A bit for each table whose rows go to a space.
    pub(crate) const fn tables_of(&self, space: Space) -> u16 {
        self.tables[part_of(space)]
    }

    /// Bytes of the rows that go to a space.
    pub(crate) const fn len_of(&self, space: Space) -> usize {
        self.lens[part_of(space)]
    }

    /// Bytes of the committed rows that go to a space.
    pub(crate) fn committed_of(&self, space: Space) -> usize {
        let mut rows = self.part(space);
        let mut len = 0;
        while let Some((at, row)) = rows.next() {
            len += if at < self.committed { row.len() } else { 0 };
        }
        len
    }

    /// The space of the longest part.
    pub(crate) fn longest(&self) -> Space {
        let mut most = Space::Hot;
        for space in PART_SPACES {
            most = if self.len_of(space) > self.len_of(most) { space } else { most };
        }
        most
    }

    /// The rows that go to a space, each with the byte of the tail at which it begins.
    pub(crate) fn part(&self, space: Space) -> PartRows<'_> {
        PartRows { rows: Rows::new(self.rows()), tables: self.tables_of(space) }
    }

    /// Finds the row at place `place` of a part, or the next one behind: the byte of the tail at
    /// which it begins, and its own place.
    pub(crate) fn find(&self, space: Space, place: usize) -> Option<(usize, usize)> {
        let (mut rows, mut passed) = (self.part(space), 0);
        while let Some((at, row)) = rows.next() {
            if passed >= place {
                return Some((at, at + row.len()));
            }
            passed += row.len();
        }
        None
    }

    /// The commit relative to which the rows give theirs.
    pub(crate) const fn base(&self) -> u32 {
        self.base
    }

    /// How far commits had come when the first row of a part came; None where that is not known.
    pub(crate) const fn start(&self, space: Space) -> Option<Moment> {
        self.starts[part_of(space)]
    }

    /// Note that a row is about to be put into a part.
    pub(crate) fn note_start(&mut self, space: Space, moment: Moment) {
        if self.len_of(space) == 0 {
            self.starts[part_of(space)] = Some(moment);
        }
    }

    /// Bytes that are still free.
    pub(crate) const fn room(&self) -> usize {
        self.bytes.len() - self.len
    }

    /// The commit relative to which the next row, of commit `commit`, has to give its own.
    pub(crate) const fn base_for(&self, commit: u32) -> u32 {
        if self.len == 0 { commit } else { self.base }
    }

    /// Add a row that fits; returns the byte of its part at which it begins.
    pub(crate) fn push(&mut self, row: &mut Encoder<'_>, commit: u32, space: Space) -> usize {
        let len = row.remaining();
        assert!(len <= self.room(), "the row fits the tail");
        self.base = self.base_for(commit);
        let at = self.len;
        let written = row.fill(&mut self.bytes[at..at + len]);
        debug_assert_eq!(written, len, "a row is written whole");
        debug_assert_eq!(
            table_of(&self.bytes[at..]).map(|table| self.space_of(table)),
            Some(space),
            "the row is one of the part"
        );
        self.len += len;
        let place = self.lens[part_of(space)];
        self.lens[part_of(space)] += len;
        debug_assert!(self.is_sound(), "the row is counted");
        place
    }

    /// Make all rows committed.
    pub(crate) const fn commit(&mut self) {
        debug_assert!(self.committed <= self.len, "what is committed stays so");
        self.committed = self.len;
    }

    /// Remove the rows of the open transaction.
    pub(crate) fn roll_back(&mut self) {
        self.len = self.committed;
        self.recount();
        debug_assert!(self.is_sound(), "committed rows are whole");
    }

    /// Cut each part to this number of bytes.
    pub(crate) fn retain(&mut self, lens: [usize; PARTS]) {
        debug_assert!(self.is_sound(), "the tail has whole rows of its parts");
        let (mut from, mut to, mut committed) = (0, 0, 0);
        let mut passed = [0; PARTS];
        while from < self.len {
            let Ok(len) = crate::row::row_len(&self.bytes[from..self.len]) else { break };
            let table = table_of(&self.bytes[from..self.len]).unwrap_or(0);
            let part = part_of(self.space_of(table));
            if passed[part] < lens[part] {
                self.bytes.copy_within(from..from + len, to);
                to += len;
                committed += if from < self.committed { len } else { 0 };
            }
            passed[part] += len;
            from += len;
        }
        debug_assert_eq!(from, self.len, "the tail has whole rows");
        debug_assert!(committed <= to && to <= self.len, "rows only go");
        (self.len, self.committed) = (to, committed);
        self.recount();
        debug_assert!(self.is_sound(), "whole rows stay");
    }

    /// Remove the rows that go to a space, as they are on a page.
    pub(crate) fn remove(&mut self, space: Space) {
        let mut lens = self.lens;
        lens[part_of(space)] = 0;
        self.retain(lens);
        debug_assert_eq!(self.len_of(space), 0, "they are here no more");
    }

    /// Put rows of a page back into the tail. The first `committed` bytes of them are committed.
    /// False where they do not fit, or are not rows.
    pub(crate) fn put_back(&mut self, bytes: &[u8], base: u32, committed: usize) -> bool {
        debug_assert!(committed <= bytes.len(), "the rows are there");
        if bytes.len() > self.room() || bytes.is_empty() {
            return bytes.is_empty();
        }
        self.base = self.base_for(base);
        self.bytes.copy_within(self.committed..self.len, self.committed + committed);
        self.bytes[self.committed..][..committed].copy_from_slice(&bytes[..committed]);
        let open = bytes.len() - committed;
        self.bytes[self.len + committed..][..open].copy_from_slice(&bytes[committed..]);
        self.len += bytes.len();
        self.committed += committed;
        self.base == base && self.recount()
    }

    /// The memory of the tail, to be filled with committed rows before [`Tail::restore`].
    pub(crate) const fn memory(&mut self) -> &mut [u8] {
        self.bytes
    }

    /// Take the first `len` bytes of the memory as committed rows; false where they are not rows.
    pub(crate) fn restore(&mut self, len: usize, base: u32) -> bool {
        assert!(len <= self.bytes.len(), "the rows fit the memory");
        (self.len, self.committed, self.base) = (len, len, base);
        self.starts = [None; PARTS];
        self.recount()
    }

    /// Whether the lengths agree with each other.
    fn is_sound(&self) -> bool {
        let all: usize = self.lens.iter().sum();
        self.committed <= self.len && self.len <= self.bytes.len() && all == self.len
    }

    /// Count the bytes of each part; false where the bytes are not rows.
    fn recount(&mut self) -> bool {
        let mut lens = [0; PARTS];
        let mut rows = Rows::new(&self.bytes[..self.len]);
        while let Some((_, row)) = rows.next() {
            let part = table_of(row).map_or(0, |table| part_of(self.space_of(table)));
            lens[part] += row.len();
        }
        let is_whole = rows.is_whole();
        for (start, len) in self.starts.iter_mut().zip(lens) {
            *start = start.filter(|_| len > 0);
        }
        self.lens = lens;
        if self.len == 0 {
            self.base = 0;
        }
        is_whole
    }

    /// Copy the rows that go to a space to the frame of a page. Returns the page's summary, and the
    /// greatest commit of a row.
    pub(crate) fn compose(
        &self,
        frame: &mut [u8],
        layout: Layout,
        (schema, space): (&Schema<'_>, Space),
    ) -> (Summary, u32) {
        debug_assert!(self.is_sound(), "what is to be programmed is counted");
        debug_assert_eq!(frame.len(), layout.page_size(), "a page is programmed whole");
        clear(frame);
        let (mut summary, mut newest) = (Summary::EMPTY, 0);
        let (mut rows, mut at) = (self.part(space), 0);
        while let Some((_, row)) = rows.next() {
            layout.put(frame, at, row);
            let (cell, place) = layout.place(at);
            note_first(&mut frame[cell * CELL_SIZE..][..CELL_SIZE], place);
            at += row.len();
            let view = RowView::parse(schema, row, u64::from(self.base));
            debug_assert!(view.is_ok(), "what was put into the tail is a row");
            if let Ok(view) = view {
                debug_assert!(
                    self.tables_of(space) >> view.head.table & 1 == 1,
                    "the row is one of the space"
                );
                summary.add(view.head.table, view.zone().unwrap_or(None));
                newest = newest.max(view.commit as u32);
            }
        }
        debug_assert_eq!(at, self.len_of(space), "the page has the part");
        if let (Some(place), Some(start)) = (moment_place(layout, at), self.start(space)) {
            layout.put(frame, place, &start.emit());
        }
        (summary, newest)
    }
}

/// Bytes of a [`Moment`] on a page.
pub(crate) const MOMENT_SIZE: usize = 8 + 4;

/// How far commits had come at a time of the clock: all before `commit` were done by then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moment {
    pub(crate) time: u64,
    pub(crate) commit: u32,
}

impl Moment {
    fn emit(self) -> [u8; MOMENT_SIZE] {
        let mut bytes = [0; MOMENT_SIZE];
        bytes[..8].copy_from_slice(&self.time.to_le_bytes());
        bytes[8..].copy_from_slice(&self.commit.to_le_bytes());
        bytes
    }

    /// Read the moment of a page; None where the page has none.
    pub(crate) fn parse(bytes: &[u8; MOMENT_SIZE]) -> Option<Self> {
        let time = u64::from_le_bytes(array(&bytes[..8]));
        let commit = u32::from_le_bytes(array(&bytes[8..]));
        (commit > 0).then_some(Self { time, commit })
    }
}

/// Where on a page the moment stands at which its first row came, if rows take `used` bytes; None
/// where there is no room for it. A zero stands in front of it, as a sign that no row begins there.
pub(crate) const fn moment_place(layout: Layout, used: usize) -> Option<usize> {
    let place = layout.payload_size() - MOMENT_SIZE;
    if used < place { Some(place) } else { None }
}

/// The table of the row that begins with these bytes; None where no row does.
pub(crate) fn table_of(row: &[u8]) -> Option<u8> {
    let head = row.iter().position(|byte| byte & 0x80 == 0)? + 1;
    row.get(head).map(|head| head & 0x0F)
}

/// The rows of a part of the tail, one by one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PartRows<'a> {
    rows: Rows<'a>,
    tables: u16,
}

impl<'a> PartRows<'a> {
    /// The next row, and the byte of the tail at which it begins; None behind the last.
    pub(crate) fn next(&mut self) -> Option<(usize, &'a [u8])> {
        loop {
            let (at, row) = self.rows.next()?;
            if table_of(row).is_some_and(|table| self.tables >> table & 1 != 0) {
                return Some((at, row));
            }
        }
    }
}

/// Rows that follow each other in some bytes, one by one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rows<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Rows<'a> {
    /// The rows of `bytes`, the first of which begins at byte 0.
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// The rows from byte `at` on, at which a row has to begin.
    pub(crate) const fn from(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes, at }
    }

    /// The byte at which the next row begins.
    pub(crate) const fn at(&self) -> usize {
        self.at
    }

    /// Whether the rows end exactly where the bytes end.
    pub(crate) const fn is_whole(&self) -> bool {
        self.at == self.bytes.len()
    }

    /// The next row that lies in the bytes as a whole, and where it begins; None where there is
    /// none.
    pub(crate) fn next(&mut self) -> Option<(usize, &'a [u8])> {
        let rest = self.bytes.get(self.at..)?;
        let len = crate::row::row_len(rest).ok()?;
        let row = rest.get(..len)?;
        let at = self.at;
        self.at += len;
        Some((at, row))
    }

    /// Where the next row begins, and where it ends, which may be behind the bytes.
    pub(crate) fn next_front(&self) -> Option<(usize, usize)> {
        let len = crate::row::row_len(self.bytes.get(self.at..)?).ok()?;
        Some((self.at, (self.at + len).min(self.bytes.len())))
    }
}
