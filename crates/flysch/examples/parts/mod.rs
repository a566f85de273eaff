//! A table of parts with rows of some 100 bytes, for the examples that measure changes.

use flysch::row::{Column, ColumnType, Index, IndexKind, Schema, Table};

/// One table with a primary key and an index on the group.
pub(crate) const SCHEMA: Schema<'static> = Schema {
    tables: &[Table {
        name: "part",
        columns: &[
            Column::required("id", ColumnType::Integer),
            Column::required("group", ColumnType::Integer),
            Column::required("count", ColumnType::Integer),
            Column::required("note", ColumnType::Text),
        ],
        indexes: &[
            Index { columns: &[0], kind: IndexKind::Hash, is_unique: true },
            Index { columns: &[1], kind: IndexKind::Hash, is_unique: false },
        ],
        zone: None,
        keep: None,
    }],
};

/// The note of each row. It makes a row some 100 bytes long.
pub(crate) const NOTE: &str =
    "a part of which there are some in the house, and of which more are on their";
