//! The axes of a grid: one row for each parameter that may be swept.
//!
//! A row holds the list of values with its type, and the name on the command line. Three functions
//! follow: whether the parameter applies to a scenario, how to set it there, and how to read it
//! there. A new parameter needs one row here, one field where its value is stored, and one option
//! of the command line.

use std::collections::BTreeMap;
use std::sync::Arc;

use flysch_chip::Part;
use flysch_linux::mtd::EccMode;
use flysch_linux::ubifs::Maker;
use flysch_linux::yaffs2::Profile;
use flysch_sqlite::{JournalMode, Synchronous};

use super::kernel_options::{CompressionOption, ReadAheadOption};
use super::scenario::{Scenario, Timers};
use crate::machine::dual::Route;
use crate::machine::layers::FtlKind;
use crate::machine::stack::{Engine, Journals, Main};
use crate::parameter::Parameter;
use crate::workload::Alphabet;

/// Records in each table before select, join and update, unless the user sets it: the most that the
/// paper uses.
const FILL: u32 = 5000;

macro_rules! axes {
    ($(
        $(#[$doc:meta])*
        $list:ident: $value:ty, $name:literal, $applies:expr, $set:expr, $tell:expr;
    )*) => {
        /// The values of every parameter. With an empty list, the parameter keeps the value of the
        /// platform.
        #[derive(Clone, Debug, Default)]
        pub struct Axes {
            $($(#[$doc])* pub $list: Vec<$value>,)*
        }

        impl Axes {
            /// How many scenarios the combinations of values make of `plain`.
            pub(super) fn count(&self, plain: &Scenario) -> u64 {
                let lens = [$((row(plain, $applies), self.$list.len()),)*];
                let lens = lens.iter().filter(|(applies, len)| *applies && *len > 0);
                lens.fold(1, |count: u64, (_, len)| count.saturating_mul(*len as u64))
            }

            /// The names of the parameters that have values and apply to none of the scenarios.
            pub(super) fn idle(&self, plain: &[Scenario]) -> Vec<&'static str> {
                let mut names = Vec::new();
                $(if !self.$list.is_empty() && !plain.iter().any(|it| row(it, $applies)) {
                    names.push($name);
                })*
                names
            }

            /// The names of the parameters that have values.
            pub fn given(&self) -> Vec<&'static str> {
                let all = [$((!self.$list.is_empty(), $name),)*];
                all.into_iter().filter(|(is_given, _)| *is_given).map(|(_, name)| name).collect()
            }

            /// The name of a parameter that has the same value twice.
            pub fn repeated(&self) -> Option<&'static str> {
                $(if has_repeated(&self.$list) {
                    return Some($name);
                })*
                None
            }

            /// Every combination of the values that apply to `plain`. The values of the last row
            /// vary fastest.
            pub(super) fn combinations(&self, plain: Scenario) -> Vec<Scenario> {
                let mut all = vec![plain];
                $(if row(&all[0], $applies) {
                    all = spread(all, &self.$list, set::<$value>($set));
                })*
                all
            }
        }

        impl Scenario {
            /// The values of all parameters that apply to this scenario, by parameter name.
            fn values_by_name(&self) -> BTreeMap<&'static str, Parameter> {
                let all = [$((row(self, $applies), $name, parameter_of($tell)(self)),)*];
                let own = all.into_iter().filter(|(applies, ..)| *applies);
                own.map(|(_, name, value)| (name, value)).collect()
            }
        }
    };
}

