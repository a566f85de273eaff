//! `flysch run`: a program of the user's, with its SQLite on a simulated stack.
//!
//! The program's output is its own. What flysch has to say goes to stderr when the program has
//! ended, or to a file. The exit code is the program's; if the program was content and flysch was
//! not, it is 2.

mod child;
mod folder;
mod obstacle;
mod session;
mod summary;

use std::ffi::OsString;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::ExitStatus;

use clap::ValueEnum;
use flysch_kernel::live::signals::Stop;
use flysch_lab::bench::run::Run;
use flysch_lab::machine::stack::{Engine, Stack};
use flysch_lab::program::{Pace, Simulation};
use flysch_lab::trace;
use flysch_sqlite::remote::{Folder, Server, Terms, Waits};

use crate::failure::Failure;
use crate::output;
use crate::parameters::Hardware;
use crate::progress::tell;
use child::{Program, with_shim};

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
    #[arg(long, value_name = "STACK", default_value_t = Stack::JFFS2, hide_default_value = true)]
    on: Stack,
    #[command(flatten)]
    hardware: Hardware,
    /// Time that the program takes for itself: as measured, or none, so that runs can be repeated
    #[arg(long, value_enum, value_name = "measured|none", default_value_t)]
    pace: PaceOption,
    /// The time that SQLite tells, in seconds since 1970; without it, that of the host
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(i64).range(0..=253_402_300_799))]
    now: Option<i64>,
    /// Write the databases to the host when the program has ended
    #[arg(long)]
    write_back: bool,
    #[command(flatten)]
    way: Way,
    #[command(flatten)]
    files: Files,
    /// The program and its arguments
    #[arg(last = true, required_unless_present = "serve", value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// How programs reach the machine, if not by the shim.
#[derive(Debug, clap::Args)]
struct Way {
    /// Run the program in a folder that is the simulated file system (FUSE), for programs without
    /// a shared SQLite. What the current folder holds is copied in when it is used
    #[arg(long)]
    fuse: bool,
    /// Serve programs that load the extension, instead of starting one. The first line on stdout
    /// names the folder of the machine
    #[arg(long, hide = true, conflicts_with_all = ["fuse", "command"])]
    serve: bool,
}

/// What is written to files.
#[derive(Debug, clap::Args)]
struct Files {
    /// Save each write, truncation and sync that SQLite asked for, one a line
    #[arg(long, value_name = "FILE")]
    calls: Option<PathBuf>,
    /// Save the trace of the run
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// File for the figures, beside the summary on stderr
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// How to print the figures to the file
    #[arg(long, value_enum, default_value_t)]
    format: FileFormat,
    /// Replace files that exist
    #[arg(long)]
    force: bool,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum PaceOption {
    /// As the host measured it.
    #[default]
    Measured,
    /// Only the machine's own work takes time.
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

/// What to do with a simulation in which a program has ended.
pub(crate) type Afterwards<'a> = &'a dyn Fn(&Simulation) -> Result<(), Failure>;

/// Run the program, then report.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    args.carry_out(None)
}

impl Args {
    /// Run the program, then report. If something is to be done with its calls in between, they are
    /// recorded.
    pub(crate) fn carry_out(&self, recorded: Option<Afterwards<'_>>) -> Result<(), Failure> {
        self.check()?;
        if let Some(why) = obstacle::foreseen(&self.command).filter(|_| !self.way.fuse) {
            return Err(Failure::Message(why));
        }
        let scenario = self.hardware.scenario(self.on)?;
        let root = if self.way.fuse { Some(folder::root()?) } else { None };
        let keeps_calls = self.files.calls.is_some();
        let simulation = Simulation::new(&scenario, self.pace.pace(), root.as_deref(), keeps_calls);
        let simulation = simulation.map_err(|error| Failure::of(&error))?;
        let status = if self.way.serve {
            self.serve_extensions(&simulation)?
        } else if self.way.fuse {
            folder::serve(&self.command, &simulation, scenario.build.partition_bytes())?
        } else {
            self.serve(&simulation, recorded.is_some())?
        };
        let afterwards = recorded.map_or(Ok(()), |recorded| recorded(&simulation));
        let own = self.report(&simulation, simulation.finish(&scenario)).and(afterwards);
        conclude(&self.command, status, own)
    }

    /// The program and its arguments.
    pub(crate) fn command(&self) -> Vec<String> {
        self.command.iter().map(|word| word.display().to_string()).collect()
    }

    /// The stack.
    pub(crate) const fn stack(&self) -> Stack {
        self.on
    }

    /// The time that SQLite tells, if it is fixed, in seconds since 1970.
    pub(crate) const fn now(&self) -> Option<i64> {
        self.now
    }

