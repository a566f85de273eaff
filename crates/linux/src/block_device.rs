//! Block devices: numbered sectors that can be read and overwritten in any order.

use std::fmt;

/// Why a request to a block device failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockError {
    /// The content of this sector is lost: ECC could not correct it.
    Damaged {
        sector: u32,
    },
    /// Too many blocks are bad, so the device accepts no more writes.
    WornOut,
    PowerLost,
}

impl fmt::Display for BlockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Damaged { sector } => write!(f, "sector {sector} is lost"),
            Self::WornOut => f.write_str("the device is worn out"),
            Self::PowerLost => f.write_str("power lost"),
        }
    }
}

impl std::error::Error for BlockError {}

/// A block device. A request covers whole sectors within the device; any other is a bug of the
/// caller.
pub trait BlockDevice {
    /// Bytes per sector: 512 or 4096.
    fn sector_size(&self) -> u32;

    fn sector_count(&self) -> u32;

    /// Read from sector `first` on. A sector that was never written reads as zeros.
    fn read(&mut self, first: u32, bytes: &mut [u8]) -> Result<(), BlockError>;

    /// Write from sector `first` on. If power is cut, each sector has either its old or its new
    /// content.
    fn write(&mut self, first: u32, bytes: &[u8]) -> Result<(), BlockError>;

    /// Make all writes that have returned durable.
    fn flush(&mut self) -> Result<(), BlockError>;

    /// The device in the state it has now, on the same chip. `None` if it cannot be copied.
    fn copy(&self) -> Option<Box<dyn BlockDevice>> {
        None
    }
}
