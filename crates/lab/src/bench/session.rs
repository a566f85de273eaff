//! A session: a scenario on its machine, from preparing the files to the figures.

use std::cell::{Cell, RefCell, RefMut};
use std::collections::BTreeMap;

use flysch_chip::{EventKind, Prng};
use flysch_linux::cpu::Unit;
use flysch_sqlite::{Database, Work};

use super::commits::{count_requests, give_to_requests};
use super::earlier::Earlier;
#[cfg(feature = "redb")]
use super::error::redb_error;
use super::error::{RunError, sqlite_error};
use super::measure::{Measured, Timing, measure_rest};
use super::run::Run;
use super::scenario::{Scenario, Timers};
use super::site::{Site, SiteMark};
use super::sql::charge;
use crate::machine::Machine;
use crate::machine::files::Files;
#[cfg(feature = "redb")]
use crate::machine::redb::open as open_redb;
use crate::workload::{RandomStrings, Workload};

const DATABASE: &str = "test.db";

/// A run that is under way. The steps of its workload are called with it.
pub struct Session<'a> {
    /// The scenario that is run.
    pub scenario: &'a Scenario,
    /// Where the scenario runs.
    pub site: Box<dyn Site>,
    pub(crate) followed: Followed,
    /// What the events of the measured interval came to that were let go already.
    earlier: RefCell<Earlier>,
    /// What is kept for the scenarios that follow. None before the first, or if none follows.
    beginning: RefCell<Option<Beginning>>,
    /// Shorter scenarios that are parts of this one, by number of requests.
    pub(super) parts: Vec<&'a Scenario>,
    /// The runs of the parts that have ended.
    pub(super) ended: RefCell<Vec<Run>>,
    /// The CPU time that ending the transaction took when it was last done, picoseconds.
    pub(super) end_ps: Cell<Option<u64>>,
    start: Cell<Start>,
}

/// What is known when the measured interval begins.
#[derive(Clone, Copy, Default)]
struct Start {
    begin_ns: u64,
    reads_at_open: u64,
}

/// A session whose files are prepared and settled.
struct Beginning {
    site: SiteMark,
    drawn: Option<Drawn>,
}

/// How far a preparation came in the random content that the requests go on with.
#[derive(Clone)]
pub struct Drawn {
    pub strings: RandomStrings,
    pub numbers: Prng,
}

/// Whether a session's machine is used again by a scenario that begins alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Followed {
    Yes,
    No,
}

/// The steps of one workload, in the order in which a session calls them.
pub trait Steps {
    /// The database or file that is open while the requests run.
    type Opened;

    /// Whether timers are held during [`Steps::prepare`]. JFFS2's timer, for example, collects a
    /// page every 5 s while files are written. Held timers make the prepared state independent of
    /// the platform's speed. A scenario may free them all the same.
    const HOLDS_TIMERS: bool = true;

    /// Prepare what the requests work on. This is outside the measured interval.
    ///
    /// # Errors
    /// Names the step that failed and the record it was at.
    fn prepare(&mut self, session: &Session<'_>) -> Result<(), RunError>;

    /// How far [`Steps::prepare`] came in the random content. None if the requests do not go on
    /// with it.
    fn drawn(&self) -> Option<Drawn> {
        None
    }

    /// Go on from where the preparation of another scenario came to.
    fn go_on(&mut self, _drawn: &Drawn) {}

    /// Open the database or file with cold caches. The page reads of this step are counted apart.
    ///
    /// # Errors
    /// Names the step that failed.
    fn open(&mut self, session: &Session<'_>) -> Result<Self::Opened, RunError>;

    /// Run the requests of the measured interval.
    ///
    /// # Errors
    /// Names the request that failed.
    fn measure(
        &mut self,
        session: &Session<'_>,
        opened: &mut Self::Opened,
    ) -> Result<Measured, RunError>;

    /// Check what the requests left behind. The session calls this after it took the trace.
    ///
    /// # Errors
    /// Says what is wrong with the data.
    fn check(
        &mut self,
        _session: &Session<'_>,
        _opened: &mut Self::Opened,
    ) -> Result<(), RunError> {
        Ok(())
    }

    /// Figures of what [`Steps::check`] found.
    fn found(&self) -> BTreeMap<&'static str, f64> {
        BTreeMap::new()
    }
}

/// A measured interval that is under way, with the times measured so far.
#[derive(Clone)]
pub struct Interval<'a> {
    session: &'a Session<'a>,
    start_ns: u64,
    cpu_before_ns: u64,
    idle_ns: u64,
    request_ns: Vec<u64>,
    /// Response time of the BEGIN statement, nanoseconds; 0 for workloads without one.
    pub begin_ns: u64,
    /// Response time of the END statement, nanoseconds; 0 for workloads without one.
    pub end_ns: u64,
}

