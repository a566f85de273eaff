//! The steps of TPC-C: store the loaded database, then let the terminals send their transactions.

use std::collections::BTreeMap;

use flysch_sqlite::{Database, Work};

use crate::bench::RunError;
use crate::bench::measure::Measured;
use crate::bench::session::{Interval, Session, Steps};
use crate::tpcc::{Compiler, Kind, Outcome, Requests, Terminals, TpccError, Transactions, check};
use crate::workload::Tpcc;

/// The state of TPC-C during a run.
pub(super) struct TpccSteps {
    tpcc: Tpcc,
}

impl TpccSteps {
    pub(super) const fn new(tpcc: Tpcc) -> Self {
        Self { tpcc }
    }

    fn terminals(&self, session: &Session<'_>) -> Terminals {
        let Tpcc { scale, terminals, pace, rollback_percent, .. } = self.tpcc;
        let seed = session.scenario.seed;
        let requests = Requests::new(scale, rollback_percent, seed);
        Terminals::new(terminals, pace, requests, seed, session.now_ns())
    }
}

impl From<TpccError> for RunError {
    fn from(error: TpccError) -> Self {
        match error {
            TpccError::Sqlite { statement, error } => {
                let statement = statement.split_whitespace().collect::<Vec<_>>().join(" ");
                Self::Sqlite { during: statement, message: error.to_string() }
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
        let images = files.load(session.storage()?, settings, scale, session.scenario.seed)?;
        for image in images {
            image.store(&mut *session.linux())?;
        }
        Ok(())
    }

    fn open(&mut self, session: &Session<'_>) -> Result<Database, RunError> {
        Ok(self.tpcc.files.open(session.storage()?, &session.scenario.settings)?)
    }

    fn measure(
        &mut self,
        session: &Session<'_>,
        database: &mut Database,
    ) -> Result<Measured, RunError> {
        let charge = |work: &Work| session.charge(work, 0);
        let mut transactions = Transactions::prepare(Compiler::new(database, &charge))?;
        // Compiling the statements reads the schema. It happens once, before the interval, so it is
        // reset.
        session.site.reset()?;
        let mut terminals = self.terminals(session);
        let mut tally = Tally::default();
        let storage = session.storage()?;
        let mut interval = Interval::begin(session);
        for _ in 0..session.scenario.requests {
            let waiting = terminals.turn();
            session.sleep_until(waiting.sent_ns);
            let kind = waiting.request.kind();
            let date_ms = storage.now_ms();
            let outcome = interval
                .request(kind.name(), || Ok(transactions.run(&waiting.request, date_ms)?))?;
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

    /// Check the consistency conditions of the TPC-C specification.
    fn check(&mut self, _: &Session<'_>, database: &mut Database) -> Result<(), RunError> {
        Ok(check(database)?)
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
        BTreeMap::from([
            ("new_orders_per_minute", f64::from(self.new_orders) / minutes),
            ("new_orders", f64::from(self.new_orders)),
            ("new_orders_rolled_back", f64::from(self.rolled_back)),
            ("response_ns_mean", mean(&self.response_ns)),
            ("service_ns_mean", mean(service_ns)),
        ])
    }
}
