//! Levels: how near to the array a live trace sees.

use std::str::FromStr;

use flysch_lab::choice::UnknownChoice;

/// How near to the array operations are seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Array operations of raw NAND: what the chip does, page by page. Controllers whose driver brings
    /// page functions of its own pass it by.
    Chip,
    /// Requests to SPI-NAND, which has no page buffer: each page touched is one array operation.
    SpiNand,
    /// Requests to raw NAND: pages touched. A read served by the one-page buffer counts too.
    Mtd,
    /// What nandsim itself does, without addresses: the truth that the other levels are checked by.
    Nandsim,
}

impl Level {
    /// Every level, the one to prefer first; nandsim's own is never chosen by itself.
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
    type Err = UnknownChoice;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|level| level.name() == name);
        found.ok_or_else(|| UnknownChoice::new("hook", name, &Self::ALL.map(Self::name)))
    }
}
