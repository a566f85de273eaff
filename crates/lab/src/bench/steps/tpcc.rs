//! The steps of TPC-C: store the loaded database, then let the terminals send their transactions.
//! On SQLite the database is stored as files; on the engine its rows are inserted.

use std::collections::BTreeMap;

use flysch::db::Db;
use flysch_sqlite::{Database, Work};

use super::chip::{EngineChip, EngineMemory, Start};
use crate::bench::measure::Measured;
use crate::bench::session::{Interval, Session, Steps};
use crate::bench::{RunError, engine_error};
use crate::machine::storage::EPOCH_MS;
use crate::tpcc::{
    Compiler, DISTRICTS, Kind, Outcome, Request, Requests, Scale, Terminals, TpccError,
    Transactions, check, engine,
};
use crate::workload::Tpcc;

/// SQLite's name of a database in RAM.
const IN_MEMORY: &str = ":memory:";

/// The state of TPC-C during a run.
pub(super) struct TpccSteps {
    tpcc: Tpcc,
}

impl TpccSteps {
    pub(super) const fn new(tpcc: Tpcc) -> Self {
        Self { tpcc }
    }
}

fn terminals(tpcc: Tpcc, session: &Session<'_>) -> Terminals {
    let Tpcc { scale, terminals, pace, rollback_percent, .. } = tpcc;
    let seed = session.scenario.seed;
    let requests = Requests::new(scale, rollback_percent, seed);
    Terminals::new(terminals, pace, requests, seed, session.now_ns())
}

/// Let the terminals send their requests. `run` executes each one.
fn serve(
    tpcc: Tpcc,
    session: &Session<'_>,
    mut run: impl FnMut(&Request) -> Result<Outcome, RunError>,
) -> Result<Measured, RunError> {
    let mut terminals = terminals(tpcc, session);
    let mut tally = Tally::default();
    let mut interval = Interval::begin(session);
    for _ in 0..session.scenario.requests {
        let waiting = terminals.turn();
        session.sleep_until(waiting.sent_ns);
        let kind = waiting.request.kind();
        let outcome = interval.request(kind.name(), || run(&waiting.request))?;
        let now_ns = session.now_ns();
        terminals.answered(&waiting, now_ns);
        tally.add(kind, outcome, now_ns - waiting.sent_ns);
    }
    let timing = interval.end();
    let figures = tally.figures(timing.time_ns, &timing.request_ns);
    let mut measured = Measured::new(timing, 0);
    measured.figures = figures;
    measured.timing.request_ns = tally.response_ns;
    measured.kinds = tally.kinds;
    Ok(measured)
}

impl From<TpccError> for RunError {
    fn from(error: TpccError) -> Self {
        match error {
            TpccError::Sqlite { statement, error } => {
                let statement = statement.split_whitespace().collect::<Vec<_>>().join(" ");
                Self::Sqlite { during: statement, message: error.to_string() }
            }
            TpccError::Engine { statement, error } => {
                Self::Engine { during: statement.to_owned(), error }
            }
            other => Self::Broken(other.to_string()),
        }
    }
}

impl Steps for TpccSteps {
    type Opened = Database;

    fn prepare(&mut self, session: &Session<'_>) -> Result<(), RunError> {
        let Tpcc { files, scale, .. } = self.tpcc;
        let settings = &session.scenario.settings;
        let failed = |error| TpccError::Sqlite { statement: "open", error };
        let memory = session.site.open_database(IN_MEMORY).map_err(failed)?;
        let images =
            files.load(&memory, date_ms(session)?, settings, scale, session.scenario.seed)?;
        for image in images {
            image.store(&mut *session.linux())?;
        }
        Ok(())
    }

    fn open(&mut self, session: &Session<'_>) -> Result<Database, RunError> {
        let open = |name: &str| session.site.open_database(name);
        Ok(self.tpcc.files.open(open, &session.scenario.settings)?)
    }

    fn measure(
        &mut self,
        session: &Session<'_>,
        database: &mut Database,
    ) -> Result<Measured, RunError> {
        let charge = |work: &Work, sql: &str| session.charge(work, sql.as_bytes());
        let mut transactions = Transactions::prepare(Compiler::new(database, &charge))?;
        // Compiling the statements reads the schema. This happens once, before the interval, so
        // what was recorded is discarded.
        session.site.reset()?;
        serve(self.tpcc, session, |request| Ok(transactions.run(request, date_ms(session)?)?))
    }

