//! What the world does to flash, with where.

use core::fmt;

use flysch_nand::{EraseError, NvRamError, PageAddr, PowerLost, ProgramError, ReadError};

use super::address::Page;

/// Why an operation on flash failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MediaError {
    /// The power was cut. Nothing works until the device is mounted again.
    PowerLost,
    /// ECC gave up on a page of the chip.
    Uncorrectable(PageAddr),
    /// A page of the chip does not bear the seal of what ought to be there.
    Corrupt(PageAddr),
    /// The block table knows no block that holds this page.
    Missing(Page),
    /// A program failed; its block was marked, and the head went on to the next one.
    ProgramFailed(PageAddr),
    /// No block can be taken.
    Full,
    /// A byte of the memory beside the chip is worn out.
    NvRamWornOut(u32),
    /// A page was written by a newer version of the format.
    Version(u8),
}

impl fmt::Display for MediaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PowerLost => PowerLost.fmt(f),
            Self::Uncorrectable(page) => ReadError::Uncorrectable(*page).fmt(f),
            Self::Corrupt(page) => write!(f, "{page} does not hold what it ought to"),
            Self::Missing(page) => write!(f, "no block holds {page}"),
            Self::ProgramFailed(page) => ProgramError::Failed(*page).fmt(f),
            Self::Full => f.write_str("no block is free"),
            Self::NvRamWornOut(addr) => NvRamError::WornOut(*addr).fmt(f),
            Self::Version(version) => write!(f, "format version {version} is newer than this one"),
        }
    }
}

impl core::error::Error for MediaError {}

impl From<PowerLost> for MediaError {
    fn from(_: PowerLost) -> Self {
        Self::PowerLost
    }
}

impl From<ReadError> for MediaError {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Uncorrectable(page) => Self::Uncorrectable(page),
            ReadError::PowerLost => Self::PowerLost,
        }
    }
}

impl From<ProgramError> for MediaError {
    fn from(error: ProgramError) -> Self {
        match error {
            ProgramError::Failed(page) => Self::ProgramFailed(page),
            ProgramError::PowerLost => Self::PowerLost,
        }
    }
}

/// Whether an erase did its work; power that is lost is an error, a failure is an answer.
pub(crate) fn is_erased(erased: Result<(), EraseError>) -> Result<bool, MediaError> {
    match erased {
        Ok(()) => Ok(true),
        Err(EraseError::Failed(_)) => Ok(false),
        Err(EraseError::PowerLost) => Err(MediaError::PowerLost),
    }
}
