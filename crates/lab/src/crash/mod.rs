//! Tests what power cuts leave of a program's databases.
//!
//! A program runs once, and every change to the devices is recorded. For each cut, the changes
//! before it are applied to new devices, the power is cut during the next change, and the stack is
//! mounted again. SQLite then recovers each database, and the databases are checked.
//!
//! ```text
//! cut      where the power goes: a change, how it ends, and the same again while SQLite recovers
//! restore  the machine after a cut
//! uncut    the databases that the whole run left, which no cut has harmed
//! promise  what was acknowledged before a cut, and so has to be there
//! ```

mod cut;
mod promise;
mod restore;
mod uncut;

use std::collections::BTreeMap;
use std::ops::Range;

use flysch_chip::Change;
use flysch_sqlite::calls::Entry;
use rayon::prelude::*;

use crate::bench::RunError;
use crate::bench::scenario::Scenario;
use crate::program::{KeptRun, Simulation, Start};
use crate::recording::{Recording, Replay, ReplayError, Variant};

pub use cut::{Cut, CutError};
pub use restore::Survivor;

use promise::{EMPTY, Moments, Promises};
use restore::Restoration;

/// A run whose changes to the devices were recorded, so that it can be cut at each of them.
pub struct Incident {
    scenario: Scenario,
    changes: Vec<Change>,
    /// The changes by which database files were imported into the machine.
    imported: Vec<Range<usize>>,
    starts: Vec<Start>,
    promises: Promises,
    uncut: Files,
    shares_memory: bool,
}

/// A fault that was found after a cut.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Finding {
    /// The cut, as it is written on the command line.
    pub cut: String,
    pub what: String,
}

/// What a run left.
struct Left {
    kept: KeptRun,
    uncut: Files,
    /// Whether SQLite could have a write-ahead log.
    shares_memory: bool,
}

/// The files on the machine after a cut, by name.
pub type Files = BTreeMap<String, Vec<u8>>;

impl Incident {
    /// The run of a simulation that recorded its changes. `recording` holds the calls of SQLite
    /// that the program made in it.
    ///
    /// # Errors
    /// The recording cannot be replayed.
    pub fn of(
        simulation: &Simulation,
        recording: &Recording,
        scenario: &Scenario,
    ) -> Result<Self, RunError> {
        let (kept, uncut) = (simulation.take_kept(), uncut::recovered(simulation)?);
        let sources = recording.sources(&[]).map_err(RunError::Broken)?;
        let variant = Variant::default();
        let replay = Replay { recording, sources: &sources, variant, is_paced: false };
        let left = Left { kept, uncut, shares_memory: simulation.shares_memory() };
        let incident = Self::new(&replay, scenario, left);
        incident.map_err(|error| RunError::Broken(error.to_string()))
    }

    /// Replays a recording on the machine of a scenario and records the changes.
    ///
    /// # Errors
    /// The stack cannot be built, or a statement of a script fails.
    pub fn of_replay(replay: &Replay<'_>, scenario: &Scenario) -> Result<Self, ReplayError> {
        Self::new(replay, scenario, kept(replay, scenario)?)
    }

    fn new(
        replay: &Replay<'_>,
        scenario: &Scenario,
        Left { kept, uncut, shares_memory }: Left,
    ) -> Result<Self, ReplayError> {
        let moments = Moments { before: kept.before_calls, all: kept.changes.len() };
        Ok(Self {
            scenario: Scenario { keeps_trace: false, ..scenario.clone() },
            changes: kept.changes,
            imported: kept.imported,
            starts: replay.recording.databases.clone(),
            promises: Promises::of(replay, &moments, shares_memory)?,
            uncut,
            shares_memory,
        })
    }

    /// Every cut, except during the import of a database, which is not the work of a program.
    pub fn cuts(&self) -> Vec<Cut> {
        cut::every(self.changes.len(), &self.imported, self.scenario.seed)
    }

    /// `count` cuts, drawn by the seed.
    pub fn some_cuts(&self, count: usize) -> Vec<Cut> {
        cut::drawn(self.cuts(), count, self.scenario.seed)
    }

    /// Whether this change belongs to the import of a database.
    pub fn is_imported(&self, change: usize) -> bool {
        self.imported.iter().any(|range| range.contains(&change))
    }

    pub const fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// The databases that programs opened.
    pub fn databases(&self) -> &[Start] {
        &self.starts
    }

    /// Whether SQLite could have a write-ahead log.
    pub const fn shares_memory(&self) -> bool {
        self.shares_memory
    }

    /// The databases that the whole run left, without a cut.
    pub const fn uncut(&self) -> &Files {
        &self.uncut
    }

    /// Number of changes to the devices.
    pub fn change_count(&self) -> usize {
        self.changes.len()
    }

