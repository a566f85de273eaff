//! The tail: rows that are on no page yet.
//!
//! 1. Rows are whole: none begins on a page and ends in the tail.
//! 2. What is committed comes first; the rest belongs to the transaction under way.
//! 3. The commit numbers of its rows are told against `base`, which goes into the page's header.
//! 4. New rows and those of each ring are *parts* of the tail: they stand in the order in which
//!    they came, and a part becomes a page of its own. A row's place is that in its part.

use crate::bytes::array;
use crate::media::{CELL_SIZE, Layout, Space, clear, note_first};
use crate::row::{Encoder, RowView, Schema, Summary};

/// Streams that transactions write to: new rows, and each ring.
pub(crate) const PARTS: usize = 1 + Space::RINGS.len();
/// Their spaces.
pub(crate) const PART_SPACES: [Space; PARTS] = [Space::Hot, Space::RingA, Space::RingB];

/// The place of a space among those of the tail.
pub(crate) const fn part_of(space: Space) -> usize {
    match space {
        Space::Hot | Space::Cold | Space::Young | Space::Old => 0,
        Space::RingA => 1,
        Space::RingB => 2,
    }
}

/// The rows of all tables that wait for their pages.
#[derive(Debug)]
pub(crate) struct Tail<'ram> {
    bytes: &'ram mut [u8],
    len: usize,
    committed: usize,
    /// The commit that was next when the first row was put here.
    base: u32,
    /// How far commits had come when the first row of each part came.
    starts: [Option<Moment>; PARTS],
    /// Bytes of each part.
    lens: [usize; PARTS],
    /// The tables of each part, a bit each.
    tables: [u16; PARTS],
}

impl<'ram> Tail<'ram> {
    /// An empty tail in the memory of a page's payload.
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

    /// The rows of all parts, in the order in which they came.
    pub(crate) fn rows(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// The rows that are committed.
    pub(crate) fn committed(&self) -> &[u8] {
        &self.bytes[..self.committed]
    }

    /// The space of a table's rows.
    pub(crate) fn space_of(&self, table: u8) -> Space {
        let part = self.tables.iter().position(|tables| tables >> table & 1 != 0);
        debug_assert!(part.is_some(), "each table is in one part");
        PART_SPACES[part.unwrap_or(0)]
    }

    /// The tables whose rows go to a space, a bit each.
    pub(crate) const fn tables_of(&self, space: Space) -> u16 {
        self.tables[part_of(space)]
    }

    /// Bytes of the rows that go to a space.
    pub(crate) const fn len_of(&self, space: Space) -> usize {
        self.lens[part_of(space)]
    }

    /// Bytes of those that are committed.
    pub(crate) fn committed_of(&self, space: Space) -> usize {
        let mut rows = self.part(space);
        let mut len = 0;
        while let Some((at, row)) = rows.next() {
            len += if at < self.committed { row.len() } else { 0 };
        }
        len
    }

    /// The part of which there is most.
    pub(crate) fn longest(&self) -> Space {
        let mut most = Space::Hot;
        for space in PART_SPACES {
            most = if self.len_of(space) > self.len_of(most) { space } else { most };
        }
        most
    }

    /// The rows that go to a space, and where they begin among all.
    pub(crate) fn part(&self, space: Space) -> PartRows<'_> {
        PartRows { rows: Rows::new(self.rows()), tables: self.tables_of(space) }
    }

    /// Where the row lies among all whose place in its part is `place`, or the next one behind.
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

    /// The commit against which rows tell theirs.
    pub(crate) const fn base(&self) -> u32 {
        self.base
    }

    /// How far commits had come when the first row of a part came; none where that is not known.
    pub(crate) const fn start(&self, space: Space) -> Option<Moment> {
        self.starts[part_of(space)]
    }

    /// A row is about to be put into a part.
    pub(crate) fn note_start(&mut self, space: Space, moment: Moment) {
        if self.len_of(space) == 0 {
            self.starts[part_of(space)] = Some(moment);
        }
    }

    /// Bytes that still fit.
    pub(crate) const fn room(&self) -> usize {
        self.bytes.len() - self.len
    }

    /// The commit against which the next row has to tell its own, which is `commit`.
    pub(crate) const fn base_for(&self, commit: u32) -> u32 {
        if self.len == 0 { commit } else { self.base }
    }

    /// Add a row that fits; give the byte of its part at which it begins.
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

