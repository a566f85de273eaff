//! Columns that hold a value of the row's parent, so that an index over them is a precomputed join
//! index: it leads from a value of the parent straight to the rows that refer to it.
//!
//! The value is copied when a row is inserted, from the parent that its foreign key looks up
//! anyway. Where an update changes the parent's value, the copies in the rows that refer to it
//! follow in the same transaction, and the copies of these copies.
//!
//! 1. A row's copy equals its parent's value after each call; null where the row refers to nothing.
//! 2. Copies are columns as others are: nothing on flash knows of them, and each index kind, each
//!    cursor and several criteria at once take them.

mod copies;
mod follow;

use flysch_nand::Nand;

use self::copies::{COPIES_SIZE, Copies, front_column, hash_columns};
use super::constraints::{Constraints, ForeignKey};
use super::index::Wanted;
use super::seek::Seat;
use super::{Db, DbError};
use crate::row::{COLUMNS_MAX, Index, Value, ValueError, key};

/// A column that holds a value of the row's parent. The engine puts it there, whatever value the
/// caller gives for it; null where the foreign key has a null.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JoinColumn {
    /// The foreign key that leads to the parent, by its place among the constraints. It does not
    /// refer to its own table.
    pub key: u8,
    /// The column of the table that refers. It is in no primary key, and in no foreign key.
    pub column: u8,
    /// The column of the parent whose value it holds. It may be a join column itself, of an earlier
    /// place among the constraints.
    pub of: u8,
}

/// The values of a row, with those that it copies.
struct Filled<'v> {
    values: [Value<'v>; COLUMNS_MAX],
    /// A bit for each of the first foreign keys whose parent was found.
    found: Found,
}

/// A bit for each of the first 32 foreign keys.
pub(super) type Found = u32;

impl Constraints<'_> {
    /// The join columns that a foreign key fills.
    fn joins_of(&self, key: u8) -> impl Iterator<Item = &JoinColumn> {
        self.joins.iter().filter(move |join| join.key == key)
    }

    /// The foreign keys that fill join columns, with their places.
    fn joining(&self) -> impl Iterator<Item = (u8, ForeignKey)> {
        let keys = (0..).zip(self.foreign_keys.iter().copied());
        keys.filter(|(number, _)| self.joins_of(*number).next().is_some())
    }

    /// Whether rows of the table copy values, or others copy theirs.
    pub(super) fn is_joined(&self, table: u8) -> bool {
        self.joining().any(|(_, key)| key.table == table || key.parent == table)
    }

    fn has_copies(&self, table: u8) -> bool {
        self.joining().any(|(_, key)| key.parent == table)
    }
}

impl<N: Nand> Db<'_, '_, N> {
    /// Whether a join column fits the schema, and those before it.
    pub(super) fn fits_join(&self, constraints: &Constraints<'_>, place: usize) -> bool {
        let join = constraints.joins[place];
        let Some(key) = constraints.foreign_keys.get(usize::from(join.key)) else { return false };
        let tables = (self.table(key.table), self.table(key.parent));
        let (Ok(child), Ok(parent)) = tables else { return false };
        let Ok(referring) = self.index(key.table, key.index) else { return false };
        let columns =
            (child.columns.get(usize::from(join.column)), parent.columns.get(usize::from(join.of)));
        let (Some(column), Some(of)) = columns else { return false };
        let is_named = |index: &Index<'_>| index.columns.contains(&join.column);
        let mut own = constraints.foreign_keys.iter().filter(|other| other.table == key.table);
        let is_key = child.primary_key().is_some_and(is_named)
            || own.any(|other| self.index(other.table, other.index).is_ok_and(is_named));
        let refers_to_null =
            referring.columns.iter().any(|&column| child.columns[usize::from(column)].is_nullable);
        let owner = |other: &JoinColumn| {
            constraints
                .foreign_keys
                .get(usize::from(other.key))
                .map(|key| (key.table, other.column))
        };
        let (before, rest) = constraints.joins.split_at(place);
        let is_twice = before.iter().any(|other| owner(other) == Some((key.table, join.column)));
        let is_later = rest.iter().any(|other| owner(other) == Some((key.parent, join.of)));
        key.table != key.parent
            && column.kind == of.kind
            && (column.is_nullable || !of.is_nullable && !refers_to_null)
            && !is_key
            && !is_twice
            && !is_later
    }

