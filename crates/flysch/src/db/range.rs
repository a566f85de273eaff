//! Ranges of keys: cursors over an ordered index that borrow nothing between calls.
//!
//! 1. Rows come in the order of their keys. Entries have the first 8 bytes of a key: where several
//!    keys have one code, their rows are read to order them, see [`Group`].
//! 2. What is inserted while a cursor is under way may be given or not. So may a row that is
//!    replaced be given again, in an index in which several rows may have one key, and among unique
//!    keys of more than 64 bytes: whoever changes the rows that such a cursor gives takes the keys
//!    of some of them first.

use flysch_nand::Nand;

use super::find::{Sought, check_types};
use super::group::{Bounds, Group};
use super::kept::Kept;
use super::reader::Reader;
use super::view::Since;
use super::{Db, DbError, Direction};
use crate::media::CELL_SIZE;
use crate::row::order::End;
use crate::row::{Digest, IndexKind, RowView, Value, ValueError, key};
use crate::store::{Entry, Newest, Range, SHARED, TOMBSTONE};

/// A cursor over the rows of a range of keys, in the order of the keys.
#[derive(Debug)]
pub struct KeyRange {
    bounds: Bounds,
    range: Range,
    entry: Option<Entry>,
    passed: u32,
    /// Code and pointer of the entry before; without a pointer, all entries of the code are passed.
    last: Option<(u64, Option<u32>)>,
    /// The code whose rows are being given in the order of their keys.
    group: Option<Group>,
    since: Since,
    /// Whether the code of the entry under way has one row.
    is_only: bool,
}

impl<N: Nand> Db<'_, '_, N> {
    /// A cursor over the rows whose key in an ordered index lies from `least` to `greatest`, both
    /// included. In an index over several columns the two are values of the first column.
    pub fn range(
        &self,
        table: u8,
        index: u8,
        (least, greatest): (&Value<'_>, &Value<'_>),
        direction: Direction,
    ) -> Result<KeyRange, DbError> {
        let ends = (core::slice::from_ref(least), core::slice::from_ref(greatest));
        self.range_of(table, index, ends, direction)
    }

