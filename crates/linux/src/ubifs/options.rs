//! Mount options, and why a mount may fail.

use std::fmt;
use std::str::FromStr;

use crate::ubi::AttachError;

/// A compressor that UBIFS may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compressor {
    /// Store as it is.
    None,
    /// LZO1X-1.
    Lzo,
    /// Deflate.
    Zlib,
    /// Zstandard: the kernel's first choice where it is built in.
    Zstd,
}

/// A name that is no compressor's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownCompressor(String);

impl fmt::Display for UnknownCompressor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown compressor '{}'; known: none, lzo, zlib, zstd", self.0)
    }
}

impl std::error::Error for UnknownCompressor {}

impl FromStr for Compressor {
    type Err = UnknownCompressor;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let known = [Self::None, Self::Lzo, Self::Zlib, Self::Zstd];
        let found = known.into_iter().find(|compressor| compressor.name() == name);
        found.ok_or_else(|| UnknownCompressor(name.to_owned()))
    }
}

impl Compressor {
    /// Name in mount options and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Lzo => "lzo",
            Self::Zlib => "zlib",
            Self::Zstd => "zstd",
        }
    }
}

/// How much dirty memory the flusher leaves to a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DirtyLimit {
    /// As much as there may be at all, until Linux 3.1.
    Whole,
    /// The device's share, which is none if it wrote nothing lately.
    Shared,
}

/// Who makes the file system on an empty volume, which decides the journal's size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Maker {
    /// The kernel, at the first mount: 5 % of the volume.
    Mount,
    /// `mkfs.ubifs`: 12.5 %.
    Mkfs,
}

impl Maker {
    /// Every maker.
    pub const ALL: [Self; 2] = [Self::Mount, Self::Mkfs];

    /// Name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mount => "mount",
            Self::Mkfs => "mkfs",
        }
    }
}

/// How a UBIFS is made, mounted and behaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Compressor of new data.
    pub compressor: Compressor,
    /// Whether files read in order are read in bulk (`bulk_read`).
    pub bulk_read: bool,
    /// The limit of dirty memory that the flusher keeps.
    pub dirty_limit: DirtyLimit,
    /// Who makes it.
    pub maker: Maker,
    /// The UBI volume to mount.
    pub volume: u32,
    /// Spread of erase counts that UBI allows.
    pub wear_threshold: u64,
    /// Whether UBI writes fastmaps.
    pub fastmap: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            compressor: Compressor::Zstd,
            bulk_read: false,
            dirty_limit: DirtyLimit::Shared,
            maker: Maker::Mount,
            volume: 0,
            wear_threshold: crate::ubi::WEAR_THRESHOLD,
            fastmap: false,
        }
    }
}

/// Why a partition cannot be mounted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MountError {
    /// UBI cannot be attached.
    Ubi(AttachError),
    /// The volume has too few LEBs for UBIFS.
    TooSmall {
        /// LEBs of the volume.
        lebs: u32,
    },
    /// The superblock is none, or asks for what is not known.
    Superblock,
    /// No valid master node.
    Master,
    /// What this LEB must hold is damaged.
    Damaged {
        /// The LEB.
        lnum: u32,
        /// Where in it.
        offset: u32,
    },
    /// No space left to recover into.
    NoSpace,
    /// The device failed, and not by losing power.
    Io,
    /// The supply failed.
    PowerLost,
}

impl fmt::Display for MountError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ubi(error) => error.fmt(f),
            Self::TooSmall { lebs } => write!(f, "a volume of {lebs} LEBs is too small for UBIFS"),
            Self::Superblock => f.write_str("no UBIFS superblock, or one with unknown features"),
            Self::Master => f.write_str("no valid UBIFS master node"),
            Self::Damaged { lnum, offset } => write!(f, "LEB {lnum} is damaged at byte {offset}"),
            Self::NoSpace => f.write_str("no space left to recover into"),
            Self::Io => f.write_str("input/output error"),
            Self::PowerLost => f.write_str("power lost"),
        }
    }
}

impl std::error::Error for MountError {}

impl From<AttachError> for MountError {
    fn from(error: AttachError) -> Self {
        match error {
            AttachError::PowerLost => Self::PowerLost,
            other => Self::Ubi(other),
        }
    }
}