impl<'a> Session<'a> {
    /// A session in which nothing has been prepared yet.
    pub(crate) fn new(scenario: &'a Scenario, site: Box<dyn Site>) -> Self {
        Self {
            scenario,
            site,
            followed: Followed::No,
            earlier: RefCell::default(),
            beginning: RefCell::new(None),
            parts: Vec::new(),
            ended: RefCell::default(),
            end_ps: Cell::default(),
            start: Cell::default(),
        }
    }

    /// Run all steps of a workload. If an earlier scenario on this machine began alike, the machine
    /// is taken back to where its files were prepared.
    pub(crate) fn carry_out<S: Steps>(&self, mut steps: S) -> Result<Run, RunError> {
        match &*self.beginning.borrow() {
            Some(beginning) => self.go_on(beginning, &mut steps),
            None => self.begin(&mut steps)?,
        }
        if self.followed == Followed::Yes && self.beginning.borrow().is_none() {
            // Nobody asks for the events so far, so a mark need not keep them.
            self.site.reset()?;
            let (site, drawn) = (self.site.mark(), steps.drawn());
            *self.beginning.borrow_mut() = site.map(|site| Beginning { site, drawn });
        }
        self.measured(&mut steps)
    }

    /// What the events came to that were let go already.
    pub(super) fn earlier(&self) -> Earlier {
        self.earlier.borrow().clone()
    }

    /// Go back to what the events came to at an earlier moment.
    pub(super) fn go_back(&self, earlier: Earlier) {
        *self.earlier.borrow_mut() = earlier;
    }

    /// Whether a scenario that begins alike needs no preparation.
    pub(crate) fn can_go_on(&self) -> bool {
        self.beginning.borrow().is_some()
    }

    fn go_on<S: Steps>(&self, beginning: &Beginning, steps: &mut S) {
        self.site.take_back(&beginning.site);
        if let Some(drawn) = &beginning.drawn {
            steps.go_on(drawn);
        }
    }

    /// Prepare the files, and drop all caches.
    fn begin<S: Steps>(&self, steps: &mut S) -> Result<(), RunError> {
        // Nobody asks for what it cost.
        self.site.recorder().pause(true);
        let begun = self.prepare(steps).and_then(|()| {
            let _scope = self.site.enter("settle");
            self.site.settle()
        });
        self.site.recorder().pause(false);
        begun
    }

    /// Count the events so far and let them go, if they are many and the trace is not kept.
    fn let_go(&self) {
        if self.scenario.keeps_trace {
            return;
        }
        if let Some(part) = self.site.take_part() {
            self.earlier.borrow_mut().add(&part);
        }
    }

    /// Prepare what the requests work on.
    fn prepare<S: Steps>(&self, steps: &mut S) -> Result<(), RunError> {
        let _scope = self.site.enter("prepare");
        self.site.hold_timers(S::HOLDS_TIMERS && self.scenario.timers == Timers::Held)?;
        let prepared = steps.prepare(self);
        self.site.hold_timers(false)?;
        prepared
    }

