//! A scenario: one run, asked for in full, and how it is carried out.

use flysch_sqlite::Settings;

use super::run::Run;
use super::session::Session;
use super::site::{Simulated, Site};
use crate::machine::age::AgeError;
use crate::machine::power::Activity;
use crate::machine::stack::{Main, Stack};
use crate::machine::{Build, StackError};
use crate::workload::{Alphabet, Workload};

/// Everything a run depends on.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// What is asked for.
    pub workload: Workload,
    /// On what.
    pub stack: Stack,
    /// What the stack is built from.
    pub build: Build,
    /// SQLite's settings.
    pub settings: Settings,
    /// Read-ahead window of UBIFS, cache pages, where it is set by hand: its own is 0.
    pub ubifs_ra_pages: u32,
    /// Whether programs advise against read-ahead on each file they open (`posix_fadvise`).
    pub advises_random: bool,
    /// Bytes of the random string in each record; of other workloads, of each request.
    pub record_size: u32,
    /// Requests.
    pub requests: u32,
    /// What the strings are made of.
    pub alphabet: Alphabet,
    /// Records in each table before select, join and update.
    pub fill: u32,
    /// Seed of everything random.
    pub seed: u64,
    /// Whether the run keeps its trace: 32 bytes for each operation of the chip.
    pub keeps_trace: bool,
}

/// Why a run has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunError {
    /// The stack could not be built.
    Mount(StackError),
    /// The device could not be aged so.
    Age(AgeError),
    /// SQLite failed.
    Sqlite {
        /// What was under way.
        during: String,
        /// What SQLite says.
        message: String,
    },
    /// The kernel of a real machine, or a program that serves it, refuses.
    Kernel {
        /// What was under way.
        during: String,
        /// What was said.
        message: String,
    },
    /// The file system failed outside SQLite.
    FileSystem(flysch_linux::filesystem::FsError),
    /// What the requests left behind is not what it must be.
    Broken(String),
}

impl std::fmt::Display for RunError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Mount(error) => write!(f, "cannot mount: {error}"),
            Self::Age(error) => write!(f, "cannot age the device so: {error}"),
            Self::Sqlite { during, message } | Self::Kernel { during, message } => {
                write!(f, "at {during}: {message}")
            }
            Self::FileSystem(error) => write!(f, "file system: {error}"),
            Self::Broken(what) => f.write_str(what),
        }
    }
}

impl std::error::Error for RunError {}

impl From<StackError> for RunError {
    fn from(error: StackError) -> Self {
        Self::Mount(error)
    }
}

impl From<flysch_linux::filesystem::FsError> for RunError {
    fn from(error: flysch_linux::filesystem::FsError) -> Self {
        Self::FileSystem(error)
    }
}

/// What SQLite says, and what was under way.
pub(crate) fn sqlite_error(during: String) -> impl FnOnce(flysch_sqlite::Error) -> RunError {
    move |error| RunError::Sqlite { during, message: error.to_string() }
}

impl Scenario {
    /// Whether the kernel reads ahead.
    pub const fn reads_ahead(&self) -> bool {
        let ra_pages = match self.stack.main {
            Main::Ubifs => self.ubifs_ra_pages,
            Main::Jffs2 | Main::Yaffs2 | Main::Ftl => self.build.ra_pages,
            Main::Tmpfs => 0,
        };
        ra_pages > 0 && !self.advises_random
    }

    /// What its power depends on.
    pub const fn activity(&self) -> Activity {
        Activity {
            engine: self.stack.engine.name(),
            fs: self.stack.main.name(),
            pattern: self.workload.pattern().name(),
            reads_ahead: self.reads_ahead(),
        }
    }

    /// Carry the run out on a simulated machine.
    ///
    /// # Errors
    /// The stack could not be built, or SQLite failed: at which request is told.
    pub fn run(&self) -> Result<Run, RunError> {
        self.run_at(Box::new(Simulated::new(self)?))
    }

    /// Carry the run out at `site`.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn run_at(&self, site: Box<dyn Site>) -> Result<Run, RunError> {
        self.workload.carry_out(&Session::new(self, site))
    }

    /// What the machine and the files on it depend on before the first request: scenarios that agree
    /// in it may be carried out on one machine. None where the requests change the files, or the
    /// times in a trace are to be those of a machine of its own.
    pub(crate) fn preparation(&self) -> Option<Self> {
        let workload = self.workload.preparation().filter(|_| !self.keeps_trace)?;
        let record_size = if workload.is_micro() { self.record_size } else { 0 };
        let build = Build { ra_pages: 0, ..self.build.clone() };
        let any = Self { workload, build, record_size, requests: 0, ..self.clone() };
        Some(Self { ubifs_ra_pages: 0, advises_random: false, ..any })
    }
}

/// Carry out scenarios of one [`Scenario::preparation`] on one machine, all caches dropped before
/// each, with `finished` called after each.
pub(crate) fn run_in_turn(
    scenarios: &[&Scenario],
    finished: impl Fn(),
) -> Vec<Result<Run, RunError>> {
    let mut session: Option<Session<'_>> = None;
    let mut outcomes = Vec::with_capacity(scenarios.len());
    for &scenario in scenarios {
        // After a failure the next one begins on a new machine.
        let outcome = on_machine(session.take(), scenario);
        outcomes.push(outcome.map(|(used, run)| {
            session = Some(used);
            run
        }));
        finished();
    }
    outcomes
}

fn on_machine<'a>(
    session: Option<Session<'a>>,
    scenario: &'a Scenario,
) -> Result<(Session<'a>, Run), RunError> {
    let mut session = match session {
        Some(session) => session,
        None => Session::new(scenario, Box::new(Simulated::new(scenario)?)),
    };
    session.scenario = scenario;
    let run = scenario.workload.carry_out(&session)?;
    Ok((session, run))
}
