//! Runs with a power cut: load the database, run transactions until the cut, start again, check the
//! database.

use std::rc::Rc;

use flysch_chip::{Chip, Clock, FaultInjector, FaultPlan, Pram, Recorder, Shared, Tracer};
use flysch_lab::bench::RunError;
use flysch_lab::bench::scenario::Scenario;
use flysch_lab::machine::Machine;
use flysch_lab::tpcc::{Compiler, Outcome, Requests, TpccError, Transactions, check};
use flysch_lab::workload::Tpcc;
use flysch_sqlite::{Database, Value};

/// A run of TPC-C during which the power may be cut.
pub struct PowerCutTest<'a> {
    scenario: &'a Scenario,
    tpcc: Tpcc,
    transactions: u32,
}

/// How the transactions of a run ended.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Number of transactions that committed.
    pub committed: u32,
    /// Number of transactions that found an item that does not exist.
    pub rolled_back: u32,
    /// The error that ended the run. None if all transactions were made.
    pub error: Option<TpccError>,
}

/// The results of a run, and the state of the devices at its end.
pub struct AfterCut {
    /// How the transactions ended.
    pub tally: Tally,
    /// Number of operations of both devices.
    pub operations: u64,
    /// The state of the chip at the end.
    pub chip: Chip,
    /// The state of the PRAM at the end.
    pub pram: Pram,
}

impl<'a> PowerCutTest<'a> {
    /// A run of at most `transactions` transactions.
    pub const fn new(scenario: &'a Scenario, tpcc: Tpcc, transactions: u32) -> Self {
        Self { scenario, tpcc, transactions }
    }

    /// A machine with the loaded database on it.
    ///
    /// # Errors
    /// Fails if the database does not fit or SQLite fails.
    pub fn loaded(&self) -> Result<Machine, RunError> {
        let Scenario { build, stack, settings, seed, .. } = self.scenario;
        let machine = build.format_and_mount(*stack)?;
        let storage = machine.storage(*settings, *seed);
        let memory = Database::open(Rc::clone(&storage), ":memory:")
            .map_err(|error| TpccError::Sqlite { statement: "open", error })?;
        let files = self.tpcc.files;
        for image in files.load(&memory, storage.now_ms(), settings, self.tpcc.scale, *seed)? {
            image.store(&mut *machine.linux.borrow_mut())?;
        }
        machine.linux.borrow_mut().sync()?;
        Ok(machine)
    }

    /// Open the database on a machine.
    ///
    /// # Errors
    /// Fails if SQLite fails, for instance because the power was cut.
    pub fn open(&self, machine: &Machine) -> Result<Database, TpccError> {
        let Scenario { settings, seed, .. } = self.scenario;
        let storage = machine.storage(*settings, *seed);
        self.tpcc.files.open(|name| Database::open(Rc::clone(&storage), name), settings)
    }

    /// Run `count` transactions, or until one fails. No CPU time is charged.
    pub fn run(&self, database: &Database, count: u32) -> Tally {
        let free = |_: &_, _: &_| {};
        let mut tally = Tally::default();
        let mut transactions = match Transactions::prepare(Compiler::new(database, &free)) {
            Ok(transactions) => transactions,
            Err(error) => return Tally { error: Some(error), ..tally },
        };
        let Tpcc { scale, rollback_percent, terminals, .. } = self.tpcc;
        let mut requests = Requests::new(scale, rollback_percent, self.scenario.seed);
        for number in 0..count {
            match transactions.run(&requests.draw(number % terminals), i64::from(number)) {
                Ok(Outcome::Committed) => tally.committed += 1,
                Ok(Outcome::RolledBack) => tally.rolled_back += 1,
                Err(error) => return Tally { error: Some(error), ..tally },
            }
        }
        tally
    }

    /// Load the database and run the transactions. The power is cut at operation `cut_at` of either
    /// device. If it is None, the run is not cut.
    ///
    /// # Errors
    /// Fails if loading fails. Errors that the power cut causes are in the tally.
    pub fn run_until_cut(&self, cut_at: Option<u64>) -> Result<AfterCut, RunError> {
        let machine = self.loaded()?;
        let plan = FaultPlan { seed: self.scenario.seed, cut_at, ..FaultPlan::default() };
        machine.device.borrow_mut().device_mut().arm(plan);
        let tally = match self.open(&machine) {
            Ok(database) => self.run(&database, self.transactions),
            Err(error) => Tally { error: Some(error), ..Tally::default() },
        };
        let device = machine.device.borrow();
        let operations = device.device().supply().operations();
        let chip = device.device().chip().fork(Clock::new());
        let pram = machine.pram.borrow().device().fork(Clock::new());
        Ok(AfterCut { tally, operations, chip, pram })
    }

    /// Switch the machine on again and mount the file systems on its devices.
    ///
    /// # Errors
    /// Fails if a file system cannot be mounted.
    pub fn switch_on(&self, after: &AfterCut) -> Result<Machine, RunError> {
        let clock = Clock::new();
        let recorder = Recorder::new(clock.clone(), "sqlite");
        let injector = FaultInjector::new(after.chip.fork(clock.clone()));
        let device = Shared::new(Tracer::new(injector, recorder.clone()));
        let pram = Shared::new(Tracer::new(after.pram.fork(clock), recorder.clone()));
        let Scenario { build, stack, .. } = self.scenario;
        Ok(build.mount(*stack, device, pram, recorder)?)
    }

    /// Switch the machine on again and check the database. It must be sound and consistent, and
    /// must accept more transactions.
    ///
    /// # Errors
    /// Says what is wrong.
    pub fn recover(&self, after: &AfterCut) -> Result<(), RunError> {
        let machine = self.switch_on(after)?;
        let database = self.open(&machine)?;
        let statement = "PRAGMA integrity_check";
        let verdict = database.query(statement);
        let verdict = verdict.map_err(|error| TpccError::Sqlite { statement, error })?;
        if verdict != [[Value::from("ok")]] {
            return Err(RunError::Broken("SQLite's integrity check fails".to_owned()));
        }
        check(&database)?;
        match self.run(&database, self.transactions / 4).error {
            Some(error) => Err(error.into()),
            None => Ok(check(&database)?),
        }
    }
}
