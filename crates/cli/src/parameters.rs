//! The parameters of a run, for `bench` and `compare`. Each option accepts a list.

use std::fmt::Display;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use clap::Args;
use flysch_chip::Part;
use flysch_lab::bench::grid::{Axes, CompressionOption, Grid, ReadAheadOption};
use flysch_lab::bench::run::Run;
use flysch_lab::bench::scenario::Scenario;
use flysch_lab::machine::dual::Route;
use flysch_lab::machine::platform::{Platform, ecc_mode};
use flysch_lab::machine::stack::{Engine, Journals, Main, Stack};
use flysch_lab::recording::Variant;
use flysch_lab::tpcc::Files;
use flysch_lab::workload::{Alphabet, READING_SIZE_MIN, Tpcc, Workload};
use flysch_lab::{EccMode, JournalMode, Synchronous};
use flysch_names::UnknownName;

use crate::failure::Failure;
use crate::layers::{AgeOptions, LayerOptions};
use crate::numbers::{Numbers, once, optional, twice};
use crate::words::on_or_off;

/// The largest number of runs of one command. Their results must fit in memory.
const RUNS_MAX: u64 = 20_000;
/// Bytes of the random string in each record, by default.
const RECORD_SIZE: u32 = 600;
/// The largest number of requests of a run.
const REQUESTS_MAX: u32 = 10_000_000;

/// The parameters of a run. Every option takes a list (a,b,c), numbers also ranges (FROM..TO:STEP);
/// every combination is run.
#[derive(Debug, Args)]
pub(crate) struct Parameters {
    #[command(flatten)]
    hardware: Hardware,
    /// Bytes of the random string in each record [default: 600]
    #[arg(long, value_name = "BYTES")]
    record_size: Option<Numbers>,
    /// Requests between BEGIN and END [default: 1000; compare: 100,500,1000,2000]
    #[arg(long, value_name = "N", visible_alias = "transactions")]
    requests: Option<Numbers>,
    /// Characters of the random strings: bytes, base64, digits, constant [default: bytes]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    alphabet: Vec<Alphabet>,
    /// Records in each table before select, join, update and logger [default: 5000, or the number
    /// of requests if greater]
    #[arg(long, value_name = "N")]
    fill: Option<Numbers>,
    /// Let the kernel's timers run while files are prepared, on or off. Off makes counts
    /// independent of the platform's speed [default: off; insert, select, join, update, commit: on]
    #[arg(long, value_name = "on|off", value_delimiter = ',', value_parser = on_or_off())]
    free_timers: Vec<bool>,
    #[command(flatten)]
    sqlite: SqliteOptions,
}

/// SQLite's own settings. Every option takes a list.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct SqliteOptions {
    /// SQLite's page size in bytes
    #[arg(long, value_name = "BYTES")]
    page_size: Option<Numbers>,
    /// SQLite's page cache: pages, or negative KiB
    #[arg(long, value_name = "PAGES", value_delimiter = ',', allow_hyphen_values = true)]
    cache_size: Vec<i32>,
    /// SQLite's journal: delete, truncate, persist, wal, memory, off
    #[arg(long, value_name = "MODE", value_delimiter = ',')]
    journal_mode: Vec<JournalMode>,
    /// SQLite's durability: off, normal, full, extra
    #[arg(long, value_name = "LEVEL", value_delimiter = ',')]
    synchronous: Vec<Synchronous>,
}

