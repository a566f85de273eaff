//! Mount options, the two generations of code, and the reasons why a mount fails.

use std::fmt;

use flysch_names::named;
use strum::{IntoStaticStr, VariantArray};

/// The generation of YAFFS2 code that is modelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "kebab-case", const_into_str)]
pub enum Profile {
    /// The code of 2009 to 2011, as on the boards of the papers. It has no thread and no block
    /// summaries. A write of a whole chunk goes past the cache, and a full cache writes all dirty
    /// chunks of a file.
    #[strum(serialize = "2009")]
    Y2009,
    /// The code of 2026.
    Today,
}

named!(Profile, "profile");

/// The options of a YAFFS2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    pub profile: Profile,
    /// Number of chunks in the cache for short operations (10; 0 with `no-cache`).
    pub caches: u32,
    /// Largest read-ahead window, cache pages. It is that of mtdblock, which has 32.
    pub ra_pages: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self { profile: Profile::Today, caches: 10, ra_pages: 32 }
    }
}

impl Profile {
    /// Whether each full block ends with a summary of its chunks' tags.
    pub(super) fn has_summaries(self) -> bool {
        self == Self::Today
    }

    pub(super) fn has_thread(self) -> bool {
        self == Self::Today
    }

    /// Whether writes of whole chunks go past the cache.
    pub(super) fn bypasses_cache(self) -> bool {
        self == Self::Y2009
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MountError {
    /// The partition has fewer good blocks than YAFFS2 needs to write at all.
    TooSmall {
        /// Number of good blocks of the partition.
        blocks: u32,
    },
    /// The partition is larger than 32-bit offsets reach.
    TooLarge {
        /// Size of the partition, bytes.
        bytes: u64,
    },
    /// The chip has pages smaller than 1 KiB, or fewer free OOB bytes than the tags take.
    NoTags,
    /// A block has one page only.
    OnePage,
    /// The device failed otherwise than by losing power.
    Io,
    PowerLost,
}

impl fmt::Display for MountError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooSmall { blocks } => {
                write!(f, "a partition of {blocks} good blocks is too small for YAFFS2")
            }
            Self::TooLarge { bytes } => {
                write!(
                    f,
                    "a partition of {bytes} bytes is too large for YAFFS2: 4 GiB are too many"
                )
            }
            Self::NoTags => f.write_str("YAFFS2 needs pages of 1 KiB with 28 free OOB bytes"),
            Self::OnePage => f.write_str("YAFFS2 needs blocks of two pages or more"),
            Self::Io => f.write_str("input/output error"),
            Self::PowerLost => f.write_str("power lost"),
        }
    }
}

impl std::error::Error for MountError {}
