//! Lookups by key and ranges of keys: cursors that borrow nothing between calls.
//!
//! 1. A cursor over keys of many rows gives each row once, whatever is merged meanwhile.
//! 2. What is inserted while a cursor is under way may be given or not.

use flysch_nand::Nand;

use super::index::{Wanted, carries};
use super::scan::gather;
use super::{Db, DbError, Direction};
use crate::media::CELL_SIZE;
use crate::record::Position;
use crate::row::{HashKey, IndexKind, KeyCode, RowKind, RowView, Value, key};
use crate::store::{Entry, Probe, Range};

/// The rows of one key.
#[derive(Debug)]
pub struct Find {
    wanted: Wanted,
    /// A hash of the key, where its code does not say which key it is.
    exact: Option<u64>,
    probe: Probe,
    /// The entry whose cell is being looked through, and the rows of it that were passed.
    entry: Option<Entry>,
    passed: u32,
    /// The pointer whose cell was looked through before.
    last: Option<u32>,
    is_over: bool,
    /// Pages of moved rows when it began.
    moves: u32,
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
    /// Pages of moved rows when it began.
    moves: u32,
}

/// A row that carries the key that is looked for.
struct Candidate {
    /// Its primary key's digest, where a row of the table may be there no more.
    key: Option<u64>,
    /// Whether no later row of its cell has the same primary key.
    is_last: bool,
}

/// A row that was copied.
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
        let is_exact = key::is_exact(self.table(table)?, declared, wanted.digest);
        let exact = (declared.kind == IndexKind::Ordered && !is_exact)
            .then(|| exact_of(&self.key, values.iter().copied()));
        let probe = Probe::new(self.store.config(), number, code);
        let moves = self.compaction.moves;
        Ok(Find { wanted, exact, probe, entry: None, passed: 0, last: None, is_over: false, moves })
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
        let moves = self.compaction.moves;
        Ok(KeyRange { table, index, range, entry: None, passed: 0, last: None, moves })
    }

    /// The row at place `passed` or later among those at a pointer that carry the key and are
    /// there, copied into `out`. Gives the row, and the place behind it.
    fn copy_row(
        &mut self,
        pointer: u32,
        wanted: Wanted,
        passed: &mut u32,
        out: &mut [u8],
    ) -> Result<Option<Place>, DbError> {
        while let Some(candidate) = self.next_row(pointer, wanted, passed)? {
            if !candidate.is_last {
                continue;
            }
            // The primary key's index itself gives the newest entry of each key.
            if let Some(key) = candidate.key.filter(|_| wanted.index > 0)
                && !self.is_newest(wanted.table, key, pointer)?
            {
                continue;
            }
            return self.copy_at(pointer, *passed - 1, out).map(Some);
        }
        Ok(None)
    }

    /// The row at place `passed` or later of a cell that carries the key.
    fn next_row(
        &mut self,
        pointer: u32,
        wanted: Wanted,
        passed: &mut u32,
    ) -> Result<Option<Candidate>, DbError> {
        let (schema, hash) = (self.schema, self.key);
        let index = self.index(wanted.table, wanted.index)?;
        let primary = self.table(wanted.table)?.primary_key();
        let primary = primary.filter(|_| self.is_changed(wanted.table));
        let mut found: Option<Candidate> = None;
        for (number, row) in (0..).zip(self.rows_at(pointer, false)?.rows()).skip(*passed as usize)
        {
            let view = RowView::parse_front(schema, row, 0)?;
            if let Some(found) = &mut found {
                // A later row of the same key in the same cell: this one is replaced.
                let is_same = view.head.table == wanted.table
                    && primary.is_some_and(|key| view.digest(key, &hash).ok() == found.key);
                found.is_last &= !is_same;
            } else if view.head.kind != RowKind::Tombstone && carries(&view, wanted, index, &hash) {
                let key = primary.map(|primary| view.digest(primary, &hash)).transpose()?;
                found = Some(Candidate { key, is_last: true });
                *passed = number + 1;
            }
        }
        Ok(found)
    }

    /// Copy the row of a place among those at a pointer.
    fn copy_at(&mut self, pointer: u32, place: u32, out: &mut [u8]) -> Result<Place, DbError> {
        let stretch = self.rows_at(pointer, false)?;
        let base = stretch.base;
        let row = stretch.rows().nth(place as usize).ok_or(DbError::Unknown)?;
        let len = crate::row::row_len(row)?;
        let some = row.len().min(len);
        let Some(out) = out.get_mut(..len) else {
            return Err(DbError::RowTooLong { needed: len });
        };
        out[..some].copy_from_slice(&row[..some]);
        if some < len {
            let (layout, numbers) = (self.media.layout(), self.media.numbers());
            let at = Position::of_pointer(pointer, layout, numbers).ok_or(DbError::Unknown)?;
            gather(self, at.page, &mut out[some..])?;
        }
        Ok(Place { len, base })
    }
}

