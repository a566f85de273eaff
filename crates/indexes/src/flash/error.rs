//! The errors of the flash layer.

use core::fmt;

use flysch_nand::{EraseError, PageAddr, PowerLost, ProgramError, ReadError};

/// Why an operation on flash failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlashError {
    PowerLost,
    /// A page has more bit errors than ECC corrects.
    Uncorrectable(PageAddr),
    /// The content of a page is not what it should be.
    Corrupt(PageAddr),
    /// The chip reports that a page cannot be programmed. Its block must no longer be used.
    ProgramFailed(PageAddr),
    /// No block is free.
    Full,
    /// The table of blocks, whose size the caller decided, is full.
    TableFull,
}

impl fmt::Display for FlashError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PowerLost => PowerLost.fmt(f),
            Self::Uncorrectable(page) => write!(f, "uncorrectable bit errors in {page}"),
            Self::Corrupt(page) => write!(f, "{page} does not hold what it should"),
            Self::ProgramFailed(page) => write!(f, "program of {page} failed"),
            Self::Full => f.write_str("no block is free"),
            Self::TableFull => f.write_str("the table of blocks is full: give it more RAM"),
        }
    }
}

impl core::error::Error for FlashError {}

impl From<PowerLost> for FlashError {
    fn from(_: PowerLost) -> Self {
        Self::PowerLost
    }
}

impl From<ReadError> for FlashError {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Uncorrectable(page) => Self::Uncorrectable(page),
            ReadError::PowerLost => Self::PowerLost,
        }
    }
}

impl From<ProgramError> for FlashError {
    fn from(error: ProgramError) -> Self {
        match error {
            ProgramError::Failed(page) => Self::ProgramFailed(page),
            ProgramError::PowerLost => Self::PowerLost,
        }
    }
}

/// Whether an erase succeeded. A failed erase is handled by the caller; lost power is returned as
/// an error.
pub(super) fn is_erased(outcome: Result<(), EraseError>) -> Result<bool, FlashError> {
    match outcome {
        Ok(()) => Ok(true),
        Err(EraseError::Failed(_)) => Ok(false),
        Err(EraseError::PowerLost) => Err(FlashError::PowerLost),
    }
}
