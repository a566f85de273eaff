//! The steps of the mount workload: transactions on a log, a stop, then a mount, opening the
//! database, and the first write.

use std::collections::BTreeMap;

use flysch_chip::FaultPlan;
use flysch_sqlite::{Safety, Settings};

use super::chip::{EngineMemory, Start};
use super::log::{self, Batch, Log, Plan};
use crate::bench::RunError;
use crate::bench::measure::Measured;
use crate::bench::scenario::Scenario;
use crate::bench::session::{Interval, Session, Steps};
use crate::bench::site::Simulated;
use crate::machine::stack::Engine;
use crate::workload::{Mount, Reading, Readings, Stop};

/// The kinds of requests: mount the file systems, open the database, write one transaction.
const KINDS: [&str; 3] = ["mount", "open", "write"];

/// Readings of the first write after the mount.
const FIRST_WRITE: u64 = 1;

/// The state of the mount workload during a run.
pub(super) struct MountSteps<'r> {
    mount: Mount,
    scenario: &'r Scenario,
    readings: Readings,
    plan: &'r Plan<'r>,
    /// The engine's RAM, until the log is opened after the mount.
    ram: Option<&'r mut EngineMemory>,
    /// The readings of the transactions that the mount left, once they are counted.
    left: Option<u64>,
}

/// The machine after the stop, mounted again, and its open log.
pub(super) struct Restarted<'r> {
    session: Session<'r>,
    log: Box<dyn Log + 'r>,
}

impl<'r> MountSteps<'r> {
    pub(super) fn new(
        mount: Mount,
        scenario: &'r Scenario,
        plan: &'r Plan<'r>,
        ram: &'r mut EngineMemory,
    ) -> Self {
        let readings = Readings::new(scenario.alphabet, scenario.record_size, scenario.seed);
        Self { mount, scenario, readings, plan, ram: Some(ram), left: None }
    }

    /// The most readings that the log may hold: those that are inserted, the one whose transaction
    /// is cut, and the first write after the mount.
    pub(super) const fn capacity(scenario: &Scenario) -> u32 {
        scenario.fill.saturating_add(scenario.requests).saturating_add(2)
    }

    fn one(&mut self) -> Batch {
        next(&mut self.readings, 1)
    }

    /// How many readings of `whole` must be there after the stop: the first write after the mount,
    /// and what SQLite promises to keep. It may also roll back the last complete transaction:
    /// unless it syncs the directory, the journal that it deleted may be there again.
    fn least(&self, whole: u64) -> u64 {
        let Settings { journal_mode, synchronous, .. } = self.scenario.settings;
        if self.mount.stop == Stop::Clean || self.scenario.stack.engine != Engine::Sqlite {
            return whole;
        }
        match Safety::of(journal_mode, synchronous, 1) {
            Safety::Whole | Safety::WithoutLast => whole - 1,
            Safety::WithoutSome | Safety::Nothing => FIRST_WRITE,
        }
    }

    /// Run the transactions, then stop the machine by a power cut or by an unmount.
    fn run_and_stop(&mut self, session: &Session<'_>) -> Result<(), RunError> {
        let requests = self.scenario.requests;
        let (batches, interrupted): (Vec<_>, _) =
            ((0..requests).map(|_| self.one()).collect(), self.one());
        let ram = self.ram.as_deref_mut().expect("the log is not open");
        let mut log = log::open(session, ram, self.plan, Start::Open)?;
        let device = &session.machine()?.device;
        let mut operations = 0;
        for batch in &batches {
            device.borrow_mut().device_mut().arm(FaultPlan::default());
            log.insert(session, batch)?;
            operations = device.borrow().device().operations();
        }
        match self.mount.stop {
            Stop::Cut => cut(session, &mut *log, &interrupted, operations),
            Stop::Clean => {
                log.close(session)?;
                session.machine()?.unmount().map_err(RunError::FileSystem)
            }
        }
    }
}

