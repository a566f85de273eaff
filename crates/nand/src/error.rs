//! What the world does to an operation: small values that carry where.

use core::fmt;

use crate::{BlockAddr, PageAddr};

/// The supply failed; no call will succeed until the device is powered up again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PowerLost;

/// Why a read gave no trustworthy bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadError {
    /// More bit errors than ECC corrects; the buffer holds the raw bytes.
    Uncorrectable(PageAddr),
    /// The supply failed.
    PowerLost,
}

/// Why a program did not happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramError {
    /// The chip reports a failed program; the page's content is undefined.
    Failed(PageAddr),
    /// The supply failed; the page may be torn.
    PowerLost,
}

/// Why an erase did not happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EraseError {
    /// The chip reports a failed erase; the block's content is undefined.
    Failed(BlockAddr),
    /// The supply failed; the block may be half erased.
    PowerLost,
}

impl fmt::Display for PowerLost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("power lost")
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uncorrectable(page) => write!(f, "uncorrectable bit errors in {page}"),
            Self::PowerLost => PowerLost.fmt(f),
        }
    }
}

impl fmt::Display for ProgramError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(page) => write!(f, "program of {page} failed"),
            Self::PowerLost => PowerLost.fmt(f),
        }
    }
}

impl fmt::Display for EraseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(block) => write!(f, "erase of {block} failed"),
            Self::PowerLost => PowerLost.fmt(f),
        }
    }
}

impl core::error::Error for PowerLost {}
impl core::error::Error for ReadError {}
impl core::error::Error for ProgramError {}
impl core::error::Error for EraseError {}

impl From<PowerLost> for ReadError {
    fn from(_: PowerLost) -> Self {
        Self::PowerLost
    }
}

impl From<PowerLost> for ProgramError {
    fn from(_: PowerLost) -> Self {
        Self::PowerLost
    }
}

impl From<PowerLost> for EraseError {
    fn from(_: PowerLost) -> Self {
        Self::PowerLost
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::string::ToString;

    #[test]
    fn every_variant_says_where() {
        let rendered = [
            (
                ReadError::Uncorrectable(PageAddr(7)).to_string(),
                "uncorrectable bit errors in page 7",
            ),
            (ReadError::PowerLost.to_string(), "power lost"),
            (ProgramError::Failed(PageAddr(8)).to_string(), "program of page 8 failed"),
            (ProgramError::PowerLost.to_string(), "power lost"),
            (EraseError::Failed(BlockAddr(9)).to_string(), "erase of block 9 failed"),
            (EraseError::PowerLost.to_string(), "power lost"),
        ];
        for (text, wanted) in rendered {
            assert_eq!(text, wanted);
        }
    }
}
