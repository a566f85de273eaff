//! Runs a recording on a simulated machine, with the bundled SQLite of this process.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use flysch_sqlite::calls::{Call, Entry};
use flysch_sqlite::{JournalMode, Library, Player};

use super::transactions::grouped;
use super::{Recording, Variant};
use crate::bench::RunError;
use crate::bench::run::Run;
use crate::bench::scenario::Scenario;
use crate::program::{Pace, Simulation};

/// Why a replay failed.
#[derive(Debug)]
pub enum ReplayError {
    Run(RunError),
    /// A statement of a script failed: its place, and SQLite's message.
    Statement(String),
    /// The stack cannot have a write-ahead log, because SQLite needs shared memory for it.
    NoSharedMemory,
    Sqlite(flysch_sqlite::Error),
}

impl fmt::Display for ReplayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Run(error) => error.fmt(f),
            Self::Statement(message) => f.write_str(message),
            Self::NoSharedMemory => {
                f.write_str("the journal mode wal is refused: the file system maps no file shared")
            }
            Self::Sqlite(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ReplayError {}

/// A recording, and how to replay it.
#[derive(Clone, Copy, Debug)]
pub struct Replay<'a> {
    pub recording: &'a Recording,
    /// The files that the databases begin with, by the databases' names on the machine.
    pub sources: &'a BTreeMap<String, PathBuf>,
    pub variant: Variant,
    /// Whether time passes as recorded while the program computes between calls.
    pub is_paced: bool,
}

impl Replay<'_> {
    /// Replay the recording on the machine of a scenario. Returns the figures, the calls with their
    /// results, and the machine.
    ///
    /// # Errors
    /// The stack cannot be built, or a statement of a script fails.
    pub fn run(&self, scenario: &Scenario) -> Result<(Run, Vec<Entry>, Simulation), ReplayError> {
        let simulation = self.simulation(scenario)?;
        let entries = self.play(&simulation, |_, _, _| {})?;
        let mut run = simulation.finish(scenario).map_err(ReplayError::Run)?;
        run.inputs.workload.clone_from(&self.recording.name);
        if !scenario.keeps_trace {
            run.forget_trace();
        }
        Ok((run, entries, simulation))
    }

    /// A machine on which the databases are as they were at the start of the recording.
    ///
    /// # Errors
    /// The stack cannot be built.
    pub fn simulation(&self, scenario: &Scenario) -> Result<Simulation, ReplayError> {
        let simulation = Simulation::new(scenario, Pace::None, None, false);
        let simulation = simulation.map_err(ReplayError::Run)?;
        simulation.begin_with(self.sources.clone());
        if self.recording.origin.started_ms > 0 {
            simulation.tell_time(self.recording.origin.started_ms);
        }
        Ok(simulation)
    }

    /// Replay all calls on a machine. `seen` is called after each.
    ///
    /// # Errors
    /// A statement of a script fails.
    pub fn play(
        &self,
        simulation: &Simulation,
        mut seen: impl FnMut(usize, &Entry, &mut Player<'_>),
    ) -> Result<Vec<Entry>, ReplayError> {
        let library = Library::bundled(simulation.shared_vfs()).map_err(ReplayError::Sqlite)?;
        let mut playing = Player::new(library, Some(simulation));
        let group = self.variant.group;
        let groups = (group > 1).then(|| grouped(&self.recording.entries, group));
        let mut ended = Vec::with_capacity(self.recording.entries.len());
        let mut folders: BTreeMap<u32, &str> = BTreeMap::new();
        for (place, entry) in self.recording.entries.iter().enumerate() {
            if let Call::Open { folder, .. } = &entry.call {
                folders.insert(entry.process, folder);
            }
            if let Some(folder) = folders.get(&entry.process) {
                simulation.stand_in(folder);
            }
            let mut code = 0;
            let own = groups.as_ref().map_or_else(|| vec![entry.clone()], |all| all[place].clone());
            let calls: Vec<Entry> = own.iter().flat_map(|entry| self.calls(entry)).collect();
            for (number, call) in calls.iter().enumerate() {
                if call.idle_ns > 0 {
                    playing.pass(call.idle_ns);
                }
                let outcome = playing.play(call);
                // The result is that of the program's own call. Further calls come from the
                // variant.
                code = if number == 0 { outcome.code } else { code };
                if outcome.code != 0 && self.recording.lines.is_some() {
                    let (place, message) = (self.recording.place(place), outcome.message);
                    return Err(ReplayError::Statement(format!("{place}: {message}")));
                }
            }
            if self.wants_log(entry) && !has_log(&mut playing, entry) {
                return Err(ReplayError::NoSharedMemory);
            }
            let changes = simulation.take_changes();
            let done = Entry { code, changes, ..entry.clone() };
            seen(place, &done, &mut playing);
            ended.push(done);
        }
        Ok(ended)
    }

    /// Whether a call opens a database that the variant switches to a write-ahead log.
    fn wants_log(&self, entry: &Entry) -> bool {
        let is_file = |name: &str| !name.is_empty() && !name.contains(":memory:");
        let opens = matches!(&entry.call, Call::Open { name, .. } if is_file(name));
        opens && self.variant.journal_mode == Some(JournalMode::Wal)
    }

    /// The calls to make for an entry: its own, and after the open of a database the PRAGMAs of the
    /// variant.
    pub fn calls(&self, entry: &Entry) -> Vec<Entry> {
        let mut own = entry.clone();
        if !self.is_paced {
            own.idle_ns = 0;
        }
        if let Call::Prepare { sql, .. } | Call::Execute { sql, .. } = &mut own.call
            && let Some(text) = self.variant.of_statement(&sql.0)
        {
            sql.0 = text;
        }
        let (settings, process) = (self.variant.at_open(), entry.process);
        match entry.call {
            Call::Open { connection, .. } if !settings.is_empty() => {
                let call = Call::Execute { connection, sql: settings.as_str().into() };
                vec![own, Entry::new(process, call)]
            }
            _ => vec![own],
        }
    }
}

/// Whether an opened database has a write-ahead log. Also true if the database could not be opened,
/// since that is another error.
fn has_log(player: &mut Player<'_>, entry: &Entry) -> bool {
    let Call::Open { connection, .. } = entry.call else { return true };
    let answer = player.ask(connection, "PRAGMA journal_mode").into_iter().next();
    answer.is_none_or(|mode| mode.is_empty() || mode == "wal")
}