axes! {
    /// Generations of the YAFFS2 source code.
    yaffs2_profiles: Profile, "yaffs2-profile", on_yaffs2,
        |it, &value| it.build.layers.yaffs2_profile = value,
        |it| it.build.layers.yaffs2_profile.name();
    /// The programs that made the UBIFS image.
    ubifs_makers: Maker, "ubifs-maker", on_ubifs,
        |it, &value| it.build.layers.ubifs_maker = value,
        |it| it.build.layers.ubifs_maker.name();
    /// Whether UBIFS uses bulk-read.
    ubifs_bulk_reads: bool, "ubifs-bulk-read", on_ubifs,
        |it, &value| it.build.layers.ubifs_bulk_read = value,
        |it| it.build.layers.ubifs_bulk_read;
    /// Largest difference between erase counts that UBI tolerates before it moves data.
    ubi_wear_thresholds: u64, "ubi-wear-threshold", on_ubifs,
        |it, &value| it.build.layers.ubi_wear_threshold = value,
        |it| it.build.layers.ubi_wear_threshold;
    /// Whether UBI writes fastmaps.
    ubi_fastmaps: bool, "ubi-fastmap", on_ubifs,
        |it, &value| it.build.layers.ubi_fastmap = value,
        |it| it.build.layers.ubi_fastmap;
    /// Flash translation layers (FTL).
    ftls: FtlKind, "ftl", on_ftl,
        |it, &value| it.build.layers.ftl = value,
        |it| it.build.layers.ftl.name();
    /// Percentage of its blocks that the translation layer keeps in reserve.
    ftl_spares: u32, "ftl-spare", on_ftl,
        |it, &value| it.build.layers.ftl_spare_percent = value,
        |it| it.build.layers.ftl_spare_percent;
    /// Sizes of the PRAM in KiB.
    pram_sizes: u32, "pram-size", has_pram,
        |it, &value| it.build.layers.pram_kib = value,
        |it| it.build.layers.pram_kib;
    /// Bytes of the engine's RAM.
    engine_rams: u32, "ram", is_flysch,
        |it, &value| it.build.layers.engine_ram = value,
        |it| it.build.layers.engine_ram;
    /// Bytes of the memory that takes the engine's commits.
    nvram_sizes: u32, "nvram-size", has_nvram,
        |it, &value| it.build.layers.nvram_size = value,
        |it| it.build.layers.nvram_size;
    /// Bytes of a cache of what the engine reads.
    read_caches: u32, "read-cache", is_flysch,
        |it, &value| it.build.layers.read_cache = value,
        |it| it.build.layers.read_cache;
    /// Flash parts that replace the platforms' own.
    parts: Arc<Part>, "part", always,
        |it, value| it.build.part = Arc::clone(value),
        |it| it.build.part.name.clone();
    /// Number of blocks in the partition.
    partition_blocks: u32, "partition-blocks", always,
        |it, &value| it.build.partition_blocks = value,
        |it| it.build.partition_blocks;
    /// Percentage of the partition that live data of other files fills before the run.
    aged_fills: u32, "aged-fill", always,
        |it, &value| it.build.age.fill_percent = value,
        |it| it.build.age.fill_percent;
    /// Percentage of the partition that dead data fills before the run.
    aged_invalids: u32, "aged-invalid", always,
        |it, &value| it.build.age.invalid_percent = value,
        |it| it.build.age.invalid_percent;
    /// Largest erase count that a block has before the run.
    aged_erases: u32, "aged-erases", always,
        |it, &value| it.build.age.erase_spread = value,
        |it| it.build.age.erase_spread;
    /// Where error correction is computed.
    ecc: EccMode, "ecc", has_kernel,
        |it, &value| it.build.ecc = value,
        |it| ecc_name(it.build.ecc);
    /// Compressors.
    compressions: CompressionOption, "compression", can_compress,
        |it, value| value.apply(&mut it.build),
        compression;
    /// Read-ahead.
    read_ahead: ReadAheadOption, "read-ahead", has_kernel,
        |it, value| value.apply(it),
        read_ahead;
    /// Whether timers run on while the files are prepared.
    free_timers: bool, "free-timers", holds_timers,
        |it, &value| it.timers = if value { Timers::Running } else { Timers::Held },
        |it| it.timers == Timers::Running;
    /// SQLite's settings of `PRAGMA journal_mode`.
    journal_modes: JournalMode, "journal-mode", is_sqlite,
        |it, &value| it.settings.journal_mode = value,
        |it| it.settings.journal_mode.to_string();
    /// SQLite's settings of `PRAGMA synchronous`.
    synchronous: Synchronous, "synchronous", is_sqlite,
        |it, &value| it.settings.synchronous = value,
        |it| it.settings.synchronous.to_string();
    /// SQLite's page sizes in bytes.
    page_sizes: u32, "page-size", is_sqlite,
        |it, &value| it.settings.page_size = value,
        |it| it.settings.page_size;
    /// SQLite's cache sizes: a number of pages, or KiB if negative.
    cache_sizes: i32, "cache-size", is_in_files,
        |it, &value| it.settings.cache_size = value,
        |it| it.settings.cache_size;
    /// Alphabets that the random strings are drawn from.
    alphabets: Alphabet, "alphabet", has_strings,
        |it, &value| it.alphabet = value,
        |it| it.alphabet.name();
    /// Bytes of the random string in each record.
    record_sizes: u32, "record-size", has_records,
        |it, &value| it.record_size = value,
        |it| it.record_size;
    /// Numbers of requests. The tables are filled with as many records, but at least 5000.
    requests: u32, "requests", always,
        |it, &value| (it.requests, it.fill) = (value, FILL.max(value)),
        |it| it.requests;
    /// Records in each table before the measured interval, for workloads where the number of
    /// requests does not decide it.
    fills: u32, "fill", fills_tables,
        |it, &value| it.fill = value,
        |it| it.fill;
    /// Which files lie on the second file system, in stacks that have one for journals.
    routes: Route, "nvram-files", has_journals,
        |it, &value| it.build.route = value,
        |it| it.build.route.to_string();
    /// Seeds of all random numbers.
    seeds: u64, "seed", always,
        |it, &value| (it.seed, it.build.seed) = (value, value),
        |it| it.seed;
}

/// Parameters that are fields of a result themselves and so do not appear in its `parameters`.
const FIELDS: [&str; 4] = ["part", "record-size", "requests", "seed"];

