//! What rows have to obey beside the schema: checks, foreign keys, and values for columns that are
//! left out.
//!
//! ```
//! use flysch::db::{Check, Constraints, ForeignKey, OnDelete};
//! use flysch::row::Value;
//!
//! const CONSTRAINTS: Constraints<'static> = Constraints {
//!     checks: &[Check { table: 1, holds: |row| row[2] > Value::Integer(0) }],
//!     foreign_keys: &[ForeignKey { table: 1, index: 1, parent: 0, on_delete: OnDelete::Restrict }],
//!     ..Constraints::NONE
//! };
//! ```
//!
//! They are the program's and not on flash: it gives them after each open, by
//! [`Db::set_constraints`], and rows that are there already are not looked at.
//!
//! 1. A call that a constraint refuses leaves the transaction as it was.
//! 2. A foreign key refers to a primary key. A key with a null in it refers to nothing.

use flysch_nand::Nand;

use super::index::Wanted;
use super::joins::{Found, JoinColumn};
use super::seek::Seat;
use super::{Db, DbError};
use crate::row::{KeyCode, RowView, Table, Value, ValueError};

/// The constraints of a schema.
#[derive(Clone, Copy, Debug)]
pub struct Constraints<'s> {
    /// Conditions that a row must meet before it is appended.
    pub checks: &'s [Check],
    /// References from one table to another.
    pub foreign_keys: &'s [ForeignKey],
    /// Values of columns that [`Transaction::insert_columns`](super::Transaction::insert_columns)
    /// is not given; null for the others.
    pub presets: &'s [Preset<'s>],
    /// Columns that hold a value of the row's parent. An index over one of them is a precomputed
    /// join index.
    pub joins: &'s [JoinColumn],
}

/// A condition for each row that is inserted or updated.
#[derive(Clone, Copy, Debug)]
pub struct Check {
    /// Number of the table in the schema.
    pub table: u8,
    /// Given the values of all columns of a row, returns whether the row is allowed.
    pub holds: fn(&[Value<'_>]) -> bool,
}

/// A foreign key: rows of a table refer to rows of another table, or of the same one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForeignKey {
    /// The table whose rows refer. It has a primary key, by which a delete finds them.
    pub table: u8,
    /// The index over the columns that refer, in the order of the parent's primary key.
    pub index: u8,
    /// The table that is referred to.
    pub parent: u8,
    /// What a delete does to the rows that refer to the deleted row.
    pub on_delete: OnDelete,
}

/// What a delete does to the rows that refer to the deleted row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnDelete {
    /// The delete is refused.
    Restrict,
    /// The rows that refer are deleted too.
    Cascade,
    /// The columns that refer are set to null. A row that refers has at most 512 bytes. Foreign
    /// keys are obeyed in their order: where a later one has one of these columns too, the row does
    /// not refer by it any more.
    SetNull,
}

/// The value of a column that is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preset<'s> {
    /// Number of the table in the schema.
    pub table: u8,
    /// Number of the column in its table.
    pub column: u8,
    /// The value of the column where none is given.
    pub value: Value<'s>,
}

impl Constraints<'_> {
    /// A schema without constraints.
    pub const NONE: Self = Self { checks: &[], foreign_keys: &[], presets: &[], joins: &[] };
}

/// Functions that enforce constraints.
///
/// They are called through pointers that only [`Db::set_constraints`] sets. So the code of a
/// program that never calls it does not contain them.
#[derive(Debug)]
pub(super) struct Enforcer<N> {
    obey: Obey<N>,
    delete: Delete<N>,
    pub(super) insert: Insert<N>,
    pub(super) update: Update<N>,
    pub(super) change: Change<N>,
}

