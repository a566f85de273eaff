//! The error of a text that is not a valid reference.

use std::fmt;

/// What is wrong with a reference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReferenceError {
    /// The text is not the table that its first column stands for.
    Csv {
        /// The error message of the CSV reader.
        why: String,
    },
    /// It names something that the laboratory does not have.
    Unknown {
        /// What the name is of, such as "variant".
        what: &'static str,
        /// The name in the text.
        name: String,
    },
}

impl ReferenceError {
    /// The error that no `what` has this name.
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
