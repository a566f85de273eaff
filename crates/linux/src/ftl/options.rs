//! The options of a flash translation layer, and the reasons why one fails to mount.

use std::fmt;

/// The shape and policies of a flash translation layer. A device must always be mounted with the
/// same blocks, spare blocks and mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FtlOptions {
    /// Number, on the chip, of its first block.
    pub first_block: u32,
    /// Number of its blocks, bad ones included.
    pub block_count: u32,
    /// Number of these blocks that it does not offer to the host. They replace bad blocks and serve
    /// as logs and for garbage collection.
    pub spare_blocks: u32,
    pub sector_size: u32,
    /// Static wear levelling: if the erase counts of the most and the least worn block differ by
    /// more than this, the content of the least worn is moved.
    pub wear_gap: u32,
    pub mapping: Mapping,
}

/// How the place of a logical page is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mapping {
    /// Page mapping: any page may be at any place.
    Page {
        /// How garbage collection chooses a block.
        victim: Victim,
    },
    /// Block mapping: a logical block takes one block, and new pages go to a log block of its own
    /// (BAST).
    LogBlock {
        /// Number of log blocks at a time.
        logs: u32,
    },
}

/// How garbage collection chooses a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Victim {
    /// The block with the fewest valid pages.
    Greedy,
    /// The block with the highest (1 - u) age / 2u, where u is the share of its pages that are
    /// valid.
    CostBenefit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FtlError {
    /// The chip does not have these blocks, has too few OOB bytes for a tag, or has pages that do
    /// not fit the sectors.
    Shape,
    /// Too few blocks are good.
    TooFewSpare {
        /// Number of good blocks.
        good: u32,
        /// Number of blocks that are needed.
        needed: u32,
    },
    /// Programs or erases fail in all blocks.
    WornOut,
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
    /// Fewest spare blocks with which the mapping works.
    pub(super) const fn spare_min(&self) -> u32 {
        match self.mapping {
            Mapping::Page { .. } => super::page_map::FREE_MIN + 2,
            Mapping::LogBlock { logs } => logs + super::log_block::FREE_MIN + 1,
        }
    }

    /// Number of blocks whose pages are offered to the host.
    pub(super) const fn logical_blocks(&self) -> u32 {
        self.block_count.saturating_sub(self.spare_blocks)
    }
}
