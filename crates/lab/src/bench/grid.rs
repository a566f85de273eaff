//! Grids: every combination of the values asked for is a scenario, and all cores carry them out.

use std::str::FromStr;
use std::sync::Arc;

use flysch_chip::Part;
use flysch_linux::jffs2::{Compressor, UnknownCompressor};
use flysch_linux::mtd::EccMode;
use flysch_linux::ubifs;
use flysch_sqlite::{JournalMode, Synchronous};
use rayon::prelude::*;

use super::carry_out::run_in_turn;
use super::error::RunError;
use super::run::Run;
use super::scenario::Scenario;
use crate::machine::Build;
use crate::machine::dual::Route;
use crate::machine::layers::{LayerLists, Layers};
use crate::machine::platform::Platform;
use crate::machine::stack::{Engine, Stack};
use crate::workload::{Alphabet, Workload};

/// Records in each table before select, join and update, unless asked otherwise: the paper's most.
const FILL: u32 = 5000;
/// The read-ahead window that "on" means where the platform has none, cache pages: 128 KiB.
const RA_PAGES_ON: u32 = 32;

/// Read-ahead, as asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadAheadChoice {
    /// The platform's window, or 128 KiB where it has none.
    On,
    /// None.
    Off,
    /// As `On`, but programs advise against it on each file they open (`posix_fadvise`).
    Advised,
    /// A window of so many cache pages.
    Pages(u32),
}

/// Compressors, as asked for; what a choice says nothing of stays the platform's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompressionChoice {
    /// JFFS2's, in order; an empty list stores everything raw.
    pub jffs2: Option<Vec<Compressor>>,
    /// UBIFS's.
    pub ubifs: Option<ubifs::Compressor>,
}

impl CompressionChoice {
    /// Let `build` compress so.
    pub fn apply(&self, build: &mut Build) {
        if let Some(list) = &self.jffs2 {
            build.compressors.clone_from(list);
        }
        build.ubifs_compressor = self.ubifs.unwrap_or(build.ubifs_compressor);
    }
}

impl FromStr for CompressionChoice {
    type Err = UnknownCompressor;

    /// `none`, a compressor, or JFFS2's joined by `+` in the order they are tried. UBIFS has one:
    /// the first that it knows.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let ubifs = text.split('+').find_map(|name| name.parse().ok());
        match text {
            "none" => Ok(Self { jffs2: Some(Vec::new()), ubifs }),
            "zstd" => Ok(Self { jffs2: None, ubifs }),
            list => {
                let jffs2 = list.split('+').map(str::parse).collect::<Result<_, _>>()?;
                Ok(Self { jffs2: Some(jffs2), ubifs })
            }
        }
    }
}

/// Values for every parameter. An empty list stands for the platform's own value.
#[derive(Clone, Debug)]
pub struct Grid {
    /// Workloads.
    pub workloads: Vec<Workload>,
    /// Stacks.
    pub stacks: Vec<Stack>,
    /// Platforms.
    pub platforms: Vec<Arc<Platform>>,
    /// Parts instead of the platforms' own.
    pub parts: Vec<Arc<Part>>,
    /// Blocks of the partition.
    pub partition_blocks: Vec<u32>,
    /// Record sizes, bytes.
    pub record_sizes: Vec<u32>,
    /// Numbers of requests.
    pub requests: Vec<u32>,
    /// Seeds.
    pub seeds: Vec<u64>,
    /// Alphabets.
    pub alphabets: Vec<Alphabet>,
    /// Records in each table before the interval; empty: 5000, or the requests if they are more.
    pub fills: Vec<u32>,
    /// SQLite page sizes, bytes.
    pub page_sizes: Vec<u32>,
    /// SQLite cache sizes: pages, or negative KiB.
    pub cache_sizes: Vec<i32>,
    /// SQLite journal modes.
    pub journal_modes: Vec<JournalMode>,
    /// SQLite synchronous levels.
    pub synchronous: Vec<Synchronous>,
    /// Read-ahead.
    pub read_ahead: Vec<ReadAheadChoice>,
    /// Compressors.
    pub compressions: Vec<CompressionChoice>,
    /// Options of the layers.
    pub layers: LayerLists,
    /// Percents of live data of other files before the run.
    pub aged_fills: Vec<u32>,
    /// Percents of dead data.
    pub aged_invalids: Vec<u32>,
    /// Largest erase counts of blocks.
    pub aged_erases: Vec<u32>,
    /// Where error correction is computed.
    pub ecc: Vec<EccMode>,
    /// Which files lie beside, on stacks that have a place for journals; empty: the journals.
    pub routes: Vec<Route>,
    /// Whether the runs keep their traces.
    pub keeps_traces: bool,
}

