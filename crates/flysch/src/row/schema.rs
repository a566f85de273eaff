//! What the program declares: tables, their columns and indexes. Const data, borrowed for the life
//! of the database, and checked at compile time:
//!
//! ```
//! use flysch::row::{Column, ColumnType, Index, IndexKind, Schema, Table};
//!
//! const SCHEMA: Schema<'static> = Schema {
//!     tables: &[Table {
//!         name: "reading",
//!         columns: &[
//!             Column::required("at", ColumnType::Time),
//!             Column::required("sensor", ColumnType::Integer),
//!             Column::nullable("value", ColumnType::Real),
//!         ],
//!         indexes: &[
//!             Index { columns: &[0], kind: IndexKind::Ordered, is_unique: true },
//!             Index { columns: &[1], kind: IndexKind::Hash, is_unique: false },
//!         ],
//!         zone: Some(0),
//!         keep: None,
//!     }],
//! };
//! const _: () = assert!(SCHEMA.check().is_ok());
//!
//! assert_eq!(SCHEMA.tables[0].primary_key(), Some(&SCHEMA.tables[0].indexes[0]));
//! ```
//!
//! 1. A table's number is its place in the schema, a column's its place in the table.
//! 2. Index 0 of a table is the primary key if it is unique. Its columns take no null.
//! 3. Every index has one number in the database: the indexes of the tables before come first.

use super::head::RowKind;
use super::siphash::HashKey;
use super::{ColumnType, SchemaError};

/// Greatest number of tables of a database: a row's head has four bits for its table.
pub const TABLES_MAX: usize = 16;
/// Greatest number of columns of a table.
pub const COLUMNS_MAX: usize = 32;
/// Greatest number of indexes of a schema, those of all tables together.
pub const INDEXES_MAX: usize = 32;
/// Greatest number of indexes that the store keeps apart. Where a schema has more, some share one:
/// all unique hash indexes, all other hash indexes, all unique ordered indexes over several
/// columns, and all other such ordered ones. An ordered index over one column is always kept apart.
pub const APART_MAX: usize = 8;
/// Greatest number of bytes of all names of a schema: each root holds them.
pub const NAMES_MAX: usize = 1 << 15;
/// Kinds of indexes of which all share one index of the store.
pub(crate) const SHARED_KINDS: usize = 4;
/// Greatest number of ring tables of a database: each has a space of its own.
pub const RINGS_MAX: usize = 2;

/// All tables of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schema<'s> {
    /// The tables: at least one, at most [`TABLES_MAX`].
    pub tables: &'s [Table<'s>],
}

/// A table: its columns and its indexes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Table<'s> {
    /// The table's name, which no other table has.
    pub name: &'s str,
    /// The columns: at least one, at most [`COLUMNS_MAX`].
    pub columns: &'s [Column<'s>],
    /// The indexes; the first is the primary key if it is unique.
    pub indexes: &'s [Index<'s>],
    /// Number of an integer or time column whose least and greatest value is kept for each page, so
    /// that scans can pass over pages; None for no such column.
    pub zone: Option<u8>,
    /// For a ring table, how much of it is kept. None for a table that keeps all rows.
    pub keep: Option<Keep>,
}

/// How much a ring table keeps. Whole blocks of the oldest rows are given back, so the table has
/// more rows than this as long as there is space. Where any table runs out of space, rings have
/// less. They give nothing back within a transaction, nor while a snapshot is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// This number of the newest rows. A row that is replaced counts once more: of a table whose
    /// rows are updated again and again the others go.
    Rows(u32),
    /// The newest rows, on pages of this many bytes in all.
    Bytes(u64),
    /// The rows inserted within this number of microseconds, by the database's clock.
    Time(u64),
}

impl Keep {
    /// A number of days for [`Keep::Time`].
    pub const fn days(days: u32) -> Self {
        Self::Time(days as u64 * 86_400_000_000)
    }
}

