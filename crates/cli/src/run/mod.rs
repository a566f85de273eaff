//! `flysch run`: runs a program of the user with its SQLite on a simulated stack.
//!
//! The program's output is not changed. When the program has ended, flysch writes its own output to
//! stderr or to a file. The exit code is that of the program. If the program succeeds and flysch
//! fails, it is that of the failure, such as 2.

mod child;
mod folder;
mod obstacle;
mod session;
mod summary;

use std::ffi::OsString;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use clap::ValueEnum;
use flysch_kernel::live::signals::Stop;
use flysch_lab::bench::RunError;
use flysch_lab::bench::run::Run;
use flysch_lab::bench::scenario::Scenario;
use flysch_lab::machine::stack::{Engine, Stack};
use flysch_lab::program::{Pace, Simulation};
use flysch_sqlite::remote::{Folder, Server, Terms, Waits};

use crate::failure::Failure;
use crate::limits::{BudgetOptions, Held};
use crate::output;
use crate::parameters::{Hardware, SqliteOptions};
use crate::progress::{show, tell};
use crate::provenance::save_trace;
use child::{Program, with_shim};
pub(crate) use obstacle::program_file;

/// Arguments of `flysch run`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  flysch run -- python3 app.py
  flysch run --on sqlite/ubifs --out run.json --format json -- sqlite3 app.db 'VACUUM'
  flysch run --on sqlite/ftl --platform apf27-2.6.29 --write-back -- ./app
  flysch run --fuse --on sqlite/ubifs -- ./server   # a program without a shared SQLite
  flysch run --pace none --now 1700000000 --trace app.trace -- python3 app.py && flysch trace app.trace causes")]
pub(crate) struct Args {
    /// Stack of SQLite: sqlite/jffs2, sqlite/ubifs, sqlite/ftl, sqlite/tmpfs, ... [default:
    /// sqlite/jffs2]
    #[arg(long, value_name = "STACK")]
    on: Option<Stack>,
    #[command(flatten)]
    hardware: Hardware,
    /// Time that the program computes between calls: as measured, or none, which makes runs
    /// repeatable [default: measured; with a budget, none]
    #[arg(long, value_enum, value_name = "measured|none")]
    pace: Option<PaceOption>,
    /// Constant time that SQLite gives the program, in seconds since 1970 [default: the host's
    /// clock]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(i64).range(0..=253_402_300_799))]
    now: Option<i64>,
    /// Copy the databases back to the host when the program has ended
    #[arg(long)]
    write_back: bool,
    #[command(flatten)]
    budget: BudgetOptions,
    #[command(flatten)]
    way: Way,
    #[command(flatten)]
    files: Files,
    /// The program and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// How the program reaches the machine, if not by the shim.
#[derive(Debug, clap::Args)]
struct Way {
    /// Run the program in a folder that is the simulated file system (FUSE), for programs whose
    /// SQLite is not a shared library. Files of the current folder are copied to it when they are
    /// used
    #[arg(long)]
    fuse: bool,
    /// Wait for programs that load the extension, instead of starting one. The first line on stdout
    /// names the folder of the machine
    #[arg(long, hide = true, conflicts_with_all = ["fuse", "command"])]
    serve: bool,
}

/// The files that are written.
#[derive(Debug, clap::Args)]
struct Files {
    /// Save the list of SQLite's writes, truncations and syncs, one in each line
    #[arg(long, value_name = "FILE")]
    calls: Option<PathBuf>,
    /// Save the trace of the run
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// File for the figures, in addition to the summary on stderr
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// How to print the figures to the file
    #[arg(long, value_enum, default_value_t)]
    format: FileFormat,
    /// Replace existing files
    #[arg(long)]
    force: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum PaceOption {
    /// As the host measured it.
    Measured,
    /// No time: only the work of the machine takes time.
    None,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum FileFormat {
    /// The summary.
    #[default]
    Table,
    /// One object with all fields.
    Json,
}

/// How a program is run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Mode {
    /// Whether its calls of SQLite are recorded.
    pub(crate) is_recorded: bool,
    pub(crate) repeat: Repeat,
}

/// Whether the run must be repeatable: then neither the time that the program computes nor the
/// host's clock has an effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Repeat {
    #[default]
    No,
    Same,
    /// The run is repeatable, and all changes to the devices are recorded.
    SameWithChanges,
}

impl Mode {
    fn is_repeatable(self) -> bool {
        self.repeat != Repeat::No
    }
}

/// A program that has ended, and the machine that it used.
pub(crate) struct Simulated {
    pub(crate) simulation: Simulation,
    pub(crate) scenario: Scenario,
    pub(crate) status: Option<ExitStatus>,
    /// Whether a failure remained unknown to it.
    pub(crate) unreported: Unreported,
}

/// Whether a change to a file failed without the program learning of it before it ended.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Unreported(bool);

impl Unreported {
    const fn of(server: &Server<'_>) -> Self {
        Self(server.uninformed_count() > 0)
    }

