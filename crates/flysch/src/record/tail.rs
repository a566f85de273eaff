//! The tail: rows that are on no page yet.
//!
//! 1. Rows are whole: none begins on a page and ends in the tail.
//! 2. What is committed comes first; the rest belongs to the transaction under way.
//! 3. The commit numbers of its rows are told against `base`, which goes into the page's header.

use crate::media::{CELL_SIZE, Layout, clear, note_first};
use crate::row::{Encoder, RowView, Schema, Summary};

/// The rows of all tables that wait for their page.
#[derive(Debug)]
pub(crate) struct Tail<'ram> {
    bytes: &'ram mut [u8],
    len: usize,
    committed: usize,
    /// The commit that was next when the first row was put here.
    base: u32,
}

impl<'ram> Tail<'ram> {
    /// An empty tail in the memory of a page's payload.
    pub(crate) const fn new(bytes: &'ram mut [u8]) -> Self {
        Self { bytes, len: 0, committed: 0, base: 0 }
    }

    pub(crate) fn rows(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// The rows that are committed.
    pub(crate) fn committed(&self) -> &[u8] {
        &self.bytes[..self.committed]
    }

    /// The commit against which rows tell theirs.
    pub(crate) const fn base(&self) -> u32 {
        self.base
    }

    /// Bytes that still fit.
    pub(crate) const fn room(&self) -> usize {
        self.bytes.len() - self.len
    }

    /// The commit against which the next row has to tell its own, which is `commit`.
    pub(crate) const fn base_for(&self, commit: u32) -> u32 {
        if self.len == 0 { commit } else { self.base }
    }

    /// Add a row that fits; give the byte at which it begins.
    pub(crate) fn push(&mut self, row: &mut Encoder<'_>, commit: u32) -> usize {
        let len = row.remaining();
        assert!(len <= self.room(), "the row fits the tail");
        self.base = self.base_for(commit);
        let at = self.len;
        let written = row.fill(&mut self.bytes[at..at + len]);
        debug_assert_eq!(written, len, "a row is written whole");
        self.len += len;
        at
    }

    /// All rows are committed.
    pub(crate) const fn commit(&mut self) {
        self.committed = self.len;
    }

    /// Drop what is not committed.
    pub(crate) const fn roll_back(&mut self) {
        self.len = self.committed;
    }

    /// Drop all but the first `len` bytes.
    pub(crate) const fn truncate(&mut self, len: usize) {
        assert!(len >= self.committed && len <= self.len, "what is committed stays");
        self.len = len;
    }

    /// Only the first `committed` bytes are committed.
    pub(crate) const fn uncommit(&mut self, committed: usize) {
        assert!(committed <= self.len, "the rows are there");
        self.committed = committed;
    }

    pub(crate) const fn empty(&mut self) {
        (self.len, self.committed, self.base) = (0, 0, 0);
    }

    /// The memory, to be filled with committed rows before [`Tail::restore`].
    pub(crate) const fn memory(&mut self) -> &mut [u8] {
        self.bytes
    }

    /// Take over `len` bytes of committed rows that stand in the memory. False where they are none.
    pub(crate) fn restore(&mut self, len: usize, base: u32) -> bool {
        assert!(len <= self.bytes.len(), "the rows fit the memory");
        (self.len, self.committed, self.base) = (len, len, base);
        let mut rows = Rows::new(&self.bytes[..len]);
        while rows.next().is_some() {}
        rows.is_whole()
    }

    /// Lay the rows out on a page, and say what a scan must know of them.
    pub(crate) fn compose(&self, frame: &mut [u8], layout: Layout, schema: &Schema<'_>) -> Summary {
        clear(frame);
        layout.put(frame, 0, self.rows());
        let mut summary = Summary::EMPTY;
        let mut rows = Rows::new(self.rows());
        while let Some((at, row)) = rows.next() {
            let (cell, place) = layout.place(at);
            note_first(&mut frame[cell * CELL_SIZE..][..CELL_SIZE], place);
            let view = RowView::parse(schema, row, u64::from(self.base));
            debug_assert!(view.is_ok(), "what was put into the tail is a row");
            if let Ok(view) = view {
                summary.add(view.head.table, view.zone().unwrap_or(None));
            }
        }
        summary
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
