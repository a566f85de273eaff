//! Deletes of rows that others refer to.
//!
//! A row is deleted after the rows that refer to it, so it can be found by its key until then. The
//! search goes through the rows that refer to it, by one cursor: those to which no other row refers
//! are deleted, or their references set to null. From one to which others refer it descends to
//! these. When they are gone, that one is deleted, and the search begins at the top again. RAM
//! holds no cursors of the path for that, only a mark on each level, which says how far it has
//! come.
//!
//! A mark saves reads and decides nothing: rows that refer to another one are gone once a search of
//! all of them, without a mark, has found none.

use flysch_nand::Nand;

use super::constraints::values_of;
use super::find::Find;
use super::index::Wanted;
use super::seek::Seat;
use super::view::Since;
use super::{Db, DbError, ForeignKey, OnDelete};
use crate::row::{COLUMNS_MAX, KeyCode, RowHead, RowKind, RowView, Value};

/// Longest chain of rows that refer to each other. A longer one is refused.
const DEPTH_MAX: usize = 16;
/// Bytes that a cascade copies of a row that it changes, or of the key of one that it deletes.
const ROW_SIZE: usize = 512;

/// The row to which a search descended last, among those that refer to one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mark {
    /// The foreign key by which it refers, by its place.
    key: u8,
    /// The pointer of its cell, and its place there.
    row: (u32, u32),
}

impl<N: Nand> Db<'_, '_, N> {
    /// Delete a row, and delete or change the rows that refer to it as their foreign keys say.
    /// Where one of them forbids the delete, nothing is changed. Cost: for each row that is deleted
    /// or changed, a lookup, those of rows that refer to it, and an append. For each row to which
    /// others refer, a search of these once they are gone, and on each level above it a lookup and
    /// the first entry of a cursor.
    #[inline(never)]
    pub(super) fn delete_with_children(&mut self, root: Wanted) -> Result<(), DbError> {
        self.whole(|db| db.delete_tree(root))
    }

    #[inline(never)]
    fn delete_tree(&mut self, root: Wanted) -> Result<(), DbError> {
        let mut marks = [None; DEPTH_MAX + 1];
        while let Some(mut seat) = self.seek(root)?.row() {
            let (since, mut depth) = (self.since(), 0);
            while let Some(child) = self.end_children(seat, since, &mut marks[depth])? {
                (seat, depth) = (child, depth + 1);
                if depth > DEPTH_MAX {
                    return Err(DbError::Cascade);
                }
            }
            if !self.leads_elsewhere(since) {
                self.bury(seat)?;
            }
            if self.leads_elsewhere(since) {
                marks.fill(None);
            }
        }
        Ok(())
    }

    /// Delete or change the rows that refer to `parent`, up to one that is a parent itself, which
    /// is returned: its children go first. None where no row but the parent itself refers to it any
    /// more, or a program failed, so that rows may not be where they were.
    #[inline(never)]
    fn end_children(
        &mut self,
        parent: Seat,
        since: Since,
        mark: &mut Option<Mark>,
    ) -> Result<Option<Seat>, DbError> {
        loop {
            let child = self.end_children_behind(parent, since, mark)?;
            if child.is_some() || mark.take().is_none() || self.leads_elsewhere(since) {
                return Ok(child);
            }
        }
    }

    /// The same of the rows from the marked one on, which the search goes through by one cursor.
    #[inline(never)]
    fn end_children_behind(
        &mut self,
        parent: Seat,
        since: Since,
        mark: &mut Option<Mark>,
    ) -> Result<Option<Seat>, DbError> {
        let keys = (0..).zip(self.constraints.foreign_keys);
        let first = mark.map_or(0, |mark| mark.key);
        for (number, key) in
            keys.filter(|&(number, key)| key.parent == parent.head.table && number >= first)
        {
            let mut find = self.children_of(parent, *key)?;
            let marked = mark.filter(|mark| mark.key == number);
            marked.inspect(|mark| find.go_on_at(mark.row));
            while let Some(row) = self.next_child(&mut find, parent)? {
                let child = self.seat_at(row.0, row.1)?;
                debug_assert!(child.head.table == key.table, "the key's table has the children");
                let here = Some(Mark { key: number, row });
                match key.on_delete {
                    OnDelete::Restrict => return Err(DbError::ForeignKey { key: number }),
                    OnDelete::SetNull => self.set_null(child, number)?,
                    OnDelete::Cascade if *mark == here || self.is_parent(child)? => {
                        *mark = here;
                        return Ok(Some(child));
                    }
                    OnDelete::Cascade => self.bury(child)?,
                }
                if self.leads_elsewhere(since) {
                    return Ok(None);
                }
            }
        }
        Ok(None)
    }

