//! Lookups by key: cursors that borrow nothing between calls.
//!
//! 1. A cursor gives each row of its key once, even if runs are merged meanwhile.
//! 2. A row that is inserted after the cursor was made may be given or not. So may a row that is
//!    replaced be given again, where several rows may have the key: whoever changes the rows that
//!    such a cursor gives takes the keys of some of them first.

use flysch_nand::Nand;

use super::criteria::{Test, meets};
use super::index::Wanted;
use super::kept::Kept;
use super::reader::Reader;
use super::scan::{Place, copy_row, gather};
use super::view::Since;
use super::{Db, DbError};
use crate::record::Position;
use crate::row::order::End;
use crate::row::{
    ColumnType, Digest, HashKey, Index, RowKind, RowView, Table, Value, ValueError, key,
};
use crate::store::{Entry, Probe, SHARED};

/// A cursor over the rows of one key.
#[derive(Debug)]
pub struct Find {
    wanted: Wanted,
    probe: Probe,
    /// The entry whose cell is being searched, and how many rows of that cell were passed.
    entry: Option<Entry>,
    passed: u32,
    /// The pointer of the cell that was searched before.
    last: Option<u32>,
    is_over: bool,
    since: Since,
}

/// What a row must have to be the one looked for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Carried<'e> {
    /// This very key.
    Key(Digest),
    /// A key of this code, between these ends where there are any.
    Code(u64, Option<&'e (End, End)>),
    /// The keys of one test of each group.
    Each(&'e [Test]),
}

/// What is looked for in the cell that an entry names.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sought<'e> {
    pub(super) table: u8,
    pub(super) index: u8,
    pub(super) carried: Carried<'e>,
    /// Whether a newer entry of the same key may exist.
    pub(super) is_doubtful: bool,
}

/// A row that has the key that is looked for.
pub(super) struct Candidate {
    /// The digest of its primary key, to look up whether it was replaced or deleted. None where
    /// rows of the table never were.
    pub(super) key: Option<Digest>,
    /// Whether no later row of its cell has the same primary key.
    pub(super) is_last: bool,
}

