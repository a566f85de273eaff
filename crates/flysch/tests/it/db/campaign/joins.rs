//! Columns that copy a value of the row's parent: drawn for a schema, and what they hold after each
//! change.

use std::collections::BTreeSet;
use std::rc::Rc;

use flysch::db::{ForeignKey, JoinColumn};
use flysch::row::{Column, ColumnType, Index, IndexKind, Schema, Table};
use flysch_chip::Prng;

use super::constraints::{NULLED_MAX, Rules};
use super::rows::{Answer, Obeyed, Row, State, Val, key_of};
use super::world::leak;

/// Names of columns that copy.
const NAMES: [&str; 3] = ["p", "q", "r"];

/// Add to tables that refer columns that copy, and indexes over them.
pub(super) fn draw(
    tables: &mut [Table<'static>],
    prng: &mut Prng,
    keys: &[ForeignKey],
) -> Vec<JoinColumn> {
    let mut joins = Vec::new();
    for ((key, number), name) in keys.iter().zip(0..).zip(NAMES) {
        let parent = &tables[usize::from(key.parent)];
        let of = prng.below(parent.columns.len() as u64) as u8;
        let is_indexed = parent.indexes.iter().any(|index| index.columns.contains(&of));
        let kind = parent.columns[usize::from(of)].kind;
        let is_short = is_indexed || !matches!(kind, ColumnType::Text | ColumnType::Blob);
        let child = &mut tables[usize::from(key.table)];
        // A ring shows in which order its rows followed, and any order is right.
        if key.table == key.parent || child.keep.is_some() || !is_short || prng.below(4) == 0 {
            continue;
        }
        let column = child.columns.len() as u8;
        child.columns = leak([child.columns, &[Column { name, kind, is_nullable: true }]].concat());
        joins.push(JoinColumn { key: number, column, of });
        let (kind, columns) = match prng.below(4) {
            0 => (IndexKind::Hash, vec![column]),
            1 => (IndexKind::Ordered, vec![column]),
            2 => (IndexKind::Hash, vec![column, prng.below(column.into()) as u8]),
            _ => continue,
        };
        let index = Index { columns: leak(columns), kind, is_unique: false };
        let before = child.indexes;
        child.indexes = leak([before, &[index]].concat());
        if (Schema { tables }).check().is_err() {
            tables[usize::from(key.table)].indexes = before;
        }
    }
    joins
}

/// What becomes of rows that copy what was changed.
#[derive(Default)]
pub(super) struct Followed {
    /// Checks that one of them may fail, in the end or on the way there.
    pub(super) failed: Vec<Answer>,
    /// Whether one of them fails a check in the end.
    pub(super) is_refused: bool,
}

impl<'w> Rules<'w> {
    /// The columns that copy, with the foreign keys that lead to what they copy.
    fn joins(self) -> impl Iterator<Item = (JoinColumn, ForeignKey)> + use<'w> {
        let keys = self.all.foreign_keys;
        self.all.joins.iter().map(|join| (*join, keys[usize::from(join.key)]))
    }

    /// Whether rows of a table copy values, or others copy theirs.
    pub(super) fn is_joined(self, table: u8) -> bool {
        self.joins().any(|(_, key)| key.table == table || key.parent == table)
    }

    /// What a column of a row copies; None where there is no parent that the row refers to.
    fn copied(
        self,
        row: &Row,
        (join, key): (JoinColumn, ForeignKey),
        state: &State,
    ) -> Option<Val> {
        let wanted = key_of(row, self.index(key));
        if wanted.contains(&Val::Null) {
            return Some(Val::Null);
        }
        let parent = state[usize::from(key.parent)].find(&wanted)?;
        Some(parent[usize::from(join.of)].clone())
    }

    /// Copy into a row what its parents have.
    pub(super) fn fill(self, table: u8, row: &mut Row, state: &State) -> Obeyed {
        for (join, key) in self.joins().filter(|(_, key)| key.table == table) {
            let value = self.copied(row, (join, key), state);
            row[usize::from(join.column)] = value.ok_or(Answer::ForeignKey(join.key))?;
        }
        Ok(())
    }

    /// Let all rows copy what their parents have.
    pub(super) fn follow(self, state: &mut State) -> Followed {
        let (mut followed, mut those) = (Followed::default(), BTreeSet::new());
        // A column may copy what one before it copied.
        for (join, key) in self.joins() {
            let table = usize::from(key.table);
            let primary = self.tables[table].primary_key().expect("a child has a key");
            let mut changed = Vec::new();
            for row in state[table].iter() {
                let value = self.copied(row, (join, key), state).unwrap_or(Val::Null);
                if row[usize::from(join.column)] != value {
                    changed.push((row.clone(), value));
                }
            }
            for (old, value) in changed {
                let mut row = old.clone();
                row[usize::from(join.column)] = value;
                let on_the_way = with_nulls_of(&old, &row);
                followed.failed.extend(self.check(key.table, &on_the_way));
                let own = key_of(&row, primary);
                Rc::make_mut(&mut state[table]).put(own.clone(), &row);
                those.insert((key.table, own));
            }
        }
        for (table, key) in those {
            let row = state[usize::from(table)].find(&key).expect("it is there");
            let failed = self.check(table, row);
            followed.is_refused |= failed.is_some();
            followed.failed.extend(failed);
        }
        followed
    }

    /// Whether a change of a table may have to copy from a row, or into one, that is too long.
    pub(super) fn may_be_too_long(self, table: u8, state: &State) -> bool {
        let is_long = |row: &Row| row.iter().map(Val::size).sum::<usize>() > NULLED_MAX;
        self.is_joined(table) && state.iter().any(|rows| rows.iter().any(is_long))
    }

    /// A row without its copies, which a delete may take from it.
    pub(super) fn bare(self, table: u8, row: &Row) -> Row {
        let mut bare = row.clone();
        for (join, _) in self.joins().filter(|(_, key)| key.table == table) {
            bare[usize::from(join.column)] = Val::Null;
        }
        bare
    }
}

/// A row on the way from one version to another may have the nulls of both.
fn with_nulls_of(old: &Row, new: &Row) -> Row {
    let is_null = |(old, _): &(&Val, &Val)| **old == Val::Null;
    let values = old.iter().zip(new);
    values.map(|pair| if is_null(&pair) { Val::Null } else { pair.1.clone() }).collect()
}