    /// A cursor over the rows whose key in an ordered index begins with these values.
    pub fn prefix(
        &self,
        table: u8,
        index: u8,
        values: &[Value<'_>],
        direction: Direction,
    ) -> Result<KeyRange, DbError> {
        self.range_of(table, index, (values, values), direction)
    }

    /// A cursor over the rows whose key in an ordered index lies from `least` to `greatest`, both
    /// included. Each end is a key or the first columns of one, which stand for all keys that begin
    /// with them. Cost: none.
    ///
    /// # Errors
    /// [`ValueError::EndTooLong`] where the index has texts, blobs or several columns, and an end
    /// is longer than the bytes of a key that are compared.
    #[inline(never)]
    pub fn range_of(
        &self,
        table: u8,
        index: u8,
        (least, greatest): (&[Value<'_>], &[Value<'_>]),
        direction: Direction,
    ) -> Result<KeyRange, DbError> {
        let (declared, indexed) = (self.table(table)?, self.index(table, index)?);
        if indexed.kind != IndexKind::Ordered {
            return Err(DbError::Unknown);
        }
        for end in [least, greatest] {
            let (needed, given) = (indexed.columns.len(), end.len());
            if given > needed {
                return Err(DbError::Value(ValueError::Count { needed, given }));
            }
            check_types(declared, indexed, end)?;
        }
        let kept = self.kept(table, index)?;
        let code = |code| kept.code(Digest { identity: 0, code });
        let from = code(key::codes(declared, indexed, least).0);
        let to = code(key::codes(declared, indexed, greatest).1);
        let end = |values: &[Value<'_>]| {
            let columns = key::kinds(declared, indexed).zip(values.iter().copied());
            End::new(columns).ok_or(DbError::Value(ValueError::EndTooLong))
        };
        let ends = if kept.may_meet { Some((end(least)?, end(greatest)?)) } else { None };
        let bounds = Bounds { table, index, ends, direction, is_unique: indexed.is_unique };
        Ok(self.range_between(bounds, kept.number, (from, to)))
    }

    /// A cursor over all rows of a table with a primary key, by that key's index: in the order of
    /// the keys where the index is ordered, else in no order. Cost: none. Each row then takes one
    /// read, or none where it lies on the page of the row before, and every few dozen rows one read
    /// of the index for each run. Rows that were replaced or deleted take none, nor do rows of
    /// other tables. So a table that changes is read by this, and one whose rows stay, or a ring,
    /// by [`Db::scan`]. In a schema of more than [`APART_MAX`](crate::row::APART_MAX) indexes,
    /// hashes of several tables share an index: then each row of those tables takes a read.
    pub fn all(&self, table: u8) -> Result<KeyRange, DbError> {
        let primary = self.table(table)?.primary_key().ok_or(DbError::Keyless)?;
        if primary.kind == IndexKind::Ordered {
            return self.prefix(table, 0, &[], Direction::Forward);
        }
        let kept = self.kept(table, 0)?;
        let (ends, direction, is_unique) = (None, Direction::Forward, primary.is_unique);
        let bounds = Bounds { table, index: 0, ends, direction, is_unique };
        Ok(self.range_between(bounds, kept.number, (0, kept.code_max())))
    }

    /// A cursor over the rows whose codes lie from one to another, and which meet the bounds.
    const fn range_between(&self, bounds: Bounds, number: u8, codes: (u64, u64)) -> KeyRange {
        let descends = matches!(bounds.direction, Direction::Backward);
        KeyRange {
            bounds,
            range: Range::between(number, codes, descends),
            entry: None,
            passed: 0,
            last: None,
            group: None,
            since: self.since(),
            is_only: false,
        }
    }
}

impl KeyRange {
    /// Copy the next row into `out`; None behind the last one. [`DbError::Stale`] where compaction
    /// moved rows since the first call, or the newest rows came to another page, as a transaction
    /// was rolled back or a program failed; unless each code has one row. Cost: one read of the
    /// row, and every few dozen rows about one read of the index for each run. Where keys agree in
    /// their first 8 bytes, the pages of all their rows are read once for every 16 rows given, or
    /// for each where something is written between the calls. Keys that agree in their first 64
    /// bytes come in any order. Rows that had such a key and were replaced or deleted since are
    /// read once, as by [`Find::next`](super::Find::next).
    #[inline(never)]
    pub fn next<'o, 'ram, 's, N: Nand>(
        &mut self,
        reader: &mut impl Reader<'ram, 's, N>,
        out: &'o mut [u8],
    ) -> Result<Option<RowView<'o, 's>>, DbError> {
        let db = reader.reading()?;
        db.check_past(self.bounds.table)?;
        let kept = db.kept(self.bounds.table, self.bounds.index)?;
        if db.has_lost_place(&mut self.since) {
            // Where each code has one row, the next row is found by its key, wherever it lies.
            let is_amid =
                self.entry.is_some() || self.group.as_ref().is_some_and(Group::is_under_way);
            if !self.bounds.is_unique || kept.is_grouped() || is_amid {
                return Err(DbError::Stale);
            }
            self.since = db.since();
        }
        let Some((pointer, place)) = self.next_place(db, kept)? else { return Ok(None) };
        let copied = db.row_at(pointer, place, out);
        self.pass(place, copied.is_ok());
        copied.map(Some)
    }

    /// Pass the row at a place of its cell, or leave it to the next call, which may lend more bytes
    /// for it. A key that has one row is left with it: an update may have put another entry of it.
    fn pass(&mut self, place: u32, is_copied: bool) {
        let entry = self.entry;
        match self.group.as_mut().filter(|group| entry.is_none() || group.is_under_way()) {
            Some(group) if !is_copied => group.give_back(),
            Some(group) => group.leave(&self.bounds),
            None if !is_copied => self.passed = place,
            None => {
                if let Some(entry) = entry.filter(|_| self.is_only) {
                    self.leave(entry, None);
                }
            }
        }
    }

