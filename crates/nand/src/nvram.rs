//! The second contract: byte-addressable memory that keeps its content (PRAM, FRAM, MRAM, NOR).

use core::fmt;

use crate::PowerLost;

/// How a write may change bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteRule {
    /// Any byte may be overwritten with any other (PRAM, FRAM, MRAM).
    Overwrite,
    /// A write clears bits and never sets one; [`NvRam::erase`] sets a sector back to `0xFF` (NOR).
    ClearBits,
}

/// Why an access to byte-addressable memory failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NvRamError {
    /// The supply failed; a write under way may have changed any prefix of its bytes.
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
/// The caller keeps addresses within [`NvRam::size`] and, under [`WriteRule::ClearBits`], never
/// asks a write to set a bit. A write that returned `Ok` survives a power cut; one under way is
/// applied byte by byte in ascending order, so that a cut leaves a prefix.
pub trait NvRam {
    /// Tell the size in bytes.
    fn size(&self) -> u32;

    /// Tell how writes may change bytes.
    fn write_rule(&self) -> WriteRule;

    /// Tell the bytes per erase sector; 0 where nothing needs erasing.
    fn erase_size(&self) -> u32;

    /// Read `bytes.len()` bytes from `addr` on.
    fn read(&mut self, addr: u32, bytes: &mut [u8]) -> Result<(), NvRamError>;

    /// Write `bytes` from `addr` on.
    fn write(&mut self, addr: u32, bytes: &[u8]) -> Result<(), NvRamError>;

    /// Set the erase sector that begins at `addr` back to `0xFF`.
    fn erase(&mut self, addr: u32) -> Result<(), NvRamError>;
}
