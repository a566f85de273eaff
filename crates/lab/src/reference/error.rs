//! Why a text is no reference.

use std::fmt;

/// What is wrong with a reference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReferenceError {
    /// It is not the table that its first column promises.
    Csv {
        /// What is wrong with it.
        why: String,
    },
    /// It names something that the laboratory does not have.
    Unknown {
        /// What was to be named.
        what: &'static str,
        /// The name.
        name: String,
    },
}

impl ReferenceError {
    /// Say that nothing of the kind `what` has this name.
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