/// A column of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column<'s> {
    /// The column's name, which no other column of the table has.
    pub name: &'s str,
    /// The type of its values.
    pub kind: ColumnType,
    /// Whether the column may be null. A nullable column costs one bit a row.
    pub is_nullable: bool,
}

/// How an index arranges its keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexKind {
    /// By a hash of 32 bits. It finds equal keys, over columns of any type.
    Hash,
    /// By the values. It finds equal keys, ranges, and keys by their first columns. Of texts, blobs
    /// and keys of several columns an entry holds only the first 8 bytes; rows are read to tell
    /// such keys apart. Where many keys begin alike, a lookup of one reads the rows of all of them:
    /// declare a hash index for lookups, and an ordered one that is not unique for ranges.
    Ordered,
}

/// An index of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Index<'s> {
    /// The numbers of the columns that make the key, in the key's order.
    pub columns: &'s [u8],
    /// How the keys are arranged.
    pub kind: IndexKind,
    /// Whether a key names at most one row. Null is a key as any other.
    pub is_unique: bool,
}

impl Schema<'_> {
    /// Refuse a schema that breaks a limit or names what is not there. Cost: none on flash; at
    /// compile time where it is asserted in a constant.
    pub const fn check(&self) -> Result<(), SchemaError> {
        if self.tables.is_empty() {
            return Err(SchemaError::NoTable);
        }
        if self.tables.len() > TABLES_MAX {
            return Err(SchemaError::TooManyTables { given: self.tables.len() });
        }
        let (mut number, index_count) = (0, self.index_count());
        while number < self.tables.len() {
            let table = number as u8;
            if let Err(error) = self.tables[number].check(table) {
                return Err(error);
            }
            if self.is_name_taken(number) {
                return Err(SchemaError::TableName { table });
            }
            number += 1;
        }
        if index_count > INDEXES_MAX {
            return Err(SchemaError::TooManyIndexes { given: index_count });
        }
        let (given, most) = self.apart();
        if index_count > APART_MAX && given > most {
            return Err(SchemaError::TooManyOrdered { given, most });
        }
        if self.names_size() > NAMES_MAX {
            return Err(SchemaError::NamesTooLong { size: self.names_size() });
        }
        if self.ring_count() > RINGS_MAX {
            return Err(SchemaError::TooManyRings { given: self.ring_count() });
        }
        Ok(())
    }

    /// Number of ordered indexes over one column, and how many there may be beside the indexes that
    /// share.
    const fn apart(&self) -> (usize, usize) {
        let (mut count, mut is_shared) = (0, [false; SHARED_KINDS]);
        let mut table = 0;
        while table < self.tables.len() {
            let indexes = self.tables[table].indexes;
            let mut index = 0;
            while index < indexes.len() {
                match indexes[index].shared_kind() {
                    Some(kind) => is_shared[kind] = true,
                    None => count += 1,
                }
                index += 1;
            }
            table += 1;
        }
        let (mut most, mut kind) = (APART_MAX, 0);
        while kind < SHARED_KINDS {
            most -= is_shared[kind] as usize;
            kind += 1;
        }
        (count, most)
    }

    /// Bytes of the names of all tables and columns.
    const fn names_size(&self) -> usize {
        let (mut size, mut table) = (0, 0);
        while table < self.tables.len() {
            let declared = &self.tables[table];
            size += declared.name.len();
            let mut column = 0;
            while column < declared.columns.len() {
                size += declared.columns[column].name.len();
                column += 1;
            }
            table += 1;
        }
        size
    }

    /// Number of indexes, those of all tables together.
    pub(crate) const fn index_count(&self) -> usize {
        let (mut count, mut table) = (0, 0);
        while table < self.tables.len() {
            count += self.tables[table].indexes.len();
            table += 1;
        }
        count
    }

    /// Number of ring tables.
    pub const fn ring_count(&self) -> usize {
        let (mut count, mut table) = (0, 0);
        while table < self.tables.len() {
            count += self.tables[table].keep.is_some() as usize;
            table += 1;
        }
        count
    }

    /// The number of each ring table and how much it keeps, in the order of their spaces.
    pub fn rings(&self) -> impl Iterator<Item = (u8, Keep)> + use<'_> {
        (0..).zip(self.tables).filter_map(|(table, declared)| Some((table, declared.keep?)))
    }

    /// A digest of everything that decides what rows and index entries mean: names, types, nullable
    /// or not, indexes, zones, and their order. It is the lower half of a SipHash-1-3 under the key
    /// of seed 0. A database with another digest has another schema. One different schema in 4
    /// billion has the same digest.
    pub fn fingerprint(&self) -> u32 {
        let mut hash = HashKey::from_seed(0).start();
        let mut write = |bytes: &[u8]| {
            hash.write(&(bytes.len() as u32).to_le_bytes());
            hash.write(bytes);
        };
        write(&[self.tables.len() as u8]);
        for table in self.tables {
            write(table.name.as_bytes());
            let zone = table.zone.map_or([0, 0], |column| [1, column]);
            write(&[table.columns.len() as u8, table.indexes.len() as u8, zone[0], zone[1]]);
            for column in table.columns {
                write(column.name.as_bytes());
                write(&[column.kind.code(), u8::from(column.is_nullable)]);
            }
            for index in table.indexes {
                write(index.columns);
                write(&[index.kind.code(), u8::from(index.is_unique)]);
            }
            if table.keep.is_some() {
                write(b"ring");
            }
        }
        hash.finish() as u32
    }

    /// The number of a table's index among all indexes of the database.
    ///
    /// # Panics
    /// Where the table has no such index.
    pub fn index_number(&self, table: u8, index: u8) -> u8 {
        let declared = &self.tables[usize::from(table)];
        assert!(usize::from(index) < declared.indexes.len(), "the table has the index");
        let number = self.first_index(table) + index;
        assert!(usize::from(number) < INDEXES_MAX, "the schema was checked");
        number
    }

    /// The number of a table's first index among all indexes of the database, whether or not it has
    /// one.
    pub(crate) fn first_index(&self, table: u8) -> u8 {
        let before = &self.tables[..usize::from(table)];
        before.iter().map(|table| table.indexes.len()).sum::<usize>() as u8
    }

    const fn is_name_taken(&self, number: usize) -> bool {
        let mut other = 0;
        while other < number {
            if is_same(self.tables[other].name, self.tables[number].name) {
                return true;
            }
            other += 1;
        }
        self.tables[number].name.is_empty()
    }
}

