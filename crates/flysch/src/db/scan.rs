//! Scans: the rows of a table in the order in which they were inserted, or the other way round.
//! Rows that compaction moved come after the others in a forward scan, and before them backwards.
//!
//! 1. A scan borrows nothing between calls. It goes on from the position of the last row.
//! 2. Rows that are inserted meanwhile come at the end of a forward scan. A row that is replaced
//!    meanwhile may be given twice, or not at all.
//! 3. A row is given only where the primary key's index leads to that very row: others were
//!    replaced.

use flysch_nand::Nand;

use super::reader::Reader;
use super::view::Since;
use super::{Db, DbError};
use crate::media::{MediaError, Page, Space};
use crate::record::{BlockSummary, Position, Stretch, is_void, read_page, tail_page};
use crate::row::{Digest, RowKind, RowView};

/// Which way a scan goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the oldest row to the newest.
    Forward,
    /// From the newest row to the oldest.
    Backward,
}

/// A page whose rows the frame holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Held {
    page: Page,
    len: usize,
    base: u32,
}

/// A cursor over the rows of a table in the order of their positions.
#[derive(Clone, Copy, Debug)]
pub struct Scan {
    table: u8,
    direction: Direction,
    /// Least zone value that is looked for.
    least: i64,
    greatest: i64,
    /// The page on which the scan stands, and how many rows of it were passed.
    page: Page,
    passed: u32,
    /// The number of rows that were seen when the scan came to the page.
    found: Option<u32>,
    /// The summary of the page's block; None until it was read.
    block: Option<((Space, u32), Option<BlockSummary>)>,
    is_over: bool,
    /// Whether the scan stands on the last page of a snapshot, which may still move: it was the
    /// tail.
    is_last: bool,
    since: Since,
}

impl<N: Nand> Db<'_, '_, N> {
    /// Begin a scan of a table, in the order in which its rows were inserted. It reads the pages of
    /// all rows that were written since their blocks were last freed, of this table or of others in
    /// the same blocks, whether they are dead or not. [`Db::all`] reads what is there, in the order
    /// of the primary key.
    pub fn scan(&self, table: u8, direction: Direction) -> Result<Scan, DbError> {
        self.scan_zone(table, direction, i64::MIN, i64::MAX)
    }

    /// Begin a scan of the rows whose zone column lies from `least` to `greatest`. Rows outside may
    /// be given as well where a block or a page holds both.
    pub fn scan_zone(
        &self,
        table: u8,
        direction: Direction,
        least: i64,
        greatest: i64,
    ) -> Result<Scan, DbError> {
        if usize::from(table) >= self.schema.tables.len() {
            return Err(DbError::Unknown);
        }
        let own = self.records.tail.space_of(table);
        let (space, number) = match direction {
            Direction::Forward => (own, self.records.stream(own).first),
            Direction::Backward if own.is_ring() => (own, self.end_of(own)),
            Direction::Backward => (Space::Cold, self.end_of(Space::Cold)),
        };
        let page = Page { space, number };
        let (passed, found, block, is_over) = (0, None, None, false);
        let since = self.since();
        let is_last = self.ends_at(page);
        let scan = Scan {
            table,
            direction,
            least,
            greatest,
            page,
            passed,
            found,
            block,
            is_over,
            is_last,
            since,
        };
        Ok(scan)
    }

    /// The last page of a space to which the scan goes.
    fn end_of(&self, space: Space) -> u32 {
        let (numbers, head) = (self.media.numbers(), self.media.head(space));
        let first = self.records.stream(space).first;
        let is_there = |page| numbers.distance(first, page) < numbers.distance(first, head);
        match (space, self.view.ends) {
            (Space::Hot, Some(ends)) if is_there(ends.hot) => ends.hot,
            (Space::Hot | Space::RingA | Space::RingB, _) => tail_page(&self.media, space).number,
            (Space::Cold, Some(ends)) if is_there(ends.cold) => ends.cold,
            // The block in which the snapshot ended held nothing it shows, and was let go.
            (Space::Cold, Some(ends)) if ends.cold != head => first,
            (Space::Cold | Space::Young | Space::Old, _) => head,
        }
    }
}

