//! Rows as the campaign knows them: ordered maps of values, and what they say of each change.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};

use flysch::row::{Column, ColumnType, Index, RowView, Table, Value};
use flysch_chip::Prng;

use super::world::World;

/// A value that is owned. Reals are whole numbers.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Val {
    Null,
    Bool(bool),
    Integer(i64),
    Real(i32),
    Text(String),
    Blob(Vec<u8>),
    Time(i64),
}

pub(super) type Row = Vec<Val>;

impl Val {
    /// Draw a value: of a column that some index has, from few values.
    pub(super) fn draw(
        prng: &mut Prng,
        column: &Column<'_>,
        world: &World,
        is_indexed: bool,
    ) -> Self {
        if column.is_nullable && prng.below(5) == 0 {
            return Self::Null;
        }
        let key = prng.below(world.keys);
        let len = if is_indexed {
            key % 30
        } else {
            let most = if prng.below(4) == 0 { world.bytes_max } else { world.bytes_max.min(40) };
            prng.below(most)
        } as usize;
        match column.kind {
            ColumnType::Bool => Self::Bool(key.is_multiple_of(2)),
            ColumnType::Integer => Self::Integer(key.cast_signed() * 7 - 100),
            ColumnType::Real => Self::Real(key as i32 * 3 - 50),
            // Different keys differ within eight bytes, but where all texts begin alike.
            ColumnType::Text => Self::Text(format!("{}{key:06}{}", world.alike, "t".repeat(len))),
            ColumnType::Blob => {
                // No key has the code of null.
                let key = key + 1;
                let rest = (0..len).map(|at| (at as u64 ^ key) as u8);
                Self::Blob(key.to_le_bytes()[..6].iter().rev().copied().chain(rest).collect())
            }
            ColumnType::Time => Self::Time(1_700_000_000_000_000 + key.cast_signed()),
        }
    }

    /// The value, or of text and blobs so many bytes.
    pub(super) fn front(&self, len: usize) -> Self {
        let front = |bytes: &[u8]| Self::Blob(bytes[..bytes.len().min(len)].to_vec());
        match self {
            Self::Text(text) => front(text.as_bytes()),
            Self::Blob(blob) => front(blob),
            other => other.clone(),
        }
    }

    /// Bytes of a text or blob.
    pub(super) fn text_len(&self) -> Option<usize> {
        match self {
            Self::Text(text) => Some(text.len()),
            Self::Blob(blob) => Some(blob.len()),
            _ => None,
        }
    }

    pub(super) fn value(&self) -> Value<'_> {
        match self {
            Self::Null => Value::Null,
            Self::Bool(bit) => Value::Bool(*bit),
            Self::Integer(number) => Value::Integer(*number),
            Self::Real(real) => Value::Real(f64::from(*real).into()),
            Self::Text(text) => Value::Text(text),
            Self::Blob(blob) => Value::Blob(blob),
            Self::Time(time) => Value::Time(*time),
        }
    }

    pub(super) fn of(value: Value<'_>) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(bit) => Self::Bool(bit),
            Value::Integer(number) => Self::Integer(number),
            Value::Real(real) => Self::Real(real.to_f64() as i32),
            Value::Text(text) => Self::Text(text.to_owned()),
            Value::Blob(blob) => Self::Blob(blob.to_owned()),
            Value::Time(time) => Self::Time(time),
        }
    }

    /// Bytes that the value takes, at most, but for a length.
    pub(super) fn size(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Blob(blob) => blob.len(),
            _ => 9,
        }
    }
}

/// The values of a row.
pub(super) fn read(row: &RowView<'_, '_>) -> Row {
    row.values().map(|value| Val::of(value.expect("a value is whole"))).collect()
}

/// The values of a row, or of a key, as the engine takes them.
pub(super) fn values(row: &[Val]) -> Vec<Value<'_>> {
    row.iter().map(Val::value).collect()
}

/// The values of columns.
pub(super) fn key_of(row: &[Val], index: &Index<'_>) -> Row {
    index.columns.iter().map(|column| row[usize::from(*column)].clone()).collect()
}

/// Draw a row of a table.
pub(super) fn draw(prng: &mut Prng, table: &Table<'_>, world: &World) -> Row {
    let is_indexed = |column: u8| table.indexes.iter().any(|index| index.columns.contains(&column));
    let columns = (0..).zip(table.columns);
    columns.map(|(at, column)| Val::draw(prng, column, world, is_indexed(at))).collect()
}

/// The rows of a table: by their primary keys, or in the order in which they came.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Rows {
    by_key: BTreeMap<Row, Row>,
    /// When the row of each key was appended, counted in changes, and the last change.
    stamps: BTreeMap<Row, u64>,
    last: u64,
}

/// A stamp that no change had before, also none that was taken back.
fn next_stamp() -> u64 {
    static STAMPS: AtomicU64 = AtomicU64::new(1);
    STAMPS.fetch_add(1, Ordering::Relaxed)
}

/// The rows of all tables.
pub(super) type State = Vec<Rc<Rows>>;

/// What a change is expected to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Answer {
    Done(bool),
    Duplicate(u8),
    Check(u8),
    ForeignKey(u8),
    /// Rows refer to each other in too long a chain.
    Cascade,
    /// A row is too long to be set to null.
    TooLong,
}

