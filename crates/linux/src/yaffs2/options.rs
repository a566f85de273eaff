//! Mount options, the behaviour of two generations, and why a mount may fail.

use std::fmt;

/// Which code is modelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// The code of 2009 to 2011, as on the papers' boards: no thread, no block summaries; a write of
    /// a whole chunk passes the cache by, and a full cache flushes all of a file.
    Y2009,
    /// The code of today.
    Today,
}

/// How a YAFFS2 is mounted and behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Which code is modelled.
    pub profile: Profile,
    /// Chunks of the cache for short operations (10; 0 with `no-cache`).
    pub caches: u32,
    /// Largest read-ahead window, cache pages (mtdblock's: 32).
    pub ra_pages: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self { profile: Profile::Today, caches: 10, ra_pages: 32 }
    }
}

impl Profile {
    /// Every generation.
    pub const ALL: [Self; 2] = [Self::Y2009, Self::Today];

    /// Name in platforms and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Y2009 => "2009",
            Self::Today => "today",
        }
    }

    /// Whether each full block ends with the tags of its chunks.
    pub(super) fn has_summaries(self) -> bool {
        self == Self::Today
    }

    /// Whether a thread collects garbage and writes directories' times.
    pub(super) fn has_thread(self) -> bool {
        self == Self::Today
    }

    /// Whether writes of whole chunks pass the cache by.
    pub(super) fn bypasses_cache(self) -> bool {
        self == Self::Y2009
    }
}

/// Why a partition cannot be mounted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MountError {
    /// Fewer good blocks than YAFFS2 needs to write at all.
    TooSmall {
        /// Good blocks of the partition.
        blocks: u32,
    },
    /// More bytes than 32-bit offsets reach.
    TooLarge {
        /// Bytes of the partition.
        bytes: u64,
    },
    /// Pages smaller than 1 KiB or with fewer free OOB bytes than the tags take: YAFFS2 needs
    /// large pages.
    NoTags,
    /// The device failed, and not by losing power.
    Io,
    /// The supply failed.
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
            Self::Io => f.write_str("input/output error"),
            Self::PowerLost => f.write_str("power lost"),
        }
    }
}

impl std::error::Error for MountError {}
