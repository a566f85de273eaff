//! Why a stack does not stand.

use std::fmt;

/// Why a stack does not stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StackError {
    /// The supply failed.
    PowerLost,
    /// A layer refuses.
    Refused {
        /// Which.
        layer: &'static str,
        /// What it says.
        why: String,
    },
}

impl fmt::Display for StackError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PowerLost => f.write_str("power lost"),
            Self::Refused { layer, why } => write!(f, "{layer}: {why}"),
        }
    }
}

impl std::error::Error for StackError {}

impl StackError {
    /// What `layer` says, unless it is that the supply failed.
    pub(crate) fn of(layer: &'static str, error: &impl fmt::Display) -> Self {
        match error.to_string() {
            why if why == "power lost" => Self::PowerLost,
            why => Self::Refused { layer, why },
        }
    }
}
