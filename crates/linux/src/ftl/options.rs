//! What a flash translation layer is like, and why one may not mount.

use std::fmt;

/// The shape and policies of a flash translation layer. The same device must always be mounted
/// with the same blocks, spare blocks and mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FtlOptions {
    /// First block of the chip it has.
    pub first_block: u32,
    /// Blocks it has, bad ones included.
    pub block_count: u32,
    /// Blocks of them that it does not offer: room for bad blocks, logs and garbage collection.
    pub spare_blocks: u32,
    /// Bytes per sector: 512 or 4096.
    pub sector_size: u32,
    /// Static wear levelling: the erase counts of the most and the least worn block may differ by
    /// this much before the content of the latter is moved.
    pub wear_gap: u32,
    /// How logical pages find their place.
    pub mapping: Mapping,
}

/// How logical pages find their place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mapping {
    /// Any page anywhere.
    Page {
        /// Which block garbage collection takes.
        victim: Victim,
    },
    /// A block stays a block; its new pages go to a log block of its own (BAST).
    LogBlock {
        /// Log blocks at a time.
        logs: u32,
    },
}

/// Which block garbage collection takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Victim {
    /// The one with the fewest live pages.
    Greedy,
    /// The one with the best (1 - u) age / 2u, where u is its share of live pages.
    CostBenefit,
}

/// Why a flash translation layer does not mount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FtlError {
    /// The chip has no such blocks, no room for a tag in OOB, or pages the sectors do not fit.
    Shape,
    /// Too few spare blocks are good.
    TooFewSpare {
        /// Good blocks.
        good: u32,
        /// Blocks needed.
        needed: u32,
    },
    /// Program and erase fail everywhere.
    WornOut,
    /// The supply failed.
    PowerLost,
}

impl fmt::Display for FtlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shape => f.write_str("a flash translation layer of this shape fits no such chip"),
            Self::TooFewSpare { good, needed } => {
                write!(f, "{good} good blocks, but {needed} are needed")
            }
            Self::WornOut => f.write_str("the device is worn out"),
            Self::PowerLost => f.write_str("power lost"),
        }
    }
}

impl std::error::Error for FtlError {}

impl FtlOptions {
    /// Spare blocks that the mapping cannot do without.
    pub(super) const fn spare_min(&self) -> u32 {
        match self.mapping {
            Mapping::Page { .. } => super::page_map::FREE_MIN + 2,
            Mapping::LogBlock { logs } => logs + super::log_block::FREE_MIN + 1,
        }
    }

    /// Blocks' worth of pages that are offered.
    pub(super) const fn logical_blocks(&self) -> u32 {
        self.block_count.saturating_sub(self.spare_blocks)
    }
}
