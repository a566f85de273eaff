//! Block devices: numbered sectors that may be read and written in any order.

use std::fmt;

/// Why a request to a block device failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockError {
    /// The content of this sector is lost.
    Damaged {
        /// Where.
        sector: u32,
    },
    /// So many blocks went bad that the device takes no more writes.
    WornOut,
    /// The supply failed.
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

/// A block device. Requests are whole sectors within the device: anything else is a bug.
pub trait BlockDevice {
    /// Bytes per sector: 512 or 4096.
    fn sector_size(&self) -> u32;

    /// Sectors of the device.
    fn sector_count(&self) -> u32;

    /// Read from sector `first` on. A sector never written reads as zeros.
    fn read(&mut self, first: u32, bytes: &mut [u8]) -> Result<(), BlockError>;

    /// Write from sector `first` on. A power cut may leave any of the sectors old and any new.
    fn write(&mut self, first: u32, bytes: &[u8]) -> Result<(), BlockError>;

    /// Make every write that returned durable.
    fn flush(&mut self) -> Result<(), BlockError>;
}
