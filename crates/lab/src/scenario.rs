//! A scenario: one run, asked for in full, and how it is carried out.

use std::rc::Rc;

use flysch_sqlite::{Database, Settings, Work};

use crate::machine::{Build, Machine, StackError};
use crate::measure::{Timing, measure};
use crate::run::Run;
use crate::stack::Stack;
use crate::workload::{Alphabet, RandomStrings, Workload, insert, schema};

/// File name of the database.
const DATABASE: &str = "test.db";
/// Time between the two times that caches are dropped, as the reference runs have it, nanoseconds.
const SETTLE_NS: u64 = 2_000_000_000;

/// Everything a run depends on.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// What is asked of the database.
    pub workload: Workload,
    /// On what.
    pub stack: Stack,
    /// What the stack is built from.
    pub build: Build,
    /// SQLite's settings.
    pub settings: Settings,
    /// Bytes of the random string in each record.
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
    /// SQLite failed.
    Sqlite {
        /// What was under way.
        during: String,
        /// What SQLite says.
        message: String,
    },
    /// The file system failed outside SQLite.
    FileSystem(flysch_linux::filesystem::FsError),
}

impl std::fmt::Display for RunError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Mount(error) => write!(f, "cannot mount: {error}"),
            Self::Sqlite { during, message } => write!(f, "at {during}: {message}"),
            Self::FileSystem(error) => write!(f, "file system: {error}"),
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

fn sqlite_error(during: String) -> impl FnOnce(flysch_sqlite::Error) -> RunError {
    move |error| RunError::Sqlite { during, message: error.to_string() }
}

impl Scenario {
    /// Carry the run out.
    ///
    /// # Errors
    /// The stack could not be built, or SQLite failed: at which request is told.
    pub fn run(&self) -> Result<Run, RunError> {
        let machine = self.build.format_and_mount(self.stack)?;
        let mut session = Session::new(self, machine);
        session.prepare()?;
        session.settle()?;
        let mut run = session.measure()?;
        if !self.keeps_trace {
            run.forget_trace();
        }
        Ok(run)
    }
}

/// A run under way.
struct Session<'a> {
    scenario: &'a Scenario,
    machine: Machine,
    storage: Rc<dyn flysch_sqlite::Vfs>,
    strings: RandomStrings,
}

impl<'a> Session<'a> {
    fn new(scenario: &'a Scenario, machine: Machine) -> Self {
        let storage = machine.storage(scenario.settings, scenario.seed);
        let strings =
            RandomStrings::new(scenario.alphabet, scenario.record_size, scenario.seed ^ 0x5EED);
        Self { scenario, machine, storage, strings }
    }

    fn open(&self) -> Result<Database, RunError> {
        let during = || sqlite_error("opening the database".to_owned());
        let database = Database::open(Rc::clone(&self.storage), DATABASE).map_err(during())?;
        database.configure(&self.scenario.settings).map_err(during())?;
        Ok(database)
    }

    /// Make the tables, and fill them if the workload reads or changes records.
    fn prepare(&mut self) -> Result<(), RunError> {
        let _scope = self.machine.recorder.scope("prepare");
        let database = self.open()?;
        for table in 1..=self.scenario.workload.tables() {
            let during = || sqlite_error(format!("making table {table}"));
            self.execute(&database, schema(&format!("table{table}"))).map_err(during())?;
        }
        if self.scenario.workload.is_filled() {
            self.fill(&database)?;
        }
        database.close().map_err(sqlite_error("closing the database".to_owned()))
    }

    fn fill(&mut self, database: &Database) -> Result<(), RunError> {
        for table in 1..=self.scenario.workload.tables() {
            let name = format!("table{table}");
            let during = |id: u32| sqlite_error(format!("filling table {table}, record {id}"));
            self.execute(database, "BEGIN;").map_err(during(0))?;
            for id in 1..=self.scenario.fill {
                let sql = insert(&name, id, &mut self.strings);
                self.execute(database, sql).map_err(during(id))?;
            }
            self.execute(database, "COMMIT;").map_err(during(self.scenario.fill))?;
        }
        Ok(())
    }

