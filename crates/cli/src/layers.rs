//! The options for the layers of a stack, and for the age of its device. Each option accepts a
//! list.

use std::ops::RangeInclusive;

use clap::Args;
use flysch_lab::bench::grid::Axes;
use flysch_lab::machine::layers::FtlKind;
use flysch_lab::{Maker, Profile};

use crate::failure::Failure;
use crate::numbers::Numbers;
use crate::words::{on_or_off, one_of};

/// The thresholds that UBI can be built with (`CONFIG_MTD_UBI_WL_THRESHOLD`).
const UBI_WEAR_THRESHOLDS: RangeInclusive<u32> = 2..=65_536;
/// Percentages of spare blocks that leave a translation layer room for data.
const FTL_SPARES: RangeInclusive<u32> = 1..=50;
/// Sizes of the PRAM, KiB. It must hold its tables, and its bytes must fit in 32 bits.
const PRAM_SIZES: RangeInclusive<u32> = 64..=1 << 20;

/// Sizes of the engine's RAM, bytes.
const RAM_SIZES: RangeInclusive<u32> = 4 << 10..=64 << 10;
/// Sizes of the NVRAM that takes the engine's commits, bytes.
const NVRAM_SIZES: RangeInclusive<u32> = 1 << 10..=64 << 10;
/// Sizes of the engine's read cache, bytes.
const CACHE_SIZES: RangeInclusive<u32> = 0..=16 << 20;

/// The highest erase count that may be set. No part reaches it.
const AGED_ERASES_MAX: u32 = 10_000_000;

/// The settings of the layers of some stacks. Every option takes a list. Each stack runs with every
/// combination of the options that apply to it.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options of some stacks")]
pub(crate) struct LayerOptions {
    /// yaffs2: code of 2009, or current code [default: the platform's]
    #[arg(long, value_name = "CODE", value_delimiter = ',', value_parser = one_of(Profile::ALL, Profile::name))]
    yaffs2_profile: Vec<Profile>,
    /// ubifs: made by its first mount, or by mkfs.ubifs, which makes a larger journal [default:
    /// mount]
    #[arg(long, value_name = "MAKER", value_delimiter = ',', value_parser = one_of(Maker::ALL, Maker::name))]
    ubifs_maker: Vec<Maker>,
    /// ubifs: bulk-read of sequential data (a mount option), on or off [default: off]
    #[arg(long, value_name = "on|off", value_delimiter = ',', value_parser = on_or_off())]
    ubifs_bulk_read: Vec<bool>,
    /// ubifs: largest difference of erase counts before UBI moves data, 2 to 65536 [default: 4096]
    #[arg(long, value_name = "N")]
    ubi_wear_threshold: Option<Numbers>,
    /// ubifs: UBI writes fastmaps, on or off [default: off]
    #[arg(long, value_name = "on|off", value_delimiter = ',', value_parser = on_or_off())]
    ubi_fastmap: Vec<bool>,
    /// ftl: mapping: page, page-cost-benefit, or log-block (a hybrid) [default: page]
    #[arg(long, value_name = "KIND", value_delimiter = ',')]
    ftl: Vec<FtlKind>,
    /// ftl: percent of the blocks that it keeps in reserve, 1 to 50 [default: 7]
    #[arg(long, value_name = "PERCENT")]
    ftl_spare: Option<Numbers>,
    /// +pramfs: size of the PRAM in KiB, 64 to 1048576 [default: 8192]
    #[arg(long, value_name = "KIB")]
    pram_size: Option<Numbers>,
    /// flysch: bytes of the engine's RAM, 4K to 64K [default: 16K]
    #[arg(long, value_name = "SIZE", value_delimiter = ',', value_parser = ram)]
    ram: Vec<u32>,
    /// flysch+nvram: bytes of the NVRAM that takes commits, 1K to 64K [default: 8K]
    #[arg(long, value_name = "SIZE", value_delimiter = ',', value_parser = nvram)]
    nvram_size: Vec<u32>,
    /// flysch: bytes of a read cache, in addition to its RAM, 0 to 16384K [default: 0]
    #[arg(long, value_name = "SIZE", value_delimiter = ',', value_parser = read_cache)]
    read_cache: Vec<u32>,
}

