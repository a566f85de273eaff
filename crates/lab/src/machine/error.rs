//! The error of a stack that cannot be built.

use std::fmt;

/// Why a stack cannot be built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StackError {
    /// The power failed during the work.
    PowerLost,
    /// A layer of the stack reported an error.
    Refused {
        /// The name of the layer.
        layer: &'static str,
        /// The error message of the layer.
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
    /// The error of `layer`, or [`Self::PowerLost`] if the power failed.
    pub(crate) fn of(layer: &'static str, error: &impl fmt::Display) -> Self {
        match error.to_string() {
            why if why == "power lost" => Self::PowerLost,
            why => Self::Refused { layer, why },
        }
    }
}
