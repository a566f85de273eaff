//! MTD: the raw NAND layer of Linux with its one-page buffer, and partitions of the chip.
//!
//! A file system is mounted on a [`Partition`]. It addresses the partition in bytes from its start,
//! writes whole pages and erases whole blocks. All partitions of a chip share one raw NAND layer.
//!
//! Invariants:
//! 1. The page buffer holds the content of at most one page, and that content is never stale. A
//!    program of the buffered page empties the buffer, as do an erase of its block and every
//!    program of part of a page.
//! 2. A read within one page costs at most one array read, and none if the buffer holds the page.

mod partition;
mod raw;

use std::fmt;

use flysch_nand::{BlockAddr, PageAddr};

pub use partition::Partition;
pub use raw::{EccMode, RawNand};

/// What ECC found in a read that reached the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadQuality {
    /// No bit was wrong.
    Clean,
    /// Some bits were wrong and ECC corrected all of them. The kernel answers `-EUCLEAN` if they
    /// are more than its threshold.
    Corrected,
    /// ECC could not correct this page (`-EBADMSG`). The caller gets the bytes as the cells gave
    /// them.
    Damaged(PageAddr),
}

impl ReadQuality {
    #[must_use]
    pub fn worst(self, other: Self) -> Self {
        match (self, other) {
            (Self::Damaged(_), _) | (Self::Corrected, Self::Clean) => self,
            _ => other,
        }
    }
}

/// Why an MTD request failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MtdError {
    /// The chip reports a failed program in this block.
    ProgramFailed(BlockAddr),
    /// The chip reports a failed erase of this block.
    EraseFailed(BlockAddr),
    PowerLost,
}

impl fmt::Display for MtdError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ProgramFailed(block) => write!(f, "program failed in {block}"),
            Self::EraseFailed(block) => write!(f, "erase of {block} failed"),
            Self::PowerLost => f.write_str("power lost"),
        }
    }
}

impl std::error::Error for MtdError {}
