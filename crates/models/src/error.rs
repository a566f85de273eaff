//! The error for a parameter that the models cannot handle. It says which values are possible.

use std::error::Error;
use std::fmt;

/// A parameter is out of its bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelError {
    /// The value is too small.
    TooSmall {
        /// The name of the parameter.
        parameter: &'static str,
        /// The least value that is allowed.
        min: u32,
        /// The value that was given.
        given: u32,
    },
    /// The value is too large.
    TooLarge {
        /// The name of the parameter.
        parameter: &'static str,
        /// The greatest value that is allowed.
        max: u32,
        /// The value that was given.
        given: u32,
    },
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooSmall { parameter, min, given } => {
                write!(f, "{parameter}: {given} is too small; {min} is enough")
            }
            Self::TooLarge { parameter, max, given } => {
                write!(f, "{parameter}: {given} is too large; at most {max} will do")
            }
        }
    }
}

impl Error for ModelError {}

/// Check values against their bounds: name, value, least, greatest. Reports the first that is
/// outside.
pub(super) fn check_bounds(bounds: &[(&'static str, u32, u32, u32)]) -> Result<(), ModelError> {
    for &(parameter, given, min, max) in bounds {
        if given < min {
            return Err(ModelError::TooSmall { parameter, min, given });
        }
        if given > max {
            return Err(ModelError::TooLarge { parameter, max, given });
        }
    }
    Ok(())
}
