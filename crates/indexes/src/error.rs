//! What goes wrong with an index.

use core::fmt;

use crate::flash::FlashError;

/// Why parameters cannot be used, and what would be enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigError {
    /// The caller's RAM does not hold what the parameters ask for.
    RamTooSmall {
        /// Bytes that would be enough.
        needed: usize,
        /// Bytes that were given.
        given: usize,
    },
    /// This parameter must be larger.
    TooSmall {
        parameter: &'static str,
        /// The least value that works.
        min: u32,
        /// The value that was given.
        given: u32,
    },
    /// This parameter must be smaller.
    TooLarge {
        parameter: &'static str,
        /// The largest value that works.
        max: u32,
        /// The value that was given.
        given: u32,
    },
    /// A key has another length than the index was made for.
    KeySize {
        /// Bytes of a key.
        needed: usize,
        /// Bytes that were given.
        given: usize,
    },
    /// The chip does not allow to program pages in parts, or not often enough.
    PartialPrograms {
        /// Programs a page has to take.
        needed: u32,
        /// Programs the chip allows.
        allowed: u32,
    },
    /// The chip wants its pages programmed in order, and these parameters go back to earlier ones.
    ProgramOrder,
}

/// Why an operation of an index failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexError {
    Flash(FlashError),
    /// The parameters cannot be used.
    Config(ConfigError),
    /// There is no index of these areas on the chip, or its records are unreadable.
    Missing,
}

impl ConfigError {
    /// Refuse less RAM than is needed.
    pub const fn check_ram(needed: usize, given: usize) -> Result<(), Self> {
        if given < needed { Err(Self::RamTooSmall { needed, given }) } else { Ok(()) }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::RamTooSmall { needed, given } => {
                write!(f, "{given} bytes of RAM are too few: {needed} would be enough")
            }
            Self::TooSmall { parameter, min, given } => {
                write!(f, "{parameter} is {given}: it must be at least {min}")
            }
            Self::TooLarge { parameter, max, given } => {
                write!(f, "{parameter} is {given}: it can be at most {max}")
            }
            Self::KeySize { needed, given } => {
                write!(f, "a key of {given} bytes: this index takes keys of {needed}")
            }
            Self::PartialPrograms { needed, allowed } => write!(
                f,
                "a page would be programmed {needed} times, the chip allows {allowed}: \
                 flush whole pages instead"
            ),
            Self::ProgramOrder => f.write_str(
                "the chip wants the pages of a block programmed in order: flush whole pages instead",
            ),
        }
    }
}

impl fmt::Display for IndexError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flash(error) => error.fmt(f),
            Self::Config(error) => error.fmt(f),
            Self::Missing => f.write_str("no such index on this chip"),
        }
    }
}

impl core::error::Error for ConfigError {}
impl core::error::Error for IndexError {}

impl From<FlashError> for IndexError {
    fn from(error: FlashError) -> Self {
        Self::Flash(error)
    }
}

impl From<ConfigError> for IndexError {
    fn from(error: ConfigError) -> Self {
        Self::Config(error)
    }
}