/// A hash that keys have in common only where they are equal.
fn exact_of<'v>(key: &HashKey, values: impl Iterator<Item = Value<'v>>) -> u64 {
    let mut code = KeyCode::start(IndexKind::Hash, key);
    values.for_each(|value| code.add(&value));
    code.digest()
}

impl Find {
    /// The next row of the key, copied into `out`; none when there are no more. Cost: for the first
    /// some reads of the index, for each one read of the row; where rows of the table were ever
    /// replaced or moved, for each a lookup by its primary key.
    pub fn next<'o, 's, N: Nand>(
        &mut self,
        db: &mut Db<'_, 's, N>,
        out: &'o mut [u8],
    ) -> Result<Option<RowView<'o, 's>>, DbError> {
        db.roll_back_open()?;
        self.next_open(db, out)
    }

    /// The next row, what the transaction under way did included.
    pub(super) fn next_open<'o, 's, N: Nand>(
        &mut self,
        db: &mut Db<'_, 's, N>,
        out: &'o mut [u8],
    ) -> Result<Option<RowView<'o, 's>>, DbError> {
        if self.is_over {
            return Ok(None);
        }
        let is_unique = db.index(self.wanted.table, self.wanted.index)?.is_unique;
        if !is_unique && self.moves != db.compaction.moves {
            return Err(DbError::Stale);
        }
        loop {
            let place = if is_unique {
                self.is_over = true;
                self.only(db, out)?
            } else {
                self.next_of_many(db, out)?
            };
            let Some(Place { len, base }) = place else { return Ok(None) };
            let view = RowView::parse(db.schema, &out[..len], u64::from(base))?;
            if self.is_exact(db, &view)? {
                return Ok(Some(RowView::parse(db.schema, &out[..len], u64::from(base))?));
            }
            if is_unique {
                return Ok(None);
            }
        }
    }

    /// Whether a row whose code is the one that is looked for has the key too.
    fn is_exact<N: Nand>(
        &self,
        db: &Db<'_, '_, N>,
        view: &RowView<'_, '_>,
    ) -> Result<bool, DbError> {
        let Some(exact) = self.exact else { return Ok(true) };
        let index = db.index(self.wanted.table, self.wanted.index)?;
        let value = index.columns.first().map(|&column| view.column(column)).transpose()?;
        Ok(exact_of(&db.key, value.into_iter()) == exact)
    }

    /// The row of a unique key.
    fn only<N: Nand>(
        &self,
        db: &mut Db<'_, '_, N>,
        out: &mut [u8],
    ) -> Result<Option<Place>, DbError> {
        let Some(seat) = db.seek(self.wanted)?.row() else { return Ok(None) };
        let is_checked = self.wanted.index > 0 && db.is_checked(self.wanted.table)?;
        if is_checked && !db.is_there(seat)? {
            return Ok(None);
        }
        db.copy_at(seat.pointer, seat.place, out).map(Some)
    }

    fn next_of_many<N: Nand>(
        &mut self,
        db: &mut Db<'_, '_, N>,
        out: &mut [u8],
    ) -> Result<Option<Place>, DbError> {
        loop {
            let entry = match self.entry {
                Some(entry) => entry,
                None => {
                    match self.probe.next(&db.store, &mut db.media, &mut db.scratch[..CELL_SIZE])? {
                        // Rows of one cell share an entry's pointer: they were all looked at.
                        Some(entry) if self.last == Some(entry.pointer) => continue,
                        Some(entry) => entry,
                        None => return Ok(None),
                    }
                }
            };
            self.entry = Some(entry);
            let found = db.copy_row(entry.pointer, self.wanted, &mut self.passed, out)?;
            if found.is_some() {
                return Ok(found);
            }
            (self.entry, self.passed, self.last) = (None, 0, Some(entry.pointer));
        }
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
        db.roll_back_open()?;
        let is_unique = db.index(self.table, self.index)?.is_unique;
        if self.moves != db.compaction.moves {
            // Rows of one key each are found by their keys, wherever they lie.
            if !is_unique {
                return Err(DbError::Stale);
            }
            (self.entry, self.passed, self.moves) = (None, 0, db.compaction.moves);
        }
        loop {
            let entry = match self.entry {
                Some(entry) => entry,
                None => {
                    match self.range.next(&db.store, &mut db.media, &mut db.scratch[..CELL_SIZE])? {
                        Some(entry) if self.last == Some((entry.code, entry.pointer)) => continue,
                        Some(entry) => entry,
                        None => return Ok(None),
                    }
                }
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
