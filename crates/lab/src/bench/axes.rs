//! The axes of a grid: every parameter that may be swept, a row each.
//!
//! A row has the name of the list of values with their type, the name on the command line, the
//! scenarios to which the parameter means something, how one takes a value, and how it tells its own.
//! A new parameter is a row here, a field of what it is set in, and an option of the command line.

use std::collections::BTreeMap;
use std::sync::Arc;

use flysch_chip::Part;
use flysch_linux::mtd::EccMode;
use flysch_linux::ubifs::Maker;
use flysch_linux::yaffs2::Profile;
use flysch_sqlite::{JournalMode, Synchronous};

use super::choices::{CompressionChoice, ReadAheadChoice};
use super::scenario::Scenario;
use crate::machine::dual::Route;
use crate::machine::layers::FtlKind;
use crate::machine::stack::{Engine, Journals, Main};
use crate::workload::Alphabet;

/// Records in each table before select, join and update, unless asked otherwise: the paper's most.
const FILL: u32 = 5000;

macro_rules! axes {
    ($(
        $(#[$doc:meta])*
        $list:ident: $value:ty, $name:literal, $applies:expr, $set:expr, $tell:expr;
    )*) => {
        /// Values for every parameter. An empty list stands for the platform's own value.
        #[derive(Clone, Debug, Default)]
        pub struct Axes {
            $($(#[$doc])* pub $list: Vec<$value>,)*
        }

        impl Axes {
            /// How many scenarios the values make of `plain`.
            pub(super) fn count(&self, plain: &Scenario) -> u64 {
                let lens = [$((row(plain, $applies), self.$list.len()),)*];
                let lens = lens.iter().filter(|(applies, len)| *applies && *len > 0);
                lens.fold(1, |count: u64, (_, len)| count.saturating_mul(*len as u64))
            }

            /// Every combination of the values that mean something to `plain`, the last row's
            /// values innermost.
            pub(super) fn combinations(&self, plain: Scenario) -> Vec<Scenario> {
                let mut all = vec![plain];
                $(if row(&all[0], $applies) {
                    all = spread(all, &self.$list, set::<$value>($set));
                })*
                all
            }
        }

        impl Scenario {
            /// What the rows that mean something to it tell, by their names.
            fn told(&self) -> BTreeMap<&'static str, String> {
                let all = [$((row(self, $applies), $name, text($tell)(self)),)*];
                let own = all.into_iter().filter(|(applies, ..)| *applies);
                own.map(|(_, name, told)| (name, told)).collect()
            }
        }
    };
}

axes! {
    /// Generations of YAFFS2's code.
    yaffs2_profiles: Profile, "yaffs2-profile", on_yaffs2,
        |it, &value| it.build.layers.yaffs2_profile = value,
        |it| it.build.layers.yaffs2_profile.name();
    /// Makers of UBIFS.
    ubifs_makers: Maker, "ubifs-maker", on_ubifs,
        |it, &value| it.build.layers.ubifs_maker = value,
        |it| it.build.layers.ubifs_maker.name();
    /// Whether UBIFS reads in bulk.
    ubifs_bulk_reads: bool, "ubifs-bulk-read", on_ubifs,
        |it, &value| it.build.layers.ubifs_bulk_read = value,
        |it| on_or_off(it.build.layers.ubifs_bulk_read);
    /// Erase counts that UBI lets differ.
    ubi_wear_thresholds: u64, "ubi-wear-threshold", on_ubifs,
        |it, &value| it.build.layers.ubi_wear_threshold = value,
        |it| it.build.layers.ubi_wear_threshold;
    /// Whether UBI writes fastmaps.
    ubi_fastmaps: bool, "ubi-fastmap", on_ubifs,
        |it, &value| it.build.layers.ubi_fastmap = value,
        |it| on_or_off(it.build.layers.ubi_fastmap);
    /// Translation layers.
    ftls: FtlKind, "ftl", on_ftl,
        |it, &value| it.build.layers.ftl = value,
        |it| it.build.layers.ftl.name();
    /// Percents of its blocks that a translation layer keeps back.
    ftl_spares: u32, "ftl-spare", on_ftl,
        |it, &value| it.build.layers.ftl_spare_percent = value,
        |it| it.build.layers.ftl_spare_percent;
    /// Sizes of the PRAM, KiB.
    pram_sizes: u32, "pram-size", has_pram,
        |it, &value| it.build.layers.pram_kib = value,
        |it| it.build.layers.pram_kib;
    /// Bytes of the engine's RAM.
    engine_rams: u32, "ram", is_flysch,
        |it, &value| it.build.layers.engine_ram = value,
        |it| it.build.layers.engine_ram;
    /// Parts instead of the platforms' own.
    parts: Arc<Part>, "part", always,
        |it, value| it.build.part = Arc::clone(value),
        |it| it.build.part.name.clone();
    /// Blocks of the partition.
    partition_blocks: u32, "partition-blocks", always,
        |it, &value| it.build.partition_blocks = value,
        |it| it.build.partition_blocks;
    /// Percents of the partition that live data of other files take before the run.
    aged_fills: u32, "aged-fill", always,
        |it, &value| it.build.age.fill_percent = value,
        |it| it.build.age.fill_percent;
    /// Percents of dead data.
    aged_invalids: u32, "aged-invalid", always,
        |it, &value| it.build.age.invalid_percent = value,
        |it| it.build.age.invalid_percent;
    /// Largest erase counts of blocks.
    aged_erases: u32, "aged-erases", always,
        |it, &value| it.build.age.erase_spread = value,
        |it| it.build.age.erase_spread;
    /// Where error correction is computed.
    ecc: EccMode, "ecc", has_kernel,
        |it, &value| it.build.ecc = value,
        |it| ecc_name(it.build.ecc);
    /// Compressors.
    compressions: CompressionChoice, "compression", has_kernel,
        |it, value| value.apply(&mut it.build),
        compression;
    /// Read-ahead.
    read_ahead: ReadAheadChoice, "read-ahead", has_kernel,
        |it, value| value.apply(it),
        read_ahead;
    /// SQLite's journal modes.
    journal_modes: JournalMode, "journal-mode", is_sqlite,
        |it, &value| it.settings.journal_mode = value,
        |it| it.settings.journal_mode;
    /// SQLite's levels of durability.
    synchronous: Synchronous, "synchronous", is_sqlite,
        |it, &value| it.settings.synchronous = value,
        |it| it.settings.synchronous;
    /// SQLite's page sizes, bytes.
    page_sizes: u32, "page-size", is_sqlite,
        |it, &value| it.settings.page_size = value,
        |it| it.settings.page_size;
    /// SQLite's cache sizes: pages, or negative KiB.
    cache_sizes: i32, "cache-size", is_sqlite,
        |it, &value| it.settings.cache_size = value,
        |it| it.settings.cache_size;
    /// Alphabets of the random strings.
    alphabets: Alphabet, "alphabet", has_strings,
        |it, &value| it.alphabet = value,
        |it| it.alphabet.name();
    /// Bytes of the random string in each record.
    record_sizes: u32, "record-size", has_records,
        |it, &value| it.record_size = value,
        |it| it.record_size;
    /// Numbers of requests. Tables are filled with as many records, and 5000 at least.
    requests: u32, "requests", always,
        |it, &value| (it.requests, it.fill) = (value, FILL.max(value)),
        |it| it.requests;
    /// Records in each table before the interval, where that is not told by the requests.
    fills: u32, "fill", has_records,
        |it, &value| it.fill = value,
        |it| it.fill;
    /// Which files lie on the second file system, on stacks that have a place for journals.
    routes: Route, "beside", has_journals,
        |it, &value| it.build.route = value,
        |it| it.build.route;
    /// Seeds of everything random.
    seeds: u64, "seed", always,
        |it, &value| (it.seed, it.build.seed) = (value, value),
        |it| it.seed;
}

/// Parameters that have a field of their own in a run.
const FIELDS: [&str; 4] = ["part", "record-size", "requests", "seed"];

impl Scenario {
    /// The parameters that have no field of their own in a run, by their command-line names.
    pub(super) fn parameters(&self) -> BTreeMap<&'static str, String> {
        let mut all = self.workload.parameters();
        all.extend(self.told().into_iter().filter(|(name, _)| !FIELDS.contains(name)));
        all
    }
}

/// Each of `all` once for each value; as it is where there are no values.
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

/// Whether a row means something to a scenario.
fn row(scenario: &Scenario, applies: fn(&Scenario) -> bool) -> bool {
    applies(scenario)
}

/// How a scenario takes a value of type `T`.
fn set<T>(set: fn(&mut Scenario, &T)) -> fn(&mut Scenario, &T) {
    set
}

/// How a scenario tells its value, as text.
fn text<T: ToString>(tell: fn(&Scenario) -> T) -> impl Fn(&Scenario) -> String {
    move |scenario| tell(scenario).to_string()
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

fn has_journals(scenario: &Scenario) -> bool {
    scenario.stack.journals.is_some()
}

fn is_sqlite(scenario: &Scenario) -> bool {
    scenario.stack.engine == Engine::Sqlite
}

fn is_flysch(scenario: &Scenario) -> bool {
    scenario.stack.engine == Engine::Flysch
}

fn has_kernel(scenario: &Scenario) -> bool {
    !is_flysch(scenario)
}

fn has_records(scenario: &Scenario) -> bool {
    scenario.workload.has_records()
}

fn has_strings(scenario: &Scenario) -> bool {
    scenario.workload.has_strings()
}

fn on_or_off(is_on: bool) -> &'static str {
    if is_on { "on" } else { "off" }
}

fn ecc_name(ecc: EccMode) -> &'static str {
    match ecc {
        EccMode::Hardware => "hardware",
        EccMode::Software { .. } => "soft",
    }
}

/// The compressors of the main file system.
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

/// The window of the main file system, or that programs advise against it.
fn read_ahead(scenario: &Scenario) -> String {
    match scenario.stack.main {
        _ if scenario.advises_random => "fadvise".to_owned(),
        Main::Ubifs => scenario.ubifs_ra_pages.to_string(),
        Main::Jffs2 | Main::Yaffs2 | Main::Ftl | Main::Tmpfs | Main::Chip => {
            scenario.build.ra_pages.to_string()
        }
    }
}