impl Scenario {
    /// The values of all parameters that are not fields of the result, by their names on the
    /// command line.
    pub(super) fn parameters(&self) -> BTreeMap<&'static str, Parameter> {
        let mut all = self.workload.parameters();
        all.extend(self.values_by_name().into_iter().filter(|(name, _)| !FIELDS.contains(name)));
        all
    }
}

/// A copy of each element of `all` for each value. Without values, `all` is returned unchanged.
pub fn spread<S: Clone, T>(all: Vec<S>, values: &[T], set: impl Fn(&mut S, &T)) -> Vec<S> {
    if values.is_empty() {
        return all;
    }
    let with = |plain: &S, value: &T| {
        let mut one = plain.clone();
        set(&mut one, value);
        one
    };
    all.iter().flat_map(|plain| values.iter().map(|value| with(plain, value))).collect()
}

/// Whether the list contains a value twice.
pub fn has_repeated<T: PartialEq>(list: &[T]) -> bool {
    (1..list.len()).any(|place| list[..place].contains(&list[place]))
}

/// Whether a row of the table applies to a scenario. The table's macro passes a closure; this
/// signature gives it its type.
fn row(scenario: &Scenario, applies: fn(&Scenario) -> bool) -> bool {
    applies(scenario)
}

/// Returns `set`. The table's macro passes a closure; this signature gives it its type.
fn set<T>(set: fn(&mut Scenario, &T)) -> fn(&mut Scenario, &T) {
    set
}

/// Turns a function that reads a value of a scenario into one that returns it as a [`Parameter`].
fn parameter_of<T: Into<Parameter>>(tell: fn(&Scenario) -> T) -> impl Fn(&Scenario) -> Parameter {
    move |scenario| tell(scenario).into()
}

fn always(_: &Scenario) -> bool {
    true
}

fn on_yaffs2(scenario: &Scenario) -> bool {
    scenario.stack.main == Main::Yaffs2
}

fn on_ubifs(scenario: &Scenario) -> bool {
    scenario.stack.main == Main::Ubifs
}

fn on_ftl(scenario: &Scenario) -> bool {
    scenario.stack.main == Main::Ftl
}

fn has_pram(scenario: &Scenario) -> bool {
    scenario.stack.journals == Some(Journals::Pramfs)
}

fn has_nvram(scenario: &Scenario) -> bool {
    scenario.stack.journals == Some(Journals::Nvram)
}

fn has_journals(scenario: &Scenario) -> bool {
    matches!(scenario.stack.journals, Some(Journals::Pramfs | Journals::Tmpfs))
}

fn is_sqlite(scenario: &Scenario) -> bool {
    scenario.stack.engine == Engine::Sqlite
}

/// Whether the engine keeps pages of its files in a cache of its own.
fn is_in_files(scenario: &Scenario) -> bool {
    matches!(scenario.stack.engine, Engine::Sqlite | Engine::Redb)
}

fn is_flysch(scenario: &Scenario) -> bool {
    scenario.stack.engine == Engine::Flysch
}

fn has_kernel(scenario: &Scenario) -> bool {
    !is_flysch(scenario)
}

fn can_compress(scenario: &Scenario) -> bool {
    matches!(scenario.stack.main, Main::Jffs2 | Main::Ubifs)
}

fn holds_timers(scenario: &Scenario) -> bool {
    scenario.workload.holds_timers()
}

fn has_records(scenario: &Scenario) -> bool {
    scenario.workload.has_records()
}

fn fills_tables(scenario: &Scenario) -> bool {
    scenario.workload.has_records() && scenario.workload.is_filled()
}

fn has_strings(scenario: &Scenario) -> bool {
    scenario.workload.has_strings()
}

fn ecc_name(ecc: EccMode) -> &'static str {
    match ecc {
        EccMode::Hardware => "hardware",
        EccMode::Software { .. } => "soft",
    }
}

/// The compressors of the main file system, as they are named on the command line.
fn compression(scenario: &Scenario) -> String {
    let build = &scenario.build;
    match scenario.stack.main {
        Main::Jffs2 if build.compressors.is_empty() => "none".to_owned(),
        Main::Jffs2 => {
            let names = build.compressors.iter().map(|it| it.name());
            names.collect::<Vec<_>>().join("+")
        }
        Main::Ubifs => build.ubifs_compressor.name().to_owned(),
        Main::Yaffs2 | Main::Ftl | Main::Tmpfs | Main::Chip => "none".to_owned(),
    }
}

/// The read-ahead window of the main file system, or `fadvise` if programs switch read-ahead off.
fn read_ahead(scenario: &Scenario) -> Parameter {
    match scenario.stack.main {
        _ if scenario.advises_random => "fadvise".into(),
        Main::Ubifs => scenario.ubifs_ra_pages.into(),
        Main::Jffs2 | Main::Yaffs2 | Main::Ftl | Main::Tmpfs | Main::Chip => {
            scenario.build.ra_pages.into()
        }
    }
}