    /// Run the measured interval, and compute the figures.
    fn measured<S: Steps>(&self, steps: &mut S) -> Result<Run, RunError> {
        self.site.tune(self.scenario)?;
        self.site.reset()?;
        let scope = self.site.enter("open_database");
        let mut opened = steps.open(self)?;
        drop(scope);
        let reads_at_open = self.site.count(EventKind::Read)?;
        self.site.reset()?;
        self.start.set(Start { begin_ns: self.now_ns(), reads_at_open });
        let measured = steps.measure(self, &mut opened)?;
        let mut run = self.figures(self.scenario, measured)?;
        steps.check(self, &mut opened)?;
        run.figures.extend(steps.found());
        Ok(run)
    }

    /// The figures of a scenario whose measured interval has just ended.
    pub(super) fn figures(&self, scenario: &Scenario, measured: Measured) -> Result<Run, RunError> {
        let Start { begin_ns, reads_at_open } = self.start.get();
        let mut trace = self.site.take()?;
        let earlier = self.earlier.take();
        // Times of a trace count from the beginning of the measured interval.
        for event in &mut trace.events {
            event.time_ns = event.time_ns.saturating_sub(begin_ns);
        }
        match scenario.workload {
            _ if trace.blame.tables.is_empty() => {}
            Workload::Micro(kind) if kind.is_one_transaction() => {
                let times = kind.statements(scenario.requests);
                give_to_requests(&mut trace, kind.name(), times.into());
            }
            _ => count_requests(&mut trace, &earlier),
        }
        let (blocks, parts) = (self.site.blocks(), (earlier, trace));
        let mut run = measure_rest(scenario, blocks, parts, measured, reads_at_open);
        if !scenario.keeps_trace {
            run.forget_trace();
        }
        Ok(run)
    }

    /// The files on the main file system.
    pub fn linux(&self) -> RefMut<'_, dyn Files> {
        self.site.files()
    }

    /// Open the database with the scenario's settings.
    ///
    /// # Errors
    /// Fails if SQLite cannot open the database or refuses a setting.
    pub fn open_database(&self) -> Result<Database, RunError> {
        let during = || sqlite_error("opening the database".to_owned());
        let database = self.site.open_database(DATABASE).map_err(during())?;
        database.configure(&self.scenario.settings).map_err(during())?;
        Ok(database)
    }

    /// Open the database of redb, with as much memory for pages as SQLite's settings give.
    ///
    /// # Errors
    /// Fails if redb cannot open the database.
    #[cfg(feature = "redb")]
    pub(super) fn open_redb(&self) -> Result<redb::Database, RunError> {
        let machine = self.machine()?;
        let cache_bytes = self.scenario.settings.cache_bytes();
        let opened = open_redb(&machine.linux, &machine.recorder, DATABASE, cache_bytes);
        opened.map_err(redb_error("opening the database"))
    }

    /// Execute SQL and charge the CPU time that SQLite takes for it.
    ///
    /// # Errors
    /// Fails if SQLite rejects or cannot execute the SQL.
    pub fn execute(
        &self,
        database: &Database,
        sql: impl AsRef<[u8]>,
    ) -> Result<(), flysch_sqlite::Error> {
        let work = database.execute(&sql)?;
        self.charge(&work, sql.as_ref());
        Ok(())
    }

    /// Charge the CPU time that SQLite takes for `work`, and for compiling the text `sql`.
    pub fn charge(&self, work: &Work, sql: &[u8]) {
        charge(&*self.site, work, sql);
    }

    /// Charge the CPU time of building a statement's text with this many random characters.
    pub fn charge_text(&self, characters: u32) {
        self.site.charge(Unit::Text, 1);
        self.site.charge(Unit::TextByte, characters.into());
    }

    /// The machine that is simulated.
    ///
    /// # Errors
    /// The machine is a real one.
    pub fn machine(&self) -> Result<&Machine, RunError> {
        self.site.machine().ok_or_else(|| RunError::Kernel {
            during: self.scenario.workload.name().to_owned(),
            message: "it needs a machine that is simulated".to_owned(),
        })
    }

    /// Let the clock advance to a time. Does nothing if that time is past.
    pub fn sleep_until(&self, time_ns: u64) {
        let left_ns = time_ns.saturating_sub(self.now_ns());
        if left_ns > 0 {
            self.site.sleep(left_ns);
        }
    }

    /// The current time in nanoseconds.
    pub fn now_ns(&self) -> u64 {
        self.site.now_ns()
    }
}