/// The state of the device before the run. Every option takes a list; every combination is run.
#[derive(Debug, Args)]
#[command(next_help_heading = "Age of the device")]
pub(crate) struct AgeOptions {
    /// Percent of the partition that live data of other files fills, 0 to 100 [default: 0]
    #[arg(id = "aged-fill", long = "aged-fill", value_name = "PERCENT")]
    fill: Option<Numbers>,
    /// Percent of the partition that was written and overwritten, so is dead data, 0 to 100
    /// [default: 0]
    #[arg(id = "aged-invalid", long = "aged-invalid", value_name = "PERCENT")]
    invalid: Option<Numbers>,
    /// Highest erase count before the run; each block gets a random one from 0 to this [default: 0]
    #[arg(id = "aged-erases", long = "aged-erases", value_name = "N")]
    erases: Option<Numbers>,
}

/// Parse a size of the engine's RAM.
fn ram(text: &str) -> Result<u32, String> {
    bytes_in(text, &RAM_SIZES).ok_or_else(|| "RAM is 4K to 64K, or bytes".to_owned())
}

/// Parse a size of the NVRAM that takes the engine's commits.
fn nvram(text: &str) -> Result<u32, String> {
    bytes_in(text, &NVRAM_SIZES).ok_or_else(|| "the memory is 1K to 64K, or bytes".to_owned())
}

/// Parse a size of the engine's read cache.
fn read_cache(text: &str) -> Result<u32, String> {
    bytes_in(text, &CACHE_SIZES).ok_or_else(|| "the cache is 0 to 16384K, or bytes".to_owned())
}

/// Parse a number of bytes, or of KiB if it ends in K. None if it is not in the range.
fn bytes_in(text: &str, sizes: &RangeInclusive<u32>) -> Option<u32> {
    let (digits, unit) =
        text.strip_suffix(['K', 'k']).map_or((text, 1), |digits| (digits, 1 << 10));
    let size = digits.parse().ok().and_then(|number: u32| number.checked_mul(unit));
    size.filter(|size| sizes.contains(size))
}

impl LayerOptions {
    /// Check the values and put them into the axes.
    pub(crate) fn fill(&self, axes: &mut Axes) -> Result<(), Failure> {
        let thresholds = self.ubi_wear_threshold.as_ref();
        let thresholds = within("ubi-wear-threshold", thresholds, UBI_WEAR_THRESHOLDS)?;
        axes.yaffs2_profiles.clone_from(&self.yaffs2_profile);
        axes.ubifs_makers.clone_from(&self.ubifs_maker);
        axes.ubifs_bulk_reads.clone_from(&self.ubifs_bulk_read);
        axes.ubi_wear_thresholds = thresholds.into_iter().map(u64::from).collect();
        axes.ubi_fastmaps.clone_from(&self.ubi_fastmap);
        axes.ftls.clone_from(&self.ftl);
        axes.ftl_spares = within("ftl-spare", self.ftl_spare.as_ref(), FTL_SPARES)?;
        axes.engine_rams.clone_from(&self.ram);
        axes.nvram_sizes.clone_from(&self.nvram_size);
        axes.read_caches.clone_from(&self.read_cache);
        axes.pram_sizes = within("pram-size", self.pram_size.as_ref(), PRAM_SIZES)?;
        Ok(())
    }
}

impl AgeOptions {
    /// Check the values and put them into the axes.
    pub(crate) fn fill(&self, axes: &mut Axes) -> Result<(), Failure> {
        axes.aged_fills = within("aged-fill", self.fill.as_ref(), 0..=100)?;
        axes.aged_invalids = within("aged-invalid", self.invalid.as_ref(), 0..=100)?;
        axes.aged_erases = within("aged-erases", self.erases.as_ref(), 0..=AGED_ERASES_MAX)?;
        Ok(())
    }
}

/// Return the numbers if all are in `range`.
fn within(
    name: &str,
    numbers: Option<&Numbers>,
    range: RangeInclusive<u32>,
) -> Result<Vec<u32>, Failure> {
    let one = |&value: &u64| match u32::try_from(value) {
        Ok(value) if range.contains(&value) => Ok(value),
        _ => {
            let (least, most) = (range.start(), range.end());
            Err(Failure::Message(format!("--{name} {value}: must be from {least} to {most}")))
        }
    };
    numbers.map_or(Ok(Vec::new()), |numbers| numbers.0.iter().map(one).collect())
}
