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
    /// The flash could not be read or written.
    Media(MediaError),
    /// No database was found on the chip.
    Mount(MountError),
    /// The schema breaks a rule.
    Schema(SchemaError),
    /// The engine does not take pages or blocks of the chip's sizes.
    Geometry,
    /// The block table of so many blocks does not fit blocks of so few pages.
    BlockTooSmall {
        /// Pages of a block that would have been enough.
        needed: u32,
    },
    /// The caller gave too little RAM.
    RamTooSmall {
        /// Bytes that would have been enough.
        needed: usize,
    },
    /// The schema has no such table, or the table no such index.
    Unknown,
    /// The values do not fit the columns of the table.
    Value(ValueError),
    /// Bytes on flash are no valid row.
    Row(RowError),
    /// The index store failed.
    Store(StoreError),
    /// The table has no primary key, so no row can be named to update or delete it.
    Keyless,
    /// Another row has this key, and the index is unique.
    Duplicate {
        /// Number of the index in its table.
        index: u8,
    },
    /// The row does not meet a condition of the constraints.
    Check {
        /// The check, by its place among the constraints.
        check: u8,
    },
    /// The row refers to a parent that does not exist; or a row cannot be deleted, because another
    /// one refers to it.
    ForeignKey {
        /// The foreign key, by its place among the constraints.
        key: u8,
    },
    /// A constraint does not fit the schema.
    Constraint {
        /// Its place among the foreign keys, the checks, the presets or the join columns.
        number: u8,
    },
    /// The parents of a foreign key are in a ring table, whose oldest rows go by themselves.
    RingParent {
        /// The foreign key, by its place among the constraints.
        key: u8,
    },
    /// The rows that a delete would take with it refer to each other in a circle, or in too long a
    /// chain.
    Cascade,
    /// The savepoint was released or taken back, or there are too many savepoints.
    Savepoint,
    /// The row is longer than the memory that the caller gave for it.
    RowTooLong {
        /// Bytes of the row.
        needed: usize,
    },
    /// There is no space for more rows, or no number for another commit. Where rows that were
    /// deleted or replaced have the space, a transaction that is tried again finds more of it each
    /// time.
    Full,
    /// Rows were moved after the cursor was made, so it could miss some or give them twice; or what
    /// a reader of the past asks for is gone.
    Stale,
    /// The index entries of the transaction fill all the runs that the RAM can list, some 300,000
    /// entries at 16 KB: commit what it did, and go on in another.
    TransactionTooLong,
}

impl fmt::Display for DbError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Media(error) => error.fmt(f),
            Self::Mount(error) => error.fmt(f),
            Self::Schema(error) => error.fmt(f),
            Self::Geometry => f.write_str("the engine does not take chips of this shape"),
            Self::BlockTooSmall { needed } => write!(f, "blocks of {needed} pages are needed"),
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
