//! The machine that answers the requests of a program's SQLite.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::PathBuf;
use std::rc::Rc;

use flysch_chip::{Blame, Change, Changes as Kept, Scope};
use flysch_linux::filesystem::CACHE_PAGE_SIZE;
use flysch_sqlite::Vfs;
use flysch_sqlite::calls::{CallLog, Changes};
use flysch_sqlite::remote::{ApiEvent, Began, Ended, Machine, StatementId};

use super::host_files::{HostFiles, Note, Start, WriteBackError, left};
use super::statements::Statements;
use super::transactions::{Transactions, is_commit};
use crate::bench::RunError;
use crate::bench::measure::{Measured, Timing, measure};
use crate::bench::run::Run;
use crate::bench::scenario::Scenario;
use crate::bench::site::{Simulated, Site};
use crate::contents::Writes;
use crate::machine::Machine as Stack;

/// How much virtual time passes while a program computes between two requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// The time that the host measured.
    Measured,
    /// None: only the work of the machine takes virtual time.
    None,
}

/// The changes to the devices that were recorded in a run.
#[derive(Debug, Default)]
pub struct KeptRun {
    pub changes: Vec<Change>,
    /// The ranges of changes by which files were copied to the machine, before a program used them.
    pub imported: Vec<Range<usize>>,
    /// The number of changes before each recorded call of SQLite.
    pub before_calls: Vec<usize>,
}

/// A machine that programs use through their own SQLite.
pub struct Simulation {
    site: Simulated,
    files: Rc<HostFiles>,
    pace: Pace,
    statements: RefCell<Statements>,
    transactions: RefCell<Transactions>,
    /// The statement that is being executed.
    current: Cell<Option<StatementId>>,
    scope: RefCell<Option<Scope>>,
    start_ns: u64,
    cpu_before_ns: u64,
    /// Virtual time in which programs computed between requests, nanoseconds.
    idle_ns: Cell<u64>,
    /// The calls of SQLite that programs made, if their shims report them.
    log: RefCell<CallLog>,
    /// Time that programs computed since the last reported call, nanoseconds.
    before_call_ns: Cell<u64>,
    /// The number of changes to the devices before each call, if they are recorded.
    kept_before: RefCell<Vec<usize>>,
    /// Free bytes of each file system before the program ran. None if the file system does not
    /// know.
    rooms_before: Vec<Option<u64>>,
    keeps_changes: Cell<bool>,
}

impl Simulation {
    /// Format and mount the stack of a scenario for a program. If `keeps_calls` is set,
    /// [`Self::calls`] lists the calls on files. With `root`, the machine's folder stands for this
    /// folder of the host.
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
        let rooms_before = rooms(machine).collect();
        let files = Rc::new(HostFiles::new(vfs, machine, root.map(str::to_owned), keeps_calls));
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
            log: RefCell::default(),
            before_call_ns: Cell::new(0),
            kept_before: RefCell::default(),
            rooms_before,
            keeps_changes: Cell::new(false),
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

    /// The list of all writes, truncations and syncs of files that have a name, one in each line:
    /// the call, the file's name on the machine, then offset and length of a write, or the new
    /// size.
    pub fn calls(&self) -> String {
        self.files.changes.calls()
    }

    /// Record all changes to the devices from now on.
    pub fn keep_changes(&self) {
        let (kept, stack) = (Kept::default(), self.stack());
        stack.device.borrow_mut().device_mut().keep_changes(kept.clone());
        stack.pram.borrow_mut().device_mut().keep_changes(kept.clone());
        self.files.keep(kept);
        self.keeps_changes.set(true);
    }

    /// Number of changes recorded so far.
    pub fn kept_count(&self) -> usize {
        self.files.kept_count()
    }

    /// Take the recorded changes.
    pub fn take_kept(&self) -> KeptRun {
        let (changes, imported) = self.files.take_kept();
        KeptRun { changes, imported, before_calls: self.kept_before.take() }
    }

    pub fn machine(&self) -> &Stack {
        self.stack()
    }

    /// Copy only these files to the machine, each for the database with this name there.
    pub fn begin_with(&self, sources: BTreeMap<String, PathBuf>) {
        self.files.begin_with(sources);
    }

    /// Make names of files relative to this folder of the host.
    pub fn stand_in(&self, folder: &str) {
        self.files.stand_in(folder);
    }

    /// Give programs a constant time, milliseconds since 1970, instead of the virtual one.
    pub fn tell_time(&self, now_ms: i64) {
        self.files.tell_time(now_ms);
    }

    /// Whether the file system maps files shared, which a write-ahead log needs.
    pub fn shares_memory(&self) -> bool {
        self.stack().linux.borrow().filesystem().maps_shared()
    }

    /// Map no file shared, as another stack does not.
    pub(crate) fn keep_memory_private(&self) {
        self.files.shares_memory.set(false);
    }

    /// The state of each database when it was first opened.
    pub fn starts(&self) -> Vec<Start> {
        self.files.starts()
    }

