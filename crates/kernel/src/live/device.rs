//! The flash of this machine, as sysfs describes it.

use std::fs;
use std::path::{Path, PathBuf};

use flysch_chip::Timing;
use flysch_lab::trace::parse_shape;
use flysch_nand::Geometry;

use super::error::LiveError;

const CLASS: &str = "/sys/class/mtd";

/// An MTD: a chip, or a partition of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mtd {
    /// Number of the device.
    pub number: u32,
    /// Shape of this MTD alone.
    pub geometry: Geometry,
    /// Block of the chip on which it begins.
    pub first_block: u32,
    /// Whether a SPI-NAND driver runs it.
    pub is_spi_nand: bool,
}

impl Mtd {
    /// Every NAND of the machine, by number.
    ///
    /// # Errors
    /// There is no MTD, or none has pages.
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

    /// The MTD of this name, such as `mtd0` or `/dev/mtd0`.
    ///
    /// # Errors
    /// There is none, or it has no pages.
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

    /// Name, such as `mtd0`.
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
        // Kernels before 4.1 tell no offset; then partitions are taken to begin with the chip.
        let first_block = attribute(&folder, "offset").map_or(0, |offset| offset / block);
        Ok(Self {
            number,
            geometry,
            first_block: u32::try_from(first_block).map_err(|_| LiveError::NoPages(name))?,
            is_spi_nand: is_spi_nand(&folder),
        })
    }
}

/// The part of the chip that is recorded, and how long its operations take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Shape of what is recorded.
    pub geometry: Geometry,
    /// Block of the chip on which it begins: addresses count from there.
    pub first_block: u32,
    /// Whether a SPI-NAND driver runs it.
    pub is_spi_nand: bool,
    /// Durations to give to the events, where the chip's are known: probes time nothing.
    pub timing: Option<Timing>,
}

impl Window {
    /// One MTD, by its name, or all of the chip that the machine's MTDs are on.
    ///
    /// # Errors
    /// There is no such MTD, or it is no NAND.
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
