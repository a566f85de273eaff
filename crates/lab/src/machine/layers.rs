//! Options of the layers of a stack: each means something to some stacks and nothing to the others.

use std::str::FromStr;

use flysch_linux::ftl::{Mapping, Victim};
use flysch_linux::ubi::WEAR_THRESHOLD;
use flysch_linux::ubifs::Maker;
use flysch_linux::yaffs2::Profile;

use super::platform::Platform;
use crate::choice::UnknownChoice;

/// Percent of its blocks that a translation layer keeps back: the 7.4 % between the 2^30 bytes of a
/// gigabyte of flash and the 10^9 that a card of a gigabyte offers.
const FTL_SPARE_PERCENT: u32 = 7;
/// Fewest blocks that it keeps back.
const FTL_SPARE_MIN: u32 = 8;
/// KiB of PRAM that journals get of the paper's chip, which has 64 MiB: more than any journal of the
/// workloads takes, and quick to look through at a mount.
const PRAM_KIB: u32 = 8 << 10;

/// Bytes of RAM that the engine gets.
const ENGINE_RAM: u32 = 16 << 10;

/// How a translation layer maps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FtlKind {
    /// Any page anywhere; the block with the fewest live pages is collected.
    Page,
    /// Any page anywhere; cost and benefit decide which block is collected.
    PageCostBenefit,
    /// A hybrid: blocks stay blocks, and half of the spare ones are logs.
    LogBlock,
}

/// Options of layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layers {
    /// YAFFS2: which code.
    pub yaffs2_profile: Profile,
    /// UBIFS: who makes it, which decides the journal's size.
    pub ubifs_maker: Maker,
    /// And whether it reads in bulk.
    pub ubifs_bulk_read: bool,
    /// UBI: erase counts that may lie between a free block and the coldest one in use.
    pub ubi_wear_threshold: u64,
    /// And whether it writes fastmaps.
    pub ubi_fastmap: bool,
    /// The translation layer: how it maps.
    pub ftl: FtlKind,
    /// And the percent of its blocks that it keeps back.
    pub ftl_spare_percent: u32,
    /// Size of the PRAM.
    pub pram_kib: u32,
    /// The engine: bytes of its RAM.
    pub engine_ram: u32,
}

impl FtlKind {
    const ALL: [Self; 3] = [Self::Page, Self::PageCostBenefit, Self::LogBlock];

    /// Name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Page => "page",
            Self::PageCostBenefit => "page-cost-benefit",
            Self::LogBlock => "log-block",
        }
    }
}

impl FromStr for FtlKind {
    type Err = UnknownChoice;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|kind| kind.name() == name);
        found.ok_or_else(|| UnknownChoice::new("translation", name, &Self::ALL.map(Self::name)))
    }
}

impl Layers {
    /// Everything as the platform has it.
    pub const fn of(platform: &Platform) -> Self {
        Self {
            yaffs2_profile: platform.yaffs2_profile,
            ubifs_maker: Maker::Mount,
            ubifs_bulk_read: false,
            ubi_wear_threshold: WEAR_THRESHOLD,
            ubi_fastmap: false,
            ftl: FtlKind::Page,
            ftl_spare_percent: FTL_SPARE_PERCENT,
            pram_kib: PRAM_KIB,
            engine_ram: ENGINE_RAM,
        }
    }

    /// Blocks that a translation layer on `blocks` keeps back.
    pub fn ftl_spare_blocks(&self, blocks: u32) -> u32 {
        let percent = self.ftl_spare_percent;
        (blocks / 100 * percent + blocks % 100 * percent / 100).max(FTL_SPARE_MIN)
    }

    /// The mapping of one that keeps `spare_blocks` back.
    pub const fn ftl_mapping(&self, spare_blocks: u32) -> Mapping {
        match self.ftl {
            FtlKind::Page => Mapping::Page { victim: Victim::Greedy },
            FtlKind::PageCostBenefit => Mapping::Page { victim: Victim::CostBenefit },
            FtlKind::LogBlock => Mapping::LogBlock { logs: spare_blocks / 2 },
        }
    }
}
