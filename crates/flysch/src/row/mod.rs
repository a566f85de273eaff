//! Rows: what a program declares and stores, and the bytes that they become. Nothing here touches
//! the flash.
//!
//! [`Schema`] declares the tables. [`Encoder`] turns values into a row's bytes, [`RowView`] reads
//! values from them, [`key`] computes the codes under which indexes keep a row, and [`Summary`]
//! tells what a scan must know about a page.
//!
//! ```text
//! row        | body length | head | commit delta | null bits | column | column | …
//! tombstone  | body length | head | commit delta | columns of the primary key, in its order |
//! ```
//!
//! A row holds neither names nor types of its columns: they are in the schema.
//! [`Schema::fingerprint`] tells whether a schema is the one that the rows were written with.

mod description;
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

pub use description::Difference;
pub use encoder::Encoder;
pub(crate) use encoder::{check_values, values_len};
pub use error::{RowError, SchemaError, ValueError};
pub use head::{BODY_LEN_MAX, LEN_SIZE_MAX, RowHead, RowKind, row_len};
pub(crate) use head::{HEAD_SIZE_MAX, commit_of, rebase};
pub use key::{Digest, KeyCode};
pub(crate) use schema::SHARED_KINDS;
pub use schema::{
    APART_MAX, COLUMNS_MAX, Column, INDEXES_MAX, Index, IndexKind, Keep, NAMES_MAX, RINGS_MAX,
    Schema, TABLES_MAX, Table,
};
pub use siphash::HashKey;
pub use value::{ColumnType, Real, Value};
pub use view::RowView;
pub use zone::{SUMMARY_SIZE, Summary};