impl<'s> Table<'s> {
    /// The primary key: the first index, if it is unique. A table without one takes neither
    /// updates nor deletes.
    pub fn primary_key(&self) -> Option<&'s Index<'s>> {
        let key = self.indexes.first().filter(|index| index.is_unique);
        let takes_null = |column: &u8| self.columns[usize::from(*column)].is_nullable;
        debug_assert!(
            key.is_none_or(|key| !key.columns.iter().any(takes_null)),
            "the schema was checked"
        );
        key
    }

    /// The indexes in which a row of a kind has an entry. A tombstone holds the primary key alone.
    pub(crate) const fn indexes_of(&self, kind: RowKind) -> &'s [Index<'s>] {
        match kind {
            RowKind::Tombstone => self.indexes.split_at(1).0,
            RowKind::Row | RowKind::Moved => self.indexes,
        }
    }

    /// Bytes of the null bits of a row: one bit for each nullable column, none for the others.
    pub fn null_size(&self) -> usize {
        self.columns.iter().filter(|column| column.is_nullable).count().div_ceil(8)
    }

    const fn check(&self, table: u8) -> Result<(), SchemaError> {
        if self.columns.is_empty() {
            return Err(SchemaError::NoColumn { table });
        }
        if self.columns.len() > COLUMNS_MAX {
            return Err(SchemaError::TooManyColumns { table, given: self.columns.len() });
        }
        let mut number = 0;
        while number < self.columns.len() {
            if self.is_name_taken(number) {
                return Err(SchemaError::ColumnName { table, column: number as u8 });
            }
            number += 1;
        }
        if let Some(column) = self.zone
            && !self.may_be_zone(column)
        {
            return Err(SchemaError::Zone { table, column });
        }
        self.check_indexes(table)
    }

    const fn check_indexes(&self, table: u8) -> Result<(), SchemaError> {
        if self.indexes.len() > INDEXES_MAX {
            return Err(SchemaError::TooManyIndexes { given: self.indexes.len() });
        }
        let mut number = 0;
        while number < self.indexes.len() {
            let index = number as u8;
            if let Err(error) = self.indexes[number].check(table, index, self.columns) {
                return Err(error);
            }
            number += 1;
        }
        Ok(())
    }

    const fn may_be_zone(&self, column: u8) -> bool {
        let number = column as usize;
        number < self.columns.len()
            && matches!(self.columns[number].kind, ColumnType::Integer | ColumnType::Time)
    }

    const fn is_name_taken(&self, number: usize) -> bool {
        let mut other = 0;
        while other < number {
            if is_same(self.columns[other].name, self.columns[number].name) {
                return true;
            }
            other += 1;
        }
        self.columns[number].name.is_empty()
    }
}