    /// Whether the program runs in a mounted folder, where nobody knows what it asks.
    pub(crate) const fn is_mounted(&self) -> bool {
        self.way.fuse
    }

    /// Whether files that exist may be replaced.
    pub(crate) const fn may_replace(&self) -> bool {
        self.files.force
    }
}

impl PaceOption {
    const fn pace(self) -> Pace {
        match self {
            Self::Measured => Pace::Measured,
            Self::None => Pace::None,
        }
    }
}

impl Args {
    fn check(&self) -> Result<(), Failure> {
        if self.on.engine != Engine::Sqlite {
            return Err(Failure::Message(format!(
                "--on {}: a program brings SQLite, so a stack is named sqlite/jffs2 and the like",
                self.on
            )));
        }
        if matches!(self.files.format, FileFormat::Json) && self.files.out.is_none() {
            let message = "--format json needs --out FILE: stdout is the program's";
            return Err(Failure::Message(message.to_owned()));
        }
        let mut files = self.files.out.iter().chain(&self.files.trace).chain(&self.files.calls);
        files.try_for_each(|path| output::check_writable(path, self.files.force))
    }

    /// Start the program and serve it until it has ended.
    fn serve(
        &self,
        simulation: &Simulation,
        is_recorded: bool,
    ) -> Result<Option<ExitStatus>, Failure> {
        let stop = Stop::on_signals().map_err(|error| Failure::of(&error))?;
        let folder = Folder::create().map_err(|error| unserved(&error))?;
        let mut server = self.server(&folder, simulation, is_recorded)?;
        let (bell, ringer) = UnixStream::pair().map_err(|error| unserved(&error))?;
        let mut program = Program::start(with_shim(&self.command, &folder)?, ringer);
        let outcome = server.serve(&bell, &mut || program.waits(&stop));
        outcome.map_err(|error| unserved(&error))?;
        let status = program.ended()?;
        if simulation.database_count() == 0 && status.is_some_and(|it| it.success()) {
            tell(&obstacle::explain(&self.command, server.client_count() > 0));
        }
        Ok(status)
    }

    fn server<'a>(
        &self,
        folder: &'a Folder,
        simulation: &'a Simulation,
        is_recorded: bool,
    ) -> Result<Server<'a>, Failure> {
        let is_seeded = matches!(self.pace, PaceOption::None);
        let now_ms = self.now.map(|seconds| seconds * 1000);
        let server = Server::new(folder, simulation, Terms { is_seeded, is_recorded, now_ms });
        server.map_err(|error| unserved(&error))
    }

    /// Serve programs that load the extension, until the last of them has gone.
    fn serve_extensions(&self, simulation: &Simulation) -> Result<Option<ExitStatus>, Failure> {
        let stop = Stop::on_signals().map_err(|error| Failure::of(&error))?;
        let folder = Folder::create().map_err(|error| unserved(&error))?;
        let mut server = self.server(&folder, simulation, false)?;
        let (bell, _ringer) = UnixStream::pair().map_err(|error| unserved(&error))?;
        output::print(format!("{}\n", folder.path().display()).as_bytes())?;
        let mut waits = || if stop.is_wanted() { Waits::Nothing } else { Waits::Visitors };
        let outcome = server.serve(&bell, &mut waits);
        outcome.map_err(|error| unserved(&error))?;
        Ok(None)
    }

    /// Write everything that was asked for, whatever of it fails. The first failure is returned.
    fn report(
        &self,
        simulation: &Simulation,
        run: Result<Run, flysch_lab::bench::RunError>,
    ) -> Result<(), Failure> {
        let run = run.map_err(|error| Failure::of(&error))?;
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
            summary::show(&text);
        }
        outcome = outcome.and(self.write_files(simulation, &run, &text));
        if self.write_back {
            let written = simulation.write_back();
            outcome = outcome.and(written.map(drop).map_err(|error| Failure::of(&error)));
        }
        outcome
    }

    fn write_files(&self, simulation: &Simulation, run: &Run, text: &str) -> Result<(), Failure> {
        if let Some(path) = &self.files.calls {
            output::write_file(path, simulation.calls().as_bytes(), self.files.force)?;
        }
        if let Some(path) = &self.files.trace {
            trace::save(&run.trace, path, self.files.force)
                .map_err(|error| Failure::of_file(path, error))?;
        }
        let Some(path) = &self.files.out else { return Ok(()) };
        let bytes = match self.files.format {
            FileFormat::Table => text.as_bytes().to_vec(),
            FileFormat::Json => output::json(run),
        };
        output::write_file(path, &bytes, self.files.force)
    }
}

fn unserved(error: &std::io::Error) -> Failure {
    Failure::Message(format!("cannot serve the program: {error}"))
}

/// The exit code: the program's if it failed, else flysch's own.
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
