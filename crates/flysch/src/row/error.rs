//! What goes wrong with schemas, with values given to a table, and with rows read from flash.

use core::fmt;

use super::schema::{COLUMNS_MAX, INDEXES_MAX, NAMES_MAX, RINGS_MAX, TABLES_MAX};

/// Why a schema is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchemaError {
    /// The schema has no table.
    NoTable,
    /// There are more tables than [`TABLES_MAX`].
    TooManyTables {
        /// How many tables the schema declares.
        given: usize,
    },
    /// A table's name is empty, or an earlier table has it.
    TableName {
        /// Number of the table in the schema.
        table: u8,
    },
    /// A table has no column.
    NoColumn {
        /// Number of the table in the schema.
        table: u8,
    },
    /// A table has more columns than [`COLUMNS_MAX`].
    TooManyColumns {
        /// Number of the table in the schema.
        table: u8,
        /// How many columns the table declares.
        given: usize,
    },
    /// A column's name is empty, or an earlier column of the table has it.
    ColumnName {
        /// Number of the table in the schema.
        table: u8,
        /// Number of the column in its table.
        column: u8,
    },
    /// The zone column is not there, or holds neither integers nor times.
    Zone {
        /// Number of the table in the schema.
        table: u8,
        /// Number of the column in its table.
        column: u8,
    },
    /// There are more indexes than [`INDEXES_MAX`], those of all tables together.
    TooManyIndexes {
        /// How many indexes the schema declares.
        given: usize,
    },
    /// There are more indexes than [`APART_MAX`](super::APART_MAX), and those that cannot share are
    /// too many. Those are the ordered indexes over one column.
    TooManyOrdered {
        /// How many of them the schema declares.
        given: usize,
        /// How many there may be beside its other indexes.
        most: usize,
    },
    /// An index has no column.
    EmptyIndex {
        /// Number of the table in the schema.
        table: u8,
        /// Number of the index in its table.
        index: u8,
    },
    /// An index names a column that the table has not, or names one twice.
    IndexColumn {
        /// Number of the table in the schema.
        table: u8,
        /// Number of the index in its table.
        index: u8,
        /// Number of the column in its table.
        column: u8,
    },
    /// There are more ring tables than [`RINGS_MAX`](super::RINGS_MAX).
    TooManyRings {
        /// How many ring tables the schema declares.
        given: usize,
    },
    /// The names of all tables and columns have more bytes than [`NAMES_MAX`](super::NAMES_MAX).
    NamesTooLong {
        /// How many bytes they have.
        size: usize,
    },
    /// A column of the primary key is nullable.
    NullableKey {
        /// Number of the table in the schema.
        table: u8,
        /// Number of the column in its table.
        column: u8,
    },
}

/// Why values do not make a row of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueError {
    /// The number of values is not that of the table's columns, or of the primary key's for a
    /// tombstone.
    Count {
        /// How many values the row needs.
        needed: usize,
        /// How many values there are.
        given: usize,
    },
    /// The value is of another type than the column.
    Type {
        /// Number of the column in its table.
        column: u8,
    },
    /// The value is null and the column is not nullable.
    Null {
        /// Number of the column in its table.
        column: u8,
    },
    /// The row has more bytes than [`BODY_LEN_MAX`](super::BODY_LEN_MAX), or than the pages of a
    /// block hold.
    TooLong,
    /// The row is longer than a page, and a column that an index has does not end on the row's
    /// first page, from which index entries are derived.
    KeyTooFar {
        /// The last of the columns that indexes have.
        column: u8,
    },
    /// An end of a range has more than 64 bytes, and no more than these of a key are compared.
    EndTooLong,
}

