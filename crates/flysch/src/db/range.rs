//! Ranges of keys: cursors over an ordered index that borrow nothing between calls.
//!
//! 1. Rows come in the order of their keys. Entries have the first 8 bytes of a key: where several
//!    keys have one code, their rows are read to order them, each time the next one is asked for.
//! 2. What is inserted while a cursor is under way may be given or not.

use flysch_nand::Nand;

use super::find::{Carried, Sought, check_types, columns_of};
use super::kept::Kept;
use super::reader::Reader;
use super::scan::Place;
use super::view::Since;
use super::{Db, DbError, Direction};
use crate::media::CELL_SIZE;
use crate::row::order::End;
use crate::row::{Digest, IndexKind, RowView, Value, ValueError, key};
use crate::store::{Entry, Held, Probe, Range, SHARED};

/// A cursor over the rows of a range of keys, in the order of the keys.
#[derive(Debug)]
pub struct KeyRange {
    table: u8,
    index: u8,
    direction: Direction,
    range: Range,
    /// The ends of the range, where codes alone cannot tell whether a row lies between them.
    ends: Option<(End, End)>,
    entry: Option<Entry>,
    passed: u32,
    /// Code and pointer of the entry before.
    last: Option<(u64, u32)>,
    /// The code whose rows are being given in the order of their keys, and the last row given.
    group: Option<(u64, Option<Rank>)>,
    since: Since,
}

/// The order of a row among those of one code: its key, as far as an end holds it, then its pointer
/// and its place.
type Rank = (End, u32, u32);

/// Entries of one code that are held at a time while its rows are ordered.
const HELD: usize = 8;

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
            End::new(columns).ok_or(DbError::Value(ValueError::TooLong))
        };
        let ends = if kept.may_meet { Some((end(least)?, end(greatest)?)) } else { None };
        let descends = direction == Direction::Backward;
        Ok(KeyRange {
            table,
            index,
            direction,
            range: Range::between(kept.number, (from, to), descends),
            ends,
            entry: None,
            passed: 0,
            last: None,
            group: None,
            since: self.since(),
        })
    }

    /// The key of a row at a place, in the order of an index.
    fn rank_at(
        &mut self,
        (table, index): (u8, u8),
        (pointer, place): (u32, u32),
    ) -> Result<Rank, DbError> {
        let indexed = self.index(table, index)?;
        let view = self.front_at(pointer, place)?;
        Ok((End::front(columns_of(&view, indexed)), pointer, place))
    }
}