/// The parameters of the machine.
#[derive(Debug, Args)]
pub(crate) struct Hardware {
    /// Platforms (board and kernel): names, or TOML files
    #[arg(long, value_name = "NAME|FILE", value_delimiter = ',', default_value = Platform::DEFAULT)]
    platform: Vec<String>,
    /// Chips instead of the platform's: names of parts, or TOML files
    #[arg(long, value_name = "NAME|FILE", value_delimiter = ',')]
    part: Vec<String>,
    /// Number of blocks in the test partition
    #[arg(long, value_name = "N")]
    partition_blocks: Option<Numbers>,
    /// Seeds of all random numbers
    #[arg(long, value_name = "N", default_value = "1")]
    seed: Numbers,
    /// Read-ahead: on, off, fadvise (on, but programs advise against it), or a
    /// window in 4 KiB pages
    #[arg(long, value_name = "on|off|fadvise|PAGES", value_delimiter = ',', value_parser = read_ahead)]
    read_ahead: Vec<ReadAheadOption>,
    /// Compressors in the order JFFS2 tries them, joined by + (lzo+zlib+rtime), zstd (UBIFS), or
    /// none
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    compression: Vec<CompressionOption>,
    /// Where errors are corrected: hardware, or soft (in software, with sub-page reads)
    #[arg(long, value_name = "WHERE", value_delimiter = ',', value_parser = ecc)]
    ecc: Vec<EccMode>,
    /// Kinds of files that lie on the PRAM or RAM of stacks such as sqlite/yaffs2+pramfs, joined by
    /// +: journal, super-journal, statement-journal, temporary, or all [default: journal]
    #[arg(long, alias = "beside", value_name = "FILES", value_delimiter = ',')]
    nvram_files: Vec<Route>,
    #[command(flatten)]
    layers: LayerOptions,
    #[command(flatten)]
    age: AgeOptions,
}

fn read_ahead(text: &str) -> Result<ReadAheadOption, String> {
    match text {
        "on" => Ok(ReadAheadOption::On),
        "off" => Ok(ReadAheadOption::Off),
        "fadvise" => Ok(ReadAheadOption::Advised),
        pages => match pages.parse() {
            Ok(pages @ 0..=65_536) => Ok(ReadAheadOption::Pages(pages)),
            _ => Err("read-ahead is on, off, fadvise, or a window of up to 65536 pages".to_owned()),
        },
    }
}

pub(crate) fn ecc(text: &str) -> Result<EccMode, String> {
    let unknown = || UnknownName::new("ECC", text, ["hardware", "soft"]).to_string();
    ecc_mode(text).ok_or_else(unknown)
}

impl Parameters {
    /// The grid of all combinations. If the user sets no numbers of requests, `requests` are used.
    pub(crate) fn grid(
        &self,
        workloads: Vec<Workload>,
        stacks: Vec<Stack>,
        requests: &[u32],
    ) -> Result<Grid, Failure> {
        let asked = optional("requests", self.requests.as_ref())?;
        if let Some(most) = asked.iter().find(|&&count| count > REQUESTS_MAX) {
            return Err(Failure::Message(format!(
                "--requests {most}: {REQUESTS_MAX} are the most"
            )));
        }
        let sizes = optional("record-size", self.record_size.as_ref())?;
        let axes = Axes {
            record_sizes: if sizes.is_empty() { vec![RECORD_SIZE] } else { sizes },
            requests: if asked.is_empty() { requests.to_vec() } else { asked },
            alphabets: self.alphabet.clone(),
            fills: optional("fill", self.fill.as_ref())?,
            free_timers: self.free_timers.clone(),
            ..self.hardware.axes()?
        };
        let axes = self.sqlite.fill(axes)?;
        let platforms = self.hardware.platforms()?;
        let grid = Grid { workloads, stacks, platforms, axes, keeps_traces: false };
        check(&grid)?;
        Ok(grid)
    }
}

impl Parameters {
    /// Refuse an option that applies to no scenario of any grid.
    pub(crate) fn check_use(&self, grids: &[Grid]) -> Result<(), Failure> {
        let is_plain = |name: &str| name == "record-size" && self.record_size.is_none();
        let idle = grids.first().map(Grid::idle).unwrap_or_default();
        let everywhere = |name: &&str| grids.iter().all(|grid| grid.idle().contains(name));
        refuse_idle(idle.into_iter().filter(everywhere).find(|name| !is_plain(name)))
    }
}

fn refuse_idle(name: Option<&str>) -> Result<(), Failure> {
    let said = |name| format!("--{name}: no stack or workload of this sweep uses it");
    name.map_or(Ok(()), |name| Err(Failure::Message(said(name))))
}