impl Scan {
    /// Copy the next row into `out`; None behind the last one. [`DbError::Stale`] where compaction
    /// moved rows since the first call, or the newest rows came to another page, as a transaction
    /// was rolled back or a program failed. Cost: one read for each block and one for each page,
    /// and none for further rows of the page. Where rows of the table were ever replaced or moved,
    /// each row takes a lookup in the primary key's index as well.
    #[inline(never)]
    pub fn next<'o, 'ram, 's, N: Nand>(
        &mut self,
        reader: &mut impl Reader<'ram, 's, N>,
        out: &'o mut [u8],
    ) -> Result<Option<RowView<'o, 's>>, DbError> {
        let db = reader.reading()?;
        db.check_past(self.table)?;
        if db.begins(&mut self.since) {
            let Self { table, direction, least, greatest, since, .. } = *self;
            *self = Self { since, ..db.scan_zone(table, direction, least, greatest)? };
        } else if db.has_moved(self.since) {
            return Err(DbError::Stale);
        }
        if self.is_last {
            self.page.number = db.followed(self.page);
        }
        // The block may have become full meanwhile, and have a summary now.
        self.pass_block(db)?;
        while !self.is_over {
            if let Some((len, base)) = self.copy_next(db, out)? {
                self.is_last = db.ends_at(self.page);
                let view = RowView::parse(db.schema, &out[..len], u64::from(base))?;
                return Ok(Some(view));
            }
            self.turn(db)?;
        }
        Ok(None)
    }

    /// Copy the next row of the page; none where the page has no more.
    #[inline(never)]
    fn copy_next<N: Nand>(
        &mut self,
        db: &mut Db<'_, '_, N>,
        out: &mut [u8],
    ) -> Result<Option<(usize, u32)>, DbError> {
        while let Some(candidate) = self.candidate(db)? {
            if !candidate.is_last {
                continue;
            }
            if let Some(key) = candidate.key
                && !db.is_newest(self.table, key, candidate.pointer)?
            {
                continue;
            }
            let copied = self.copy_at(db, candidate.place, out);
            // The next call may lend more bytes for the row.
            self.passed -= u32::from(copied.is_err());
            return copied.map(Some);
        }
        Ok(None)
    }

    /// The next row of the page that is one of the table; none where the page has no more.
    #[inline(never)]
    fn candidate<N: Nand>(&mut self, db: &mut Db<'_, '_, N>) -> Result<Option<Candidate>, DbError> {
        let (schema, hash, layout) = (db.schema, db.key, db.media.layout());
        let is_checked = db.is_checked(self.table)?;
        let primary = db.table(self.table)?.primary_key().filter(|_| is_checked);
        let (page, sight) = (self.page, db.view);
        let stretch = load(db, self)?;
        let base = u64::from(stretch.base);
        // New rows stand in the order of their commits: all rows behind a later one are later too.
        let is_early = |row: &&[u8]| {
            let view = RowView::parse_front(schema, row, base);
            page.space == Space::Cold || view.is_ok_and(|view| sight.sees(&view))
        };
        let count = if sight.is_past() {
            stretch.rows().take_while(is_early).count() as u32
        } else {
            stretch.rows().count() as u32
        };
        // A backward scan keeps to the rows that it found on the page: others may come or go.
        let found = *self.found.get_or_insert(count);
        let count = if self.direction == Direction::Backward { found } else { count };
        while self.passed < count {
            let place = match self.direction {
                Direction::Forward => self.passed,
                Direction::Backward => count - 1 - self.passed,
            };
            self.passed += 1;
            let mut rows = stretch.rows();
            let before = rows.by_ref().take(place as usize).map(<[u8]>::len).sum();
            let Some(row) = rows.next() else { continue };
            let view = RowView::parse_front(schema, row, base)?;
            let is_one = view.head.table == self.table && view.head.kind != RowKind::Tombstone;
            if !is_one || !sight.sees(&view) {
                continue;
            }
            let cell = layout.place(before).0;
            let pointer = Position { page, cell: cell as u32 }.pointer(layout);
            let Some(primary) = primary else {
                return Ok(Some(Candidate { place, pointer, key: None, is_last: true }));
            };
            let key = view.digest(primary, &hash)?;
            // A later row of the same key in the same cell replaces this one.
            let mut at = before + row.len();
            let is_replaced = rows.any(|row| {
                let is_here = layout.place(at).0 == cell;
                at += row.len();
                let view = RowView::parse_front(schema, row, base);
                let is_same = |view: RowView<'_, '_>| {
                    view.head.table == self.table
                        && sight.sees(&view)
                        && view.digest(primary, &hash) == Ok(key)
                };
                is_here && view.is_ok_and(is_same)
            });
            return Ok(Some(Candidate { place, pointer, key: Some(key), is_last: !is_replaced }));
        }
        Ok(None)
    }

    /// Copy the row of a place of the page.
    fn copy_at<N: Nand>(
        &self,
        db: &mut Db<'_, '_, N>,
        place: u32,
        out: &mut [u8],
    ) -> Result<(usize, u32), DbError> {
        let at = self.page;
        let (row, some) = copy_row(&load(db, self)?, place, out)?;
        if some < row.len {
            gather(db, at, &mut out[some..row.len])?;
        }
        Ok((row.len, row.base))
    }

    /// Go to the next page that may hold rows.
    fn turn<N: Nand>(&mut self, db: &mut Db<'_, '_, N>) -> Result<(), DbError> {
        (self.passed, self.found) = (0, None);
        let numbers = db.media.numbers();
        let Page { space, number } = self.page;
        let (first, end) = (db.records.stream(space).first, db.end_of(space));
        let (place, reach) = (numbers.distance(first, number), numbers.distance(first, end));
        // The block may have been let go meanwhile: then the scan goes on at the first block there
        // is.
        let is_before =
            place > reach && numbers.distance(number, first) < numbers.distance(end, number);
        let next = match self.direction {
            Direction::Forward if is_before => Some(first),
            Direction::Forward => (place < reach).then(|| numbers.advance(number, 1)),
            Direction::Backward => {
                (place > 0 && !is_before).then(|| numbers.advance(number, numbers.page_count() - 1))
            }
        };
        if let Some(number) = next {
            self.page.number = number;
            return self.pass_block(db);
        }
        self.page = match (self.direction, space) {
            (Direction::Forward, Space::Hot) => {
                Page { space: Space::Cold, number: db.records.stream(Space::Cold).first }
            }
            (Direction::Backward, Space::Cold) => {
                Page { space: Space::Hot, number: db.end_of(Space::Hot) }
            }
            (
                _,
                Space::Hot | Space::Cold | Space::Young | Space::Old | Space::RingA | Space::RingB,
            ) => {
                self.is_over = true;
                return Ok(());
            }
        };
        self.pass_block(db)
    }

    /// Pass over the rest of a block whose summary shows nothing that is looked for.
    fn pass_block<N: Nand>(&mut self, db: &mut Db<'_, '_, N>) -> Result<(), DbError> {
        let numbers = db.media.numbers();
        let Page { space, number } = self.page;
        let block = numbers.block_of(number);
        let name = (space, block);
        let tail = tail_page(&db.media, space).number;
        let is_open = block == numbers.block_of(db.media.head(space))
            || space != Space::Cold && block == numbers.block_of(tail);
        if is_open || self.block.is_some_and(|(known, _)| known == name) {
            return Ok(());
        }
        let last = numbers.last_page(block);
        db.forget_frame();
        let is_gone = db.media.table.find(space, block).is_none();
        let summary = BlockSummary::read(&mut db.media, name, db.frame)?;
        self.block = Some((name, summary));
        let zones = self.least..=self.greatest;
        let is_known = summary.is_some_and(|block| !block.summary.may_meet(self.table, &zones));
        let has_zone = db.schema.tables[usize::from(self.table)].zone.is_some();
        let is_absent = summary.is_some_and(|block| !block.summary.may_hold(self.table));
        if is_gone || is_absent || has_zone && is_known {
            // The turn that follows leaves the block.
            let at_first = block * numbers.pages_per_block;
            self.page.number = if self.direction == Direction::Forward { last } else { at_first };
        }
        Ok(())
    }
}

