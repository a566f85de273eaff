//! Restores the machine after a cut: its devices as they were at that moment, mounted, with the
//! databases recovered.

use std::collections::BTreeMap;
use std::rc::Rc;

use flysch_chip::{
    Change, Chip, Clock, Ending, FaultInjector, FaultPlan, Pram, Recorder, Shared, Tracer,
};
use flysch_sqlite::{Database, Value, Vfs};

use super::promise::digest;
use super::{Cut, Files};
use crate::bench::RunError;
use crate::bench::scenario::Scenario;
use crate::machine::{Device, Machine, Memory};
use crate::program::{Pace, Simulation, Start, files_of, read_file};

/// Devices to which the changes of a run are applied step by step.
pub(super) struct Restoration<'a> {
    scenario: &'a Scenario,
    chip: FaultInjector,
    pram: Pram,
    /// Number of changes applied so far.
    done: usize,
}

/// The state of a machine after a cut and the recovery.
#[derive(Debug, Default)]
pub struct Survivor {
    pub(super) files: Files,
    /// The checksum of each database, by its name. None if it cannot be read.
    pub(super) digests: BTreeMap<String, Option<u32>>,
    /// Why the stack or a database is unusable. None if all can be used.
    pub(super) failure: Option<String>,
}

impl<'a> Restoration<'a> {
    /// The devices as they were before the first change of a run.
    pub(super) fn new(scenario: &'a Scenario) -> Result<Self, RunError> {
        let simulation = Simulation::new(scenario, Pace::None, None, false)?;
        let machine = simulation.machine();
        let chip = machine.device.borrow().device().chip().fork(Clock::new());
        let pram = machine.pram.borrow().device().fork(Clock::new());
        Ok(Self { scenario, chip: FaultInjector::on_supply(chip, pram.supply()), pram, done: 0 })
    }

    /// Apply the changes before number `at`.
    pub(super) fn advance(&mut self, changes: &[Change], at: usize) {
        assert!(self.done <= at, "cuts are in order");
        for change in &changes[self.done..at.min(changes.len())] {
            change.apply(&mut self.chip, &mut self.pram);
        }
        self.done = at;
    }

    /// Cut the power during the next change, mount the devices, and recover the databases.
    pub(super) fn survive(&self, changes: &[Change], cut: &Cut, starts: &[Start]) -> Survivor {
        let (chip, mut pram) = (self.chip.chip().fork(Clock::new()), self.pram.fork(Clock::new()));
        let mut injector = FaultInjector::on_supply(chip, pram.supply());
        let seed = self.scenario.seed ^ cut.at as u64;
        pram.reseed(seed.rotate_left(8) ^ cut.ending as u64);
        if let Some(change) = changes.get(cut.at) {
            let plan = FaultPlan {
                seed,
                cut_at: Some(0),
                ending: Some(cut.ending),
                ..FaultPlan::default()
            };
            injector.arm(plan);
            let is_done = change.apply(&mut injector, &mut pram);
            assert!(!is_done, "the power went");
        }
        let mut left = (injector.into_chip(), pram);
        if let Some((at, ending)) = cut.again {
            left = self.recover(left, Some((at, ending, seed)), starts).1;
        }
        self.recover(left, None, starts).0
    }

    /// Mount the devices and recover the databases. With `again`, the power is cut during the
    /// recovery.
    fn recover(
        &self,
        (chip, pram): (Chip, Pram),
        again: Option<(u64, Ending, u64)>,
        starts: &[Start],
    ) -> (Survivor, (Chip, Pram)) {
        let clock = Clock::new();
        let recorder = Recorder::new(clock.clone(), "sqlite");
        let mut pram = pram.fork(clock.clone());
        let mut injector = FaultInjector::on_supply(chip.fork(clock), pram.supply());
        if let Some((at, ending, seed)) = again {
            pram.reseed(seed.rotate_left(16) ^ at ^ ending as u64);
            let (cut_at_change, ending) = (Some(at), Some(ending));
            injector.arm(FaultPlan { seed, cut_at_change, ending, ..FaultPlan::default() });
        }
        let pram: Memory = Shared::new(Tracer::new(pram, recorder.clone()));
        let device: Device = Shared::new(Tracer::new(injector, recorder.clone()));
        let Scenario { build, stack, .. } = self.scenario;
        let survivor = match build.mount(*stack, device.clone(), pram.clone(), recorder) {
            Ok(machine) => self.look(&machine, starts),
            Err(error) => Survivor { failure: Some(error.to_string()), ..Survivor::default() },
        };
        let chip = device.borrow().device().chip().fork(Clock::new());
        let pram = pram.borrow().device().fork(Clock::new());
        (survivor, (chip, pram))
    }

    /// Let SQLite recover each database, check it, and read its files.
    fn look(&self, machine: &Machine, starts: &[Start]) -> Survivor {
        let storage = machine.storage(self.scenario.settings, self.scenario.seed);
        let vfs = files_of(storage, machine, starts);
        let mut survivor = Survivor::default();
        for start in starts {
            match recovered(&vfs, &start.path) {
                Ok(None) => {}
                Ok(Some((verdict, digest))) if verdict == "ok" => {
                    survivor.digests.insert(start.name.clone(), digest);
                }
                Ok(Some((verdict, _))) => {
                    let why = format!("{}: integrity_check: {verdict}", start.name);
                    survivor.failure.get_or_insert(why);
                }
                Err(error) => {
                    survivor.failure.get_or_insert(format!("{}: {error}", start.name));
                }
            }
        }
        for start in starts {
            let content = read_file(&mut machine.linux.borrow_mut(), &start.name);
            if let Ok(Some(bytes)) = content {
                survivor.files.insert(start.name.clone(), bytes);
            }
        }
        survivor
    }
}

/// The result of SQLite's integrity check of a database, and its checksum. None if there is no such
/// database.
fn recovered(
    vfs: &Rc<dyn Vfs>,
    path: &str,
) -> Result<Option<(String, Option<u32>)>, flysch_sqlite::Error> {
    if !vfs.exists(path).unwrap_or(false) {
        return Ok(None);
    }
    let database = Database::open(Rc::clone(vfs), path)?;
    let rows = database.query("PRAGMA integrity_check(1)")?;
    let verdict = match rows.first().and_then(|row| row.first()) {
        Some(Value::Text(text)) => String::from_utf8_lossy(text).replace('\n', " "),
        _ => "it says nothing".to_owned(),
    };
    let digest = digest(&database);
    database.close()?;
    Ok(Some((verdict, digest)))
}