impl SqliteOptions {
    /// Put the values into the axes.
    fn fill(&self, axes: Axes) -> Result<Axes, Failure> {
        Ok(Axes {
            page_sizes: optional("page-size", self.page_size.as_ref())?,
            cache_sizes: self.cache_size.clone(),
            journal_modes: self.journal_mode.clone(),
            synchronous: self.synchronous.clone(),
            ..axes
        })
    }

    /// The names of the settings that the user set.
    pub(crate) fn given(&self) -> Vec<&'static str> {
        let all = [
            ("journal-mode", !self.journal_mode.is_empty()),
            ("synchronous", !self.synchronous.is_empty()),
            ("page-size", self.page_size.is_some()),
            ("cache-size", !self.cache_size.is_empty()),
        ];
        all.into_iter().filter(|(_, is_given)| *is_given).map(|(name, _)| name).collect()
    }

    /// Leave the settings that the user did not set out of the runs' parameters: the program or the
    /// recording decides them.
    pub(crate) fn forget_defaults(&self, runs: &mut [Run]) {
        let given = self.given();
        let all = ["journal-mode", "synchronous", "page-size", "cache-size"];
        for run in runs {
            run.inputs.parameters.retain(|name, _| given.contains(name) || !all.contains(name));
        }
    }

    /// The settings that replace those of a recording, for a replay in this scenario.
    pub(crate) fn variant(&self, scenario: &Scenario) -> Variant {
        let (given, settings) = (self.given(), scenario.settings);
        let has = |name: &str| given.contains(&name);
        Variant {
            journal_mode: has("journal-mode").then_some(settings.journal_mode),
            synchronous: has("synchronous").then_some(settings.synchronous),
            page_size: has("page-size").then_some(settings.page_size),
            cache_size: has("cache-size").then_some(settings.cache_size),
            group: 0,
        }
    }
}

impl Hardware {
    /// The scenario for a program of the user on a stack, on the first platform. The partition
    /// takes the whole part unless another size is set.
    pub(crate) fn scenario(&self, stack: Stack) -> Result<Scenario, Failure> {
        match self.scenarios(vec![stack], &SqliteOptions::default())?.as_slice() {
            [one] => Ok(one.clone()),
            many => Err(Failure::Message(format!(
                "a program runs on one machine, and these options are for {}",
                many.len()
            ))),
        }
    }

    /// The scenarios for a program of the user: all combinations.
    pub(crate) fn scenarios(
        &self,
        stacks: Vec<Stack>,
        sqlite: &SqliteOptions,
    ) -> Result<Vec<Scenario>, Failure> {
        let (axes, platforms) = (sqlite.fill(self.axes()?)?, self.platforms()?);
        let is_whole = axes.partition_blocks.is_empty();
        let workloads = vec![Workload::Program];
        let mut grid = Grid { workloads, stacks, platforms, axes, keeps_traces: true };
        if is_whole {
            // The check uses the size of the first part. Below, each scenario gets a partition of
            // its own part's size.
            let parts = grid.scenarios();
            let blocks = parts.first().map(|it| it.build.part.geometry.block_count);
            grid.axes.partition_blocks = blocks.into_iter().collect();
        }
        check(&grid)?;
        refuse_idle(grid.idle().first().copied())?;
        let mut all = grid.scenarios();
        if is_whole {
            for one in &mut all {
                one.build.partition_blocks = one.build.part.geometry.block_count;
            }
        }
        Ok(all)
    }

    fn platforms(&self) -> Result<Vec<Arc<Platform>>, Failure> {
        self.platform.iter().map(|name| platform(name)).collect()
    }

    fn axes(&self) -> Result<Axes, Failure> {
        let mut axes = Axes {
            parts: self.part.iter().map(|name| part(name)).collect::<Result<_, _>>()?,
            partition_blocks: optional("partition-blocks", self.partition_blocks.as_ref())?,
            seeds: self.seed.0.clone(),
            read_ahead: self.read_ahead.clone(),
            compressions: self.compression.clone(),
            ecc: self.ecc.clone(),
            routes: self.nvram_files.clone(),
            ..Axes::default()
        };
        self.age.fill(&mut axes)?;
        self.layers.fill(&mut axes)?;
        Ok(axes)
    }
}