impl Answer {
    /// Whether a constraint forbade the change.
    pub(super) const fn is_forbidden(self) -> bool {
        !matches!(self, Self::Done(_) | Self::Duplicate(_))
    }
}

/// What constraints say of a row, once its unique keys are free.
pub(super) type Obeyed = Result<(), Answer>;

impl Rows {
    pub(super) fn iter(&self) -> impl Iterator<Item = &Row> {
        self.by_key.values()
    }

    /// The key of some row.
    pub(super) fn any_key(&self, prng: &mut Prng) -> Option<&Row> {
        let at = prng.below(self.by_key.len().max(1) as u64) as usize;
        self.by_key.keys().nth(at)
    }

    pub(super) fn find(&self, key: &Row) -> Option<&Row> {
        self.by_key.get(key)
    }

    /// The keys of all rows in an index, each once and in order.
    pub(super) fn keys_of(&self, index: &Index<'_>) -> Vec<Row> {
        let keys: BTreeSet<Row> = self.iter().map(|row| key_of(row, index)).collect();
        keys.into_iter().collect()
    }

    /// When the row of a key was appended.
    pub(super) fn stamp(&self, key: &Row) -> Option<u64> {
        self.stamps.get(key).copied()
    }

    /// The rows with their keys, and when they were appended.
    pub(super) fn stamped(&self) -> impl Iterator<Item = (&Row, u64, &Row)> {
        self.by_key.iter().map(|(key, row)| (key, self.stamps[key], row))
    }

    fn taken(&self, table: &Table<'_>, row: &Row, own: Option<&Row>) -> Option<u8> {
        let unique = (0_u8..).zip(table.indexes).filter(|(_, index)| index.is_unique);
        let is_other = |key: &&Row| own.is_none_or(|own| own != *key);
        unique.filter(|(at, _)| *at > 0 || own.is_none()).find_map(|(at, index)| {
            let wanted = key_of(row, index);
            let others = self.by_key.iter().filter(|(key, _)| is_other(key));
            others.map(|(_, other)| key_of(other, index)).any(|other| other == wanted).then_some(at)
        })
    }

    pub(super) fn insert(&mut self, table: &Table<'_>, row: &Row, obeyed: Obeyed) -> Answer {
        if let Some(index) = self.taken(table, row, None) {
            return Answer::Duplicate(index);
        }
        if let Err(refused) = obeyed {
            return refused;
        }
        let ordinal = || vec![Val::Integer((self.by_key.len() as u64).cast_signed())];
        let key = table.primary_key().map_or_else(ordinal, |primary| key_of(row, primary));
        self.put(key, row);
        Answer::Done(true)
    }

    pub(super) fn put(&mut self, key: Row, row: &Row) {
        self.last = next_stamp();
        self.stamps.insert(key.clone(), self.last);
        self.by_key.insert(key, row.clone());
    }

    /// What a ring table shows, of which some rows were found: those and all that came later. None
    /// where these are not its newest rows.
    pub(super) fn since(&self, table: &Table<'_>, found: &[Row]) -> Option<Self> {
        let primary = table.primary_key()?;
        let mut first = self.last + 1;
        for row in found {
            first = first.min(*self.stamps.get(&key_of(row, primary))?);
        }
        Some(self.newer(first))
    }

    /// Whether some rows of a table were appended in this order.
    pub(super) fn came_so(&self, table: &Table<'_>, rows: &[Row]) -> bool {
        let Some(primary) = table.primary_key() else { return false };
        rows.iter().map(|row| self.stamps.get(&key_of(row, primary))).is_sorted()
    }

    fn newer(&self, first: u64) -> Self {
        let mut rows = self.clone();
        rows.by_key.retain(|key, _| self.stamps[key] >= first);
        rows.stamps.retain(|_, stamp| *stamp >= first);
        rows
    }

    /// Whether the newest change is a row: then a ring shows something.
    pub(super) fn ends_in_row(&self) -> bool {
        self.stamps.values().max() == Some(&self.last)
    }

    /// Nothing is known of the newest change: a ring that shows no row may be right.
    pub(super) fn end_in_doubt(&mut self) {
        self.last = next_stamp();
    }

    pub(super) fn update(&mut self, table: &Table<'_>, row: &Row, obeyed: Obeyed) -> Answer {
        let key = key_of(row, table.primary_key().expect("the table has a key"));
        if !self.by_key.contains_key(&key) {
            return Answer::Done(false);
        }
        if let Some(index) = self.taken(table, row, Some(&key)) {
            return Answer::Duplicate(index);
        }
        if let Err(refused) = obeyed {
            return refused;
        }
        self.put(key, row);
        Answer::Done(true)
    }

    pub(super) fn delete(&mut self, key: &Row) -> Answer {
        if self.stamps.remove(key).is_some() {
            self.last = next_stamp();
        }
        Answer::Done(self.by_key.remove(key).is_some())
    }

    /// All rows in one order, so that two collections can be compared.
    pub(super) fn sorted(&self) -> Vec<&Row> {
        let mut rows: Vec<&Row> = self.by_key.values().collect();
        rows.sort();
        rows
    }
}
