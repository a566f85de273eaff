//! The flash of this machine, as sysfs describes it.

use std::fs;
use std::path::{Path, PathBuf};

use flysch_chip::Timing;
use flysch_lab::trace::parse_shape;
use flysch_nand::Geometry;

use super::error::LiveError;

const CLASS: &str = "/sys/class/mtd";

/// An MTD device of the kernel: a chip, or a partition of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mtd {
    /// The N in the name `mtdN`.
    pub number: u32,
    /// Geometry of this MTD device. Blocks of the chip outside of it do not count.
    pub geometry: Geometry,
    /// The block of the chip at which it begins.
    pub first_block: u32,
    /// Whether its driver is one for SPI-NAND.
    pub is_spi_nand: bool,
}

impl Mtd {
    /// All NAND devices of the machine, ordered by number.
    ///
    /// # Errors
    /// Fails if there is no MTD device, or if none of them has pages.
    pub fn all() -> Result<Vec<Self>, LiveError> {
        let numbers = numbers();
        let Some(&first) = numbers.first() else { return Err(LiveError::NoMtd) };
        let paged: Vec<Self> =
            numbers.iter().filter_map(|&number| Self::read(number).ok()).collect();
        if paged.is_empty() {
            return Self::read(first).map(|mtd| vec![mtd]);
        }
        Ok(paged)
    }

    /// The MTD device of this name, such as `mtd0` or `/dev/mtd0`.
    ///
    /// # Errors
    /// Fails if there is none, or if it has no pages.
    pub fn named(name: &str) -> Result<Self, LiveError> {
        let known = numbers();
        if known.is_empty() {
            return Err(LiveError::NoMtd);
        }
        let number = name.trim_start_matches("/dev/").strip_prefix("mtd");
        let number = number.and_then(|digits| digits.parse().ok());
        match number.filter(|number| known.contains(number)) {
            Some(number) => Self::read(number),
            None => Err(LiveError::UnknownMtd {
                asked: name.to_owned(),
                known: known.iter().map(|number| format!("mtd{number}")).collect(),
            }),
        }
    }

    /// Name of the device, such as `mtd0`.
    pub fn name(&self) -> String {
        format!("mtd{}", self.number)
    }

    fn read(number: u32) -> Result<Self, LiveError> {
        let folder = PathBuf::from(format!("{CLASS}/mtd{number}"));
        let name = format!("mtd{number}");
        let (page, oob) = (attribute(&folder, "writesize")?, attribute(&folder, "oobsize")?);
        let (block, size) = (attribute(&folder, "erasesize")?, attribute(&folder, "size")?);
        if page < 256 || oob == 0 || block < page {
            return Err(LiveError::NoPages(name));
        }
        let word = format!("{page}+{oob}x{}x{}", block / page, size / block);
        let geometry = parse_shape(&word).map_err(|error| LiveError::Shape(error.to_string()))?;
        // Kernels before 4.1 do not report an offset. A partition is then assumed to begin at block
        // 0.
        let first_block = attribute(&folder, "offset").map_or(0, |offset| offset / block);
        Ok(Self {
            number,
            geometry,
            first_block: u32::try_from(first_block).map_err(|_| LiveError::NoPages(name))?,
            is_spi_nand: is_spi_nand(&folder),
        })
    }
}

/// The part of the chip that is recorded, and the times of its operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Geometry of the recorded part.
    pub geometry: Geometry,
    /// The block of the chip at which it begins. Addresses in the trace count from there.
    pub first_block: u32,
    /// Whether its driver is one for SPI-NAND.
    pub is_spi_nand: bool,
    /// Durations for the events, if those of the chip are known. Probes do not measure time.
    pub timing: Option<Timing>,
}

impl Window {
    /// The window of one MTD device, or of the whole chip that the machine's MTD devices are on.
    ///
    /// # Errors
    /// Fails if there is no such MTD device, or if it is not NAND.
    pub fn of_machine(name: Option<&str>) -> Result<Self, LiveError> {
        let mtds = name.map_or_else(Mtd::all, |name| Mtd::named(name).map(|mtd| vec![mtd]))?;
        let is_spi_nand = mtds.iter().all(|mtd| mtd.is_spi_nand);
        let first = mtds.first().ok_or(LiveError::NoMtd)?;
        let first_block = if name.is_some() { first.first_block } else { 0 };
        let ends = mtds.iter().map(|mtd| mtd.first_block + mtd.geometry.block_count);
        let block_count = ends.max().ok_or(LiveError::NoMtd)? - first_block;
        let geometry = Geometry { block_count, ..first.geometry };
        Ok(Self { geometry, first_block, is_spi_nand, timing: None })
    }
}

fn numbers() -> Vec<u32> {
    let Ok(entries) = fs::read_dir(CLASS) else { return Vec::new() };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut found: Vec<u32> =
        names.filter_map(|name| name.strip_prefix("mtd")?.parse().ok()).collect();
    found.sort_unstable();
    found
}

fn attribute(folder: &Path, name: &str) -> Result<u64, LiveError> {
    let path = folder.join(name);
    let text = fs::read_to_string(&path).map_err(LiveError::at(&path))?;
    let text = text.trim();
    text.parse().map_err(|_| LiveError::Shape(format!("{} is '{text}'", path.display())))
}

fn is_spi_nand(folder: &Path) -> bool {
    let driver = fs::canonicalize(folder.join("device/driver"));
    driver.is_ok_and(|path| path.ends_with("spi-nand"))
}
