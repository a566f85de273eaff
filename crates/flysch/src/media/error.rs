//! What can go wrong with flash, and where.

use core::fmt;

use flysch_nand::{EraseError, NvRamError, PageAddr, PowerLost, ProgramError, ReadError};

use super::address::Page;

/// Why an operation on flash failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MediaError {
    /// The power was cut. Nothing works until the device is mounted again.
    PowerLost,
    /// A page of the chip has more wrong bits than ECC can correct.
    Uncorrectable(PageAddr),
    /// A page of the chip does not have the seal of its logical place.
    Corrupt(PageAddr),
    /// The page's block is not in the block table.
    Missing(Page),
    /// A program failed. Its block was marked bad, and the head went on to the next block.
    ProgramFailed(PageAddr),
    /// There is no free block.
    Full,
    /// A byte of the `NvRam` is worn out.
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

/// Whether an erase worked. A failed erase gives false; lost power is an error.
pub(crate) fn is_erased(erased: Result<(), EraseError>) -> Result<bool, MediaError> {
    match erased {
        Ok(()) => Ok(true),
        Err(EraseError::Failed(_)) => Ok(false),
        Err(EraseError::PowerLost) => Err(MediaError::PowerLost),
    }
}