/// A part by name, or from a TOML file.
pub(crate) fn part(name: &str) -> Result<Arc<Part>, Failure> {
    described(name, |text, _| Part::parse(text), Part::named)
}

/// Find a platform by its name, or read it from a TOML file.
pub(crate) fn platform(name: &str) -> Result<Arc<Platform>, Failure> {
    described(name, Platform::parse, Platform::named)
}

/// Read the TOML file `name`, or find the built-in description with this name.
fn described<T, E: Display, F: Display>(
    name: &str,
    parse: impl Fn(&str, &Path) -> Result<T, E>,
    named: impl Fn(&str) -> Result<T, F>,
) -> Result<Arc<T>, Failure> {
    let path = Path::new(name);
    let is_file = path.extension().is_some_and(|extension| extension == "toml");
    let found = if is_file {
        let text = fs::read_to_string(path).map_err(|error| Failure::of_file(path, error))?;
        let folder = path.parent().unwrap_or(Path::new(""));
        parse(&text, folder).map_err(|error| Failure::of_file(path, error))
    } else {
        named(name).map_err(|error| Failure::Message(error.to_string()))
    };
    found.map(Arc::new)
}

/// Refuse impossible runs before the first run starts.
fn check(grid: &Grid) -> Result<(), Failure> {
    let runs = grid.run_count();
    if runs > RUNS_MAX {
        return Err(Failure::Message(format!(
            "these are {runs} runs, and {RUNS_MAX} at once are the most"
        )));
    }
    once("--on", &grid.stacks)?;
    once("WORKLOAD", &grid.workloads)?;
    if let Some(name) = grid.axes.repeated() {
        return Err(twice(&format!("--{name}")));
    }
    check_names(grid)?;
    check_compressors(grid)?;
    for scenario in grid.scenarios() {
        check_stack(&scenario)?;
        let geometry = scenario.build.part.geometry;
        let blocks = scenario.build.partition_blocks;
        if blocks > geometry.block_count {
            return Err(Failure::Message(format!(
                "a partition of {blocks} blocks does not fit on part {}, which has {}; \
                 --partition-blocks sets its size",
                scenario.build.part.name, geometry.block_count
            )));
        }
        check_room(&scenario)?;
        let age = scenario.build.age;
        if age.fill_percent + age.invalid_percent > 100 {
            return Err(Failure::Message(format!(
                "--aged-fill {} and --aged-invalid {} are more than the partition together",
                age.fill_percent, age.invalid_percent
            )));
        }
        let Scenario { workload, fill, requests, record_size, .. } = scenario;
        if u64::from(record_size) > scenario.build.partition_bytes() {
            return Err(Failure::Message(format!(
                "--record-size {record_size}: one record is larger than the partition of {blocks} blocks"
            )));
        }
        if matches!(workload, Workload::Logger(_) | Workload::Mount(_))
            && record_size < READING_SIZE_MIN
        {
            return Err(Failure::Message(format!(
                "--record-size {record_size}: a reading has {READING_SIZE_MIN} bytes at least"
            )));
        }
        if let Workload::Micro(kind) = workload
            && kind.is_filled()
            && kind.is_one_transaction()
            && fill < requests
        {
            return Err(Failure::Message(format!(
                "--fill {fill}: too few records for {requests} requests of {}",
                workload.name()
            )));
        }
        let page_size = scenario.settings.page_size;
        if !page_size.is_power_of_two() || !(512..=65_536).contains(&page_size) {
            return Err(Failure::Message(format!(
                "--page-size {page_size}: SQLite takes powers of two from 512 to 65536"
            )));
        }
    }
    Ok(())
}

/// Refuse a workload that needs far more room than the partition has, if the need is known before
/// the run.
fn check_room(scenario: &Scenario) -> Result<(), Failure> {
    let room = scenario.workload.room(&scenario.settings, scenario.requests).unwrap_or(0);
    let (room, given) = (room / ROOM_SLACK, scenario.build.partition_bytes());
    if room <= given {
        return Ok(());
    }
    Err(Failure::Message(format!(
        "{} needs {} MiB or more, and a partition of {} blocks has {}",
        scenario.workload.name(),
        room >> 20,
        scenario.build.partition_blocks,
        given >> 20
    )))
}