impl<'s> Column<'s> {
    /// A column that takes no null.
    pub const fn required(name: &'s str, kind: ColumnType) -> Self {
        Self { name, kind, is_nullable: false }
    }

    /// A column that takes null.
    pub const fn nullable(name: &'s str, kind: ColumnType) -> Self {
        Self { name, kind, is_nullable: true }
    }
}

impl Index<'_> {
    /// The number of the index's kind, among the [`SHARED_KINDS`] that may share; None for the
    /// other kind.
    pub(crate) const fn shared_kind(&self) -> Option<usize> {
        let is_many = !self.is_unique as usize;
        match self.kind {
            IndexKind::Hash => Some(is_many),
            IndexKind::Ordered if self.columns.len() > 1 => Some(2 + is_many),
            IndexKind::Ordered => None,
        }
    }

    const fn check(&self, table: u8, index: u8, columns: &[Column<'_>]) -> Result<(), SchemaError> {
        if self.columns.is_empty() {
            return Err(SchemaError::EmptyIndex { table, index });
        }
        let mut place = 0;
        while place < self.columns.len() {
            let column = self.columns[place];
            if column as usize >= columns.len() || self.has_before(place) {
                return Err(SchemaError::IndexColumn { table, index, column });
            }
            if index == 0 && self.is_unique && columns[column as usize].is_nullable {
                return Err(SchemaError::NullableKey { table, column });
            }
            place += 1;
        }
        Ok(())
    }

    const fn has_before(&self, place: usize) -> bool {
        let mut other = 0;
        while other < place {
            if self.columns[other] == self.columns[place] {
                return true;
            }
            other += 1;
        }
        false
    }
}

impl ColumnType {
    /// The type's number in fingerprints, descriptions and hashed keys. It never changes. Null has
    /// 0.
    pub(super) const fn code(self) -> u8 {
        match self {
            Self::Bool => 1,
            Self::Integer => 2,
            Self::Real => 3,
            Self::Text => 4,
            Self::Blob => 5,
            Self::Time => 6,
        }
    }
}

impl IndexKind {
    /// The kind's number in fingerprints and descriptions. It never changes.
    pub(super) const fn code(self) -> u8 {
        match self {
            Self::Hash => 1,
            Self::Ordered => 2,
        }
    }
}

const fn is_same(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let mut place = 0;
    while place < one.len() && place < other.len() && one[place] == other[place] {
        place += 1;
    }
    one.len() == other.len() && place == one.len()
}
