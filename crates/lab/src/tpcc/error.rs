//! Why a TPC-C run has no result.

use std::fmt;

use super::condition::Violation;

/// What went wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TpccError {
    /// SQLite failed.
    Sqlite {
        /// At which statement.
        statement: &'static str,
        /// What it says.
        error: flysch_sqlite::Error,
    },
    /// A row that the specification promises is not there, or not as it should be.
    Unexpected {
        /// Which statement asked for it.
        statement: &'static str,
    },
    /// A condition of the specification does not hold.
    Inconsistent(Violation),
}

impl fmt::Display for TpccError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite { statement, error } => write!(f, "at '{statement}': {error}"),
            Self::Unexpected { statement } => write!(f, "no such row at '{statement}'"),
            Self::Inconsistent(violation) => write!(f, "{violation}"),
        }
    }
}

impl std::error::Error for TpccError {}
