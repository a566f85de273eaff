//! A platform: the description of a board and its kernel, as data.

use std::fmt;
use std::fs;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use flysch_chip::Part;
use flysch_chip::fields::{missing, told};
use flysch_linux::cache::ReadAheadProfile;
use flysch_linux::card::Bus;
use flysch_linux::cpu::{Prices, Speed};
use flysch_linux::jffs2::Compressor;
use flysch_linux::mtd::EccMode;
use flysch_linux::ubifs::{self, DirtyLimit};
use flysch_linux::yaffs2::Profile;
use flysch_names::nearest;
use flysch_sqlite::{Era, JournalMode, Settings, Synchronous};
use serde::Deserialize;

use super::power::{Component, Draw, Power};
use super::prices;

/// Data bytes that one step of the kernel's software ECC (Hamming) covers.
const SOFT_ECC_STEP: u32 = 256;

const BUILTIN: [&str; 5] = [
    include_str!("../../../../platforms/am62-6.12.toml"),
    include_str!("../../../../platforms/nandsim-6.1.toml"),
    include_str!("../../../../platforms/apf27-2.6.29.toml"),
    include_str!("../../../../platforms/kaist-2.6.19.toml"),
    include_str!("../../../../platforms/omap3evm-2.6.37.toml"),
];

/// The built-in platforms. A sweep asks for one hundreds of times, and to read a file takes more
/// than a million instructions.
static BUILTIN_PARSED: LazyLock<Vec<Platform>> = LazyLock::new(|| {
    let parse = |text| Platform::parse(text, Path::new(""));
    BUILTIN.into_iter().map(|text| parse(text).expect("built-in platforms are valid")).collect()
});

/// A board, its kernel, and the settings of its software.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts of a board")]
pub struct Platform {
    /// Name on the command line.
    pub name: String,
    /// A description in one line.
    pub description: String,
    /// Publications or measurements that the figures come from.
    pub source: String,
    /// The board's flash part.
    pub part: Arc<Part>,
    /// Number of blocks in the test partition.
    pub partition_blocks: u32,
    /// Where error correction is computed.
    pub ecc: EccMode,
    /// Time that controller and driver add to a page read and to a page program, nanoseconds.
    pub overhead_ns: (u64, u64),
    /// Time that the CPU takes for its work.
    pub cpu: CpuFigures,
    /// The rules of the page cache's read-ahead.
    pub read_ahead: ReadAheadProfile,
    /// JFFS2's largest read-ahead window in cache pages.
    pub jffs2_ra_pages: u32,
    /// JFFS2's compressors in the order it tries them.
    pub jffs2_compressors: Vec<Compressor>,
    /// Whether JFFS2 ends each block with a summary.
    pub jffs2_summaries: bool,
    /// How much dirty memory UBIFS may have before the kernel's flusher writes it out.
    pub dirty_limit: DirtyLimit,
    /// Whether UBIFS checks the data that it reads by checksum.
    pub ubifs_checks_data: bool,
    /// The generation of YAFFS2's source code.
    pub yaffs2_profile: Profile,
    pub ubifs_compressor: ubifs::Compressor,
    /// Whether the board has byte-addressable non-volatile memory, such as PRAM or FRAM.
    pub has_nvram: bool,
    /// The bus to a card with a flash translation layer.
    pub card: Bus,
    pub sqlite: Settings,
    /// Power that the devices take.
    pub power: Power,
    /// The throughput that the source measured at the levels of the stack.
    pub throughput: Vec<Published>,
}

/// A throughput that the platform's source measured, in units of 10^6 bytes a second.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// The level of the stack, named as in [`crate::bench::throughput`].
    pub level: String,
    pub write_mb_s: f64,
    pub read_mb_s: f64,
}

