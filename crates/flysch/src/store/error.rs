//! Errors of the index store.

use core::fmt;

use crate::media::{MediaError, Page};

/// Why an operation of the store failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreError {
    /// The chip reported an error.
    Media(MediaError),
    /// A unit on this page has a valid seal and no valid content.
    Malformed(Page),
    /// The memory table is full: [`flush`](super::Store::flush) makes room.
    MemtableFull,
    /// The table of runs is full: call [`work`](super::Store::work) until a merge ends.
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
    /// The bytes end too early, or go on too long.
    Length,
    /// The run of this place in the table has an impossible number.
    Run(u8),
    /// The merge under way has an impossible number.
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
