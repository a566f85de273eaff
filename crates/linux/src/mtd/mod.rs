//! MTD: the raw NAND layer of Linux with its one-page buffer, and partitions of it.
//!
//! A [`Partition`] is what a file system is mounted on: byte offsets from its own start, whole
//! pages written, whole blocks erased. Below it one raw NAND layer serves all partitions of a chip.
//!
//! Invariants:
//! 1. The page buffer holds the content of at most one page, and never a stale one: a program of
//!    that page or an erase of its block empties it, and so does each program of part of a page.
//! 2. A read within one page costs at most one array read; none when the buffer holds the page.

mod partition;
mod raw;

use std::fmt;

use flysch_nand::{BlockAddr, PageAddr};

pub use partition::Partition;
pub use raw::{EccMode, RawNand};

/// How a read that reached the device went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadQuality {
    /// No bit error.
    Clean,
    /// Bit errors, all corrected (`-EUCLEAN` beyond the threshold).
    Corrected,
    /// Uncorrectable bit errors in this page (`-EBADMSG`); the bytes are as the cells gave them.
    Damaged(PageAddr),
}

impl ReadQuality {
    /// The worse of two.
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
    /// The supply failed.
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