/// Time that the CPU takes, in picoseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct CpuFigures {
    /// Time for an instruction of the kernel.
    pub kernel_ps_per_instruction: u64,
    /// Time for a byte that the kernel copies.
    pub copy_ps_per_byte: u64,
    /// Time for an instruction of the database engine.
    pub sqlite_ps_per_instruction: u64,
    /// The name of the table of prices.
    pub prices_name: String,
    /// How many instructions the work takes.
    pub prices: Prices,
    /// Which of these figures were fitted, and to what. A result that was used for fitting is never
    /// reported as a prediction.
    pub fitted: Vec<String>,
}

impl CpuFigures {
    /// The speed of the kernel's code and of the program's.
    pub const fn speed(&self) -> Speed {
        Speed {
            ps_per_instruction: self.kernel_ps_per_instruction,
            program_ps_per_instruction: self.sqlite_ps_per_instruction,
            copy_ps_per_byte: self.copy_ps_per_byte,
            prices: self.prices,
        }
    }
}

/// Why a platform is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlatformError {
    /// There is no platform of this name.
    Unknown(String),
    /// The text does not describe a platform, for this reason.
    Invalid(String),
}

impl fmt::Display for PlatformError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(name) => {
                write!(f, "unknown platform '{name}'")?;
                if let Some(near) = nearest(name, Platform::names().iter().map(String::as_str)) {
                    write!(f, "; did you mean '{near}'?")?;
                }
                write!(f, " (known: {})", Platform::names().join(", "))
            }
            Self::Invalid(why) => write!(f, "not a platform: {why}"),
        }
    }
}