impl<'s, N: Nand> Db<'_, 's, N> {
    /// A cursor over the rows whose columns of this index have these values. Cost: none.
    pub fn find(&self, table: u8, index: u8, values: &[Value<'_>]) -> Result<Find, DbError> {
        let digest = self.digest_of_key(table, index, values)?;
        self.find_wanted(Wanted { table, index, digest })
    }

    /// The digest of a key in an index. Values that are no key of it are refused.
    pub(super) fn digest_of_key(
        &self,
        table: u8,
        index: u8,
        values: &[Value<'_>],
    ) -> Result<Digest, DbError> {
        let (declared, indexed) = (self.table(table)?, self.index(table, index)?);
        let (needed, given) = (indexed.columns.len(), values.len());
        if needed != given {
            return Err(DbError::Value(ValueError::Count { needed, given }));
        }
        check_types(declared, indexed, values)?;
        Ok(key::digest(declared, indexed, &self.key, values))
    }

    pub(super) fn find_wanted(&self, wanted: Wanted) -> Result<Find, DbError> {
        let (probe, since) = (self.probe(wanted)?, self.since());
        Ok(Find { wanted, probe, entry: None, passed: 0, last: None, is_over: false, since })
    }

    /// Copy the row whose columns of this index have these values into `out`; None where there is
    /// none. Cost: one read of the index as a rule, and one of the row.
    pub fn get<'o>(
        &mut self,
        table: u8,
        index: u8,
        values: &[Value<'_>],
        out: &'o mut [u8],
    ) -> Result<Option<RowView<'o, 's>>, DbError> {
        self.find(table, index, values)?.next(self, out)
    }

    /// The place of a current row with the key, among the rows that begin in a cell, from place
    /// `passed` on; None where there is no more. `passed` becomes the place behind it.
    #[inline(never)]
    pub(super) fn live_row(
        &mut self,
        pointer: u32,
        sought: Sought<'_>,
        passed: &mut u32,
    ) -> Result<Option<u32>, DbError> {
        while let Some(candidate) = self.next_row(pointer, sought, passed)? {
            if !candidate.is_last {
                continue;
            }
            if let Some(key) = candidate.key.filter(|_| sought.is_doubtful)
                && !self.is_newest(sought.table, key, pointer)?
            {
                continue;
            }
            return Ok(Some(*passed - 1));
        }
        Ok(None)
    }

    /// The row with the key at place `passed` of a cell or behind it.
    pub(super) fn next_row(
        &mut self,
        pointer: u32,
        sought: Sought<'_>,
        passed: &mut u32,
    ) -> Result<Option<Candidate>, DbError> {
        let (schema, hash) = (self.schema, self.key);
        let kept = self.kept(sought.table, sought.index)?;
        let index = self.index(sought.table, sought.index)?;
        let primary = self.table(sought.table)?.primary_key();
        let primary = primary.filter(|_| self.is_changed(sought.table));
        let sight = self.view;
        let mut found: Option<Candidate> = None;
        let stretch = self.rows_at(pointer, false)?;
        let base = u64::from(stretch.base);
        for (number, row) in (0..).zip(stretch.rows()).skip(*passed as usize) {
            let view = RowView::parse_front(schema, row, base)?;
            if !sight.sees(&view) {
                continue;
            }
            if let Some(found) = &mut found {
                // A later row of the same cell has the same key: it replaces this one.
                let is_same = view.head.table == sought.table
                    && primary.is_some_and(|key| view.digest(key, &hash).ok() == found.key);
                found.is_last &= !is_same;
            } else if sought.is_met_by(&view, (index, &hash), kept) {
                let key = primary.map(|primary| view.digest(primary, &hash)).transpose()?;
                found = Some(Candidate { key, is_last: true });
                *passed = number + 1;
            }
        }
        Ok(found)
    }

    /// Copy the row at a place of the cell that a pointer names into `out`.
    pub(super) fn row_at<'o>(
        &mut self,
        pointer: u32,
        place: u32,
        out: &'o mut [u8],
    ) -> Result<RowView<'o, 's>, DbError> {
        let stretch = self.rows_at(pointer, false)?;
        let (Place { len, base }, some) = copy_row(&stretch, place, out)?;
        if some < len {
            let (layout, numbers) = (self.media.layout(), self.media.numbers());
            let at = Position::of_pointer(pointer, layout, numbers).ok_or(DbError::Unknown)?;
            gather(self, at.page, &mut out[some..len])?;
        }
        Ok(RowView::parse(self.schema, &out[..len], u64::from(base))?)
    }
}

impl Sought<'_> {
    /// Whether a row of a cell is of the table, holds its columns, and has what is looked for.
    pub(super) fn is_met_by(
        &self,
        view: &RowView<'_, '_>,
        index: (&Index<'_>, &HashKey),
        kept: Kept,
    ) -> bool {
        view.head.table == self.table
            && view.head.kind != RowKind::Tombstone
            && self.carried.is_in(view, index, kept)
    }
}

impl Carried<'_> {
    /// Whether a row has a key in an index.
    fn is_in(
        self,
        view: &RowView<'_, '_>,
        (index, hash): (&Index<'_>, &HashKey),
        kept: Kept,
    ) -> bool {
        match self {
            Carried::Key(key) => view.digest(index, hash) == Ok(key),
            Carried::Each(tests) => meets(view, tests, hash),
            Carried::Code(code, ends) => {
                let Ok(digest) = view.digest(index, hash) else { return false };
                let is_within = |(least, greatest): &(End, End)| {
                    least.compare(columns_of(view, index)).is_ge()
                        && greatest.compare(columns_of(view, index)).is_le()
                };
                kept.code(digest) == code && ends.is_none_or(is_within)
            }
        }
    }
}

/// The columns of a row that make its key in an index, with their types.
pub(super) fn columns_of<'a>(
    view: &'a RowView<'a, 'a>,
    index: &'a Index<'a>,
) -> impl Iterator<Item = (ColumnType, Value<'a>)> {
    let kinds = key::kinds(view.table, index).zip(index.columns);
    kinds.map(|(kind, &column)| (kind, view.column(column).unwrap_or(Value::Null)))
}