    /// The file system, for an SQLite in this process.
    pub fn shared_vfs(&self) -> Rc<dyn Vfs> {
        Rc::<HostFiles>::clone(&self.files)
    }

    /// The calls of SQLite that programs reported. The changes since the last call are not yet in
    /// it.
    pub fn log(&self) -> &RefCell<CallLog> {
        &self.log
    }

    /// Number and checksum of the changes to files since the last call.
    pub fn take_changes(&self) -> Changes {
        self.files.changes.take()
    }

    /// The files on the machine that were synced since the last call.
    pub fn take_synced(&self) -> BTreeSet<String> {
        self.files.changes.take_synced()
    }

    /// Copy the databases back to the host. Returns their number.
    ///
    /// # Errors
    /// Names the file that cannot be written.
    pub fn write_back(&self) -> Result<usize, WriteBackError> {
        let stack = self.stack();
        stack.cpu.set_free(true);
        self.files.write_back()
    }

    /// The databases as they are now, with their logs and journals, by their names on the machine.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn databases(&self) -> Result<Vec<(String, Vec<u8>)>, RunError> {
        let left = left(&mut self.stack().linux.borrow_mut(), &self.starts());
        left.map_err(|error| RunError::Broken(error.to_string()))
    }

    /// End the measured interval and compute the figures.
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
        run.inputs.requests = u32::try_from(requests).unwrap_or(u32::MAX);
        run.inputs.amount = scenario.workload.amount(run.inputs.requests);
        Ok(run)
    }

    /// How often programs synced a file.
    pub fn syncs(&self) -> u64 {
        self.files.changes.syncs()
    }

    /// Bytes written and syncs of each statement, by its text.
    pub fn writes(&self) -> Vec<(String, Writes)> {
        let statements = self.statements.borrow();
        let texts = statements.texts().iter().cloned();
        texts.zip(statements.writes().iter().copied()).collect()
    }

    /// Bytes written and syncs of each table and index, by its name.
    pub fn writes_of_tables(&self) -> BTreeMap<String, Writes> {
        let contents = self.stack().contents.as_ref();
        contents.map(|contents| contents.borrow_mut().writes()).unwrap_or_default()
    }

    /// Virtual time, nanoseconds.
    pub fn now_ns(&self) -> u64 {
        self.site.now_ns()
    }

    /// Virtual time, milliseconds.
    pub(super) fn now_ms(&self) -> u64 {
        self.site.now_ns() / 1_000_000
    }

    pub(super) fn files(&self) -> &HostFiles {
        &self.files
    }

    pub(super) fn stack(&self) -> &Stack {
        self.site.machine().expect("the site is simulated")
    }
}

/// The free bytes of each file system of a machine, less an estimate of what dirty pages in the
/// cache will take. None for a file system that does not know.
fn rooms(stack: &Stack) -> impl Iterator<Item = Option<u64>> {
    let all = stack.journals.iter().chain([&stack.linux]);
    all.map(|linux| {
        let linux = linux.borrow();
        let waiting = linux.cache().dirty_count() as u64 * CACHE_PAGE_SIZE as u64;
        Some(linux.filesystem().free_bytes()?.saturating_sub(2 * waiting))
    })
}

impl Machine for Simulation {
    fn vfs(&self) -> &dyn Vfs {
        &*self.files
    }

    fn has_room(&self, bytes: u64) -> bool {
        // A file system reserves some room, and cannot reclaim all dead data. So a quarter of the
        // room before the run is not counted on.
        let mut rooms = rooms(self.stack()).zip(&self.rooms_before);
        rooms.all(|(now, before)| now.is_some_and(|now| now >= bytes + before.unwrap_or(0) / 4))
    }

    fn note_api_event(&self, event: &ApiEvent<'_>) {
        let idle_ns = if event.kind.is_call() { self.before_call_ns.take() } else { 0 };
        let mut log = self.log.borrow_mut();
        log.note(event, idle_ns, || self.take_changes());
        if self.keeps_changes.get() {
            self.kept_before.borrow_mut().resize(log.len(), self.kept_count());
        }
    }

    fn pass(&self, ns: u64) {
        self.site.sleep(ns);
        self.idle_ns.set(self.idle_ns.get() + ns);
    }

    fn gone(&self, client: u32) {
        self.log.borrow_mut().end(client, || self.take_changes());
    }

    fn elapsed(&self, ns: u64) {
        self.before_call_ns.set(self.before_call_ns.get() + ns);
        if self.pace == Pace::Measured {
            self.pass(ns);
        }
    }

    fn enter(&self, statement: StatementId) {
        let scope = self.site.recorder().scope(self.statements.borrow().label(statement));
        *self.scope.borrow_mut() = Some(scope);
        self.current.set(Some(statement));
    }

    fn leave(&self) {
        self.scope.borrow_mut().take();
        let done = self.files.changes.take_written();
        if let Some(id) = self.current.get() {
            self.statements.borrow_mut().add_writes(id, done);
        }
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
