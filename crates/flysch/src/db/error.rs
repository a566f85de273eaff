//! Why a call on the database failed. The database is as it was before the call.

use core::fmt;

use crate::log::MountError;
use crate::media::MediaError;
use crate::record::AppendError;
use crate::row::{RowError, SchemaError, ValueError};
use crate::store::StoreError;

/// Why a call failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DbError {
    /// The flash says no.
    Media(MediaError),
    /// The database cannot be found.
    Mount(MountError),
    /// The schema is none.
    Schema(SchemaError),
    /// The chip's pages or blocks are of a shape that the engine does not take.
    Geometry,
    /// The memory is too small: so many bytes are needed.
    RamTooSmall {
        /// Bytes that would have been enough.
        needed: usize,
    },
    /// The schema has no such table, or the table no such index.
    Unknown,
    /// The values do not make a row of the table.
    Value(ValueError),
    /// A row on flash is not whole.
    Row(RowError),
    /// The index store says no.
    Store(StoreError),
    /// The table has no primary key: its rows cannot be named.
    Keyless,
    /// The key of this index is taken.
    Duplicate {
        /// The index of the table.
        index: u8,
    },
    /// The callback of this check refuses the row.
    Check {
        /// The check, by its place among the constraints.
        check: u8,
    },
    /// No parent has the key of this foreign key; or a child has it, and its parent stays.
    ForeignKey {
        /// The foreign key, by its place among the constraints.
        key: u8,
    },
    /// The constraint of this kind and place is none of this schema.
    Constraint {
        /// The foreign key, check or preset, by its place among those.
        number: u8,
    },
    /// The parents of this foreign key are rows of a ring table, which go by themselves.
    RingParent {
        /// The foreign key, by its place among the constraints.
        key: u8,
    },
    /// Rows that a delete takes with it refer to each other in too long a chain, or in a circle.
    Cascade,
    /// The savepoint is gone, or there are too many.
    Savepoint,
    /// The row is longer than the memory given for it.
    RowTooLong {
        /// Bytes of the row.
        needed: usize,
    },
    /// There is no room for more rows, or no number for another commit.
    Full,
    /// Rows were moved since the cursor was made, so that it would miss some or give them twice.
    Stale,
    /// The transaction has more rows than the memory can keep entries of: commit what there is, or
    /// give more memory.
    TransactionTooLong,
}

impl fmt::Display for DbError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Media(error) => error.fmt(f),
            Self::Mount(error) => error.fmt(f),
            Self::Schema(error) => error.fmt(f),
            Self::Geometry => f.write_str("the engine does not take chips of this shape"),
            Self::RamTooSmall { needed } => write!(f, "{needed} bytes of memory are needed"),
            Self::Unknown => f.write_str("the schema has no such table or index"),
            Self::Value(error) => error.fmt(f),
            Self::Row(error) => error.fmt(f),
            Self::Store(error) => error.fmt(f),
            Self::Keyless => f.write_str("the table has no primary key"),
            Self::Duplicate { index } => write!(f, "the key of index {index} is taken"),
            Self::Check { check } => write!(f, "check {check} refuses the row"),
            Self::ForeignKey { key } => write!(f, "foreign key {key} is not kept"),
            Self::Constraint { number } => write!(f, "constraint {number} is none of the schema"),
            Self::RingParent { key } => write!(f, "foreign key {key} refers to a ring table"),
            Self::Cascade => f.write_str("rows to be deleted refer to each other in a long chain"),
            Self::Savepoint => f.write_str("the savepoint is gone, or there are too many"),
            Self::RowTooLong { needed } => write!(f, "the row has {needed} bytes"),
            Self::Full => f.write_str("there is no room for more rows"),
            Self::Stale => f.write_str("rows were moved since the cursor was made"),
            Self::TransactionTooLong => f.write_str("the transaction has too many rows"),
        }
    }
}

impl core::error::Error for DbError {}

impl From<MediaError> for DbError {
    fn from(error: MediaError) -> Self {
        match error {
            MediaError::Full => Self::Full,
            error => Self::Media(error),
        }
    }
}

impl From<MountError> for DbError {
    fn from(error: MountError) -> Self {
        Self::Mount(error)
    }
}

impl From<AppendError> for DbError {
    fn from(error: AppendError) -> Self {
        match error {
            AppendError::Media(error) => error.into(),
            AppendError::Value(error) => Self::Value(error),
        }
    }
}

impl From<RowError> for DbError {
    fn from(error: RowError) -> Self {
        Self::Row(error)
    }
}
