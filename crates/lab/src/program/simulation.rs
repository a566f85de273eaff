//! The machine behind a program's requests.

use std::cell::{Cell, RefCell};

use flysch_chip::{Blame, Scope};
use flysch_sqlite::Vfs;
use flysch_sqlite::remote::{Began, Ended, Machine, StatementId};

use super::host_files::{HostFiles, Note, WriteBackError};
use super::statements::Statements;
use super::transactions::{Transactions, is_commit};
use crate::bench::RunError;
use crate::bench::measure::{Measured, Timing, measure};
use crate::bench::run::Run;
use crate::bench::scenario::Scenario;
use crate::bench::site::{Simulated, Site};
use crate::machine::Machine as Stack;

/// How the time that a program takes for itself passes on the virtual clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// As the host measured it.
    Measured,
    /// Not at all: only the machine's own work takes time.
    None,
}

/// A machine that programs use through their own SQLite.
pub struct Simulation {
    site: Simulated,
    files: HostFiles,
    pace: Pace,
    statements: RefCell<Statements>,
    transactions: RefCell<Transactions>,
    /// The statement of the call that is under way.
    current: Cell<Option<StatementId>>,
    scope: RefCell<Option<Scope>>,
    start_ns: u64,
    cpu_before_ns: u64,
    /// Virtual time in which programs worked for themselves, nanoseconds.
    idle_ns: Cell<u64>,
}

impl Simulation {
    /// Format and mount the stack of a scenario, for a program. If `keeps_calls` is set,
    /// [`Self::calls`] lists what SQLite asks for. With `root`, the machine's folder stands for
    /// this folder of the host.
    ///
    /// # Errors
    /// Fails if the stack cannot be built or the device cannot be aged as asked.
    pub fn new(
        scenario: &Scenario,
        pace: Pace,
        root: Option<&str>,
        keeps_calls: bool,
    ) -> Result<Self, RunError> {
        let site = Simulated::new(scenario)?;
        site.settle()?;
        site.tune(scenario)?;
        site.reset()?;
        let (Some(machine), Some(vfs)) = (site.machine(), site.storage()) else {
            return Err(RunError::Broken("the machine is not simulated".to_owned()));
        };
        let files = HostFiles::new(vfs, machine, root.map(str::to_owned), keeps_calls);
        let (start_ns, cpu_before_ns) = (site.now_ns(), site.cpu_ns());
        Ok(Self {
            site,
            files,
            pace,
            statements: RefCell::default(),
            transactions: RefCell::default(),
            current: Cell::new(None),
            scope: RefCell::default(),
            start_ns,
            cpu_before_ns,
            idle_ns: Cell::new(0),
        })
    }

    /// What the user should know about the databases.
    pub fn notes(&self) -> Vec<Note> {
        self.files.notes()
    }

    /// Number of databases that programs opened.
    pub fn database_count(&self) -> usize {
        self.files.database_count()
    }

    /// Each write, truncation and sync of a file with a name, one a line: what, the file's name on
    /// the machine, then offset and length of a write, or the size.
    pub fn calls(&self) -> String {
        self.files.changes.calls()
    }

    /// Write the databases to the host. Returns how many there are.
    ///
    /// # Errors
    /// Names the file that cannot be written.
    pub fn write_back(&self) -> Result<usize, WriteBackError> {
        let stack = self.stack();
        stack.cpu.set_free(true);
        self.files.write_back()
    }

    /// End the interval, and compute the figures.
    ///
    /// # Errors
    /// Fails if the trace cannot be taken.
    pub fn finish(&self, scenario: &Scenario) -> Result<Run, RunError> {
        let mut trace = self.site.take()?;
        let statements = self.statements.borrow();
        let request_ns = statements.times_ns().to_vec();
        let requests: u64 = statements.executions().iter().sum();
        let of_statements = self.transactions.borrow().payers(&trace, statements.texts());
        trace.blame = Blame {
            statements: statements.texts().to_vec(),
            executions: statements.executions().to_vec(),
            of_statements,
            ..trace.blame
        };
        let timing = Timing {
            time_ns: self.site.now_ns() - self.start_ns - self.files.copying_ns(),
            cpu_ns: self.site.cpu_ns() - self.cpu_before_ns,
            idle_ns: self.idle_ns.get(),
            request_ns,
            ..Timing::default()
        };
        let measured = Measured::new(timing, self.files.changes.written());
        let mut run = measure(scenario, self.site.blocks(), trace, measured, 0);
        run.requests = u32::try_from(requests).unwrap_or(u32::MAX);
        Ok(run)
    }

    /// Virtual time, milliseconds.
    pub(super) fn now_ms(&self) -> u64 {
        self.site.now_ns() / 1_000_000
    }

    pub(super) const fn files(&self) -> &HostFiles {
        &self.files
    }

    pub(super) fn stack(&self) -> &Stack {
        self.site.machine().expect("the site is simulated")
    }
}

impl Machine for Simulation {
    fn vfs(&self) -> &dyn Vfs {
        &self.files
    }

    fn elapsed(&self, ns: u64) {
        if self.pace == Pace::Measured {
            self.site.sleep(ns);
            self.idle_ns.set(self.idle_ns.get() + ns);
        }
    }

    fn enter(&self, statement: StatementId) {
        let scope = self.site.recorder().scope(self.statements.borrow().label(statement));
        *self.scope.borrow_mut() = Some(scope);
        self.current.set(Some(statement));
    }

    fn leave(&self) {
        self.scope.borrow_mut().take();
        let Some(contents) = &self.stack().contents else { return };
        let journaled = contents.borrow_mut().take_journaled();
        let current = self.current.take().filter(|_| !journaled.is_empty());
        let statements = self.statements.borrow();
        if let Some(id) = current
            && let Some(running) = statements.running(id)
        {
            let connection = (id.client, running.connection);
            self.transactions.borrow_mut().journal(connection, running.text, &journaled);
        }
    }

    fn began(&self, began: &Began<'_>) {
        let events = self.site.recorder().len();
        let text = self.statements.borrow_mut().begin(began, self.site.now_ns(), events);
        if began.in_transaction {
            let connection = (began.id.client, began.connection);
            self.transactions.borrow_mut().note(connection, text);
        }
    }

    fn ended(&self, ended: &Ended) {
        let mut statements = self.statements.borrow_mut();
        let Some(running) = statements.end(ended, self.site.now_ns()) else { return };
        if running.in_transaction && !ended.in_transaction {
            let connection = (ended.id.client, running.connection);
            let events = running.events..self.site.recorder().len();
            let is_commit = is_commit(&statements.texts()[running.text]);
            let mut transactions = self.transactions.borrow_mut();
            transactions.end(connection, running.text, is_commit, events);
        }
    }
}