impl Grid {
    /// One workload on one stack of one platform, everything else as the platform has it.
    pub fn new(workload: impl Into<Workload>, stack: Stack, platform: Arc<Platform>) -> Self {
        Self {
            workloads: vec![workload.into()],
            stacks: vec![stack],
            platforms: vec![platform],
            parts: Vec::new(),
            partition_blocks: Vec::new(),
            record_sizes: vec![600],
            requests: vec![1000],
            seeds: vec![1],
            alphabets: vec![Alphabet::Bytes],
            fills: Vec::new(),
            page_sizes: Vec::new(),
            cache_sizes: Vec::new(),
            journal_modes: Vec::new(),
            synchronous: Vec::new(),
            read_ahead: Vec::new(),
            compressions: Vec::new(),
            layers: LayerLists::default(),
            aged_fills: Vec::new(),
            aged_invalids: Vec::new(),
            aged_erases: Vec::new(),
            ecc: Vec::new(),
            routes: Vec::new(),
            keeps_traces: false,
        }
    }

    /// How many scenarios the combinations are.
    pub fn run_count(&self) -> u64 {
        let of_all = [
            self.parts.len(),
            self.partition_blocks.len(),
            self.ecc.len(),
            self.compressions.len(),
            self.read_ahead.len(),
            self.requests.len(),
            self.seeds.len(),
            self.aged_fills.len(),
            self.aged_invalids.len(),
            self.aged_erases.len(),
        ];
        let of_sqlite = [
            self.journal_modes.len(),
            self.synchronous.len(),
            self.page_sizes.len(),
            self.cache_sizes.len(),
        ];
        let of_micro = [self.record_sizes.len(), self.fills.len()];
        let spread = |lists: &[usize]| {
            lists.iter().fold(1, |count: u64, &len| count.saturating_mul(len.max(1) as u64))
        };
        let stacks = self.platforms.iter().flat_map(|platform| {
            self.stacks.iter().map(|&stack| {
                let routes = if stack.journals.is_some() { self.routes.len().max(1) } else { 1 };
                self.layers.combinations(stack, Layers::of(platform)).len() * routes
            })
        });
        let stacks = stacks.fold(0, |count: u64, of| count.saturating_add(of as u64));
        let runs = self.workloads.iter().map(|workload| {
            let sqlite = workload.engine() == Engine::Sqlite;
            let own = if sqlite { spread(&of_sqlite) } else { 1 };
            let own = own.saturating_mul(if workload.is_micro() { spread(&of_micro) } else { 1 });
            let strings = if workload.has_strings() { self.alphabets.len().max(1) } else { 1 };
            own.saturating_mul(strings as u64)
        });
        let runs = runs.fold(0, u64::saturating_add);
        runs.saturating_mul(stacks).saturating_mul(spread(&of_all))
    }

    /// Every combination, in a fixed order: workloads outermost, seeds innermost. Values that are
    /// nothing to a workload do not multiply its scenarios.
    pub fn scenarios(&self) -> Vec<Scenario> {
        let is_sqlite = |it: &Scenario| it.workload.engine() == Engine::Sqlite;
        let is_micro = |it: &Scenario| it.workload.is_micro();
        let has_strings = |it: &Scenario| it.workload.has_strings();
        let has_journals = |it: &Scenario| it.stack.journals.is_some();
        let mut all = Vec::new();
        for &workload in &self.workloads {
            for platform in &self.platforms {
                for &stack in &self.stacks {
                    let mut scenario = default_scenario(workload, platform, stack);
                    scenario.keeps_trace = self.keeps_traces;
                    all.extend(self.with_layers(&scenario));
                }
            }
        }
        all = spread(all, &self.parts, |it, part| it.build.part = Arc::clone(part));
        all = spread(all, &self.partition_blocks, |it, &n| it.build.partition_blocks = n);
        all = spread(all, &self.aged_fills, |it, &n| it.build.age.fill_percent = n);
        all = spread(all, &self.aged_invalids, |it, &n| it.build.age.invalid_percent = n);
        all = spread(all, &self.aged_erases, |it, &n| it.build.age.erase_spread = n);
        all = spread(all, &self.ecc, |it, &ecc| it.build.ecc = ecc);
        all = spread(all, &self.compressions, |it, choice| choice.apply(&mut it.build));
        all = spread(all, &self.read_ahead, |it, &choice| {
            it.build.ra_pages = choice.pages(it.build.ra_pages);
            it.ubifs_ra_pages = choice.pages(0);
            it.advises_random = choice == ReadAheadChoice::Advised;
        });
        all = spread_over(all, is_sqlite, &self.journal_modes, |it, &mode| {
            it.settings.journal_mode = mode;
        });
        all = spread_over(all, is_sqlite, &self.synchronous, |it, &level| {
            it.settings.synchronous = level;
        });
        all =
            spread_over(all, is_sqlite, &self.page_sizes, |it, &size| it.settings.page_size = size);
        all = spread_over(all, is_sqlite, &self.cache_sizes, |it, &size| {
            it.settings.cache_size = size;
        });
        all =
            spread_over(all, has_strings, &self.alphabets, |it, &alphabet| it.alphabet = alphabet);
        all = spread_over(all, is_micro, &self.record_sizes, |it, &size| it.record_size = size);
        all = spread(all, &self.requests, |it, &requests| {
            it.requests = requests;
            it.fill = FILL.max(requests);
        });
        all = spread_over(all, is_micro, &self.fills, |it, &fill| it.fill = fill);
        all = spread_over(all, has_journals, &self.routes, |it, &route| it.build.route = route);
        if self.partition_blocks.is_empty() {
            all.iter_mut().for_each(Scenario::make_room);
        }
        spread(all, &self.seeds, |it, &seed| {
            it.seed = seed;
            it.build.seed = seed;
        })
    }
}

