//! Lookups by key and ranges of keys: cursors that borrow nothing between calls.
//!
//! 1. A cursor over keys of many rows gives each row once, whatever is merged meanwhile.
//! 2. What is inserted while a cursor is under way may be given or not.

use flysch_nand::Nand;

use super::index::{Wanted, carries};
use super::scan::gather;
use super::{Db, DbError, Direction};
use crate::record::Position;
use crate::row::{IndexKind, RowKind, RowView, Value, key};
use crate::store::{Entry, Probe, Range};

/// The rows of one key.
#[derive(Debug)]
pub struct Find {
    wanted: Wanted,
    probe: Probe,
    /// The entry whose cell is being looked through, and the rows of it that were passed.
    entry: Option<Entry>,
    passed: u32,
    /// The pointer whose cell was looked through before.
    last: Option<u32>,
    is_over: bool,
}

/// The rows of a range of keys, in the order of the keys.
#[derive(Debug)]
pub struct KeyRange {
    table: u8,
    index: u8,
    range: Range,
    entry: Option<Entry>,
    passed: u32,
    /// Code and pointer of the entry before.
    last: Option<(u64, u32)>,
}

/// A row that was found, before it is copied.
struct Place {
    len: usize,
    base: u32,
}

impl<'s, N: Nand> Db<'_, 's, N> {
    /// Look for the rows whose columns of this index have these values.
    pub fn find(&self, table: u8, index: u8, values: &[Value<'_>]) -> Result<Find, DbError> {
        let declared = self.index(table, index)?;
        if values.len() != declared.columns.len() {
            return Err(DbError::Unknown);
        }
        let wanted = Wanted { table, index, digest: key::digest(declared, &self.key, values) };
        let (number, code) = self.code(wanted)?;
        let probe = Probe::new(self.store.config(), number, code);
        Ok(Find { wanted, probe, entry: None, passed: 0, last: None, is_over: false })
    }

    /// The row whose columns of this index have these values, copied into `out`. Cost: a read of
    /// an index as a rule, and one of the row.
    pub fn get<'o>(
        &mut self,
        table: u8,
        index: u8,
        values: &[Value<'_>],
        out: &'o mut [u8],
    ) -> Result<Option<RowView<'o, 's>>, DbError> {
        self.find(table, index, values)?.next(self, out)
    }

    /// Look for the rows whose key in an ordered index lies from `least` to `greatest`.
    pub fn range(
        &self,
        table: u8,
        index: u8,
        (least, greatest): (&Value<'_>, &Value<'_>),
        direction: Direction,
    ) -> Result<KeyRange, DbError> {
        if self.index(table, index)?.kind != IndexKind::Ordered {
            return Err(DbError::Unknown);
        }
        let number = self.schema.index_number(table, index);
        let (from, to) = (key::order(least), key::order(greatest));
        let range = match direction {
            Direction::Forward => Range::new(number, from, to),
            Direction::Backward => Range::descending(number, from, to),
        };
        Ok(KeyRange { table, index, range, entry: None, passed: 0, last: None })
    }

    /// The row at place `passed` or later among those at a pointer that carry the key, copied
    /// into `out`. Gives the row, and the place behind it.
    fn copy_row(
        &mut self,
        pointer: u32,
        wanted: Wanted,
        passed: &mut u32,
        out: &mut [u8],
    ) -> Result<Option<Place>, DbError> {
        let (schema, hash) = (self.schema, self.key);
        let index = self.index(wanted.table, wanted.index)?;
        let stretch = self.rows_at(pointer)?;
        let base = stretch.base;
        let mut found = None;
        for (number, row) in (0..).zip(stretch.rows()).skip(*passed as usize) {
            let view = RowView::parse_front(schema, row, u64::from(base))?;
            if view.head.kind == RowKind::Tombstone || !carries(&view, wanted, index, &hash) {
                continue;
            }
            *passed = number + 1;
            let (len, some) = (view.row_len, row.len().min(view.row_len));
            let Some(out) = out.get_mut(..len) else {
                return Err(DbError::RowTooLong { needed: len });
            };
            out[..some].copy_from_slice(&row[..some]);
            found = Some((len, some));
            break;
        }
        let Some((len, some)) = found else { return Ok(None) };
        if some < len {
            let (layout, numbers) = (self.media.layout(), self.media.numbers());
            let at = Position::of_pointer(pointer, layout, numbers).ok_or(DbError::Unknown)?;
            gather(self, at.page, &mut out[some..len])?;
        }
        Ok(Some(Place { len, base }))
    }
}

impl Find {
    /// The next row of the key, copied into `out`; none when there are no more. Cost: for the first
    /// some reads of the index, for each one read of the row.
    pub fn next<'o, 's, N: Nand>(
        &mut self,
        db: &mut Db<'_, 's, N>,
        out: &'o mut [u8],
    ) -> Result<Option<RowView<'o, 's>>, DbError> {
        let is_unique = db.index(self.wanted.table, self.wanted.index)?.is_unique;
        while !self.is_over {
            let entry = match self.entry {
                Some(entry) => entry,
                None => match self.probe.next(&db.store, &mut db.media, db.cell)? {
                    // Rows of one cell share an entry's pointer: they were all looked at.
                    Some(entry) if self.last == Some(entry.pointer) => continue,
                    Some(entry) => entry,
                    None => return Ok(None),
                },
            };
            self.entry = Some(entry);
            let found = db.copy_row(entry.pointer, self.wanted, &mut self.passed, out)?;
            let Some(place) = found else {
                (self.entry, self.passed, self.last) = (None, 0, Some(entry.pointer));
                continue;
            };
            self.is_over = is_unique;
            return Ok(Some(RowView::parse(db.schema, &out[..place.len], u64::from(place.base))?));
        }
        Ok(None)
    }
}

impl KeyRange {
    /// The next row, copied into `out`; none when there are no more. Cost: one read of the row, and
    /// of the index about one read for each run, every few dozen rows.
    pub fn next<'o, 's, N: Nand>(
        &mut self,
        db: &mut Db<'_, 's, N>,
        out: &'o mut [u8],
    ) -> Result<Option<RowView<'o, 's>>, DbError> {
        loop {
            let entry = match self.entry {
                Some(entry) => entry,
                None => match self.range.next(&db.store, &mut db.media, db.cell)? {
                    Some(entry) if self.last == Some((entry.code, entry.pointer)) => continue,
                    Some(entry) => entry,
                    None => return Ok(None),
                },
            };
            self.entry = Some(entry);
            let wanted = Wanted { table: self.table, index: self.index, digest: entry.code };
            let found = db.copy_row(entry.pointer, wanted, &mut self.passed, out)?;
            let Some(place) = found else {
                self.last = Some((entry.code, entry.pointer));
                (self.entry, self.passed) = (None, 0);
                continue;
            };
            return Ok(Some(RowView::parse(db.schema, &out[..place.len], u64::from(place.base))?));
        }
    }
}
