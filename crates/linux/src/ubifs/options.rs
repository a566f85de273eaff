//! Mount options, and the reasons why a mount fails.

use std::fmt;

use flysch_names::named;
use strum::{IntoStaticStr, VariantArray};

use crate::ubi::AttachError;

/// The least size of a LEB in bytes (`UBIFS_MIN_LEB_SZ`).
pub(super) const LEB_SIZE_MIN: u32 = 15 * 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "kebab-case", const_into_str)]
pub enum Compressor {
    /// Blocks are stored uncompressed.
    None,
    /// LZO1X-1, which Linux uses by default if it is built without Zstandard.
    Lzo,
    /// Deflate, without zlib's header and checksum.
    Zlib,
    /// Zstandard, which Linux uses by default if it is built with it.
    Zstd,
}

named!(Compressor, "compressor");

/// How many pages of a device may be dirty before the flusher writes all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DirtyLimit {
    /// One device may have as many dirty pages as all devices together, as in kernels before 3.1.
    Whole,
    /// One device may have its share of the dirty pages of all devices. A device that has written
    /// nothing lately has no share.
    Shared,
}

/// Which program makes the file system on an empty volume. It decides the size of the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "kebab-case", const_into_str)]
pub enum Maker {
    /// The kernel, at the first mount: 5 % of the volume are journal.
    Mount,
    /// `mkfs.ubifs`: 12.5 % of the volume are journal, at most 8 MiB.
    Mkfs,
}

named!(Maker);

/// Options by which a UBIFS is made and mounted.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "independent options, as of a mount")]
pub struct Options {
    /// The compressor of new data.
    pub compressor: Compressor,
    /// Whether files that are read in order are read in bulk (`bulk_read`).
    pub bulk_read: bool,
    /// How many pages may be dirty before the flusher writes all of them.
    pub dirty_limit: DirtyLimit,
    /// Whether the checksums of data take time. Since Linux 2.6.39 they are not computed when data
    /// is read (`no_chk_data_crc`). The model refuses damaged data all the same.
    pub checks_data: bool,
    /// Which program makes the file system, if the volume is empty.
    pub maker: Maker,
    /// Number of the UBI volume to mount.
    pub volume: u32,
    /// Difference of erase counts from which on UBI moves data.
    pub wear_threshold: u64,
    /// Whether UBI writes fastmaps, even if it found none.
    pub fastmap: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            compressor: Compressor::Zstd,
            bulk_read: false,
            dirty_limit: DirtyLimit::Shared,
            checks_data: false,
            maker: Maker::Mount,
            volume: 0,
            wear_threshold: crate::ubi::WEAR_THRESHOLD,
            fastmap: false,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MountError {
    /// UBI cannot be attached to the partition.
    Ubi(AttachError),
    /// The volume has too few LEBs for UBIFS.
    TooSmall {
        /// Number of LEBs of the volume.
        lebs: u32,
    },
    /// The LEBs are smaller than 15 KiB, the least that Linux takes.
    LebTooSmall {
        /// Size of a LEB, bytes.
        bytes: u32,
    },
    /// The superblock is damaged, or has features that the model does not know.
    Superblock,
    /// Neither of the two LEBs holds a valid master node.
    Master,
    /// The node that must be at this place is missing or damaged.
    Damaged {
        /// The LEB that holds the place.
        lnum: u32,
        /// Offset in the LEB, bytes.
        offset: u32,
    },
    /// Recovery needs to write, but there is no space left.
    NoSpace,
    /// The device failed otherwise than by losing power.
    Io,
    PowerLost,
}

impl fmt::Display for MountError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ubi(error) => error.fmt(f),
            Self::TooSmall { lebs } => write!(f, "a volume of {lebs} LEBs is too small for UBIFS"),
            Self::LebTooSmall { bytes } => write!(
                f,
                "LEBs of {bytes} bytes are too small for UBIFS: {LEB_SIZE_MIN} bytes are the least"
            ),
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