/// Refuse values whose types are not those of the index's first columns. Null fits every type.
pub(super) fn check_types(
    table: &Table<'_>,
    index: &Index<'_>,
    values: &[Value<'_>],
) -> Result<(), DbError> {
    for ((value, kind), &column) in values.iter().zip(key::kinds(table, index)).zip(index.columns) {
        if value.column_type().is_some_and(|given| given != kind) {
            return Err(DbError::Value(ValueError::Type { column }));
        }
    }
    Ok(())
}

impl Find {
    /// Copy the next row of the key into `out`; None behind the last one. Cost: for the first row
    /// some reads of the index, and one read for each row. Where rows of the table were ever
    /// replaced or moved, each row takes a lookup by its primary key as well. So does each row that
    /// had the key and was replaced or deleted since, once: its entry is then taken back, as far as
    /// the memory for entries has room.
    pub fn next<'o, 'ram, 's, N: Nand>(
        &mut self,
        reader: &mut impl Reader<'ram, 's, N>,
        out: &'o mut [u8],
    ) -> Result<Option<RowView<'o, 's>>, DbError> {
        let db = reader.reading()?;
        db.check_past(self.wanted.table)?;
        if self.is_over {
            return Ok(None);
        }
        let is_unique = db.index(self.wanted.table, self.wanted.index)?.is_unique;
        if !is_unique && db.has_lost_place(&mut self.since) {
            return Err(DbError::Stale);
        }
        let found = if is_unique {
            self.is_over = true;
            self.only(db)?
        } else {
            self.next_of_many(db)?
        };
        let Some((pointer, place)) = found else { return Ok(None) };
        let copied = db.row_at(pointer, place, out);
        if copied.is_err() {
            // The next call may lend more bytes for the row.
            (self.passed, self.is_over) = (place, false);
        }
        copied.map(Some)
    }

    /// Go on with a row that another cursor of the key gave. Where only one row may have the key,
    /// the cursor begins with it.
    pub(super) fn go_on_at(&mut self, (pointer, place): (u32, u32)) {
        if self.probe.is_many() {
            (self.entry, self.passed) = (Some(self.probe.pass(pointer)), place);
        }
    }

    /// The pointer of the next row's cell, and the row's place in that cell.
    pub(super) fn next_place<N: Nand>(
        &mut self,
        db: &mut Db<'_, '_, N>,
    ) -> Result<Option<(u32, u32)>, DbError> {
        if db.index(self.wanted.table, self.wanted.index)?.is_unique {
            return if core::mem::replace(&mut self.is_over, true) {
                Ok(None)
            } else {
                self.only(db)
            };
        }
        self.next_of_many(db)
    }

    /// The pointer and the place of the row that has a unique key.
    fn only<N: Nand>(&self, db: &mut Db<'_, '_, N>) -> Result<Option<(u32, u32)>, DbError> {
        let Some(seat) = db.seek(self.wanted)?.row() else { return Ok(None) };
        let is_current = db.is_current(seat, self.wanted.index)?;
        Ok(is_current.then_some((seat.pointer, seat.place)))
    }

    fn next_of_many<N: Nand>(
        &mut self,
        db: &mut Db<'_, '_, N>,
    ) -> Result<Option<(u32, u32)>, DbError> {
        let index = || db.index(self.wanted.table, self.wanted.index);
        debug_assert!(index().is_ok_and(|index| !index.is_unique), "one row has a shorter way");
        loop {
            let entry = match self.entry {
                Some(entry) => entry,
                None => {
                    match db.next_entry(&mut self.probe)? {
                        // Rows of one cell share a pointer, and all rows of this cell were
                        // searched.
                        Some(entry) if self.last == Some(entry.pointer) => continue,
                        Some(entry) if !db.may_see(entry.pointer) => continue,
                        Some(entry) => entry,
                        None => return Ok(None),
                    }
                }
            };
            self.entry = Some(entry);
            let Wanted { table, index, digest } = self.wanted;
            let is_doubtful = index > 0 || entry.is(SHARED);
            let sought = Sought { table, index, carried: Carried::Key(digest), is_doubtful };
            let is_first = self.passed == 0;
            let found = db.live_row(entry.pointer, sought, &mut self.passed)?;
            if let Some(place) = found {
                return Ok(Some((entry.pointer, place)));
            }
            if is_first {
                db.take_back(sought, entry.code, entry.pointer)?;
            }
            (self.entry, self.passed, self.last) = (None, 0, Some(entry.pointer));
        }
    }
}