/// A transaction of so many readings.
fn next(readings: &mut Readings, count: u32) -> Batch {
    Batch { readings: readings.take(count as usize).collect(), kept_from: None }
}

/// Cut the power half-way through a transaction, and switch it on again. `operations` is how many
/// device operations the previous transaction took.
fn cut(
    session: &Session<'_>,
    log: &mut dyn Log,
    batch: &Batch,
    operations: u64,
) -> Result<(), RunError> {
    let device = &session.machine()?.device;
    let seed = session.scenario.seed;
    let plan = FaultPlan { seed, cut_at: Some(operations / 2), ..FaultPlan::default() };
    device.borrow_mut().device_mut().arm(plan);
    let done = log.insert(session, batch);
    let supply = device.borrow().device().supply();
    match done {
        Err(error) if supply.is_on() => return Err(error),
        // The transaction took fewer operations than half of the previous one and is complete.
        Ok(()) | Err(_) => supply.power_off(),
    }
    Ok(())
}

impl<'r> Steps for MountSteps<'r> {
    type Opened = Option<Restarted<'r>>;

    fn prepare(&mut self, session: &Session<'_>) -> Result<(), RunError> {
        let ram = self.ram.as_deref_mut().expect("the log is not open");
        let mut log = log::open(session, ram, self.plan, Start::Create)?;
        let readings = &mut self.readings;
        log::fill(session, &mut *log, self.scenario.fill, |count| next(readings, count))?;
        log.close(session)
    }

    fn open(&mut self, _: &Session<'_>) -> Result<Self::Opened, RunError> {
        Ok(None)
    }

    fn measure(
        &mut self,
        session: &Session<'_>,
        restarted: &mut Self::Opened,
    ) -> Result<Measured, RunError> {
        self.run_and_stop(session)?;
        let machine = session.machine()?;
        machine.device.borrow_mut().device_mut().arm(FaultPlan::default());
        machine.device.borrow_mut().device_mut().power_up();
        let (scenario, first_write) = (self.scenario, self.one());
        let (plan, ram) = (self.plan, self.ram.take().expect("it comes back once"));
        session.site.reset()?;
        let mut interval = Interval::begin(session);
        let [mount, open, write] = KINDS;
        let site = interval.request(mount, || Simulated::mounted_again(machine, scenario))?;
        let again = Session::new(scenario, Box::new(site));
        again.site.tune(scenario)?;
        let mut log = interval.request(open, || log::open(&again, ram, plan, Start::Open))?;
        interval.request(write, || log.insert(&again, &first_write))?;
        let mut measured = Measured::new(interval.end(), 0);
        measured.kinds = KINDS.to_vec();
        *restarted = Some(Restarted { session: again, log });
        Ok(measured)
    }

    /// Check that every transaction is there that SQLite promises to keep, and the interrupted one
    /// in full or not at all.
    fn check(&mut self, _: &Session<'_>, opened: &mut Self::Opened) -> Result<(), RunError> {
        let Restarted { session, log } = opened.as_mut().expect("it was measured");
        let Scenario { fill, requests, .. } = *self.scenario;
        let times = Reading::time_of(fill)..=Reading::time_of(fill + requests + 1);
        let came = log.by_time(session, times)?;
        let whole = u64::from(requests) + FIRST_WRITE;
        let most = whole + u64::from(self.mount.stop == Stop::Cut);
        if !(self.least(whole)..=most).contains(&came) {
            let what = format!("{came} readings of {whole} are there after the mount");
            return Err(RunError::Broken(what));
        }
        self.left = Some(came - FIRST_WRITE);
        Ok(())
    }

    /// How many readings are left, where SQLite promises to keep no particular one.
    fn found(&self) -> BTreeMap<&'static str, f64> {
        let left = self.left.filter(|_| self.least(u64::MAX) == FIRST_WRITE);
        let left = left.and_then(|left| u32::try_from(left).ok()).map(f64::from);
        Mount::FIGURES.into_iter().zip(left).collect()
    }
}