    /// All rows are committed.
    pub(crate) const fn commit(&mut self) {
        debug_assert!(self.committed <= self.len, "what is committed stays so");
        self.committed = self.len;
    }

    /// Drop what is not committed.
    pub(crate) fn roll_back(&mut self) {
        self.len = self.committed;
        self.recount();
        debug_assert!(self.is_sound(), "committed rows are whole");
    }

    /// Keep the first bytes of each part alone.
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

    /// The rows that go to a space are on a page.
    pub(crate) fn remove(&mut self, space: Space) {
        let mut lens = self.lens;
        lens[part_of(space)] = 0;
        self.retain(lens);
        debug_assert_eq!(self.len_of(space), 0, "they are here no more");
    }

    /// Put rows of a page back, of which the first `committed` bytes are committed. False where
    /// they do not fit, or are no rows.
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

    /// The memory, to be filled with committed rows before [`Tail::restore`].
    pub(crate) const fn memory(&mut self) -> &mut [u8] {
        self.bytes
    }

    /// Take over `len` bytes of committed rows that stand in the memory. False where they are none.
    pub(crate) fn restore(&mut self, len: usize, base: u32) -> bool {
        assert!(len <= self.bytes.len(), "the rows fit the memory");
        (self.len, self.committed, self.base) = (len, len, base);
        self.starts = [None; PARTS];
        self.recount()
    }

    /// Whether what is counted agrees.
    fn is_sound(&self) -> bool {
        let all: usize = self.lens.iter().sum();
        self.committed <= self.len && self.len <= self.bytes.len() && all == self.len
    }

    /// Count the bytes of each part. False where the bytes are no rows.
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

    /// Lay the rows that go to a space out on a page; say what a scan must know of them, and the
    /// greatest commit.
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

/// Bytes of a [`Moment`].
pub(crate) const MOMENT_SIZE: usize = 8 + 4;

/// A time of the clock: by then the commits before `commit` were done.
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

    /// Read what a page says; none where it says nothing.
    pub(crate) fn parse(bytes: &[u8; MOMENT_SIZE]) -> Option<Self> {
        let time = u64::from_le_bytes(array(&bytes[..8]));
        let commit = u32::from_le_bytes(array(&bytes[8..]));
        (commit > 0).then_some(Self { time, commit })
    }
}

/// Where a page whose rows take `used` bytes has the moment at which the first of them came; none
/// where it has no room for it. A zero stands before it: no row begins there.
pub(crate) const fn moment_place(layout: Layout, used: usize) -> Option<usize> {
    let place = layout.payload_size() - MOMENT_SIZE;
    if used < place { Some(place) } else { None }
}

/// The table of the row that begins here.
pub(crate) fn table_of(row: &[u8]) -> Option<u8> {
    let head = row.iter().position(|byte| byte & 0x80 == 0)? + 1;
    row.get(head).map(|head| head & 0x0F)
}

/// The rows of a part of the tail.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PartRows<'a> {
    rows: Rows<'a>,
    tables: u16,
}

impl<'a> PartRows<'a> {
    /// The next row, and where it begins among all.
    pub(crate) fn next(&mut self) -> Option<(usize, &'a [u8])> {
        loop {
            let (at, row) = self.rows.next()?;
            if table_of(row).is_some_and(|table| self.tables >> table & 1 != 0) {
                return Some((at, row));
            }
        }
    }
}

/// The rows that follow one another in some bytes.
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

    /// The rows from byte `at` on, where one begins.
    pub(crate) const fn from(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes, at }
    }

    /// Where the next row begins.
    pub(crate) const fn at(&self) -> usize {
        self.at
    }

    /// Whether the rows fill the bytes.
    pub(crate) const fn is_whole(&self) -> bool {
        self.at == self.bytes.len()
    }

    /// The next row that is whole, and where it begins.
    pub(crate) fn next(&mut self) -> Option<(usize, &'a [u8])> {
        let rest = self.bytes.get(self.at..)?;
        let len = crate::row::row_len(rest).ok()?;
        let row = rest.get(..len)?;
        let at = self.at;
        self.at += len;
        Some((at, row))
    }

    /// Where the next row lies, which may go on behind the bytes.
    pub(crate) fn next_front(&self) -> Option<(usize, usize)> {
        let len = crate::row::row_len(self.bytes.get(self.at..)?).ok()?;
        Some((self.at, (self.at + len).min(self.bytes.len())))
    }
}