    #[inline(never)]
    fn next_place<N: Nand>(
        &mut self,
        db: &mut Db<'_, '_, N>,
        kept: Kept,
    ) -> Result<Option<(u32, u32)>, DbError> {
        let is_past = db.view.is_past() && db.store.has_one_row(kept.number);
        loop {
            if let Some(group) = &mut self.group {
                let next = if kept.may_meet {
                    group.next(db, &self.bounds)?
                } else {
                    group.only(db, &self.bounds)?
                };
                if next.is_some() {
                    return Ok(next);
                }
            }
            let is_fresh = self.entry.is_none();
            let Some(entry) = self.next_entry(db)? else { return Ok(None) };
            if self.group.as_ref().is_some_and(|group| group.code == entry.code) {
                self.leave(entry, Some(entry.pointer));
                continue;
            }
            let is_direct = entry.is_sole() && !kept.is_grouped() && db.may_see(entry.pointer);
            if is_past && !is_direct {
                self.look_back(entry);
                continue;
            }
            if is_ended(entry) && !is_past {
                self.leave(entry, Some(entry.pointer));
                continue;
            }
            self.entry = Some(entry);
            let mut passed = self.passed;
            // The primary key's index gives the newest entry of each key. Only keys that share a
            // code are looked up once more, as a group.
            let is_doubtful = self.bounds.index > 0 || entry.is(SHARED);
            let sought = Sought { is_doubtful, ..self.bounds.sought(entry.code) };
            let found = db.live_row(entry.pointer, sought, &mut passed)?;
            self.passed = passed;
            let Some(place) = found else {
                if is_past && is_fresh {
                    self.look_back(entry);
                    continue;
                }
                if is_fresh && !self.bounds.is_unique {
                    db.take_back(sought, entry.code, entry.pointer)?;
                }
                self.leave(entry, Some(entry.pointer));
                continue;
            };
            let is_told =
                !kept.is_grouped() || is_told(db, &self.bounds, kept, (entry.pointer, place))?;
            if !is_told {
                self.group = Some(Group::new(entry.code));
                continue;
            }
            // Rows of other keys may have a hash that is shared.
            let is_its_own = kept.is_ordered() || !entry.is(SHARED);
            self.is_only = self.bounds.is_unique && is_its_own;
            if is_fresh && is_its_own && self.bounds.index == 0 {
                // An update of the row need not look for it.
                db.store.note_newest(kept.number, entry.code, Newest::At(entry.pointer));
            }
            return Ok(Some((entry.pointer, place)));
        }
    }

    /// The entry under way, or the next one.
    fn next_entry<N: Nand>(&mut self, db: &mut Db<'_, '_, N>) -> Result<Option<Entry>, DbError> {
        if self.entry.is_some() {
            return Ok(self.entry);
        }
        loop {
            let next = self.range.next(&db.store, &mut db.media, &mut db.scratch[..CELL_SIZE])?;
            let is_last = next.zip(self.last).is_some_and(|(it, (code, pointer))| {
                it.code == code && pointer.is_none_or(|pointer| it.pointer == pointer)
            });
            if !is_last {
                return Ok(next);
            }
        }
    }

    /// Look at all rows of a code: the reader may see an older one than its newest entry leads to.
    const fn look_back(&mut self, entry: Entry) {
        (self.entry, self.passed) = (None, 0);
        self.group = Some(Group::new(entry.code));
    }

    fn leave(&mut self, entry: Entry, pointer: Option<u32>) {
        self.last = Some((entry.code, pointer));
        (self.entry, self.passed) = (None, 0);
    }
}

/// Whether an entry, the newest of its code, says that the key was deleted: nothing is read.
fn is_ended(entry: Entry) -> bool {
    entry.is(TOMBSTONE) && entry.is_sole()
}

/// Whether the code of this row's key belongs to no other key.
#[inline(never)]
fn is_told<N: Nand>(
    db: &mut Db<'_, '_, N>,
    bounds: &Bounds,
    kept: Kept,
    place: (u32, u32),
) -> Result<bool, DbError> {
    let is_several = db.index(bounds.table, bounds.index)?.columns.len() > 1;
    Ok(is_several && db.rank_at(bounds, place)?.is_some_and(|it| it.0.len() <= kept.code_size()))
}