    /// Make each of these cuts, on all cores, and check what is left. In addition, `check` gets the
    /// files and returns what is wrong with them. `keep` gets the files of each finding. `done` is
    /// called after each cut.
    ///
    /// # Errors
    /// The stack cannot be built again.
    pub fn examine(
        &self,
        cuts: &[Cut],
        check: impl Fn(&Files) -> Option<String> + Sync,
        keep: impl Fn(&Cut, &Files) + Sync,
        done: impl Fn() + Sync,
    ) -> Result<Vec<Finding>, RunError> {
        // Each part of the cuts has its own machine, to which it applies the changes up to each cut
        // in turn.
        let size = cuts.len().div_ceil(rayon::current_num_threads() * 4).max(1);
        let parts: Result<Vec<Vec<Finding>>, RunError> = cuts
            .par_chunks(size)
            .map(|part| {
                let mut restoration = Restoration::new(&self.scenario)?;
                let mut findings = Vec::new();
                for cut in part {
                    restoration.advance(&self.changes, cut.at);
                    let survivor = restoration.survive(&self.changes, cut, &self.starts);
                    let what = self.verdict(cut, &survivor).or_else(|| check(&survivor.files));
                    if let Some(what) = what {
                        keep(cut, &survivor.files);
                        findings.push(Finding { cut: cut.to_string(), what });
                    }
                    done();
                }
                Ok(findings)
            })
            .collect();
        Ok(parts?.concat())
    }

    /// What is wrong after a cut. None if nothing is.
    fn verdict(&self, cut: &Cut, survivor: &Survivor) -> Option<String> {
        if let Some(failure) = &survivor.failure {
            return Some(failure.clone());
        }
        let found = survivor.digests.iter().map(|(name, digest)| (name.as_str(), *digest));
        // A missing database counts as an empty one.
        let due = self.promises.due(cut.at).map(|name| (name, Some(EMPTY)));
        let gone = due.filter(|(name, _)| !survivor.digests.contains_key(*name));
        let mut all = found.chain(gone);
        all.find_map(|(name, digest)| self.promises.broken(name, digest, cut.at))
    }
}

/// Replay a recording and record the changes to the devices.
fn kept(replay: &Replay<'_>, scenario: &Scenario) -> Result<Left, ReplayError> {
    let simulation = replay.simulation(scenario)?;
    simulation.keep_changes();
    let mut before = vec![0];
    replay.play(&simulation, |_, _, _| before.push(simulation.kept_count()))?;
    let kept = KeptRun { before_calls: before, ..simulation.take_kept() };
    let uncut = uncut::recovered(&simulation).map_err(ReplayError::Run)?;
    Ok(Left { kept, uncut, shares_memory: simulation.shares_memory() })
}

/// Whether a call may commit a transaction.
pub(crate) fn may_commit(entry: &Entry) -> bool {
    entry.changes.count > 0
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use flysch_sqlite::{JournalMode, Synchronous};

    use super::*;
    use crate::bench::grid::Grid;
    use crate::machine::platform::Platform;
    use crate::machine::stack::Stack;
    use crate::workload::Workload;

    /// Cut a script that uses a write-ahead log. It runs with `real`, but is judged by the promise
    /// of `declared`.
    fn findings(real: Synchronous, declared: Synchronous, is_checkpointed: bool) -> Vec<Finding> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("s.sql");
        let mut text = "CREATE TABLE t(id INTEGER PRIMARY KEY, x TEXT);\n".to_owned();
        for number in 0..60 {
            let value = number * 7919 % 1000;
            writeln!(text, "INSERT INTO t(x) VALUES('{value:0>60}');").unwrap();
            if is_checkpointed && number % 20 == 19 {
                text.push_str("PRAGMA wal_checkpoint;\n");
            }
        }
        std::fs::write(&file, text).unwrap();
        let recording = Recording::read(&file).unwrap();
        let sources = BTreeMap::new();
        let replay = |synchronous| Replay {
            recording: &recording,
            sources: &sources,
            variant: Variant {
                journal_mode: Some(JournalMode::Wal),
                synchronous: Some(synchronous),
                ..Variant::default()
            },
            is_paced: false,
        };
        let platform = Platform::named("nandsim-6.1").unwrap();
        let mut grid = Grid::new(Workload::Program, Stack::UBIFS, std::sync::Arc::new(platform));
        grid.axes.partition_blocks = vec![60];
        let scenario = grid.scenarios().pop().unwrap();
        let kept = kept(&replay(real), &scenario).unwrap();
        let incident = Incident::new(&replay(declared), &scenario, kept).unwrap();
        let mut cuts = incident.some_cuts(150);
        cuts.extend(incident.cuts().last());
        incident.examine(&cuts, |_| None, |_, _| {}, || {}).unwrap()
    }

    /// A file system that ignores syncs of the log loses what `full` promises, and this is found.
    /// What each mode really promises holds.
    #[test]
    fn syncs_of_a_log_that_are_dropped_are_found() {
        use Synchronous::{Full, Normal, Off};
        for (real, told) in [(Full, Full), (Normal, Normal)] {
            assert_eq!(findings(real, told, true), [], "{real}");
        }
        let lost = |all: &[Finding]| all.iter().any(|it| it.what.contains("are lost"));
        assert!(lost(&findings(Normal, Full, false)), "no sync after a transaction");
        assert!(lost(&findings(Off, Normal, true)), "no sync before a checkpoint");
    }
}
