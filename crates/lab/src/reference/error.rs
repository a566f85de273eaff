//! The error of a text that is not a valid reference.

use std::fmt;

/// Why a reference cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReferenceError {
    /// The text is not a table with the columns that the reference must have.
    Csv {
        /// The error message of the CSV reader.
        why: String,
    },
    /// A row names something that the lab does not have.
    Unknown {
        /// What kind of thing the name is for, such as "variant".
        what: &'static str,
        /// The unknown name.
        name: String,
    },
}

impl ReferenceError {
    /// The error that no `what` has the name `name`.
    pub(super) fn unknown(what: &'static str, name: &str) -> Self {
        Self::Unknown { what, name: name.to_owned() }
    }
}

impl fmt::Display for ReferenceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Csv { why } => write!(f, "no reference: {why}"),
            Self::Unknown { what, name } => write!(f, "no reference: unknown {what} '{name}'"),
        }
    }
}

impl std::error::Error for ReferenceError {}