    /// An error if there was such a failure.
    pub(crate) fn check(self) -> Result<(), Failure> {
        if self.0 {
            let what = "a change of a file failed, and the program ended before it was told";
            return Err(Failure::Message(what.to_owned()));
        }
        Ok(())
    }
}

/// The time that programs are given in repeatable runs: 2023-11-14, in seconds since 1970.
const REPEATED_NOW: i64 = 1_700_000_000;

/// How the program ended, and whether a failure remained unknown to it.
type Served = (Option<ExitStatus>, Unreported);

/// Called with the simulation after the program has ended.
pub(crate) type Afterwards<'a> = &'a dyn Fn(&Simulation) -> Result<(), Failure>;

/// Run the program, then report.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    args.carry_out(None, &args.budget)
}

impl Args {
    /// Run the program, then report. With `recorded`, its calls of SQLite are recorded and passed
    /// to `recorded` before the report.
    pub(crate) fn carry_out(
        &self,
        recorded: Option<Afterwards<'_>>,
        budget: &BudgetOptions,
    ) -> Result<(), Failure> {
        output::check_distinct(self.outputs().chain(budget.replaced()))?;
        budget.refuse_pace(self.asks_for_time().then_some("measured"))?;
        let budget = budget.read()?;
        if budget.is_some() && self.way.fuse {
            self.check_repeatable()?;
        }
        let mode = Mode {
            is_recorded: recorded.is_some(),
            repeat: if budget.is_some() { Repeat::Same } else { Repeat::No },
        };
        let Simulated { simulation, scenario, status, unreported } = self.simulate(mode)?;
        let afterwards = recorded.map_or(Ok(()), |recorded| recorded(&simulation));
        let is_whole = unreported.check();
        let writes_back = self.write_back && is_whole.is_ok();
        let finished = (simulation.finish(&scenario), writes_back);
        let own = self.report(&simulation, finished, budget.as_ref());
        self.conclude(status, is_whole.and(own).and(afterwards))
    }

    /// Run the program to its end.
    pub(crate) fn simulate(&self, mode: Mode) -> Result<Simulated, Failure> {
        self.check()?;
        if let Some(why) = obstacle::foreseen(&self.command).filter(|_| !self.way.fuse) {
            return Err(Failure::Message(why));
        }
        let scenario = self.hardware.scenario(self.stack())?;
        let root = if self.way.fuse { Some(folder::root()?) } else { None };
        let keeps_calls = self.files.calls.is_some();
        let pace = if mode.is_repeatable() { Pace::None } else { self.pace() };
        let simulation = Simulation::new(&scenario, pace, root.as_deref(), keeps_calls);
        let simulation = simulation.map_err(|error| Failure::of(&error))?;
        if mode.repeat == Repeat::SameWithChanges {
            simulation.keep_changes();
        }
        let (status, unreported) = if self.way.serve {
            self.serve_extensions(&simulation, mode)?
        } else if self.way.fuse {
            let bytes = scenario.build.partition_bytes();
            (folder::serve(&self.command, &simulation, bytes)?, Unreported::default())
        } else {
            self.serve(&simulation, mode)?
        };
        Ok(Simulated { simulation, scenario, status, unreported })
    }

    /// The exit code: the program's if it failed, otherwise flysch's own.
    pub(crate) fn conclude(
        &self,
        status: Option<ExitStatus>,
        own: Result<(), Failure>,
    ) -> Result<(), Failure> {
        conclude(&self.command, status, own)
    }

    /// Remove a word and all words after it from the program's arguments. Returns the words after
    /// it.
    pub(crate) fn split_off(&mut self, word: &str) -> Option<Vec<OsString>> {
        let at = self.command.iter().position(|argument| argument == word)?;
        let rest = self.command.split_off(at);
        Some(rest[1..].to_vec())
    }