    /// Whether a row but itself refers to this one.
    #[inline(never)]
    fn is_parent(&mut self, parent: Seat) -> Result<bool, DbError> {
        let keys = self.constraints.foreign_keys.iter();
        for key in keys.filter(|key| key.parent == parent.head.table) {
            let mut find = self.children_of(parent, *key)?;
            if self.next_child(&mut find, parent)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The pointer and the place of the next row that refers to `parent`, and is not the parent
    /// itself.
    fn next_child(&mut self, find: &mut Find, parent: Seat) -> Result<Option<(u32, u32)>, DbError> {
        while let Some(found) = find.next_place(self)? {
            if found != (parent.pointer, parent.place) {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// A cursor over the rows that refer to `parent` by a foreign key. Cost: none, but that of the
    /// parent's cell.
    pub(super) fn children_of(&mut self, parent: Seat, key: ForeignKey) -> Result<Find, DbError> {
        debug_assert!(parent.head.table == key.parent, "rows refer to it by this key");
        let table = self.table(key.table)?;
        let index = self.index(key.table, key.index)?;
        let primary = self.table(key.parent)?.primary_key().ok_or(DbError::Keyless)?;
        let mut code = KeyCode::start(index, &self.key);
        let view = self.front_at(parent.pointer, parent.place)?;
        for (&from, &to) in primary.columns.iter().zip(index.columns) {
            code.add(table.columns[usize::from(to)].kind, &view.column(from)?);
        }
        let digest = code.finish();
        self.find_wanted(Wanted { table: key.table, index: key.index, digest })
    }

    /// The row at a place of the cell that `pointer` names.
    pub(super) fn seat_at(&mut self, pointer: u32, place: u32) -> Result<Seat, DbError> {
        let hash = self.key;
        let view = self.front_at(pointer, place)?;
        let primary = view.table.primary_key().ok_or(DbError::Keyless)?;
        let key = view.digest(primary, &hash)?;
        Ok(Seat { pointer, place, key, head: view.head, len: view.row_len, is_last: true })
    }

    /// Copy the first bytes of a row, as many as `out` takes; returns their number.
    fn front_of(&mut self, seat: Seat, out: &mut [u8; ROW_SIZE]) -> Result<usize, DbError> {
        let stretch = self.rows_at(seat.pointer, false)?;
        let row = stretch.rows().nth(seat.place as usize).ok_or(DbError::Unknown)?;
        let len = row.len().min(ROW_SIZE);
        out[..len].copy_from_slice(&row[..len]);
        Ok(len)
    }

    /// Put another version in the place of a row, which `change` makes of its values. A row has at
    /// most [`ROW_SIZE`] bytes for that.
    pub(super) fn change_row(
        &mut self,
        seat: Seat,
        change: impl FnOnce(&mut Self, &mut [Value<'_>]) -> Result<(), DbError>,
    ) -> Result<(), DbError> {
        if seat.len > ROW_SIZE {
            return Err(DbError::RowTooLong { needed: seat.len });
        }
        let mut row = [0; ROW_SIZE];
        let len = self.front_of(seat, &mut row)?;
        let view = RowView::parse(self.schema, &row[..len], 0)?;
        let mut values = [Value::Null; COLUMNS_MAX];
        let count = values_of(&view, &mut values)?;
        change(self, &mut values[..count])
    }

    /// Append the tombstone of a row.
    fn bury(&mut self, seat: Seat) -> Result<(), DbError> {
        debug_assert!(seat.head.kind != RowKind::Tombstone, "what is deleted is a row");
        let view = self.front_at(seat.pointer, seat.place)?;
        let columns = view.table.primary_key().ok_or(DbError::Keyless)?.columns;
        let mut values = [Value::Null; COLUMNS_MAX];
        // The append needs the frame in which the row lies.
        let mut memory = [0; ROW_SIZE];
        let mut rest = &mut memory[..];
        for (value, &column) in values.iter_mut().zip(columns) {
            let too_long = DbError::RowTooLong { needed: seat.len };
            (*value, rest) = view.column(column)?.copied(rest).ok_or(too_long)?;
        }
        let is_shared = seat.head.is_shared;
        self.set_changed(seat.head.table);
        let head = RowHead { kind: RowKind::Tombstone, is_shared, ..seat.head };
        self.append_over(seat, head, &values[..columns.len()])
    }

    /// Set the columns of a foreign key to null in a row that refers by it.
    fn set_null(&mut self, seat: Seat, key: u8) -> Result<(), DbError> {
        let key = self.constraints.foreign_keys[usize::from(key)];
        debug_assert!(key.table == seat.head.table, "the row refers by a key of its table");
        let columns = self.index(key.table, key.index)?.columns;
        self.change_row(seat, |db, values| {
            for &column in columns {
                values[usize::from(column)] = Value::Null;
            }
            db.change(seat, values)
        })
    }
}