type Obey<N> = fn(&mut Db<'_, '_, N>, u8, &[Value<'_>], Found) -> Result<(), DbError>;
type Insert<N> = fn(&mut Db<'_, '_, N>, u8, &[Value<'_>]) -> Result<(), DbError>;
type Update<N> = fn(&mut Db<'_, '_, N>, u8, &[Value<'_>]) -> Result<bool, DbError>;
type Change<N> = fn(&mut Db<'_, '_, N>, Seat, &[Value<'_>]) -> Result<(), DbError>;
type Delete<N> = fn(&mut Db<'_, '_, N>, Wanted) -> Result<(), DbError>;

impl<'s, N: Nand> Db<'_, 's, N> {
    /// Enforce these constraints from now on. [`DbError::Constraint`] where one of them does not
    /// fit the schema. Cost: none.
    pub fn set_constraints(&mut self, constraints: Constraints<'s>) -> Result<(), DbError> {
        let wrong = |number: usize| DbError::Constraint { number: number as u8 };
        for (number, check) in constraints.checks.iter().enumerate() {
            self.table(check.table).map_err(|_| wrong(number))?;
        }
        for (number, key) in constraints.foreign_keys.iter().enumerate() {
            if !self.fits(*key) {
                return Err(wrong(number));
            }
            if self.table(key.parent)?.keep.is_some() {
                return Err(DbError::RingParent { key: number as u8 });
            }
        }
        for (number, preset) in constraints.presets.iter().enumerate() {
            let table = self.table(preset.table).map_err(|_| wrong(number))?;
            let column = table.columns.get(usize::from(preset.column));
            let given = preset.value.column_type();
            let fits = |kind, is_nullable| given.map_or(is_nullable, |given| given == kind);
            if !column.is_some_and(|column| fits(column.kind, column.is_nullable)) {
                return Err(wrong(number));
            }
        }
        if let Some(place) =
            (0..constraints.joins.len()).find(|place| !self.fits_join(&constraints, *place))
        {
            return Err(wrong(place));
        }
        self.constraints = constraints;
        self.enforcer = Some(Enforcer {
            obey: |db, table, values, found| db.obey_all(table, values, found),
            delete: |db, root| db.delete_with_children(root),
            insert: |db, table, values| db.insert_joined(table, values),
            update: |db, table, values| db.update_joined(table, values),
            change: |db, old, values| db.change_joined(old, values),
        });
        Ok(())
    }

    /// Whether the columns of a foreign key have the types of the parent's primary key.
    fn fits(&self, key: ForeignKey) -> bool {
        let tables = (self.table(key.table), self.table(key.parent));
        let (Ok(child), Ok(parent)) = tables else { return false };
        let Ok(index) = self.index(key.table, key.index) else { return false };
        let Some(primary) = parent.primary_key() else { return false };
        let kinds = |table: &Table<'_>, columns: &[u8], place: usize| {
            columns.get(place).map(|&column| table.columns[usize::from(column)].kind)
        };
        let is_nullable = |&column: &u8| child.columns[usize::from(column)].is_nullable;
        let takes_null = index.columns.iter().all(is_nullable);
        index.columns.len() == primary.columns.len()
            && (0..index.columns.len()).all(|place| {
                kinds(child, index.columns, place) == kinds(parent, primary.columns, place)
            })
            && child.primary_key().is_some()
            && (takes_null || key.on_delete != OnDelete::SetNull)
    }

    /// Refuse a row that breaks a constraint, if any are set. Cost: a lookup for each foreign key
    /// of the table that has no null, but those whose parents were found already.
    pub(super) fn obey(
        &mut self,
        table: u8,
        values: &[Value<'_>],
        found: Found,
    ) -> Result<(), DbError> {
        let obey = self.enforcer.as_ref().map(|enforcer| enforcer.obey);
        obey.map_or(Ok(()), |obey| obey(self, table, values, found))
    }

    /// The functions that enforce constraints, where the table has join columns or rows that copy
    /// its values.
    pub(super) fn joining(&self, table: u8) -> Option<&Enforcer<N>> {
        self.enforcer.as_ref().filter(|_| self.constraints.is_joined(table))
    }

    /// Delete a row to which others may refer. False, with nothing done, where no foreign key has
    /// its table as parent.
    pub(super) fn delete_parent(&mut self, root: Wanted) -> Result<bool, DbError> {
        let is_parent = self.constraints.foreign_keys.iter().any(|key| key.parent == root.table);
        let delete = self.enforcer.as_ref().filter(|_| is_parent).map(|enforcer| enforcer.delete);
        debug_assert!(delete.is_some() == is_parent, "foreign keys are set with what obeys them");
        delete.map_or(Ok(false), |delete| delete(self, root).map(|()| true))
    }

    /// Refuse a row that fails a check, or whose parent does not exist. Cost: a lookup for each
    /// foreign key of the table that has no null, but those whose parents were found already.
    fn obey_all(&mut self, table: u8, values: &[Value<'_>], found: Found) -> Result<(), DbError> {
        let Constraints { checks, foreign_keys, .. } = self.constraints;
        let takes = |table: &Table<'_>| table.columns.len() == values.len();
        debug_assert!(self.table(table).is_ok_and(takes), "a check sees each column");
        for (number, check) in (0..).zip(checks) {
            if check.table == table && !(check.holds)(values) {
                return Err(DbError::Check { check: number });
            }
        }
        for (number, key) in (0..).zip(foreign_keys).filter(|(_, key)| key.table == table) {
            let is_found = found.checked_shr(number.into()).is_some_and(|bits| bits & 1 == 1);
            if !is_found && !self.has_parent(*key, values)? {
                return Err(DbError::ForeignKey { key: number });
            }
        }
        Ok(())
    }

    fn has_parent(&mut self, key: ForeignKey, values: &[Value<'_>]) -> Result<bool, DbError> {
        let Some(wanted) = self.parent_of(key, values)? else { return Ok(true) };
        // A row may refer to itself: then its parent is not on flash yet.
        let referring = self.index(key.table, key.index)?.columns;
        let primary = self.table(key.parent)?.primary_key().ok_or(DbError::Keyless)?;
        let value = |column: &u8| values[usize::from(*column)];
        let is_own = key.table == key.parent
            && referring.iter().map(value).eq(primary.columns.iter().map(value));
        Ok(is_own || self.seek(wanted)?.row().is_some())
    }

    /// The key of the row to which a row with these values refers; None where one of them is null.
    pub(super) fn parent_of(
        &self,
        key: ForeignKey,
        values: &[Value<'_>],
    ) -> Result<Option<Wanted>, DbError> {
        let referring = self.index(key.table, key.index)?.columns;
        let parent = self.table(key.parent)?;
        let primary = parent.primary_key().ok_or(DbError::Keyless)?;
        debug_assert!(
            referring.len() == primary.columns.len(),
            "the key was checked when it was set"
        );
        let mut code = KeyCode::start(primary, &self.key);
        for (&to, &from) in primary.columns.iter().zip(referring) {
            let (kind, value) = (parent.columns[usize::from(to)].kind, values[usize::from(from)]);
            match value.column_type() {
                None => return Ok(None),
                Some(given) if given != kind => {
                    return Err(DbError::Value(ValueError::Type { column: from }));
                }
                Some(_) => code.add(kind, &value),
            }
        }
        Ok(Some(Wanted { table: key.parent, index: 0, digest: code.finish() }))
    }
}

/// Read the values of all columns of a row into `out`; returns their number.
pub(super) fn values_of<'v>(
    view: &RowView<'v, '_>,
    out: &mut [Value<'v>],
) -> Result<usize, DbError> {
    let mut count = 0;
    for (place, value) in out.iter_mut().zip(view.values()) {
        *place = value?;
        count += 1;
    }
    debug_assert!(count == view.table.columns.len(), "a row has each column");
    Ok(count)
}