impl<'a> Interval<'a> {
    /// Start the clock of the measured interval.
    pub fn begin(session: &'a Session<'a>) -> Self {
        session.earlier.take();
        Self {
            session,
            start_ns: session.now_ns(),
            cpu_before_ns: session.site.cpu_ns(),
            idle_ns: 0,
            request_ns: Vec::new(),
            begin_ns: 0,
            end_ns: 0,
        }
    }

    pub(super) const fn session(&self) -> &'a Session<'a> {
        self.session
    }

    /// Number of requests so far.
    ///
    /// # Panics
    /// After 2^32 requests.
    pub(super) fn request_count(&self) -> u32 {
        u32::try_from(self.request_ns.len()).expect("requests are counted so")
    }

    /// Begin the transaction that contains all requests. It does not count as a request; its time
    /// is recorded in `begin_ns`.
    ///
    /// # Errors
    /// Returns the error of the call.
    pub fn begin_transaction<T>(
        &mut self,
        call: impl FnOnce() -> Result<T, RunError>,
    ) -> Result<T, RunError> {
        let (begun, begin_ns) = self.timed("begin", call)?;
        self.begin_ns = begin_ns;
        Ok(begun)
    }

    /// End the transaction that contains all requests. Its time is recorded in `end_ns`.
    ///
    /// # Errors
    /// Returns the error of the call.
    pub fn end_transaction(
        &mut self,
        call: impl FnOnce() -> Result<(), RunError>,
    ) -> Result<(), RunError> {
        let ((), end_ns) = self.timed("end", call)?;
        self.end_ns = end_ns;
        Ok(())
    }

    /// Make a call under the scope `label`. Returns the result and the time that it took in
    /// nanoseconds.
    fn timed<T>(
        &self,
        label: &'static str,
        call: impl FnOnce() -> Result<T, RunError>,
    ) -> Result<(T, u64), RunError> {
        let sent_ns = self.session.now_ns();
        let _scope = self.session.site.enter(label);
        let made = call()?;
        Ok((made, self.session.now_ns() - sent_ns))
    }

    /// Make the next request under the scope `label`. Its start is marked in the trace, and its
    /// time is recorded.
    ///
    /// # Errors
    /// Returns the error of the request.
    ///
    /// # Panics
    /// After 2^32 requests.
    pub fn request<T>(
        &mut self,
        label: &'static str,
        call: impl FnOnce() -> Result<T, RunError>,
    ) -> Result<T, RunError> {
        let sent_ns = self.session.now_ns();
        let number = self.request_count() + 1;
        let _scope = self.session.site.enter(label);
        self.session.site.recorder().mark(number);
        let done = call()?;
        self.request_ns.push(self.session.now_ns() - sent_ns);
        self.session.let_go();
        Ok(done)
    }

    /// Pause for `ns` nanoseconds between requests.
    pub fn pause(&mut self, ns: u64) {
        if ns > 0 {
            self.session.site.sleep(ns);
            self.idle_ns += ns;
        }
    }

    /// Mean response time of the requests so far in microseconds; 0 before the first.
    #[expect(clippy::cast_precision_loss, reason = "a figure for people")]
    pub fn mean_request_us(&self) -> f64 {
        let sum: u64 = self.request_ns.iter().sum();
        sum as f64 / 1e3 / self.request_ns.len().max(1) as f64
    }

    /// End the interval and return its times.
    pub fn end(self) -> Timing {
        Timing {
            time_ns: self.session.now_ns() - self.start_ns,
            cpu_ns: self.session.site.cpu_ns() - self.cpu_before_ns,
            begin_ns: self.begin_ns,
            end_ns: self.end_ns,
            idle_ns: self.idle_ns,
            request_ns: self.request_ns,
        }
    }
}
