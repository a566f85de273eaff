//! The errors of an operation: small values that say where it failed.

use core::fmt;

use crate::{BlockAddr, PageAddr};

/// Power was lost. No call succeeds until the device has power again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PowerLost;

/// Why a read failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadError {
    /// There are more bit errors than ECC corrects. The buffer holds the raw bytes.
    Uncorrectable(PageAddr),
    /// Power was lost before or during the read.
    PowerLost,
}

/// Why a program failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramError {
    /// The chip reports that the program failed. The content of the page is undefined.
    Failed(PageAddr),
    /// Power was lost. The page may be torn.
    PowerLost,
}

/// Why an erase failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EraseError {
    /// The chip reports that the erase failed. The content of the block is undefined.
    Failed(BlockAddr),
    /// Power was lost. The block may be half erased.
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
