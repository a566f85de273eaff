//! `flysch replay`: replays a recording or an SQL script on stacks and settings, without its
//! program.

mod workers;

use std::fmt::Display;
use std::fs;
use std::path::PathBuf;

use clap::ValueEnum;
use flysch_lab::bench::life::Rate;
use flysch_lab::bench::run::Run;
use flysch_lab::bench::scenario::Scenario;
use flysch_lab::machine::stack::{Engine, Stack};
use flysch_lab::program::Simulation;
use flysch_lab::recording::{Difference, Recording, Replay, ReplayError, differences};
use flysch_lab::report;
use flysch_sqlite::calls::Entry;
use rayon::prelude::*;

use crate::failure::Failure;
use crate::limits::{BudgetOptions, Held};
use crate::output::{self, Figures};
use crate::parameters::{Hardware, SqliteOptions};
use crate::progress::{self, tell};
use crate::provenance::save_trace;
use crate::sheet::{Layout, Sheet, View, blanks};

/// The columns of the table and of CSV. JSON has all fields.
const LAYOUT: Layout = Layout {
    subject: &["workload", "on"],
    asked: &["platform", "requests"],
    figures: &[
        "time_ns",
        "latency_ns.p50",
        "latency_ns.p99",
        "page_reads",
        "page_programs",
        "block_erases",
        "bytes",
        "energy_mj",
    ],
    shown: &[
        "time_ns",
        "page_reads",
        "page_programs",
        "block_erases",
        "latency_ns.p50",
        "latency_ns.p99",
        "energy_mj",
    ],
};
/// The most differing calls that are printed.
const DIFFERENCES_MAX: usize = 10;

/// Arguments of `flysch replay`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  flysch replay app.rec --on sqlite/jffs2,sqlite/ubifs,sqlite/ftl
  flysch replay app.rec --journal-mode delete,wal --synchronous normal,full --format csv
  flysch replay app.rec --sqlite /usr/lib/x86_64-linux-gnu/libsqlite3.so.0 --pace none
  flysch replay schema.sql --database my.db --keep migrated
  flysch replay schema.sql --database my.db --trace schema.trace && flysch trace schema.trace tables")]
