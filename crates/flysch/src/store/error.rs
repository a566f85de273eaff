//! What goes wrong in the index store, with where.

use core::fmt;

use crate::media::{MediaError, Page};

/// Why an operation of the store failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreError {
    /// The chip answered with an error.
    Media(MediaError),
    /// A unit on this page bears its seal and makes no sense.
    Malformed(Page),
    /// The memory table has no room: [`flush`](super::Store::flush) makes some.
    MemtableFull,
    /// No more runs can be listed: [`work`](super::Store::work) until a merge ends.
    Crowded,
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Media(error) => error.fmt(f),
            Self::Malformed(page) => write!(f, "{page} holds no unit of a run"),
            Self::MemtableFull => f.write_str("the memory table is full"),
            Self::Crowded => f.write_str("too many runs wait to be merged"),
        }
    }
}

impl core::error::Error for StoreError {}

impl From<MediaError> for StoreError {
    fn from(error: MediaError) -> Self {
        Self::Media(error)
    }
}

/// Why bytes are no state of this store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateError {
    /// They end too early, or go on too long.
    Length,
    /// Run number so much has a number that cannot be.
    Run(u8),
    /// The merge under way has a number that cannot be.
    Job,
}

impl fmt::Display for StateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length => f.write_str("the state of the index store has the wrong length"),
            Self::Run(run) => write!(f, "run {run} of the index store cannot be"),
            Self::Job => f.write_str("the merge under way in the index store cannot be"),
        }
    }
}

impl core::error::Error for StateError {}