impl KeyRange {
    /// Copy the next row into `out`; None behind the last one. [`DbError::Stale`] where compaction
    /// moved rows since the range was made, unless each code has one row. Cost: one read of the
    /// row, and every few dozen rows about one read of the index for each run. Where keys agree in
    /// their first 8 bytes, all of them are looked at for each row, in two reads or so a row. Keys
    /// that agree in their first 64 bytes come in any order.
    #[inline(never)]
    pub fn next<'o, 'ram, 's, N: Nand>(
        &mut self,
        reader: &mut impl Reader<'ram, 's, N>,
        out: &'o mut [u8],
    ) -> Result<Option<RowView<'o, 's>>, DbError> {
        let db = reader.reading()?;
        db.check_past(self.table)?;
        let kept = db.kept(self.table, self.index)?;
        let is_unique = db.index(self.table, self.index)?.is_unique && !kept.may_meet;
        if db.has_moved(self.since) {
            // Where each key has one row, the row is found by its key, wherever it lies.
            if !is_unique {
                return Err(DbError::Stale);
            }
            (self.entry, self.passed, self.since) = (None, 0, db.since());
        }
        let Some((pointer, place)) = self.next_place(db, kept)? else { return Ok(None) };
        let Place { len, base } = db.copy_at(pointer, place, out)?;
        Ok(Some(RowView::parse(db.schema, &out[..len], u64::from(base))?))
    }

    #[inline(never)]
    fn next_place<N: Nand>(
        &mut self,
        db: &mut Db<'_, '_, N>,
        kept: Kept,
    ) -> Result<Option<(u32, u32)>, DbError> {
        let is_past = db.view.is_past() && db.store.has_one_row(kept.number);
        loop {
            if let Some((code, after)) =
                self.group.filter(|(_, after)| kept.may_meet || after.is_none())
            {
                let next = if is_past {
                    self.next_of_past(db, kept, (code, after))?
                } else {
                    self.next_of_group(db, kept, (code, after))?
                };
                if let Some(rank) = next {
                    self.group = Some((code, Some(rank)));
                    return Ok(Some((rank.1, rank.2)));
                }
            }
            let Some(entry) = self.next_entry(db)? else { return Ok(None) };
            if self.group.is_some_and(|(code, _)| code == entry.code) {
                self.leave(entry);
                continue;
            }
            if is_past {
                self.group = Some((entry.code, None));
                continue;
            }
            self.entry = Some(entry);
            let mut passed = self.passed;
            // The primary key's index gives the newest entry of each key. Only keys that share a
            // code are looked up once more, as a group.
            let sought = self.sought(entry, self.index > 0 || entry.is(SHARED));
            let found = db.live_row(entry.pointer, sought, &mut passed)?;
            self.passed = passed;
            let Some(place) = found else {
                self.leave(entry);
                continue;
            };
            if kept.may_meet && !self.is_told(db, (entry.pointer, place))? {
                self.group = Some((entry.code, None));
                continue;
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
            let is_last = next.is_some_and(|it| self.last == Some((it.code, it.pointer)));
            if !is_last {
                return Ok(next);
            }
        }
    }

    fn leave(&mut self, entry: Entry) {
        self.last = Some((entry.code, entry.pointer));
        (self.entry, self.passed) = (None, 0);
    }

    /// What a row must have that an entry leads to: the entry's code, and a key in the range.
    fn sought(&self, entry: Entry, is_doubtful: bool) -> Sought<'_> {
        let carried = Carried::Code(entry.code, self.ends.as_ref());
        Sought { table: self.table, index: self.index, carried, is_doubtful }
    }

    /// Whether the code of this row's key belongs to no other key.
    #[inline(never)]
    fn is_told<N: Nand>(&self, db: &mut Db<'_, '_, N>, place: (u32, u32)) -> Result<bool, DbError> {
        let kept = db.kept(self.table, self.index)?;
        let (key, ..) = db.rank_at((self.table, self.index), place)?;
        let is_several = db.index(self.table, self.index)?.columns.len() > 1;
        Ok(is_several && key.len() <= kept.code_size())
    }

    /// The row that comes next in the order of the keys, of those with one code that a reader of
    /// the past sees. It may be an older version than the newest.
    #[inline(never)]
    fn next_of_past<N: Nand>(
        &self,
        db: &mut Db<'_, '_, N>,
        kept: Kept,
        (code, after): (u64, Option<Rank>),
    ) -> Result<Option<Rank>, DbError> {
        let mut probe = Probe::new(db.store.config(), kept.number, code);
        let mut best = None;
        while let Some(entry) = db.next_entry(&mut probe)? {
            if db.may_see(entry.pointer) {
                best = self.next_in(db, entry, (after, best))?;
            }
            if best.is_some() && !kept.may_meet {
                break;
            }
        }
        Ok(best)
    }

    /// The row that comes next behind `after`: one of those that an entry leads to, or `best`.
    #[inline(never)]
    fn next_in<N: Nand>(
        &self,
        db: &mut Db<'_, '_, N>,
        entry: Entry,
        (after, mut best): (Option<Rank>, Option<Rank>),
    ) -> Result<Option<Rank>, DbError> {
        let forward = self.direction == Direction::Forward;
        let comes_before =
            |one: &Rank, other: &Rank| if forward { one < other } else { one > other };
        let mut passed = 0;
        let sought = self.sought(entry, true);
        while let Some(place) = db.live_row(entry.pointer, sought, &mut passed)? {
            let rank = db.rank_at((self.table, self.index), (entry.pointer, place))?;
            let is_due = after.is_none_or(|after| comes_before(&after, &rank));
            if is_due && best.is_none_or(|best| comes_before(&rank, &best)) {
                best = Some(rank);
            }
        }
        Ok(best)
    }

    /// The row of a code that comes next in the order of the keys.
    #[inline(never)]
    fn next_of_group<N: Nand>(
        &self,
        db: &mut Db<'_, '_, N>,
        kept: Kept,
        (code, after): (u64, Option<Rank>),
    ) -> Result<Option<Rank>, DbError> {
        let mut range: Range<[Held; HELD]> = Range::new(kept.number, code, code);
        let mut last = None;
        let mut best: Option<Rank> = None;
        while let Some(entry) =
            range.next(&db.store, &mut db.media, &mut db.scratch[..CELL_SIZE])?
        {
            if last.replace(entry.pointer) == Some(entry.pointer) {
                continue;
            }
            best = self.next_in(db, entry, (after, best))?;
        }
        Ok(best)
    }
}