pub(crate) struct Args {
    /// A recording (.rec), or an SQL script
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Stacks: sqlite/jffs2, sqlite/ubifs, ... [default: that of the recording, or sqlite/jffs2]
    #[arg(long, value_name = "STACK", value_delimiter = ',')]
    on: Vec<Stack>,
    /// Files that the databases begin with [default: none; for a recording, the files that it began
    /// with]
    #[arg(long, value_name = "FILE", value_delimiter = ',')]
    database: Vec<PathBuf>,
    /// SQLite library of this machine to make the calls with, instead of flysch's own
    #[arg(long, value_name = "LIB.so")]
    sqlite: Option<PathBuf>,
    /// Time that the program computes between calls: as recorded, or none [default: recorded; with
    /// a budget, none]
    #[arg(long, value_enum, value_name = "recorded|none")]
    pace: Option<PaceOption>,
    #[command(flatten)]
    settings: SqliteOptions,
    #[command(flatten)]
    hardware: Hardware,
    /// Save the calls that wrote other data than when they were recorded, as CSV
    #[arg(long, value_name = "FILE")]
    differences: Option<PathBuf>,
    /// Write the databases that the replay left to a new folder (one run only)
    #[arg(long, value_name = "FOLDER")]
    keep: Option<PathBuf>,
    /// Save the trace (one run only)
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    #[command(flatten)]
    budget: BudgetOptions,
    #[command(flatten)]
    figures: Figures,
    #[command(flatten)]
    view: View,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum PaceOption {
    /// As recorded.
    Recorded,
    /// No time: only the work of the machine takes time.
    None,
}

/// Tell that a stack that maps no file shared has no write-ahead log, if the recording itself asks
/// for one.
pub(crate) fn tell_of_log(recording: &Recording, settings: &SqliteOptions, on: &impl Display) {
    if recording.asks_for_log() && !settings.given().contains(&"journal-mode") {
        tell(&format!(
            "{on} maps no file shared, so that SQLite refused the write-ahead log that is asked \
             for, and kept its journal"
        ));
    }
}

/// A run, and its calls with their results.
struct Done {
    run: Run,
    /// Whether SQLite could have a write-ahead log.
    shares_memory: bool,
    entries: Vec<Entry>,
    /// The source version of the SQLite that made the calls. Empty for flysch's own.
    source: String,
}

impl Done {
    /// A run whose calls flysch's own SQLite made.
    fn own(run: Run, entries: Vec<Entry>, simulation: &Simulation) -> Self {
        Self { run, shares_memory: simulation.shares_memory(), entries, source: String::new() }
    }
}

/// Replay the recording and print its costs.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let recording = Recording::read(&args.file).map_err(|error| Failure::of(&error))?;
    if recording.lines.is_some() && args.differences.is_some() {
        let message = "--differences is for recordings; a script has no calls to compare with";
        return Err(Failure::Message(message.to_owned()));
    }
    let scenarios = args.scenarios(&recording)?;
    let recorded = args.pace.filter(|pace| *pace == PaceOption::Recorded);
    args.budget.refuse_pace(recorded.map(|_| "recorded"))?;
    let budget = args.budget.read()?;
    let files = args.differences.iter().chain(&args.trace);
    files.clone().try_for_each(|path| output::check_writable(path, args.figures.force))?;
    if let Some(folder) = &args.keep {
        output::check_new_folder(folder, "databases are kept in a new folder")?;
    }
    args.figures.check(files.clone().chain(&args.keep).chain(args.budget.replaced()))?;
    let view = args.named(&scenarios)?;
    args.view.limit_jobs()?;
    let is_single = files.count() > 0 || budget.is_some() || args.keep.is_some();
    let one_only = is_single && scenarios.len() > 1;
    if one_only {
        let runs = scenarios.len();
        let message = format!(
            "--trace, --differences, --keep and --budget are for one run, and these are {runs}"
        );
        return Err(Failure::Message(message));
    }
    let (mut done, verdict) = args.carry_out(&recording, &scenarios, budget.as_ref())?;
    if let Some(first) = done.first().filter(|_| recording.lines.is_none()) {
        args.compare(&recording, first)?;
    }
    if let (Some(path), Some(done)) = (&args.trace, done.first_mut()) {
        save_trace(&mut done.run.trace, path, args.figures.force)?;
    }
    for done in done.iter().filter(|done| !done.shares_memory && args.sqlite.is_none()) {
        tell_of_log(&recording, &args.settings, &done.run.inputs.on);
    }
    let mut runs: Vec<Run> = done.into_iter().map(|done| done.run).collect();
    args.settings.forget_defaults(&mut runs);
    let mut sheet = Sheet::of(&LAYOUT, &runs);
    sheet.sort(&view);
    let figures = sheet.render(args.figures.format, &view);
    args.figures.deliver(&figures, || {
        let subtitle = format!("{} replays", runs.len());
        report::html("A recording on flash", &subtitle, Rate::DEFAULT, &runs)
    })?;
    verdict
}

impl Args {
    /// The view with the names of figures as the rows will have them.
    fn named(&self, scenarios: &[Scenario]) -> Result<View, Failure> {
        let mut runs = blanks(scenarios);
        self.settings.forget_defaults(&mut runs);
        Sheet::of(&LAYOUT, &runs).named(self.figures.format, &self.view)
    }

    fn scenarios(&self, recording: &Recording) -> Result<Vec<Scenario>, Failure> {
        let recorded = recording.origin.on.parse().unwrap_or(Stack::JFFS2);
        let stacks = if self.on.is_empty() { vec![recorded] } else { self.on.clone() };
        if let Some(stack) = stacks.iter().find(|stack| stack.engine != Engine::Sqlite) {
            return Err(Failure::Message(format!(
                "--on {stack}: a recording is of SQLite, so a stack is named sqlite/jffs2 and the like"
            )));
        }
        let mut all = self.hardware.scenarios(stacks, &self.settings)?;
        let keeps_trace = self.trace.is_some();
        for one in &mut all {
            one.keeps_trace = keeps_trace;
        }
        Ok(all)
    }