/// Why bytes from flash are not a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowError {
    /// The length is zero, which says that no row begins here.
    Empty,
    /// The row has more bytes than were given.
    Incomplete,
    /// A varint has no valid form.
    Number,
    /// The length is beyond [`BODY_LEN_MAX`](super::BODY_LEN_MAX).
    TooLong,
    /// A bit of the head is set that has no meaning yet: a newer version wrote it.
    ReservedBit,
    /// The kind of row has no meaning yet: a newer version wrote it.
    ReservedKind,
    /// The schema has no table of this number.
    UnknownTable(u8),
    /// A tombstone in a table without a primary key.
    Keyless(u8),
    /// A null bit is set that belongs to no column.
    NullBits,
    /// A column does not end within the row.
    Overrun(u8),
    /// A column's bytes are no value of its type.
    Invalid(u8),
    /// The row does not hold this column: a tombstone has only those of the primary key.
    Absent(u8),
    /// Bytes are left behind the last column.
    Trailing,
}

impl fmt::Display for SchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::NoTable => f.write_str("the schema has no table"),
            Self::TooManyTables { given } => {
                write!(f, "{given} tables: there can be {TABLES_MAX}")
            }
            Self::TableName { table } => {
                write!(f, "the name of table {table} is empty or taken")
            }
            Self::NoColumn { table } => write!(f, "table {table} has no column"),
            Self::TooManyColumns { table, given } => {
                write!(f, "table {table} has {given} columns: there can be {COLUMNS_MAX}")
            }
            Self::ColumnName { table, column } => {
                write!(f, "the name of column {column} of table {table} is empty or taken")
            }
            Self::Zone { table, column } => write!(
                f,
                "column {column} of table {table} cannot be its zone: \
                 it must be there and hold integers or times"
            ),
            Self::TooManyIndexes { given } => {
                write!(f, "{given} indexes: there can be {INDEXES_MAX}")
            }
            Self::TooManyOrdered { given, most } => write!(
                f,
                "{given} ordered indexes over one column: beside the others there can be {most}"
            ),
            Self::TooManyRings { given } => {
                write!(f, "{given} ring tables: there can be {RINGS_MAX}")
            }
            Self::NamesTooLong { size } => {
                write!(f, "names of {size} bytes: there can be {NAMES_MAX}")
            }
            Self::EmptyIndex { table, index } => {
                write!(f, "index {index} of table {table} has no column")
            }
            Self::IndexColumn { table, index, column } => write!(
                f,
                "column {column} in index {index} of table {table} is not there, or twice"
            ),
            Self::NullableKey { table, column } => {
                write!(f, "column {column} of table {table} is of the primary key: no null")
            }
        }
    }
}

impl fmt::Display for ValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Count { needed, given } => write!(f, "{given} values for {needed} columns"),
            Self::Type { column } => write!(f, "column {column} is of another type"),
            Self::Null { column } => write!(f, "column {column} takes no null"),
            Self::TooLong => f.write_str("the row is too long"),
            Self::KeyTooFar { column } => {
                write!(f, "column {column} is indexed, and ends behind the row's first page")
            }
            Self::EndTooLong => {
                f.write_str("an end of a range has more than 64 bytes: give a shorter one")
            }
        }
    }
}

impl fmt::Display for RowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Empty => f.write_str("no row begins here"),
            Self::Incomplete => f.write_str("the row goes on behind the bytes given"),
            Self::Number => f.write_str("a number of the row is in no valid form"),
            Self::TooLong => f.write_str("the row is longer than any row"),
            Self::ReservedBit => f.write_str("the row's head has a bit of a newer version"),
            Self::ReservedKind => f.write_str("the row is of a kind of a newer version"),
            Self::UnknownTable(table) => write!(f, "there is no table {table}"),
            Self::Keyless(table) => write!(f, "a tombstone in table {table}, which has no key"),
            Self::NullBits => f.write_str("a null bit of the row belongs to no column"),
            Self::Overrun(column) => write!(f, "column {column} does not end within the row"),
            Self::Invalid(column) => write!(f, "column {column} has bytes of no value"),
            Self::Absent(column) => write!(f, "the row has no column {column}"),
            Self::Trailing => f.write_str("the row has bytes behind its last column"),
        }
    }
}

impl core::error::Error for SchemaError {}
impl core::error::Error for ValueError {}
impl core::error::Error for RowError {}
