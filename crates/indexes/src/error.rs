//! The errors of an index.

use core::fmt;

use crate::flash::FlashError;

/// Why parameters cannot be used, and which values could.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigError {
    /// The caller's RAM is too small for the parameters.
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
        max: u32,
        /// The value that was given.
        given: u32,
    },
    /// A key does not have the length that the index was made for.
    KeySize {
        /// Bytes of a key.
        needed: usize,
        /// Bytes that were given.
        given: usize,
    },
    /// The chip does not allow programming pages in parts, or not often enough.
    PartialPrograms {
        /// Number of programs of a page that these parameters need.
        needed: u32,
        /// Number of programs of a page that the chip allows.
        allowed: u32,
    },
    /// The chip requires pages to be programmed in order, but these parameters go back to earlier
    /// pages.
    ProgramOrder,
}

/// Why an operation of an index failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexError {
    Flash(FlashError),
    /// The parameters cannot be used.
    Config(ConfigError),
    /// The chip has no index with these areas, or its records are unreadable.
    Missing,
}

impl ConfigError {
    /// Refuse RAM that is smaller than `needed`.
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
