//! Mount options, and why a mount may fail.

use std::fmt;

use super::compress::Compressor;

/// How a JFFS2 is mounted and behaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Compressors in the order in which they are tried; none stores everything raw.
    pub compressors: Vec<Compressor>,
    /// Largest read-ahead window, cache pages: 32 up to kernel 3.x, 0 from 4.0 on.
    pub ra_pages: u32,
    /// Whether each full block ends with a summary of its nodes (`CONFIG_JFFS2_SUMMARY`): mounts
    /// read less, writes take a page or so more per block.
    pub summaries: bool,
    /// Seed of what the kernel draws from its jiffies: the choice of victims.
    pub seed: u64,
}

/// Why a partition cannot be mounted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MountError {
    /// Fewer good blocks than JFFS2 needs to write at all (the kernel asks for 5).
    TooSmall {
        /// Good blocks of the partition.
        blocks: u32,
    },
    /// More bytes than JFFS2's 32-bit offsets reach.
    TooLarge {
        /// Bytes of the partition.
        bytes: u64,
    },
    /// JFFS2 marks an erased block in the OOB area of its first page and programs that page's data
    /// later: this chip's pages are programmed but once, or have too little OOB.
    NoCleanmarker,
    /// Nothing on it looks like JFFS2, and it is not erased either.
    NoFileSystem,
    /// A JFFS2 of the other byte order.
    BigEndian,
    /// A node of an unknown kind that must not be ignored, at this byte of the partition.
    Incompatible {
        /// Where.
        offset: u32,
    },
    /// The device failed, and not by losing power.
    Io,
    /// The supply failed.
    PowerLost,
}

impl fmt::Display for MountError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooSmall { blocks } => {
                write!(f, "a partition of {blocks} good blocks is too small for JFFS2: it needs 5")
            }
            Self::TooLarge { bytes } => {
                write!(f, "a partition of {bytes} bytes is too large for JFFS2: 4 GiB are too many")
            }
            Self::NoCleanmarker => f.write_str(
                "JFFS2 programs the first page of a block twice, and needs 8 OOB bytes: \
                 this chip does not let it",
            ),
            Self::BigEndian => f.write_str("a big-endian JFFS2: only little-endian ones are read"),
            Self::NoFileSystem => f.write_str("no JFFS2 here, and not an erased partition either"),
            Self::Incompatible { offset } => {
                write!(f, "a node of an unknown, incompatible kind at byte {offset}")
            }
            Self::Io => f.write_str("input/output error"),
            Self::PowerLost => f.write_str("power lost"),
        }
    }
}

impl std::error::Error for MountError {}