/// A row of the scanned table that may be current.
struct Candidate {
    /// Its place on the page, and the pointer of its cell.
    place: u32,
    pointer: u32,
    /// The digest of its primary key, to look up whether it is current. None where all rows are.
    key: Option<Digest>,
    /// Whether no later row of its cell has the same primary key.
    is_last: bool,
}

/// A row that was copied.
pub(super) struct Place {
    pub(super) len: usize,
    pub(super) base: u32,
}

/// The rows of the page on which the scan stands. They are read unless the frame holds them.
fn load<'d, N: Nand>(db: &'d mut Db<'_, '_, N>, scan: &Scan) -> Result<Stretch<'d>, DbError> {
    let numbers = db.media.numbers();
    let at = scan.page;
    if db.is_tail(at) {
        return Ok(Stretch::of_tail(&db.records.tail, at.space));
    }
    if at.number == db.media.head(at.space) {
        return Ok(Stretch::NONE);
    }
    let name = (at.space, numbers.block_of(at.number));
    let known = scan.block.filter(|(known, _)| *known == name).and_then(|(_, summary)| summary);
    match db.stretch_on(at, known.as_ref()) {
        Err(DbError::Media(MediaError::Missing(_))) => Ok(Stretch::NONE),
        stretch => stretch,
    }
}

