//! Scans: the rows of a table in the order in which they were inserted, or the other way round.
//!
//! 1. A scan borrows nothing between calls; it goes on by position.
//! 2. Rows that are inserted while it is under way come at its end, if it goes forward.

use flysch_nand::Nand;

use super::{Db, DbError};
use crate::media::{MediaError, Page, Space};
use crate::record::{BlockSummary, Stretch, is_void, read_page};
use crate::row::{RowKind, RowView};

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
    page: u32,
    len: usize,
    base: u32,
}

/// A scan under way.
#[derive(Clone, Copy, Debug)]
pub struct Scan {
    table: u8,
    direction: Direction,
    /// Zone values that are looked for.
    least: i64,
    greatest: i64,
    /// The page it stands on, and the rows of that page that were passed.
    page: u32,
    passed: u32,
    /// What the summary of the page's block says, once it was read.
    block: Option<(u32, Option<BlockSummary>)>,
    is_over: bool,
}

impl<N: Nand> Db<'_, '_, N> {
    /// Begin a scan of a table.
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
        let page = match direction {
            Direction::Forward => self.records.first,
            Direction::Backward => self.media.head(Space::Hot),
        };
        let (passed, block, is_over) = (0, None, false);
        Ok(Scan { table, direction, least, greatest, page, passed, block, is_over })
    }
}

impl Scan {
    /// The next row, copied into `out`; none when there are no more. Cost: one read for each page
    /// that is come to, one for each block, and none while rows of the same page follow.
    pub fn next<'o, 's, N: Nand>(
        &mut self,
        db: &mut Db<'_, 's, N>,
        out: &'o mut [u8],
    ) -> Result<Option<RowView<'o, 's>>, DbError> {
        if self.block.is_none() {
            self.pass_block(db)?;
        }
        while !self.is_over {
            if let Some((len, base)) = self.copy_next(db, out)? {
                let view = RowView::parse(db.schema, &out[..len], u64::from(base))?;
                return Ok(Some(view));
            }
            self.turn(db)?;
        }
        Ok(None)
    }

    /// Copy the next row of the page; none where the page has no more.
    fn copy_next<N: Nand>(
        &mut self,
        db: &mut Db<'_, '_, N>,
        out: &mut [u8],
    ) -> Result<Option<(usize, u32)>, DbError> {
        let schema = db.schema;
        loop {
            let at = Page { space: Space::Hot, number: self.page };
            let stretch = load(db, self, at)?;
            let count = stretch.rows().count() as u32;
            if self.passed >= count {
                return Ok(None);
            }
            let place = match self.direction {
                Direction::Forward => self.passed,
                Direction::Backward => count - 1 - self.passed,
            };
            self.passed += 1;
            let Some(row) = stretch.rows().nth(place as usize) else { return Ok(None) };
            let base = stretch.base;
            let view = RowView::parse_front(schema, row, u64::from(base))?;
            if view.head.table != self.table || view.head.kind == RowKind::Tombstone {
                continue;
            }
            let len = view.row_len;
            let Some(out) = out.get_mut(..len) else {
                return Err(DbError::RowTooLong { needed: len });
            };
            if row.len() >= len {
                out.copy_from_slice(&row[..len]);
            } else {
                let some = row.len();
                out[..some].copy_from_slice(row);
                gather(db, at, &mut out[some..])?;
            }
            return Ok(Some((len, base)));
        }
    }

    /// Go to the next page that may hold rows.
    fn turn<N: Nand>(&mut self, db: &mut Db<'_, '_, N>) -> Result<(), DbError> {
        self.passed = 0;
        let numbers = db.media.numbers();
        let (first, head) = (db.records.first, db.media.head(Space::Hot));
        match self.direction {
            Direction::Forward => {
                if self.page == head {
                    self.is_over = true;
                    return Ok(());
                }
                self.page = numbers.advance(self.page, 1);
            }
            Direction::Backward => {
                if self.page == first {
                    self.is_over = true;
                    return Ok(());
                }
                self.page = numbers.advance(self.page, numbers.page_count() - 1);
            }
        }
        self.pass_block(db)
    }

    /// Pass over a block that holds nothing that is looked for.
    fn pass_block<N: Nand>(&mut self, db: &mut Db<'_, '_, N>) -> Result<(), DbError> {
        let numbers = db.media.numbers();
        let block = numbers.block_of(self.page);
        let head = db.media.head(Space::Hot);
        if block == numbers.block_of(head) || self.block.is_some_and(|(known, _)| known == block) {
            return Ok(());
        }
        let last = (block + 1) * numbers.pages_per_block - 1;
        db.forget_frame();
        let summary = BlockSummary::read(&mut db.media, block, db.frame)?;
        self.block = Some((block, summary));
        let zones = self.least..=self.greatest;
        let is_known = summary.is_some_and(|block| !block.summary.may_meet(self.table, &zones));
        let has_zone = db.schema.tables[usize::from(self.table)].zone.is_some();
        let is_absent = summary.is_some_and(|block| !block.summary.may_hold(self.table));
        if is_absent || has_zone && is_known {
            // The turn that follows leaves the block.
            let at_first = block * numbers.pages_per_block;
            self.page = if self.direction == Direction::Forward { last } else { at_first };
        }
        Ok(())
    }
}

/// The rows of a page, read unless the frame holds them already.
fn load<'d, N: Nand>(
    db: &'d mut Db<'_, '_, N>,
    scan: &Scan,
    at: Page,
) -> Result<Stretch<'d>, DbError> {
    let numbers = db.media.numbers();
    if at.number == db.media.head(Space::Hot) {
        return Ok(Stretch::new(db.records.tail.rows(), db.records.tail.base()));
    }
    if let Some(held) = db.held.filter(|held| held.page == at.number) {
        return Ok(Stretch::new(&db.frame[..held.len], held.base));
    }
    let block = numbers.block_of(at.number);
    let known = scan.block.filter(|(known, _)| *known == block).and_then(|(_, summary)| summary);
    db.forget_frame();
    if is_void(&mut db.media, at, known.as_ref()) {
        return Ok(Stretch::NONE);
    }
    let (len, base) = match read_page(&mut db.media, at, db.frame) {
        Ok((stretch, _)) => (stretch.bytes().len(), stretch.base),
        Err(MediaError::Missing(_)) => return Ok(Stretch::NONE),
        Err(error) => return Err(error.into()),
    };
    db.held = Some(Held { page: at.number, len, base });
    Ok(Stretch::new(&db.frame[..len], base))
}

/// Read what follows of a row that began on page `at` and fills it.
pub(super) fn gather<N: Nand>(
    db: &mut Db<'_, '_, N>,
    at: Page,
    mut out: &mut [u8],
) -> Result<(), DbError> {
    db.forget_frame();
    let layout = db.media.layout();
    let mut page = at;
    while !out.is_empty() {
        page.number = db.media.numbers().advance(page.number, 1);
        db.media.read(page, 0, db.frame)?;
        let len = out.len().min(layout.payload_size());
        layout.take(db.frame, 0, &mut out[..len]);
        out = &mut out[len..];
    }
    Ok(())
}
