//! Transactions: rows appended, and committed or taken back together.

use flysch_nand::Nand;

use super::commit::Durability;
use super::index::Wanted;
use super::joins::Found;
use super::seek::Seat;
use super::space::Claim;
use super::view::View;
use super::{Db, DbError, UnderWay};
use crate::log::NUMBER_MAX;
use crate::record::{Appended, Moment, NewRow, PARTS};
use crate::row::{
    COLUMNS_MAX, Digest, RowHead, RowKind, Table, Value, check_values, key, values_len,
};

/// A transaction. One that is dropped without a commit is rolled back by the next call that writes.
#[derive(Debug)]
pub struct Transaction<'d, 'ram, 's, N> {
    pub(super) db: &'d mut Db<'ram, 's, N>,
}

impl<'ram, 's, N: Nand> Db<'ram, 's, N> {
    /// Begin a transaction. Cost: nothing as a rule; the first one after an open makes certain what
    /// the open found, in a few erases and programs. Where hardly a block is left, a program and
    /// some 30 reads for the next ones. Where commits did not free blocks in time, as in sessions
    /// of few, up to what moving the rows of two blocks costs. After a transaction that only
    /// deleted, an insert or update that comes first costs that instead.
    #[inline(never)]
    pub fn begin(&mut self) -> Result<Transaction<'_, 'ram, 's, N>, DbError> {
        self.roll_back_open()?;
        self.view = View::NOW;
        if self.commit >= NUMBER_MAX {
            return Err(DbError::Full);
        }
        self.settle()?;
        self.begin_call();
        // A long transaction was rolled back, or others were: their blocks are free once a record
        // says so.
        self.name_blocks_ahead()?;
        // Dead rows go first, then the oldest rows of the rings.
        self.compact_ahead()?;
        self.yield_rings()?;
        self.begin_now();
        Ok(Transaction { db: self })
    }

    /// Note that a transaction is under way.
    pub(super) fn begin_now(&mut self) {
        debug_assert!(self.under_way.is_none(), "one transaction at a time");
        let free = self.media.free_count();
        self.under_way = Some(UnderWay { free, ..UnderWay::default() });
        self.check();
    }

    /// Roll back what a dropped transaction left.
    pub(super) fn roll_back_open(&mut self) -> Result<(), DbError> {
        // A reader of the past was leaked and did not reset the view.
        self.view = View::NOW;
        if self.under_way.is_none() {
            return Ok(());
        }
        self.forget_frame();
        self.store.roll_back();
        let mut moves = [None; PARTS];
        let done = self.records.roll_back(&mut self.media, self.frame, &mut moves);
        if moves.iter().any(Option::is_some) {
            moves.into_iter().flatten().for_each(|moved| self.rename(moved));
            // The pages that the transaction programmed have this commit number, so it is not used
            // again.
            self.commit += 1;
            self.log.forget_tail();
        }
        // What could not be read is tried again by the next call.
        done?;
        self.under_way = None;
        self.check();
        Ok(())
    }

    fn insert(&mut self, table: u8, values: &[Value<'_>]) -> Result<(), DbError> {
        self.find_space()?;
        match self.joining(table).map(|enforcer| enforcer.insert) {
            Some(insert) => insert(self, table, values),
            None => self.insert_whole(table, values, 0),
        }
    }

    /// Insert a row whose join columns are filled, and of which these parents were found.
    pub(super) fn insert_whole(
        &mut self,
        table: u8,
        values: &[Value<'_>],
        found: Found,
    ) -> Result<(), DbError> {
        check(self.table(table)?, values)?;
        let is_shared = self.check_unique(table, values, None)?;
        self.obey(table, values, found)?;
        self.append(RowHead { table, kind: RowKind::Row, is_shared }, values).map(drop)
    }

    /// Replace the row that has the same primary key as `values`; false where there is none.
    fn update(&mut self, table: u8, values: &[Value<'_>]) -> Result<bool, DbError> {
        self.find_space()?;
        match self.joining(table).map(|enforcer| enforcer.update) {
            Some(update) => update(self, table, values),
            None => self.update_whole(table, values, 0),
        }
    }

    /// Update a row whose join columns are filled, and of which these parents were found.
    pub(super) fn update_whole(
        &mut self,
        table: u8,
        values: &[Value<'_>],
        found: Found,
    ) -> Result<bool, DbError> {
        check(self.table(table)?, values)?;
        let declared = self.table(table)?;
        let primary = declared.primary_key().ok_or(DbError::Keyless)?;
        let digest = key::digest_of_row(declared, primary, &self.key, values);
        let Some(old) = self.seek(Wanted { table, index: 0, digest })?.row() else {
            return Ok(false);
        };
        if !self.has_key(old, &|place| values[usize::from(primary.columns[place])])? {
            return Ok(false);
        }
        self.replace(old, values, found)?;
        Ok(true)
    }

    /// Replace a row by a new version with the same primary key, which may refer to other parents.
    pub(super) fn change(&mut self, old: Seat, values: &[Value<'_>]) -> Result<(), DbError> {
        match self.joining(old.head.table).map(|enforcer| enforcer.change) {
            Some(change) => change(self, old, values),
            None => self.replace(old, values, 0),
        }
    }

    /// Replace a row by a new version with the same primary key, of which these parents were found.
    pub(super) fn replace(
        &mut self,
        old: Seat,
        values: &[Value<'_>],
        found: Found,
    ) -> Result<(), DbError> {
        let table = old.head.table;
        debug_assert!(old.head.kind != RowKind::Tombstone, "what is replaced is a row");
        debug_assert!(
            self.key_of(table, values) == Some(old.key),
            "a new version has the same key"
        );
        let is_shared = self.check_unique(table, values, Some(old))?;
        self.obey(table, values, found)?;
        self.set_changed(table);
        self.append_over(old, RowHead { table, kind: RowKind::Row, is_shared }, values)
    }

    /// The digest of a row's primary key; None where the table has none.
    fn key_of(&self, table: u8, values: &[Value<'_>]) -> Option<Digest> {
        let declared = self.table(table).ok()?;
        let primary = declared.primary_key()?;
        Some(key::digest_of_row(declared, primary, &self.key, values))
    }

    /// Delete the row whose primary key has these values; false where there is none.
    #[inline(never)]
    fn delete(&mut self, table: u8, values: &[Value<'_>]) -> Result<bool, DbError> {
        let declared = self.table(table)?;
        let primary = declared.primary_key().ok_or(DbError::Keyless)?;
        let columns = primary.columns.iter().copied();
        check_values(declared, values, columns).map_err(DbError::Value)?;
        let digest = key::digest(declared, primary, &self.key, values);
        let Some(old) = self.seek(Wanted { table, index: 0, digest })?.row() else {
            return Ok(false);
        };
        if !self.has_key(old, &|place| values[place])? {
            return Ok(false);
        }
        if self.delete_parent(Wanted { table, index: 0, digest })? {
            return Ok(true);
        }
        self.set_changed(table);
        let is_shared = old.head.is_shared;
        self.append_over(old, RowHead { table, kind: RowKind::Tombstone, is_shared }, values)?;
        Ok(true)
    }

    /// Whether the key of a row equals these values. In an ordered index two text keys may differ
    /// and yet have one code; such a row is not the one to replace. Cost: nothing: the row was just
    /// read.
    fn has_key<'v>(
        &mut self,
        seat: Seat,
        value: &dyn Fn(usize) -> Value<'v>,
    ) -> Result<bool, DbError> {
        let primary = self.table(seat.head.table)?.primary_key().ok_or(DbError::Keyless)?;
        let view = self.front_at(seat.pointer, seat.place)?;
        for (place, &column) in primary.columns.iter().enumerate() {
            if view.column(column)? != value(place) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Refuse a row whose key in a unique index another row has. `own` is the row to be replaced,
    /// which may have it. Returns whether the new row is to be marked as shared. Cost: a lookup for
    /// each such index.
    fn check_unique(
        &mut self,
        table: u8,
        values: &[Value<'_>],
        own: Option<Seat>,
    ) -> Result<bool, DbError> {
        let declared = self.table(table)?;
        debug_assert!(own.is_none_or(|own| own.head.table == table), "a row replaces its like");
        let mut is_shared = own.is_some_and(|own| own.head.is_shared);
        for (index, unique) in (0..).zip(declared.indexes).filter(|(_, index)| index.is_unique) {
            if index == 0 && own.is_some() {
                continue;
            }
            let digest = key::digest_of_row(declared, unique, &self.key, values);
            let sought = self.seek(Wanted { table, index, digest })?;
            let is_other = |seat: &Seat| own.is_none_or(|own| own.key != seat.key);
            if let Some(row) = sought.row().filter(is_other)
                && self.is_current(row, index)?
            {
                return Err(DbError::Duplicate { index });
            }
            is_shared |= sought.is_shared();
            // The key's tombstone is dead once the key is inserted again.
            if let Some(old) = sought.seat.filter(|old| old.head.kind == RowKind::Tombstone) {
                self.note_dead(old.pointer, old.len);
            }
        }
        Ok(is_shared)
    }

    /// Refuse to go on with a transaction of which only a part was taken back.
    pub(super) fn check_spoilt(&self) -> Result<(), DbError> {
        let is_spoilt = self.under_way.is_some_and(|tx| tx.is_spoilt);
        if is_spoilt { Err(DbError::Savepoint) } else { Ok(()) }
    }

    /// Append a row; returns its pointer. The values of a tombstone are those of the primary key.
    pub(super) fn append(&mut self, head: RowHead, values: &[Value<'_>]) -> Result<u32, DbError> {
        debug_assert!(self.under_way.is_some(), "rows are appended by a transaction");
        debug_assert!(self.doubt.is_none(), "what the open found is certain");
        self.check_spoilt()?;
        let is_ring = self.table(head.table)?.keep.is_some();
        let claim = match head.kind {
            RowKind::Tombstone => Claim::Shrink,
            RowKind::Row | RowKind::Moved if is_ring => Claim::Turn,
            RowKind::Row | RowKind::Moved => Claim::of_row(values_len(values)),
        };
        if claim == Claim::GrowShort {
            self.compaction.claim = claim;
        }
        self.make_room_for_changes();
        if let Err(full) = self.check_space(claim) {
            // Snapshots keep the space that is missing. The writer does not wait for their readers.
            self.drop_snapshots();
            let taken =
                self.under_way.map_or(0, |tx| tx.free.saturating_sub(self.media.free_count()));
            self.compaction.refused = self.compaction.refused.max(2 * taken);
            return Err(full);
        }
        let begun_at = self.media.write;
        self.make_room(head.table)?;
        self.unpaid = self.unpaid.saturating_add(1);
        let row = NewRow { head, values, commit: self.commit };
        let moment = Moment { time: self.time, commit: self.commit };
        let space = self.records.tail.space_of(head.table);
        if is_ring {
            self.records.now = self.now();
        }
        let at = loop {
            self.records.tail.note_start(space, moment);
            match self.records.append(&self.media, row, self.schema)? {
                Appended::At(at) => break at,
                Appended::NoRoom(space) => self.spill_part(space)?,
                Appended::Long => {
                    self.forget_frame();
                    let media = &mut self.media;
                    break self.records.append_long(media, row, self.schema, self.frame)?;
                }
            }
        };
        debug_assert!(at.page.space == space, "a row goes to the space of its table");
        self.under_way = self.under_way.map(|tx| UnderWay {
            rows: tx.rows + 1,
            grown: tx.grown + u32::from(claim != Claim::Shrink),
            ..tx
        });
        self.put_entries(head, values, at)?;
        // Where this row programmed a page, the slice of merging is left to the next row.
        let is_idle = self.media.write == begun_at;
        let mut slices = if is_idle { self.store.slices_due() } else { 0 };
        while slices > 0 {
            self.work()?;
            slices -= 1;
            if slices > 0 {
                slices = slices.min(self.store.slices_due());
            }
        }
        Ok(at.pointer(self.media.layout()))
    }
}

/// Refuse values that do not fit the table, before anything is looked up by them.
fn check(table: &Table<'_>, values: &[Value<'_>]) -> Result<(), DbError> {
    check_values(table, values, 0..table.columns.len() as u8).map_err(DbError::Value)
}

impl<N: Nand> Transaction<'_, '_, '_, N> {
    /// Insert a row. Cost: a lookup for each unique index, and at most one of these: a page of
    /// rows; a run of index entries; a slice of a merge, which is at most one program and
    /// [`StoreConfig::reads_max`](crate::store::StoreConfig::reads_max) reads. A row that is longer
    /// than a page takes its own pages besides. Where merges are behind, as they may be in a
    /// transaction of thousands of rows on pages of 512 bytes, a row does eight slices. So do the
    /// first rows of a session that follows many of few rows, until a merge has programmed a page.
    ///
    /// # Errors
    /// [`DbError::Full`] where there is no room for the row, and [`DbError::TransactionTooLong`]
    /// where the transaction has as many rows as it may. What it did before may be committed.
    pub fn insert(&mut self, table: u8, values: &[Value<'_>]) -> Result<(), DbError> {
        self.db.insert(table, values)
    }

    /// Insert a row of which some columns are given, each at most once. The others get their
    /// [presets](super::Constraints::presets), or null. Cost: as an insert.
    pub fn insert_columns(
        &mut self,
        table: u8,
        columns: &[(u8, Value<'_>)],
    ) -> Result<(), DbError> {
        let count = self.db.table(table)?.columns.len();
        let mut values = [Value::Null; COLUMNS_MAX];
        for preset in self.db.constraints.presets.iter().filter(|preset| preset.table == table) {
            values[usize::from(preset.column)] = preset.value;
        }
        for &(column, value) in columns {
            let place = values[..count].get_mut(usize::from(column)).ok_or(DbError::Unknown)?;
            *place = value;
        }
        self.db.insert(table, &values[..count])
    }

    /// Replace the row that has the primary key of `values`; false where there is none. Cost: a
    /// lookup of the row, and as an insert.
    pub fn update(&mut self, table: u8, values: &[Value<'_>]) -> Result<bool, DbError> {
        self.db.update(table, values)
    }

    /// Replace the row that has the primary key of `values`, or insert it; true where there was
    /// one. Cost: a lookup of the row, and as an insert.
    pub fn upsert(&mut self, table: u8, values: &[Value<'_>]) -> Result<bool, DbError> {
        let was_there = self.db.update(table, values)?;
        if !was_there {
            self.db.insert(table, values)?;
        }
        Ok(was_there)
    }

    /// Delete the row whose primary key has these values; false where there is none. Cost: a lookup
    /// of the row, and as an insert of its key. With foreign keys a lookup for each of those by
    /// which rows may refer to it, and for each row that is deleted or changed with it as much
    /// again.
    ///
    /// # Errors
    /// [`DbError::RowTooLong`] where rows may refer to the row, or go with it, and the texts and
    /// blobs of its primary key have more than 512 bytes.
    pub fn delete(&mut self, table: u8, key: &[Value<'_>]) -> Result<bool, DbError> {
        self.db.delete(table, key)
    }

    /// Make all changes of the transaction permanent together. Cost: see [`Db::sync`]. After a
    /// transaction that took more blocks than a record can name, a checkpoint in place of a record.
    ///
    /// # Errors
    /// [`Db::stats`] counts the commits, which tells what became of a transaction whose commit
    /// failed. Where the count has grown, it is committed as by [`Durability::Lazy`]: its changes
    /// are there, and [`Db::sync`] tries again to put them on flash. Else the next call rolls it
    /// back.
    pub fn commit(self, durability: Durability) -> Result<(), DbError> {
        self.db.commit_now(durability)
    }

    /// Undo all changes of the transaction. Cost: nothing, or one read where pages had been
    /// programmed, and one more for each ring of which that holds.
    pub fn roll_back(self) -> Result<(), DbError> {
        self.db.roll_back_open()
    }
}
