//! A second contract, for byte-addressable memory that keeps its content (PRAM, FRAM, MRAM, NOR).

use core::fmt;

use crate::PowerLost;

/// Which changes of bytes a write can make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteRule {
    /// A write can change any byte to any other (PRAM, FRAM, MRAM).
    Overwrite,
    /// A write clears bits and never sets one. [`NvRam::erase`] sets a sector to `0xFF` (NOR).
    ClearBits,
}

/// Why an access to byte-addressable memory failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NvRamError {
    /// Power was lost. A write under way may have changed any number of its first bytes.
    PowerLost,
    /// The cell at this address is worn out.
    WornOut(u32),
}

impl fmt::Display for NvRamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PowerLost => PowerLost.fmt(f),
            Self::WornOut(addr) => write!(f, "cell at byte {addr} is worn out"),
        }
    }
}

impl core::error::Error for NvRamError {}

/// Byte-addressable non-volatile memory.
///
/// The caller keeps addresses within [`NvRam::size`]. Under [`WriteRule::ClearBits`] it never asks
/// a write to set a bit. A write that returned `Ok` survives a power cut. A write under way changes
/// its bytes in ascending order, so that a power cut leaves a prefix of it.
pub trait NvRam {
    /// Size of the memory, bytes.
    fn size(&self) -> u32;

    /// Which changes of bytes a write can make.
    fn write_rule(&self) -> WriteRule;

    /// Number of bytes in an erase sector, or 0 if nothing needs to be erased.
    fn erase_size(&self) -> u32;

    /// Read `bytes.len()` bytes from `addr` on.
    fn read(&mut self, addr: u32, bytes: &mut [u8]) -> Result<(), NvRamError>;

    /// Write `bytes` from `addr` on.
    fn write(&mut self, addr: u32, bytes: &[u8]) -> Result<(), NvRamError>;

    /// Set the erase sector that begins at `addr` to `0xFF`.
    fn erase(&mut self, addr: u32) -> Result<(), NvRamError>;
}