    /// Insert a row of a table with join columns. Cost: as an insert.
    pub(super) fn insert_joined(&mut self, table: u8, values: &[Value<'_>]) -> Result<(), DbError> {
        let mut copies = [0; COPIES_SIZE];
        let filled = self.fill(table, values, &mut copies)?;
        self.insert_whole(table, &filled.values[..values.len()], filled.found)
    }

    /// Update a row of a table with join columns, or whose values others copy. Cost: as an update;
    /// where a value changed that others copy, an update of each of their rows besides.
    pub(super) fn update_joined(
        &mut self,
        table: u8,
        values: &[Value<'_>],
    ) -> Result<bool, DbError> {
        let mut copies = [0; COPIES_SIZE];
        let filled = self.fill(table, values, &mut copies)?;
        let values = &filled.values[..values.len()];
        if !self.constraints.has_copies(table) {
            return self.update_whole(table, values, filled.found);
        }
        let primary = self.table(table)?.primary_key().ok_or(DbError::Keyless)?;
        let digest = key::digest_of_row(self.table(table)?, primary, &self.key, values);
        self.whole(|db| {
            let mut was_there = false;
            db.change_parent(Wanted { table, index: 0, digest }, |db| {
                was_there = db.update_whole(table, values, filled.found)?;
                Ok(())
            })?;
            Ok(was_there)
        })
    }

    /// Change a row whose values others copy, and have these follow where such a value changed.
    fn change_parent(
        &mut self,
        parent: Wanted,
        change: impl FnOnce(&mut Self) -> Result<(), DbError>,
    ) -> Result<(), DbError> {
        if self.changes_copied(parent, change)? { self.follow(parent) } else { Ok(()) }
    }

    /// Change a row. Returns whether any of its values changed that others copy.
    fn changes_copied(
        &mut self,
        row: Wanted,
        change: impl FnOnce(&mut Self) -> Result<(), DbError>,
    ) -> Result<bool, DbError> {
        if !self.constraints.has_copies(row.table) {
            return change(self).map(|()| false);
        }
        let before = self.copied(row)?;
        change(self)?;
        Ok(self.copied(row)? != before)
    }

    /// Replace a row by one whose foreign keys are others, such as null, and have rows that copy
    /// its values follow. Cost: see [`Db::update_joined`].
    pub(super) fn change_joined(&mut self, old: Seat, values: &[Value<'_>]) -> Result<(), DbError> {
        let parent = Wanted { table: old.head.table, index: 0, digest: old.key };
        self.change_parent(parent, |db| db.replace_joined(old, values))
    }

    /// Replace a row by one that has the values of its parents. Cost: as an update.
    fn replace_joined(&mut self, old: Seat, values: &[Value<'_>]) -> Result<(), DbError> {
        let mut copies = [0; COPIES_SIZE];
        let filled = self.fill(old.head.table, values, &mut copies)?;
        self.replace(old, &filled.values[..values.len()], filled.found)
    }

    /// Copy what the row's parents have into its join columns. `copies` takes texts and blobs.
    /// Cost: a lookup for each foreign key that fills columns.
    fn fill<'v>(
        &mut self,
        table: u8,
        values: &[Value<'v>],
        copies: &'v mut [u8; COPIES_SIZE],
    ) -> Result<Filled<'v>, DbError> {
        let declared = self.table(table)?;
        let (needed, given) = (declared.columns.len(), values.len());
        if needed != given {
            return Err(DbError::Value(ValueError::Count { needed, given }));
        }
        let constraints = self.constraints;
        let mut filled = Filled { values: [Value::Null; COLUMNS_MAX], found: 0 };
        filled.values[..given].copy_from_slice(values);
        let mut copies = Copies::new(copies);
        for (number, key) in constraints.joining().filter(|(_, key)| key.table == table) {
            let joins = constraints.joins_of(number);
            let Some(parent) = self.parent_of(key, values)? else {
                joins.for_each(|join| filled.values[usize::from(join.column)] = Value::Null);
                continue;
            };
            let seat = self.seek(parent)?.row().ok_or(DbError::ForeignKey { key: number })?;
            filled.found |= 1_u32.checked_shl(number.into()).unwrap_or(0);
            let view = self.front_at(seat.pointer, seat.place)?;
            for join in joins {
                let value = front_column(&view, join.of)?;
                filled.values[usize::from(join.column)] = copies.keep(value)?;
            }
        }
        Ok(filled)
    }

    /// A hash of the values of a row that others copy; of none where there is no such row. Cost: a
    /// lookup.
    fn copied(&mut self, parent: Wanted) -> Result<u64, DbError> {
        let constraints = self.constraints;
        let own = constraints.joining().filter(|(_, key)| key.parent == parent.table);
        let columns = own.flat_map(|(number, _)| constraints.joins_of(number)).map(|join| join.of);
        self.hash_of(parent, columns)
    }

    /// A hash of some columns of the row with a key.
    fn hash_of(
        &mut self,
        wanted: Wanted,
        columns: impl Iterator<Item = u8>,
    ) -> Result<u64, DbError> {
        let hash = self.key;
        match self.seek(wanted)?.row() {
            Some(seat) => hash_columns(&self.front_at(seat.pointer, seat.place)?, columns, &hash),
            None => Ok(hash.start().finish()),
        }
    }
}