    fn carry_out(
        &self,
        recording: &Recording,
        scenarios: &[Scenario],
        budget: Option<&Held>,
    ) -> Result<(Vec<Done>, Result<(), Failure>), Failure> {
        let sources = recording.sources(&self.database).map_err(Failure::Message)?;
        let is_paced = self.pace != Some(PaceOption::None) && budget.is_none();
        let replay = |scenario: &Scenario| {
            let variant = self.settings.variant(scenario);
            Replay { recording, sources: &sources, variant, is_paced }
        };
        if let Some(library) = &self.sqlite {
            let one = |scenario| {
                let (run, entries, source, simulation) =
                    workers::run(&replay(scenario), scenario, library)?;
                self.keep(&simulation)?;
                let shares_memory = simulation.shares_memory();
                Ok(Done { run, shares_memory, entries, source })
            };
            if budget.is_some() {
                let message = "--budget is for the SQLite of flysch, without --sqlite".to_owned();
                return Err(Failure::Message(message));
            }
            let done: Result<Vec<Done>, Failure> = scenarios.iter().map(one).collect();
            return Ok((done?, Ok(())));
        }
        if let (Some(budget), [scenario]) = (budget, scenarios) {
            let (run, entries, simulation) =
                replay(scenario).run(scenario).map_err(|error| Failure::of(&error))?;
            self.keep(&simulation)?;
            let verdict = budget.judge(&simulation, &run);
            return Ok((vec![Done::own(run, entries, &simulation)], verdict));
        }
        let bar = progress::bar(scenarios.len() as u64, progress::RUNS);
        let one = |scenario: &Scenario| {
            let outcome = replay(scenario).run(scenario);
            bar.inc(1);
            if let Err(error @ ReplayError::NoSharedMemory) = &outcome
                && scenarios.len() > 1
            {
                tell(&format!("{}: {error}", scenario.stack));
                return Ok(None);
            }
            let (run, entries, simulation) = outcome.map_err(|error| Failure::of(&error))?;
            self.keep(&simulation)?;
            Ok(Some(Done::own(run, entries, &simulation)))
        };
        let done: Result<Vec<Option<Done>>, Failure> =
            scenarios.par_iter().with_max_len(1).map(one).collect();
        bar.finish_and_clear();
        let done: Vec<Done> = done?.into_iter().flatten().collect();
        if done.is_empty() {
            return Err(Failure::of(&ReplayError::NoSharedMemory));
        }
        Ok((done, Ok(())))
    }

    /// Write the databases that the replay left, if `--keep` is given.
    fn keep(&self, simulation: &Simulation) -> Result<(), Failure> {
        let Some(folder) = &self.keep else { return Ok(()) };
        let all = simulation.databases().map_err(|error| Failure::of(&error))?;
        fs::create_dir_all(folder).map_err(|error| Failure::of_file(folder, error))?;
        for (name, bytes) in all {
            output::write_file(&folder.join(name), &bytes, false)?;
        }
        Ok(())
    }

    /// Print which calls wrote other data than when they were recorded.
    fn compare(&self, recording: &Recording, done: &Done) -> Result<(), Failure> {
        let has_settings = !self.settings.given().is_empty();
        let differing = differences(recording, &done.entries);
        let about = &recording.about;
        let by = match (done.source.as_str(), about.source.as_str()) {
            ("", _) => "flysch's own SQLite".to_owned(),
            (source, recorded) if source == recorded => "the same SQLite".to_owned(),
            (source, _) => format!("another SQLite ({source})"),
        };
        let (count, all) = (differing.len(), recording.entries.len());
        if !has_settings {
            let version = &about.version;
            tell(&format!(
                "{count} of {all} calls differ from the recording of SQLite {version}, made by {by}"
            ));
            differing.iter().take(DIFFERENCES_MAX).for_each(|it| tell(&sentence(it)));
            if count > DIFFERENCES_MAX {
                tell("...; --differences writes all of them to a file");
            }
        }
        if let Some(path) = &self.differences {
            let columns = ["call", "what", "recorded_code", "code", "recorded_changes", "changes"];
            let rows = output::rows(&columns, &differing, output::Format::Csv);
            output::write_file(path, &rows, self.figures.force)?;
        }
        Ok(())
    }
}

fn sentence(it: &Difference) -> String {
    let Difference { what, recorded_code, code, recorded_changes, changes, .. } = it;
    if recorded_code != code {
        return format!("{what}: it ended with {code}, and with {recorded_code} when recorded");
    }
    format!("{what}: {changes} writes and syncs, {recorded_changes} when recorded")
}