    /// Make everything durable and drop all caches.
    fn settle(&self) -> Result<(), RunError> {
        let _scope = self.machine.recorder.scope("settle");
        let mut linux = self.machine.linux.borrow_mut();
        linux.sync()?;
        linux.drop_caches()?;
        linux.sleep(SETTLE_NS);
        linux.drop_caches()?;
        Ok(())
    }

    /// Run the measured interval.
    fn measure(&mut self) -> Result<Run, RunError> {
        let recorder = self.machine.recorder.clone();
        recorder.reset();
        let scope = recorder.scope("open_database");
        let database = self.open()?;
        drop(scope);
        let at_open = recorder.count(flysch_chip::EventKind::Read);
        recorder.reset();
        let timing = self.requests(&database)?;
        let geometry = self.scenario.build.part.geometry;
        let trace = recorder.take(geometry);
        Ok(measure(self.scenario, &self.machine, trace, timing, at_open))
    }

    /// BEGIN, the requests, END: each timed.
    fn requests(&mut self, database: &Database) -> Result<Timing, RunError> {
        let recorder = self.machine.recorder.clone();
        let Scenario { workload, requests, .. } = *self.scenario;
        let now = || recorder.clock().now_ns();
        let (start_ns, cpu_before_ns) = (now(), self.machine.cpu.busy_ns());
        self.traced(database, "begin", "BEGIN TRANSACTION;")
            .map_err(sqlite_error("BEGIN".to_owned()))?;
        let begin_ns = now() - start_ns;
        let statements = workload.statements(requests);
        let mut request_ns = Vec::new();
        for number in 1..=statements {
            let sql = workload.statement(number, requests, &mut self.strings);
            let sent_ns = now();
            let scope = recorder.scope(workload.name());
            recorder.mark(number);
            drop(scope);
            self.traced(database, workload.name(), sql)
                .map_err(sqlite_error(format!("request {number} of {statements}")))?;
            request_ns.push(now() - sent_ns);
        }
        let sent_ns = now();
        self.traced(database, "end", "END TRANSACTION;").map_err(sqlite_error("END".to_owned()))?;
        Ok(Timing {
            time_ns: now() - start_ns,
            cpu_ns: self.machine.cpu.busy_ns() - cpu_before_ns,
            begin_ns,
            end_ns: now() - sent_ns,
            request_ns,
        })
    }

    fn traced(
        &self,
        database: &Database,
        label: &'static str,
        sql: impl AsRef<[u8]>,
    ) -> Result<(), flysch_sqlite::Error> {
        let _scope = self.machine.recorder.scope(label);
        self.execute(database, sql)
    }

    /// Execute SQL and charge the engine's CPU time.
    fn execute(
        &self,
        database: &Database,
        sql: impl AsRef<[u8]>,
    ) -> Result<(), flysch_sqlite::Error> {
        let literal_len = literal_len(sql.as_ref());
        let work = database.execute(sql)?;
        let per_instruction = self.scenario.build.platform.cpu.sqlite_ps_per_instruction;
        self.machine.cpu.charge_ps(instructions(&work, literal_len) * per_instruction);
        Ok(())
    }
}

/// Instructions that SQLite takes for counted work: for each byte of the statement's text outside
/// string literals, inside them, and for each step of its virtual machine.
///
/// Fitted to counts of an instruction profiler (callgrind) on the release build of this program,
/// x86-64, SQLite 3.54 in memory: BEGIN 2,556, select by key 15,222, insert of 150 and 600 bytes
/// 16,536 and 24,597, update likewise 18,610 and 24,090, join of 1000 rows 1,426,805. It gives all
/// of these within 12 %.
const fn instructions(work: &Work, literal_len: u64) -> u64 {
    (work.sql_bytes - literal_len) * 340 + literal_len * 16 + work.vm_steps * 158
}

/// Bytes inside the string literals of a statement.
fn literal_len(sql: &[u8]) -> u64 {
    let parts = sql.split(|&byte| byte == b'\'').skip(1).step_by(2);
    parts.map(|literal| literal.len() as u64).sum()
}
