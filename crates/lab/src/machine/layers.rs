//! Options of the layers of a stack. A stack ignores the options of layers that it does not have.

use flysch_linux::ftl::{Mapping, Victim};
use flysch_linux::ubi::WEAR_THRESHOLD;
use flysch_linux::ubifs::Maker;
use flysch_linux::yaffs2::Profile;
use flysch_names::named;
use strum::{IntoStaticStr, VariantArray};

use super::platform::Platform;

/// Percentage of its blocks that a translation layer keeps in reserve: the 7.4 % between the 2^30
/// bytes of a gigabyte of flash and the 10^9 bytes that a card of a gigabyte offers.
const FTL_SPARE_PERCENT: u32 = 7;
/// Fewest blocks that a translation layer keeps in reserve.
const FTL_SPARE_MIN: u32 = 8;
/// KiB of the PRAM that holds journals. The paper's chip has 64 MiB. This size is enough for any
/// journal of the workloads, and a mount reads it quickly.
const PRAM_KIB: u32 = 8 << 10;

/// Bytes of RAM that the engine gets.
const ENGINE_RAM: u32 = 16 << 10;
/// Bytes of the NVRAM that takes the engine's commits. The smallest FRAM chips that are sold with
/// an SPI bus have 512 bytes to 8 KiB.
const NVRAM_SIZE: u32 = 8 << 10;

/// The mapping and garbage collection of a translation layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "kebab-case", const_into_str)]
pub enum FtlKind {
    /// Pages are mapped. The block with the fewest live pages is collected.
    Page,
    /// Pages are mapped. The block with the best ratio of benefit to cost is collected.
    PageCostBenefit,
    /// A hybrid: blocks are mapped, and half of the spare blocks are logs of pages.
    LogBlock,
}

named!(FtlKind, "translation");

/// The options of all layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layers {
    /// YAFFS2: the generation of its source code.
    pub yaffs2_profile: Profile,
    /// UBIFS: the program that makes the image, which decides the journal's size.
    pub ubifs_maker: Maker,
    /// UBIFS: whether it uses bulk-read.
    pub ubifs_bulk_read: bool,
    /// UBI: how far the erase counts of a free block and of the least worn block in use may differ
    /// before data is moved.
    pub ubi_wear_threshold: u64,
    /// UBI: whether it writes fastmaps.
    pub ubi_fastmap: bool,
    /// Translation layer: its mapping.
    pub ftl: FtlKind,
    /// Translation layer: percentage of its blocks that it keeps in reserve.
    pub ftl_spare_percent: u32,
    /// Size of the PRAM in KiB.
    pub pram_kib: u32,
    /// The engine: bytes of its RAM.
    pub engine_ram: u32,
    /// The engine: bytes of the NVRAM that takes its commits.
    pub nvram_size: u32,
    /// The engine: bytes of the cache of what it reads, in addition to its RAM.
    pub read_cache: u32,
}

impl Layers {
    /// The options of a platform.
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
            nvram_size: NVRAM_SIZE,
            read_cache: 0,
        }
    }

    /// Number of blocks that a translation layer on `blocks` blocks keeps in reserve.
    pub fn ftl_spare_blocks(&self, blocks: u32) -> u32 {
        let percent = self.ftl_spare_percent;
        (blocks / 100 * percent + blocks % 100 * percent / 100).max(FTL_SPARE_MIN)
    }

    /// The mapping of a translation layer that keeps `spare_blocks` in reserve.
    pub const fn ftl_mapping(&self, spare_blocks: u32) -> Mapping {
        match self.ftl {
            FtlKind::Page => Mapping::Page { victim: Victim::Greedy },
            FtlKind::PageCostBenefit => Mapping::Page { victim: Victim::CostBenefit },
            FtlKind::LogBlock => Mapping::LogBlock { logs: spare_blocks / 2 },
        }
    }
}