impl std::error::Error for PlatformError {}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: String,
    description: String,
    source: String,
    part: String,
    #[serde(default)]
    has_nvram: bool,
    partition: PartitionFile,
    mtd: MtdFile,
    cpu: CpuFile,
    read_ahead: ReadAheadFile,
    jffs2: Jffs2File,
    yaffs2: Yaffs2File,
    ubifs: UbifsFile,
    card: CardFile,
    sqlite: SqliteFile,
    power: Power,
    #[serde(default)]
    throughput: Vec<Published>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PartitionFile {
    blocks: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MtdFile {
    ecc: String,
    read_overhead_ns: u64,
    program_overhead_ns: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CpuFile {
    kernel_ps_per_instruction: u64,
    copy_ps_per_byte: u64,
    sqlite_ps_per_instruction: u64,
    prices: String,
    fitted: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadAheadFile {
    profile: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Jffs2File {
    ra_pages: u32,
    compressors: Vec<String>,
    summaries: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Yaffs2File {
    profile: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct UbifsFile {
    compressor: String,
    #[serde(default)]
    shares_dirty_limit: bool,
    #[serde(default)]
    trusts_data: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CardFile {
    command_ns: u64,
    transfer_ps_per_byte: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SqliteFile {
    era: String,
    page_size: Option<u32>,
    cache_size: Option<i32>,
    journal_mode: Option<JournalMode>,
    synchronous: Option<Synchronous>,
}

/// Fields of the first platform's file that other platforms may leave out.
const OPTIONAL: [&str; 2] = ["ubifs.shares_dirty_limit", "ubifs.trusts_data"];

impl Platform {
    /// The name of the platform that simulations use unless another is asked for: a board of today.
    pub const DEFAULT: &str = "am62-6.12";

    /// The names of the built-in platforms.
    pub fn names() -> Vec<String> {
        BUILTIN_PARSED.iter().map(|platform| platform.name.clone()).collect()
    }

    /// The built-in platform of this name.
    ///
    /// # Errors
    /// Fails if there is none. The error lists the known names and suggests the nearest.
    pub fn named(name: &str) -> Result<Self, PlatformError> {
        let found = BUILTIN_PARSED.iter().find(|platform| platform.name == name);
        found.cloned().ok_or_else(|| PlatformError::Unknown(name.to_owned()))
    }

    /// Parse the description of a platform. Its part is a built-in one, or a TOML file whose path
    /// is relative to `folder`.
    ///
    /// # Errors
    /// Says what is wrong with the text, or with the part's file.
    pub fn parse(text: &str, folder: &Path) -> Result<Self, PlatformError> {
        let invalid = |why: &dyn fmt::Display| PlatformError::Invalid(why.to_string());
        let file: File = toml::from_str(text).map_err(|error| {
            let mut names = missing(text, BUILTIN[0]);
            names.retain(|name| !OPTIONAL.contains(&name.as_str()));
            match names.len() {
                0 | 1 => invalid(&told(text, &error)),
                _ => invalid(&format_args!("missing: {}", names.join(", "))),
            }
        })?;
        let part = part(&file.part, folder).map_err(PlatformError::Invalid)?;
        let always = |component| {
            let plain = |draw: &Draw| draw.component == component && draw.is_unconditional();
            file.power.draw.iter().any(plain)
        };
        if !always(Component::Cpu) || !(always(Component::Ram) || always(Component::Memory)) {
            return Err(invalid(&"power needs draws of cpu and of ram or memory on no condition"));
        }
        if let Some(name) = file.beyond() {
            return Err(invalid(&format_args!("{name} is above {FIGURE_MAX}")));
        }
        if let Some(why) = file.impossible() {
            return Err(PlatformError::Invalid(why));
        }
        if file.partition.blocks == 0 {
            return Err(invalid(&"partition.blocks is 0"));
        }
        let compressors = file.jffs2.compressors.iter().map(|name| name.parse());
        Ok(Self {
            ecc: ecc_mode(&file.mtd.ecc).ok_or_else(|| invalid(&"ecc is hardware or soft"))?,
            overhead_ns: (file.mtd.read_overhead_ns, file.mtd.program_overhead_ns),
            read_ahead: file.read_ahead.profile.parse().map_err(|error| invalid(&error))?,
            jffs2_compressors: compressors.collect::<Result<_, _>>().map_err(|e| invalid(&e))?,
            yaffs2_profile: file.yaffs2.profile.parse().map_err(|error| invalid(&error))?,
            ubifs_compressor: file.ubifs.compressor.parse().map_err(|error| invalid(&error))?,
            sqlite: file.sqlite.settings().map_err(|error| invalid(&error))?,
            name: file.name,
            description: file.description,
            source: file.source,
            part: Arc::new(part),
            has_nvram: file.has_nvram,
            partition_blocks: file.partition.blocks,
            card: Bus {
                command_ns: file.card.command_ns,
                transfer_ps_per_byte: file.card.transfer_ps_per_byte,
            },
            cpu: CpuFigures {
                kernel_ps_per_instruction: file.cpu.kernel_ps_per_instruction,
                copy_ps_per_byte: file.cpu.copy_ps_per_byte,
                sqlite_ps_per_instruction: file.cpu.sqlite_ps_per_instruction,
                prices: prices::of(&file.cpu.prices, folder).map_err(PlatformError::Invalid)?,
                prices_name: file.cpu.prices,
                fitted: file.cpu.fitted,
            },
            jffs2_ra_pages: file.jffs2.ra_pages,
            jffs2_summaries: file.jffs2.summaries,
            dirty_limit: if file.ubifs.shares_dirty_limit {
                DirtyLimit::Shared
            } else {
                DirtyLimit::Whole
            },
            ubifs_checks_data: !file.ubifs.trusts_data,
            power: file.power,
            throughput: file.throughput,
        })
    }

    /// The TOML text of a built-in platform, which includes the source of each figure.
    ///
    /// # Errors
    /// The same as [`Platform::named`].
    pub fn text(name: &str) -> Result<&'static str, PlatformError> {
        let is_it = |text: &&&str| {
            Self::parse(text, Path::new("")).is_ok_and(|platform| platform.name == name)
        };
        let found = BUILTIN.iter().find(is_it).copied();
        found.ok_or_else(|| PlatformError::Unknown(name.to_owned()))
    }
}

/// The largest time in a platform: a second for fields in nanoseconds, a millisecond for fields in
/// picoseconds.
const FIGURE_MAX: u64 = 1_000_000_000;

impl File {
    /// The name of a time in this file that is greater than [`FIGURE_MAX`]. None if all are
    /// possible.
    fn beyond(&self) -> Option<&'static str> {
        let times = [
            ("mtd.read_overhead_ns", self.mtd.read_overhead_ns),
            ("mtd.program_overhead_ns", self.mtd.program_overhead_ns),
            ("cpu.kernel_ps_per_instruction", self.cpu.kernel_ps_per_instruction),
            ("cpu.copy_ps_per_byte", self.cpu.copy_ps_per_byte),
            ("cpu.sqlite_ps_per_instruction", self.cpu.sqlite_ps_per_instruction),
            ("card.command_ns", self.card.command_ns),
            ("card.transfer_ps_per_byte", self.card.transfer_ps_per_byte),
        ];
        times.into_iter().find(|(_, time)| *time > FIGURE_MAX).map(|(name, _)| name)
    }

    /// A line that names a power or a throughput that cannot be. None if all are possible.
    fn impossible(&self) -> Option<String> {
        let draws = (1..).zip(&self.power.draw);
        let powers = draws.map(|(number, draw)| (format!("power.draw {number}: mw"), draw.mw));
        let throughputs = self.throughput.iter().flat_map(|row| {
            let name = |what| format!("throughput of {}: {what}", row.level);
            [(name("write_mb_s"), row.write_mb_s), (name("read_mb_s"), row.read_mb_s)]
        });
        let mut all = powers.chain(throughputs);
        let (name, value) = all.find(|(_, value)| !(value.is_finite() && *value > 0.0))?;
        Some(format!("{name} is {value}, and it is a number above 0"))
    }
}

impl SqliteFile {
    fn settings(&self) -> Result<Settings, flysch_names::UnknownName> {
        let mut settings = self.era.parse::<Era>()?.settings();
        settings.page_size = self.page_size.unwrap_or(settings.page_size);
        settings.cache_size = self.cache_size.unwrap_or(settings.cache_size);
        settings.journal_mode = self.journal_mode.unwrap_or(settings.journal_mode);
        settings.synchronous = self.synchronous.unwrap_or(settings.synchronous);
        Ok(settings)
    }
}

/// The part of a platform in `folder`: a built-in one, or that of a TOML file.
fn part(name: &str, folder: &Path) -> Result<Part, String> {
    if Path::new(name).extension().is_none_or(|extension| extension != "toml") {
        return Part::named(name).map_err(|error| error.to_string());
    }
    let path = folder.join(name);
    let of_file = |error: &dyn fmt::Display| format!("part {}: {error}", path.display());
    let text = fs::read_to_string(&path).map_err(|error| of_file(&error))?;
    Part::parse(&text).map_err(|error| of_file(&error))
}

/// The ECC mode of this name: `hardware` or `soft`.
pub fn ecc_mode(name: &str) -> Option<EccMode> {
    match name {
        "hardware" => Some(EccMode::Hardware),
        "soft" => Some(EccMode::Software { step_size: SOFT_ECC_STEP }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_platform_names_its_source_and_a_known_part() {
        for platform in &*BUILTIN_PARSED {
            assert!(!platform.source.is_empty(), "{}", platform.name);
            assert!(platform.partition_blocks <= platform.part.geometry.block_count);
            assert!(platform.cpu.fitted.len() <= 2, "{}: two fitted constants", platform.name);
        }
    }

    #[test]
    fn an_unknown_name_gets_the_nearest() {
        let error = Platform::named("nandsim-6.2").expect_err("there is none");
        assert!(error.to_string().contains("did you mean 'nandsim-6.1'?"), "{error}");
    }
}
