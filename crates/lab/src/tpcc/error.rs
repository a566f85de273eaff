//! The error of a TPC-C run.

use std::fmt;

use super::condition::Violation;

/// Why a TPC-C run failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TpccError {
    /// A statement failed in SQLite.
    Sqlite {
        /// The statement that failed.
        statement: &'static str,
        error: flysch_sqlite::Error,
    },
    /// A call of the engine failed.
    Engine {
        /// What the call was for.
        statement: &'static str,
        error: flysch::db::DbError,
    },
    /// A row that the specification requires is missing, or it has unexpected values.
    Unexpected {
        /// The statement that asked for the row.
        statement: &'static str,
    },
    /// A condition of the specification does not hold.
    Inconsistent(Violation),
}

impl fmt::Display for TpccError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite { statement, error } => write!(f, "at '{statement}': {error}"),
            Self::Engine { statement, error } => write!(f, "at '{statement}': {error}"),
            Self::Unexpected { statement } => write!(f, "no such row at '{statement}'"),
            Self::Inconsistent(violation) => write!(f, "{violation}"),
        }
    }
}

impl std::error::Error for TpccError {}
