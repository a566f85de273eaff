//! Mount options, and the reasons why a mount fails.

use std::fmt;

use super::compress::Compressor;

/// The options of a JFFS2.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Compressors in the order in which they are tried. If there are none, all data is stored as
    /// it is.
    pub compressors: Vec<Compressor>,
    /// Largest read-ahead window, cache pages. Kernels up to 3.x have 32, those from 4.0 on have 0.
    pub ra_pages: u32,
    /// Whether each full block ends with a summary of its nodes (`CONFIG_JFFS2_SUMMARY`). With
    /// summaries a mount reads less, and each block takes about one page more to write.
    pub summaries: bool,
    /// Seed of the random choices, for which the kernel uses its jiffies: which block to collect.
    pub seed: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MountError {
    /// The partition has fewer good blocks than JFFS2 needs to write at all (the kernel asks for
    /// 5).
    TooSmall {
        /// Number of good blocks of the partition.
        blocks: u32,
    },
    /// The partition is larger than JFFS2's 32-bit offsets reach.
    TooLarge {
        /// Size of the partition, bytes.
        bytes: u64,
    },
    /// The chip has no place for cleanmarkers. JFFS2 marks an erased block in the OOB area of its
    /// first page and programs the page's data later. This chip allows only one program of a page,
    /// or has too few OOB bytes.
    NoCleanmarker,
    /// Nothing on the partition looks like JFFS2, and it is not erased either.
    NoFileSystem,
    /// The partition holds a JFFS2 of the other byte order.
    BigEndian,
    /// The partition holds a node of an unknown kind that must not be ignored.
    Incompatible {
        /// Where the node is in the partition, bytes.
        offset: u32,
    },
    /// The device failed otherwise than by losing power.
    Io,
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