/// The need is only an estimate, so a workload is refused only if it exceeds the room by this
/// factor.
const ROOM_SLACK: u64 = 2;

/// Refuse two platforms or parts with the same name, because their runs could not be told apart in
/// the results.
fn check_names(grid: &Grid) -> Result<(), Failure> {
    let parts: Vec<&str> = grid.axes.parts.iter().map(|part| part.name.as_str()).collect();
    let platforms: Vec<&str> = grid.platforms.iter().map(|it| it.name.as_str()).collect();
    for (option, names) in [("part", parts), ("platform", platforms)] {
        let twice = (1..names.len()).find(|&place| names[..place].contains(&names[place]));
        if let Some(place) = twice {
            let name = names[place];
            return Err(Failure::Message(format!("--{option}: two have the name '{name}'")));
        }
    }
    Ok(())
}

/// Refuse compressors that a file system of the sweep does not have.
fn check_compressors(grid: &Grid) -> Result<(), Failure> {
    let compressions = grid.axes.compressions.iter();
    compressions
        .flat_map(|option| grid.stacks.iter().map(move |stack| (option, *stack)))
        .try_for_each(|(option, stack)| check_compressor(option, stack))
}

/// Refuse compressors that the file system of a stack does not have.
pub(crate) fn check_compressor(option: &CompressionOption, stack: Stack) -> Result<(), Failure> {
    if option.suits(stack.main) {
        return Ok(());
    }
    Err(Failure::Message(format!("--compression {option}: {stack} has no such compressor")))
}

/// Refuse a stack whose engine cannot run the workload.
fn check_stack(scenario: &Scenario) -> Result<(), Failure> {
    let (workload, stack) = (scenario.workload, scenario.stack);
    if stack.engine == Engine::Flysch
        && scenario.build.age.fill_percent + scenario.build.age.invalid_percent > 0
    {
        let message = "--aged-fill, --aged-invalid: flysch has no files of others beside it";
        return Err(Failure::Message(message.to_owned()));
    }
    if let Workload::Tpcc(Tpcc { files: Files::Two, .. }) = workload
        && stack.engine == Engine::Flysch
    {
        let message = format!("--database-files 2: a database on {} is in no files", stack.name());
        return Err(Failure::Message(message));
    }
    let blocks = scenario.build.partition_blocks;
    if blocks < stack.engine.blocks_min() {
        let (on, least) = (stack.name(), stack.engine.blocks_min());
        let message = format!("--partition-blocks {blocks}: {on} takes {least} blocks at least");
        return Err(Failure::Message(message));
    }
    let is_in_ram = stack.main == Main::Tmpfs || stack.journals == Some(Journals::Tmpfs);
    if matches!(workload, Workload::Mount(_)) && is_in_ram {
        let message =
            format!("--on {}: RAM does not outlive the stop before a mount", stack.name());
        return Err(Failure::Message(message));
    }
    if stack.engine == Engine::Redb && !cfg!(feature = "redb") {
        let message = format!("--on {}: this build has no redb (feature `redb`)", stack.name());
        return Err(Failure::Message(message));
    }
    if workload.runs_on(stack.engine) {
        return Ok(());
    }
    if matches!(stack.engine, Engine::Flysch | Engine::Redb) {
        let known = Workload::ALL.into_iter().filter(|it| it.runs_on(stack.engine));
        let known: Vec<&str> = known.map(Workload::name).collect();
        return Err(Failure::Message(format!(
            "--on {}: {} does not run on the engine yet ({} do)",
            stack.name(),
            workload.name(),
            known.join(", ")
        )));
    }
    let own = Stack { engine: workload.engine(), journals: None, ..stack };
    Err(Failure::Message(format!(
        "--on {}: {} runs on stacks such as {}",
        stack.name(),
        workload.name(),
        own.name()
    )))
}
