//! A part: the data sheet of a chip, as data.

use std::fmt;

use flysch_names::UnknownName;
use flysch_nand::{Geometry, GeometryError};
use serde::Deserialize;

use crate::fields::{missing, told};

/// Times of the chip's operations. The file of each part names the source of each time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Timing {
    /// Time of the command and address cycles of each operation, nanoseconds.
    pub command_ns: u64,
    /// Time to sense a page into the chip's register (tR), nanoseconds.
    pub sense_ns: u64,
    /// Time to move one byte over the bus, picoseconds.
    pub transfer_ps_per_byte: u64,
    /// Time to move one byte to the chip for a program, if that differs, picoseconds.
    pub program_transfer_ps_per_byte: Option<u64>,
    /// Time to program a page from the register (tPROG), nanoseconds.
    pub program_ns: u64,
    /// Time to erase a block (tBERS), nanoseconds.
    pub erase_ns: u64,
}

impl Timing {
    /// Time of a read that moves `bytes` bytes, nanoseconds.
    pub const fn read_ns(&self, bytes: u64) -> u64 {
        self.command_ns + self.sense_ns + bytes * self.transfer_ps_per_byte / 1000
    }

    /// Time of a program that moves `bytes` bytes, nanoseconds.
    pub const fn program_ns(&self, bytes: u64) -> u64 {
        let transfer_ps = match self.program_transfer_ps_per_byte {
            Some(own) => own,
            None => self.transfer_ps_per_byte,
        };
        self.command_ns + bytes * transfer_ps / 1000 + self.program_ns
    }

    pub const fn erase_ns(&self) -> u64 {
        self.command_ns + self.erase_ns
    }
}

/// The strength of a part's ECC: it corrects `bits` bit errors in every `step_size` data bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EccStrength {
    pub bits: u16,
    pub step_size: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// Name of the part on the command line.
    pub name: String,
    /// Description in one line.
    pub description: String,
    /// The source of the figures.
    pub source: String,
    #[serde(with = "GeometryFields")]
    pub geometry: Geometry,
    pub timing: Timing,
    pub ecc: EccStrength,
    /// Number of program and erase cycles that a block is rated for.
    pub endurance: u32,
}

/// The fields of [`Geometry`] with the same names, for serde, which `Geometry` does not support.
#[derive(Deserialize)]
#[serde(remote = "Geometry", deny_unknown_fields)]
struct GeometryFields {
    page_size: u32,
    oob_size: u32,
    sectors_per_page: u32,
    partial_programs: u32,
    pages_per_block: u32,
    block_count: u32,
    in_order: bool,
}

/// The name and the text of each part that comes with the program, in the order in which they are
/// listed.
const BUILTIN: [(&str, &str); 7] = [
    ("mt29f2g08", include_str!("../../../parts/mt29f2g08.toml")),
    ("omap3evm", include_str!("../../../parts/omap3evm.toml")),
    ("k9f2g08u0a", include_str!("../../../parts/k9f2g08u0a.toml")),
    ("gemalto-vfl", include_str!("../../../parts/gemalto-vfl.toml")),
    ("nandsim", include_str!("../../../parts/nandsim.toml")),
    ("w25n01gv", include_str!("../../../parts/w25n01gv.toml")),
    ("mlc", include_str!("../../../parts/mlc.toml")),
];

/// The text of a part that has all fields that a part must have.
const REFERENCE: &str = BUILTIN[0].1;

impl Part {
    /// Parse the text of a part file, and check that such a chip is possible.
    pub fn parse(text: &str) -> Result<Self, PartError> {
        let part: Self = toml::from_str(text).map_err(|error| match missing(text, REFERENCE) {
            names if names.len() > 1 => PartError::Missing(names),
            _ => PartError::Syntax(told(text, &error)),
        })?;
        part.check()?;
        Ok(part)
    }

    /// Find a part that comes with the program.
    ///
    /// # Panics
    /// Never, because a test parses each of these parts.
    pub fn builtin(name: &str) -> Option<Self> {
        let (_, text) = BUILTIN.iter().find(|(known, _)| *known == name)?;
        Some(Self::parse(text).expect("each part that comes with the program parses"))
    }

