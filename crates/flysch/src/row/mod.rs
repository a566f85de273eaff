//! Rows: what a program declares and stores, and the bytes that it becomes. Pure: nothing here
//! reads or programs.
//!
//! [`Schema`] says which tables there are. [`Encoder`] turns values into a row's bytes, [`RowView`]
//! finds them there again, [`key`] makes the codes under which indexes keep a row, and [`Summary`]
//! says of a page what a scan must know.
//!
//! ```text
//! row        | body length | head | commit delta | null bits | column | column | …
//! tombstone  | body length | head | commit delta | columns of the primary key, in its order |
//! ```
//!
//! A row names neither its columns nor their types: the schema has them, and
//! [`Schema::fingerprint`] tells whether it is the one that the rows were written with.

mod encoder;
mod error;
mod field;
mod head;
pub mod key;
pub(crate) mod order;
mod schema;
pub mod siphash;
#[cfg(test)]
mod tests;
mod value;
pub(crate) mod varint;
mod view;
mod zone;

pub use encoder::Encoder;
pub use error::{RowError, SchemaError, ValueError};
pub use head::{BODY_LEN_MAX, LEN_SIZE_MAX, RowHead, RowKind, row_len};
pub(crate) use head::{HEAD_SIZE_MAX, commit_of, rebase};
pub use key::{Digest, KeyCode};
pub use schema::{
    COLUMNS_MAX, Column, INDEXES_MAX, Index, IndexKind, Keep, RINGS_MAX, Schema, TABLES_MAX, Table,
};
pub use siphash::HashKey;
pub use value::{ColumnType, Real, Value};
pub use view::RowView;
pub use zone::{SUMMARY_SIZE, Summary};
