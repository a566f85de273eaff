//! The schema as bytes, as a root of the database holds it: so that one which was made with another
//! schema can say what differs.
//!
//! ```text
//! schema   table | table | … | 0
//! table    name | column | … | 0 | index | … | 0 | zone 1 | ring 1
//! column   name | type 1 | nullable 1          index   count 1 | columns | kind 1 | unique 1
//! name     length 1 | bytes, 255 at most       zone    0, or one more than the column
//! ```
//!
//! 1. No description begins with another one. So the first byte in which two differ tells what
//!    differs, and none is missed at the end.

use core::fmt;

use super::{Column, Index, Schema, Table};

/// What differs between the schema of a program and that of the database on flash. Numbers are
/// those of the program's schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Difference {
    /// The table of this number: its name, or that only one of the two has it.
    Table {
        /// Number of the table in the schema.
        table: u8,
    },
    /// A column: its name, its type, whether it is nullable, or that only one of the two has it.
    Column {
        /// Number of the table in the schema.
        table: u8,
        /// Number of the column in its table.
        column: u8,
    },
    /// An index: its columns, its kind, whether it is unique, or that only one of the two has it.
    Index {
        /// Number of the table in the schema.
        table: u8,
        /// Number of the index in its table.
        index: u8,
    },
    /// Which column of the table is the zone column.
    Zone {
        /// Number of the table in the schema.
        table: u8,
    },
    /// Whether the table is a ring.
    Ring {
        /// Number of the table in the schema.
        table: u8,
    },
    /// The schemas are the same. The seed or the capacity of the [options](crate::db::Options)
    /// differs.
    Options,
    /// A version of the format before 4 made the database. It does not tell its schema.
    Untold,
}

/// Takes a piece of a description, and what it tells of. Returns whether to go on.
type Sink<'a> = dyn FnMut(Difference, &[u8]) -> bool + 'a;

impl Schema<'_> {
    /// Give the description piece by piece to `sink`, until it says false. Cost: none on flash.
    pub(crate) fn describe(&self, sink: &mut Sink<'_>) -> bool {
        let all = (0..).zip(self.tables).all(|(number, table)| table.describe(number, sink));
        all && sink(Difference::Table { table: self.tables.len() as u8 }, &[0])
    }

    /// Bytes of the description.
    pub(crate) fn description_size(&self) -> usize {
        let mut size = 0;
        self.describe(&mut |_, bytes| {
            size += bytes.len();
            true
        });
        size
    }
}

impl Table<'_> {
    fn describe(&self, table: u8, sink: &mut Sink<'_>) -> bool {
        let (columns, indexes) = (self.columns.len() as u8, self.indexes.len() as u8);
        let is_ring = u8::from(self.keep.is_some());
        describe_name(self.name, Difference::Table { table }, sink)
            && (0..).zip(self.columns).all(|(number, column)| {
                column.describe(Difference::Column { table, column: number }, sink)
            })
            && sink(Difference::Column { table, column: columns }, &[0])
            && (0..).zip(self.indexes).all(|(number, index)| {
                index.describe(Difference::Index { table, index: number }, sink)
            })
            && sink(Difference::Index { table, index: indexes }, &[0])
            && sink(Difference::Zone { table }, &[self.zone.map_or(0, |column| column + 1)])
            && sink(Difference::Ring { table }, &[is_ring])
    }
}

impl Column<'_> {
    fn describe(&self, part: Difference, sink: &mut Sink<'_>) -> bool {
        describe_name(self.name, part, sink)
            && sink(part, &[self.kind.code(), u8::from(self.is_nullable)])
    }
}

impl Index<'_> {
    fn describe(&self, part: Difference, sink: &mut Sink<'_>) -> bool {
        sink(part, &[self.columns.len() as u8])
            && sink(part, self.columns)
            && sink(part, &[self.kind.code(), u8::from(self.is_unique)])
    }
}

fn describe_name(name: &str, part: Difference, sink: &mut Sink<'_>) -> bool {
    let bytes = name.as_bytes();
    let bytes = &bytes[..bytes.len().min(usize::from(u8::MAX))];
    debug_assert!(!bytes.is_empty(), "the schema was checked");
    sink(part, &[bytes.len() as u8]) && sink(part, bytes)
}

impl Difference {
    /// The same with the names that the program's schema has.
    pub fn within<'s>(self, schema: &'s Schema<'s>) -> impl fmt::Display + use<'s> {
        Named { difference: self, schema }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Table { table } => write!(f, "table {table}"),
            Self::Column { table, column } => write!(f, "column {column} of table {table}"),
            Self::Index { table, index } => write!(f, "index {index} of table {table}"),
            Self::Zone { table } => write!(f, "the zone column of table {table}"),
            Self::Ring { table } => write!(f, "whether table {table} is a ring"),
            Self::Options => f.write_str("the seed or the capacity"),
            Self::Untold => f.write_str("the database is too old to tell what"),
        }
    }
}

/// A difference, to be shown with names.
struct Named<'s> {
    difference: Difference,
    schema: &'s Schema<'s>,
}

impl fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let declared = |table: u8| self.schema.tables.get(usize::from(table));
        self.difference.fmt(f)?;
        match self.difference {
            Difference::Table { table }
            | Difference::Index { table, .. }
            | Difference::Zone { table }
            | Difference::Ring { table } => match declared(table) {
                Some(declared) => write!(f, ", \"{}\"", declared.name),
                None => f.write_str(", which the program does not have"),
            },
            Difference::Column { table, column } => {
                let Some(declared) = declared(table) else { return Ok(()) };
                match declared.columns.get(usize::from(column)) {
                    Some(column) => write!(f, ", \"{}\" of \"{}\"", column.name, declared.name),
                    None => write!(f, ", which \"{}\" does not have", declared.name),
                }
            }
            Difference::Options | Difference::Untold => Ok(()),
        }
    }
}