impl Grid {
    /// A scenario with every combination of options that mean something to its stack.
    fn with_layers(&self, plain: &Scenario) -> impl Iterator<Item = Scenario> {
        let all = self.layers.combinations(plain.stack, plain.build.layers);
        all.into_iter().map(|layers| {
            let mut one = plain.clone();
            one.build.layers = layers;
            one
        })
    }
}

/// Everything as the platform has it.
fn default_scenario(workload: Workload, platform: &Arc<Platform>, stack: Stack) -> Scenario {
    Scenario {
        workload,
        stack,
        build: Build::of(platform),
        settings: platform.sqlite,
        ubifs_ra_pages: 0,
        advises_random: false,
        record_size: workload.record_size().unwrap_or(0),
        requests: 0,
        alphabet: Alphabet::Bytes,
        fill: 0,
        seed: 0,
        keeps_trace: false,
    }
}

impl ReadAheadChoice {
    fn pages(self, platform: u32) -> u32 {
        match self {
            Self::On | Self::Advised if platform > 0 => platform,
            Self::On | Self::Advised => RA_PAGES_ON,
            Self::Off => 0,
            Self::Pages(pages) => pages,
        }
    }
}

/// Each scenario once for each value; as it is where there are no values.
fn spread<T>(
    scenarios: Vec<Scenario>,
    values: &[T],
    set: impl Fn(&mut Scenario, &T),
) -> Vec<Scenario> {
    spread_over(scenarios, |_| true, values, set)
}

/// The same of the scenarios to which the values are something; the others as they are.
fn spread_over<T>(
    scenarios: Vec<Scenario>,
    applies: impl Fn(&Scenario) -> bool,
    values: &[T],
    set: impl Fn(&mut Scenario, &T),
) -> Vec<Scenario> {
    let mut all = Vec::with_capacity(scenarios.len() * values.len().max(1));
    for scenario in scenarios {
        if values.is_empty() || !applies(&scenario) {
            all.push(scenario);
            continue;
        }
        for value in values {
            let mut one = scenario.clone();
            set(&mut one, value);
            all.push(one);
        }
    }
    all
}

/// Runs that share a machine, at most: so that all cores have work.
const TURNS_MAX: usize = 32;

/// Carry scenarios out on all cores; outcomes in the order of the scenarios. `finished` is called
/// after each, from whichever thread it was on.
pub fn run_all(scenarios: &[Scenario], finished: impl Fn() + Sync) -> Vec<Result<Run, RunError>> {
    let one = |scenario: &Scenario| {
        let outcome = scenario.run();
        finished();
        outcome
    };
    scenarios.par_iter().with_max_len(1).map(one).collect()
}

/// The same, with those that read what is prepared alike on one machine. The figures of the measured
/// interval are those of separate runs; `page_reads_at_open` may be one less, as MTD still buffers
/// the page that the run before read last.
pub fn run_in_turns(
    scenarios: &[Scenario],
    finished: impl Fn() + Sync,
) -> Vec<Result<Run, RunError>> {
    let turns = turns(scenarios);
    let one = |places: &Vec<usize>| {
        let of_one: Vec<&Scenario> = places.iter().map(|&place| &scenarios[place]).collect();
        let outcomes = run_in_turn(&of_one, &finished);
        places.iter().copied().zip(outcomes).collect::<Vec<_>>()
    };
    let outcomes = turns.par_iter().with_max_len(1).flat_map_iter(one);
    let mut outcomes: Vec<(usize, Result<Run, RunError>)> = outcomes.collect();
    outcomes.sort_by_key(|(place, _)| *place);
    outcomes.into_iter().map(|(_, outcome)| outcome).collect()
}

/// The places of scenarios that are carried out on one machine, machine by machine.
fn turns(scenarios: &[Scenario]) -> Vec<Vec<usize>> {
    let mut turns: Vec<(Option<Scenario>, Vec<usize>)> = Vec::new();
    for (place, scenario) in scenarios.iter().enumerate() {
        let wanted = scenario.preparation();
        let fits = |(made, places): &&mut (Option<Scenario>, Vec<usize>)| {
            made.is_some() && *made == wanted && places.len() < TURNS_MAX
        };
        match turns.iter_mut().filter(|_| wanted.is_some()).find(fits) {
            Some((_, places)) => places.push(place),
            None => turns.push((wanted, vec![place])),
        }
    }
    turns.into_iter().map(|(_, places)| places).collect()
}
