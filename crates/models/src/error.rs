//! Parameters that the models make no sense of, with what would be enough.

use std::error::Error;
use std::fmt;

/// A parameter out of its bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelError {
    /// Too small a value.
    TooSmall {
        /// What it is.
        parameter: &'static str,
        /// The least that will do.
        min: u32,
        /// What was given.
        given: u32,
    },
    /// Too large a value.
    TooLarge {
        /// What it is.
        parameter: &'static str,
        /// The most that will do.
        max: u32,
        /// What was given.
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

/// Refuse the first value that lies outside its bounds: name, value, least, most.
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
