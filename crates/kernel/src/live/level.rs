//! Levels: how near to the flash array a live trace records.

use std::str::FromStr;

use flysch_lab::unknown_name::UnknownName;

/// How near to the flash array operations are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Array operations of raw NAND: what the chip does, page by page. It does not see controllers
    /// whose driver has page functions of its own.
    Chip,
    /// Requests to SPI-NAND. It has no page buffer, so each page of a request is one array
    /// operation.
    SpiNand,
    /// Requests to raw NAND, as the pages they touch. Reads that the one-page buffer serves count
    /// too.
    Mtd,
    /// The operations of nandsim itself, without addresses. The other levels are checked against
    /// it.
    Nandsim,
}

impl Level {
    /// All levels, the most preferred first. That of nandsim is only used if it is asked for.
    pub const ALL: [Self; 4] = [Self::Chip, Self::SpiNand, Self::Mtd, Self::Nandsim];

    /// Name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Chip => "chip",
            Self::SpiNand => "spi-nand",
            Self::Mtd => "mtd",
            Self::Nandsim => "nandsim",
        }
    }
}

impl FromStr for Level {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|level| level.name() == name);
        found.ok_or_else(|| UnknownName::new("hook", name, &Self::ALL.map(Self::name)))
    }
}
