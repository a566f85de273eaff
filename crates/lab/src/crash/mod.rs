//! What power cuts leave of a program's databases.
//!
//! A program runs once, and all changes of the devices are kept. For a cut, the devices are brought
//! to the moment before a change, the power goes during it, and the stack is mounted again. Then
//! SQLite recovers each database on that machine, and the databases are looked at.
//!
//! ```text
//! cut      where the power goes: a change, how it ends, and the same again while SQLite recovers
//! restore  the machine after a cut
//! promise  what was acknowledged before a cut, and so has to be there
//! ```

mod cut;
mod promise;
mod restore;

use std::collections::BTreeMap;

use flysch_chip::Change;
use flysch_sqlite::calls::Entry;
use rayon::prelude::*;

use crate::bench::RunError;
use crate::bench::scenario::Scenario;
use crate::program::{Simulation, Start};
use crate::recording::{Recording, Replay, ReplayError, Variant};

pub use cut::{Cut, CutError, drawn, every};
pub use restore::Survivor;

use promise::{Moments, Promises};
use restore::Restoration;

/// A run of a program whose changes were kept.
pub struct Incident {
    scenario: Scenario,
    changes: Vec<Change>,
    starts: Vec<Start>,
    promises: Promises,
}

/// What a cut left that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Finding {
    /// The cut, as the command line spells it.
    pub cut: String,
    pub what: String,
}

/// Files after a cut, by their names on the machine.
pub type Files = BTreeMap<String, Vec<u8>>;

impl Incident {
    /// What happened in a simulation that kept its changes, and whose calls were told.
    ///
    /// # Errors
    /// The recording cannot be replayed.
    pub fn of(
        simulation: &Simulation,
        recording: &Recording,
        scenario: &Scenario,
    ) -> Result<Self, RunError> {
        let (changes, before) = simulation.take_kept();
        let sources = recording.sources(&[]).map_err(RunError::Broken)?;
        let variant = Variant::default();
        let replay = Replay { recording, sources: &sources, variant, is_paced: false };
        let moments = Moments { before, all: changes.len() };
        let promises =
            Promises::of(&replay, &moments).map_err(|error| RunError::Broken(error.to_string()))?;
        Ok(Self::new(scenario, changes, recording, promises))
    }

    /// What happens if a recording runs on the machine of a scenario.
    ///
    /// # Errors
    /// The stack cannot be built, or a statement of a script fails.
    pub fn of_replay(replay: &Replay<'_>, scenario: &Scenario) -> Result<Self, ReplayError> {
        let simulation = replay.simulation(scenario)?;
        simulation.keep_changes();
        let mut before = vec![0];
        replay.play(&simulation, |_, _, _| before.push(simulation.kept_count()))?;
        let (changes, _) = simulation.take_kept();
        let moments = Moments { before, all: changes.len() };
        let promises = Promises::of(replay, &moments)?;
        Ok(Self::new(scenario, changes, replay.recording, promises))
    }

    fn new(
        scenario: &Scenario,
        changes: Vec<Change>,
        recording: &Recording,
        promises: Promises,
    ) -> Self {
        let scenario = Scenario { keeps_trace: false, ..scenario.clone() };
        Self { scenario, changes, starts: recording.databases.clone(), promises }
    }

    /// The machine that is cut.
    pub const fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// Number of changes of the devices.
    pub fn change_count(&self) -> usize {
        self.changes.len()
    }

    /// Cut the power at each of these places, on all cores, and look at what is left. `check` looks
    /// at the files too, and says what is wrong with them. `done` is called after each cut.
    ///
    /// # Errors
    /// The stack cannot be built anew.
    pub fn examine(
        &self,
        cuts: &[Cut],
        check: impl Fn(&Cut, &Files) -> Option<String> + Sync,
        done: impl Fn() + Sync,
    ) -> Result<Vec<Finding>, RunError> {
        // Each part begins with a new machine and makes the changes up to its cuts.
        let size = cuts.len().div_ceil(rayon::current_num_threads() * 4).max(1);
        let parts: Result<Vec<Vec<Finding>>, RunError> = cuts
            .par_chunks(size)
            .map(|part| {
                let mut restoration = Restoration::new(&self.scenario)?;
                let mut findings = Vec::new();
                for cut in part {
                    restoration.advance(&self.changes, cut.at);
                    let survivor = restoration.survive(&self.changes, cut, &self.starts);
                    let what = self.verdict(cut, &survivor).or_else(|| check(cut, &survivor.files));
                    let cut = cut.to_string();
                    findings.extend(what.map(|what| Finding { cut, what }));
                    done();
                }
                Ok(findings)
            })
            .collect();
        Ok(parts?.concat())
    }

    /// What is wrong with what a cut left, if anything is.
    fn verdict(&self, cut: &Cut, survivor: &Survivor) -> Option<String> {
        if let Some(failure) = &survivor.failure {
            return Some(failure.clone());
        }
        survivor
            .digests
            .iter()
            .find_map(|(name, digest)| self.promises.broken(name, *digest, cut.at))
    }
}

/// Whether a call is one that may end a transaction.
pub(crate) fn may_commit(entry: &Entry) -> bool {
    entry.changes.count > 0
}