    /// Find a part that comes with the program. If there is none, the error suggests a name.
    pub fn named(name: &str) -> Result<Self, PartError> {
        let unknown = || PartError::Unknown(UnknownName::new("part", name, Self::names()));
        Self::builtin(name).ok_or_else(unknown)
    }

    /// The text of a part that comes with the program, with the source of each figure. If there is
    /// none, the error suggests a name.
    pub fn text(name: &str) -> Result<&'static str, PartError> {
        let found = BUILTIN.iter().find(|(known, _)| *known == name).map(|(_, text)| *text);
        found.ok_or_else(|| PartError::Unknown(UnknownName::new("part", name, Self::names())))
    }

    pub fn names() -> impl Iterator<Item = &'static str> {
        BUILTIN.iter().map(|(name, _)| *name)
    }

    /// Number of bit errors that ECC corrects in a sector: the sum over the ECC steps of the
    /// sector.
    pub(crate) fn sector_strength(&self) -> u16 {
        let steps = self.geometry.sector_size().div_ceil(self.ecc.step_size);
        u16::try_from(steps * u32::from(self.ecc.bits)).unwrap_or(u16::MAX)
    }

    fn check(&self) -> Result<(), PartError> {
        self.geometry.check().map_err(PartError::Geometry)?;
        let demands = [
            (!self.name.is_empty(), "name is empty"),
            (!self.source.is_empty(), "source is empty"),
            (self.geometry.sectors_per_page <= SECTORS_MAX, "sectors_per_page is above 32"),
            (self.geometry.partial_programs <= PROGRAMS_MAX, "partial_programs is above 255"),
            (self.ecc.step_size > 0, "ecc.step_size is 0"),
            (self.endurance > 0, "endurance is 0"),
            (self.timing.read_ns(1) > 0, "a read takes no time"),
            (self.timing.program_ns > 0, "timing.program_ns is 0"),
            (self.timing.erase_ns > 0, "timing.erase_ns is 0"),
            (self.timing.command_ns <= TIME_MAX_NS, "timing.command_ns is above a second"),
            (self.timing.sense_ns <= TIME_MAX_NS, "timing.sense_ns is above a second"),
            (self.timing.program_ns <= TIME_MAX_NS, "timing.program_ns is above a second"),
            (self.timing.erase_ns <= TIME_MAX_NS, "timing.erase_ns is above a second"),
            (
                self.timing.transfer_ps_per_byte <= TRANSFER_MAX_PS
                    && self.timing.program_transfer_ps_per_byte.unwrap_or(0) <= TRANSFER_MAX_PS,
                "a byte takes more than 10 us to move",
            ),
            (self.endurance <= ENDURANCE_MAX, "endurance is above 100 million"),
        ];
        match demands.iter().find(|(holds, _)| !holds) {
            Some((_, demand)) => Err(PartError::Impossible(demand)),
            None => Ok(()),
        }
    }
}

/// The simulated page keeps a bit for each of its sectors, and counts its programs in a byte.
const SECTORS_MAX: u32 = 32;
const PROGRAMS_MAX: u32 = 255;
/// No operation of a chip takes longer. The duration of a traced operation has 32 bits of
/// nanoseconds.
const TIME_MAX_NS: u64 = 1_000_000_000;
const TRANSFER_MAX_PS: u64 = 10_000_000;
const ENDURANCE_MAX: u32 = 100_000_000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PartError {
    /// A line that says what is wrong with the text, and where.
    Syntax(String),
    /// Several fields are missing.
    Missing(Vec<String>),
    Geometry(GeometryError),
    /// A figure is impossible. The text says which.
    Impossible(&'static str),
    /// No part that comes with the program has this name.
    Unknown(UnknownName),
}

impl fmt::Display for PartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax(what) => f.write_str(what),
            Self::Missing(names) => write!(f, "missing: {}", names.join(", ")),
            Self::Geometry(error) => error.fmt(f),
            Self::Impossible(demand) => write!(f, "impossible part: {demand}"),
            Self::Unknown(unknown) => unknown.fmt(f),
        }
    }
}

impl std::error::Error for PartError {}
