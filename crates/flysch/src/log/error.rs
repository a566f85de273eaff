//! Why a database cannot be opened, and why a search for it ends.

use core::fmt;

use super::stream::{Gone, StreamError};
use crate::media::MediaError;
use crate::row::Difference;

/// Why no database can be opened on this chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MountError {
    /// The flash could not be read.
    Media(MediaError),
    /// No root is visible: no database was created here.
    Missing,
    /// A root is visible, but the log to which it leads is damaged.
    Broken,
    /// Commits of this database go to an `NvRam`, and the caller gave none.
    NoNvRam,
    /// The session before had more RAM, and the entries that it had not flushed do not fit.
    LessRam,
    /// The database was made for other blocks of the chip.
    Partition,
    /// The database was made with another schema, or with other options: this differs first.
    Schema(Difference),
}

impl fmt::Display for MountError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Media(error) => error.fmt(f),
            Self::Missing => f.write_str("no database is here"),
            Self::Broken => f.write_str("the log of the database is not whole"),
            Self::NoNvRam => {
                f.write_str("the memory beside the chip, which takes commits, is missing")
            }
            Self::LessRam => {
                f.write_str("the session before had more RAM: open the database with as much")
            }
            Self::Partition => f.write_str("the database was made for other blocks of the chip"),
            Self::Schema(part) => write!(f, "the database was made otherwise: {part}"),
        }
    }
}

impl core::error::Error for MountError {}

impl From<MediaError> for MountError {
    fn from(error: MediaError) -> Self {
        Self::Media(error)
    }
}

impl From<StreamError> for MountError {
    fn from(error: StreamError) -> Self {
        match error {
            StreamError::Media(error) => Self::Media(error),
            StreamError::Broken | StreamError::Gone(_) => Self::Broken,
        }
    }
}

/// Why the search for the last record ends.
pub(super) enum Halt {
    /// The database cannot be opened.
    Error(MountError),
    /// A page that was seen before does not read as valid any more: the power went while it was
    /// programmed. The search goes on without it.
    Gone(Gone),
}

impl From<MountError> for Halt {
    fn from(error: MountError) -> Self {
        Self::Error(error)
    }
}

impl From<MediaError> for Halt {
    fn from(error: MediaError) -> Self {
        Self::Error(error.into())
    }
}

impl From<StreamError> for Halt {
    fn from(error: StreamError) -> Self {
        match error {
            StreamError::Gone(place) => Self::Gone(place),
            error => Self::Error(error.into()),
        }
    }
}