impl<N: Nand> Db<'_, '_, N> {
    /// The rows of a programmed page; none where it is void. Cost: a read, unless the frame holds
    /// the page.
    pub(super) fn stretch_on(
        &mut self,
        at: Page,
        summary: Option<&BlockSummary>,
    ) -> Result<Stretch<'_>, DbError> {
        let held = if let Some(held) = self.held.filter(|held| held.page == at) {
            held
        } else {
            self.forget_frame();
            if is_void(&mut self.media, at, summary) {
                return Ok(Stretch::NONE);
            }
            let (stretch, _) = read_page(&mut self.media, at, self.frame)?;
            Held { page: at, len: stretch.bytes().len(), base: stretch.base }
        };
        debug_assert!(self.held_cells.is_none(), "the frame holds one page");
        self.held = Some(held);
        Ok(Stretch::new(&self.frame[..held.len], held.base))
    }
}

/// Copy a row of a page, as far as it lies there. Returns how many bytes that are.
pub(super) fn copy_row(
    stretch: &Stretch<'_>,
    place: u32,
    out: &mut [u8],
) -> Result<(Place, usize), DbError> {
    let row = stretch.rows().nth(place as usize).ok_or(DbError::Unknown)?;
    let len = crate::row::row_len(row)?;
    let some = row.len().min(len);
    let Some(out) = out.get_mut(..len) else {
        return Err(DbError::RowTooLong { needed: len });
    };
    out[..some].copy_from_slice(&row[..some]);
    Ok((Place { len, base: stretch.base }, some))
}

/// Read the rest of a row that begins on page `at` and is longer than a page.
pub(super) fn gather<N: Nand>(
    db: &mut Db<'_, '_, N>,
    at: Page,
    mut out: &mut [u8],
) -> Result<(), DbError> {
    db.forget_frame();
    let layout = db.media.layout();
    let mut page = at;
    debug_assert!(!db.is_tail(at), "a row that is longer than a page is never in the tail");
    while !out.is_empty() {
        page.number = db.media.numbers().advance(page.number, 1);
        db.media.read(page, 0, db.frame)?;
        let len = out.len().min(layout.payload_size());
        layout.take(db.frame, 0, &mut out[..len]);
        out = &mut out[len..];
    }
    Ok(())
}