    /// Run the program and check its costs against a budget.
    pub(crate) fn carry_out_within(&self, budget: &Path) -> Result<(), Failure> {
        self.carry_out(None, &self.budget.of(budget)?)
    }

    /// The program and its arguments.
    pub(crate) fn command(&self) -> Vec<String> {
        self.command.iter().map(|word| word.display().to_string()).collect()
    }

    pub(crate) const fn budget(&self) -> &BudgetOptions {
        &self.budget
    }

    pub(crate) fn stack(&self) -> Stack {
        self.on.unwrap_or(Stack::JFFS2)
    }

    /// The stack that the user set.
    pub(crate) const fn given_stack(&self) -> Option<Stack> {
        self.on
    }

    pub(crate) const fn hardware(&self) -> &Hardware {
        &self.hardware
    }

    /// The first option given that asks for an output of the run.
    pub(crate) const fn outcome_option(&self) -> Option<&'static str> {
        let Files { calls, trace, out, .. } = &self.files;
        match () {
            () if self.write_back => Some("--write-back"),
            () if self.budget.is_given() => Some("--budget"),
            () if calls.is_some() => Some("--calls"),
            () if trace.is_some() => Some("--trace"),
            () if out.is_some() => Some("--out"),
            () => None,
        }
    }

    /// The constant time that programs are given, in seconds since 1970. None if they are given the
    /// host's.
    pub(crate) fn seconds_now(&self, mode: Mode) -> Option<i64> {
        self.now.or(mode.is_repeatable().then_some(REPEATED_NOW))
    }

    /// Whether the program runs in a mounted folder, so that its calls of SQLite are not known.
    pub(crate) const fn is_mounted(&self) -> bool {
        self.way.fuse
    }

    /// The files that the run writes.
    pub(crate) fn outputs(&self) -> impl Iterator<Item = &PathBuf> {
        self.files.out.iter().chain(&self.files.trace).chain(&self.files.calls)
    }

    /// Whether existing files may be replaced.
    pub(crate) const fn may_replace(&self) -> bool {
        self.files.force
    }
}

impl Args {
    /// Whether the user asks that the program's own time passes.
    pub(crate) fn asks_for_time(&self) -> bool {
        self.pace == Some(PaceOption::Measured)
    }

    const fn pace(&self) -> Pace {
        match self.pace {
            None | Some(PaceOption::Measured) => Pace::Measured,
            Some(PaceOption::None) => Pace::None,
        }
    }

    fn check(&self) -> Result<(), Failure> {
        if self.command.is_empty() && !self.way.serve {
            return Err(Failure::Message("a program is missing; it stands behind --".to_owned()));
        }
        if self.stack().engine != Engine::Sqlite {
            return Err(Failure::Message(format!(
                "--on {}: a program brings SQLite, so a stack is named sqlite/jffs2 and the like",
                self.stack()
            )));
        }
        if matches!(self.files.format, FileFormat::Json) && self.files.out.is_none() {
            let message = "--format json needs --out FILE: stdout is the program's";
            return Err(Failure::Message(message.to_owned()));
        }
        self.outputs().try_for_each(|path| output::check_writable(path, self.files.force))
    }

    /// Refuse a budget of a program with its own SQLite where the counts of its runs differ: random
    /// numbers that the SQLite draws are in its files.
    fn check_repeatable(&self) -> Result<(), Failure> {
        if !self.hardware.scenario(self.stack())?.compresses() {
            return Ok(());
        }
        Err(Failure::Message(format!(
            "--budget with --fuse: the program's SQLite draws its own random numbers, and {} \
             compresses them to sizes that differ; --compression none makes runs repeatable",
            self.stack()
        )))
    }

    /// Start the program and serve it until it has ended.
    fn serve(&self, simulation: &Simulation, mode: Mode) -> Result<Served, Failure> {
        let stop = Stop::on_signals().map_err(|error| Failure::of(&error))?;
        let folder = Folder::create().map_err(|error| unserved(&error))?;
        let mut server = self.server(&folder, simulation, mode)?;
        let (bell, ringer) = UnixStream::pair().map_err(|error| unserved(&error))?;
        let mut program = Program::start(with_shim(&self.command, &folder)?, ringer);
        let outcome = server.serve(&bell, &mut || program.waits(&stop));
        outcome.map_err(|error| unserved(&error))?;
        let status = program.ended()?;
        if simulation.database_count() == 0 && status.is_some_and(|it| it.success()) {
            tell(&obstacle::explain(&self.command, server.client_count() > 0));
        }
        Ok((status, Unreported::of(&server)))
    }

