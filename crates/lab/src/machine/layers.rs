//! Options of the layers of a stack: each means something to some stacks and nothing to the others.

use std::collections::BTreeMap;
use std::str::FromStr;

use flysch_linux::ftl::{Mapping, Victim};
use flysch_linux::ubi::WEAR_THRESHOLD;
use flysch_linux::ubifs::Maker;
use flysch_linux::yaffs2::Profile;

use super::platform::Platform;
use super::stack::{Journals, Main, Stack};
use crate::choice::UnknownChoice;

/// Percent of its blocks that a translation layer keeps back: the 7.4 % between the 2^30 bytes of a
/// gigabyte of flash and the 10^9 that a card of a gigabyte offers.
const FTL_SPARE_PERCENT: u32 = 7;
/// Fewest blocks that it keeps back.
const FTL_SPARE_MIN: u32 = 8;
/// KiB of PRAM that journals get of the paper's chip, which has 64 MiB: more than any journal of the
/// workloads takes, and quick to look through at a mount.
const PRAM_KIB: u32 = 8 << 10;

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

    /// Those that mean something to `stack`, by their command-line names.
    pub fn parameters(&self, stack: Stack) -> BTreeMap<&'static str, String> {
        let mut all = BTreeMap::new();
        match stack.main {
            Main::Yaffs2 => {
                all.insert("yaffs2-profile", self.yaffs2_profile.name().to_owned());
            }
            Main::Ubifs => {
                all.insert("ubifs-maker", self.ubifs_maker.name().to_owned());
                all.insert("ubifs-bulk-read", on_or_off(self.ubifs_bulk_read));
                all.insert("ubi-wear-threshold", self.ubi_wear_threshold.to_string());
                all.insert("ubi-fastmap", on_or_off(self.ubi_fastmap));
            }
            Main::Ftl => {
                all.insert("ftl", self.ftl.name().to_owned());
                all.insert("ftl-spare", self.ftl_spare_percent.to_string());
            }
            Main::Jffs2 | Main::Tmpfs => (),
        }
        if stack.journals == Some(Journals::Pramfs) {
            all.insert("pram-size", self.pram_kib.to_string());
        }
        all
    }
}

/// Values for every option. An empty list stands for the platform's own value.
#[derive(Clone, Debug, Default)]
pub struct LayerLists {
    /// YAFFS2's generations.
    pub yaffs2_profiles: Vec<Profile>,
    /// Makers of UBIFS.
    pub ubifs_makers: Vec<Maker>,
    /// Whether UBIFS reads in bulk.
    pub ubifs_bulk_reads: Vec<bool>,
    /// UBI's thresholds.
    pub ubi_wear_thresholds: Vec<u64>,
    /// Whether UBI writes fastmaps.
    pub ubi_fastmaps: Vec<bool>,
    /// Translation layers.
    pub ftls: Vec<FtlKind>,
    /// Percents of spare blocks.
    pub ftl_spares: Vec<u32>,
    /// Sizes of the PRAM, KiB.
    pub pram_sizes: Vec<u32>,
}

impl LayerLists {
    /// Every combination of the values that mean something to `stack`.
    pub fn combinations(&self, stack: Stack, plain: Layers) -> Vec<Layers> {
        let is = |main| stack.main == main;
        let mut all = vec![plain];
        spread(&mut all, is(Main::Yaffs2), &self.yaffs2_profiles, |it| &mut it.yaffs2_profile);
        spread(&mut all, is(Main::Ubifs), &self.ubifs_makers, |it| &mut it.ubifs_maker);
        spread(&mut all, is(Main::Ubifs), &self.ubifs_bulk_reads, |it| &mut it.ubifs_bulk_read);
        spread(&mut all, is(Main::Ubifs), &self.ubi_wear_thresholds, |it| {
            &mut it.ubi_wear_threshold
        });
        spread(&mut all, is(Main::Ubifs), &self.ubi_fastmaps, |it| &mut it.ubi_fastmap);
        spread(&mut all, is(Main::Ftl), &self.ftls, |it| &mut it.ftl);
        spread(&mut all, is(Main::Ftl), &self.ftl_spares, |it| &mut it.ftl_spare_percent);
        let has_pram = stack.journals == Some(Journals::Pramfs);
        spread(&mut all, has_pram, &self.pram_sizes, |it| &mut it.pram_kib);
        all
    }
}

fn on_or_off(is_on: bool) -> String {
    if is_on { "on" } else { "off" }.to_owned()
}

/// Each of `all` once for each value, where the option applies and has values.
fn spread<T: Copy>(
    all: &mut Vec<Layers>,
    applies: bool,
    values: &[T],
    field: impl Fn(&mut Layers) -> &mut T,
) {
    if !applies || values.is_empty() {
        return;
    }
    let with = |mut layers: Layers, value: T| {
        *field(&mut layers) = value;
        layers
    };
    let spread = all.iter().flat_map(|&it| values.iter().map(move |&value| (it, value)));
    *all = spread.map(|(it, value)| with(it, value)).collect();
}