    /// Check the consistency conditions of the TPC-C specification.
    fn check(&mut self, _: &Session<'_>, database: &mut Database) -> Result<(), RunError> {
        Ok(check(database)?)
    }
}

/// The state of TPC-C on the engine during a run.
pub(super) struct EngineSteps<'r> {
    tpcc: Tpcc,
    /// The engine's RAM, until the database is opened.
    ram: Option<&'r mut EngineMemory>,
}

impl<'r> EngineSteps<'r> {
    pub(super) const fn new(tpcc: Tpcc, ram: &'r mut EngineMemory) -> Self {
        Self { tpcc, ram: Some(ram) }
    }

    /// Rows of the largest table at the end: order lines, of which an order has ten on average.
    fn capacity(&self, session: &Session<'_>) -> u32 {
        let Scale { warehouses, .. } = self.tpcc.scale;
        let customers = u32::try_from(self.tpcc.scale.customers() * DISTRICTS);
        let orders = customers.unwrap_or(u32::MAX).saturating_mul(warehouses);
        orders.saturating_add(session.scenario.requests).saturating_mul(10)
    }
}

/// The time of a session in milliseconds since 1970.
fn date_ms(session: &Session<'_>) -> Result<i64, RunError> {
    let elapsed_ms = i64::try_from(session.now_ns() / 1_000_000);
    let elapsed_ms = elapsed_ms.map_err(|error| RunError::Broken(error.to_string()))?;
    Ok(EPOCH_MS + elapsed_ms)
}

impl<'r> Steps for EngineSteps<'r> {
    type Opened = Db<'r, 'static, EngineChip<'r>>;

    fn prepare(&mut self, session: &Session<'_>) -> Result<(), RunError> {
        let (capacity, scale) = (self.capacity(session), self.tpcc.scale);
        let now_ms = date_ms(session)?;
        let ram = self.ram.as_deref_mut().expect("the database is not open");
        let mut db = ram.database(session, &engine::SCHEMA, capacity, Start::Create)?;
        engine::load(&mut db, scale, session.scenario.seed, now_ms)?;
        db.close().map(drop).map_err(engine_error("closing the database"))
    }

    fn open(&mut self, session: &Session<'_>) -> Result<Self::Opened, RunError> {
        let capacity = self.capacity(session);
        let ram = self.ram.take().expect("the database is opened once");
        ram.database(session, &engine::SCHEMA, capacity, Start::Open)
    }

    fn measure(
        &mut self,
        session: &Session<'_>,
        db: &mut Self::Opened,
    ) -> Result<Measured, RunError> {
        let mut transactions = engine::Transactions::prepare(db)?;
        session.site.reset()?;
        serve(self.tpcc, session, |request| Ok(transactions.run(db, request, date_ms(session)?)?))
    }

    /// Check the consistency conditions of the TPC-C specification.
    fn check(&mut self, _: &Session<'_>, db: &mut Self::Opened) -> Result<(), RunError> {
        Ok(engine::check(db)?)
    }
}

/// What the transactions did, for the figures.
#[derive(Default)]
struct Tally {
    response_ns: Vec<u64>,
    kinds: Vec<&'static str>,
    new_orders: u32,
    rolled_back: u32,
}

impl Tally {
    fn add(&mut self, kind: Kind, outcome: Outcome, response_ns: u64) {
        self.response_ns.push(response_ns);
        self.kinds.push(kind.name());
        self.new_orders += u32::from(kind == Kind::NewOrder);
        self.rolled_back += u32::from(outcome == Outcome::RolledBack);
    }

    /// The rate of new orders includes those that were rolled back, as clause 5.4 does.
    #[expect(clippy::cast_precision_loss, reason = "figures for people, far below 2^52")]
    fn figures(&self, time_ns: u64, service_ns: &[u64]) -> BTreeMap<&'static str, f64> {
        let minutes = time_ns as f64 / 60e9;
        let count = self.response_ns.len() as f64;
        let mean = |times: &[u64]| times.iter().sum::<u64>() as f64 / count;
        let values = [
            f64::from(self.new_orders) / minutes,
            f64::from(self.new_orders),
            f64::from(self.rolled_back),
            mean(&self.response_ns),
            mean(service_ns),
        ];
        Tpcc::FIGURES.into_iter().zip(values).collect()
    }
}