    fn server<'a>(
        &self,
        folder: &'a Folder,
        simulation: &'a Simulation,
        mode: Mode,
    ) -> Result<Server<'a>, Failure> {
        let is_recorded = mode.is_recorded;
        let is_seeded = mode.is_repeatable() || self.pace() == Pace::None;
        let now_ms = self.seconds_now(mode).map(|seconds| seconds * 1000);
        let server = Server::new(folder, simulation, Terms { is_seeded, is_recorded, now_ms });
        server.map_err(|error| unserved(&error))
    }

    /// Serve programs that load the extension, until the last of them has ended.
    fn serve_extensions(&self, simulation: &Simulation, mode: Mode) -> Result<Served, Failure> {
        let stop = Stop::on_signals().map_err(|error| Failure::of(&error))?;
        let folder = Folder::create().map_err(|error| unserved(&error))?;
        let mut server = self.server(&folder, simulation, mode)?;
        let (bell, _ringer) = UnixStream::pair().map_err(|error| unserved(&error))?;
        output::print(format!("{}\n", folder.path().display()).as_bytes())?;
        let mut waits = || if stop.is_wanted() { Waits::Nothing } else { Waits::Visitors };
        let outcome = server.serve(&bell, &mut waits);
        outcome.map_err(|error| unserved(&error))?;
        Ok((None, Unreported::of(&server)))
    }

    /// Write all outputs, even if one of them fails. The first failure is returned.
    fn report(
        &self,
        simulation: &Simulation,
        (run, writes_back): (Result<Run, RunError>, bool),
        budget: Option<&Held>,
    ) -> Result<(), Failure> {
        let mut run = run.map_err(|error| Failure::of(&error))?;
        SqliteOptions::default().forget_defaults(std::slice::from_mut(&mut run));
        let mut outcome = Ok(());
        for note in simulation.notes() {
            let message = format!("{} {}", note.path.display(), note.what);
            if note.is_failure {
                outcome = outcome.and(Err(Failure::Message(message)));
            } else {
                tell(&message);
            }
        }
        let text = summary::text(&run);
        if simulation.database_count() > 0 || self.way.fuse {
            show(&text);
        }
        outcome = outcome.and(self.write_files(simulation, &mut run, &text));
        if let Some(budget) = budget {
            outcome = outcome.and(budget.judge(simulation, &run));
        }
        if writes_back {
            let written = simulation.write_back();
            outcome = outcome.and(written.map(drop).map_err(|error| Failure::of(&error)));
        }
        outcome
    }

    fn write_files(
        &self,
        simulation: &Simulation,
        run: &mut Run,
        text: &str,
    ) -> Result<(), Failure> {
        let Files { calls, trace, out, force, .. } = &self.files;
        let mut outcome = Ok(());
        if let Some(path) = calls {
            outcome = output::write_file(path, simulation.calls().as_bytes(), *force);
        }
        if let Some(path) = trace {
            outcome = outcome.and(save_trace(&mut run.trace, path, *force));
        }
        if let Some(path) = out {
            let bytes = match self.files.format {
                FileFormat::Table => text.as_bytes().to_vec(),
                FileFormat::Json => output::json(run),
            };
            outcome = outcome.and(output::write_file(path, &bytes, *force));
        }
        outcome
    }
}

fn unserved(error: &std::io::Error) -> Failure {
    Failure::Message(format!("cannot serve the program: {error}"))
}

/// The exit code: the program's if it failed, otherwise flysch's own.
fn conclude(
    command: &[OsString],
    status: Option<ExitStatus>,
    own: Result<(), Failure>,
) -> Result<(), Failure> {
    use std::os::unix::process::ExitStatusExt;
    let Some(status) = status.filter(|status| !status.success()) else { return own };
    if let Err(failure) = own {
        tell(&failure.to_string());
    }
    if let Some(signal) = status.signal() {
        let name = command.first().map(|name| name.display().to_string()).unwrap_or_default();
        tell(&format!("{name} was ended by signal {signal}"));
        return Err(Failure::Program(u8::try_from(128 + signal).unwrap_or(u8::MAX)));
    }
    Err(Failure::Program(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(2)))
}
