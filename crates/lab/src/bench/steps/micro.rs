//! The steps of the micro-benchmark: fill the tables, then BEGIN, the requests, END.

use std::collections::VecDeque;
use std::ops::RangeInclusive;

use flysch_chip::Prng;
use flysch_sqlite::Database;

use crate::bench::measure::Measured;
use crate::bench::session::{Drawn, Interval, Session, Steps};
use crate::bench::{RunError, sqlite_error};
use crate::workload::{Micro, RandomStrings, insert, schema};

/// The texts of statements, built in batches before they are needed. On a real machine building
/// them takes time, which must not count as time of the database or of the flash.
struct Ahead<F> {
    numbers: RangeInclusive<u32>,
    make: F,
    ready: VecDeque<Vec<u8>>,
}

impl<F: FnMut(u32) -> Vec<u8>> Ahead<F> {
    /// Texts in a batch. A batch takes tens of megabytes at most.
    const BATCH: usize = 8192;

    fn new(numbers: RangeInclusive<u32>, make: F) -> Self {
        let mut ahead = Self { numbers, make, ready: VecDeque::new() };
        ahead.make_some();
        ahead
    }

    fn make_some(&mut self) {
        self.ready.extend(self.numbers.by_ref().take(Self::BATCH).map(&mut self.make));
    }
}

impl<F: FnMut(u32) -> Vec<u8>> Iterator for Ahead<F> {
    type Item = Vec<u8>;

    fn next(&mut self) -> Option<Vec<u8>> {
        if self.ready.is_empty() {
            self.make_some();
        }
        self.ready.pop_front()
    }
}

/// The state of the micro-benchmark during a run.
pub(super) struct MicroSteps {
    kind: Micro,
    strings: RandomStrings,
    /// Draws the records for requests in random order.
    picks: Prng,
}

impl MicroSteps {
    pub(super) fn new(kind: Micro, session: &Session<'_>) -> Self {
        let scenario = session.scenario;
        let seed = scenario.seed ^ 0x5EED;
        let strings = RandomStrings::new(scenario.alphabet, scenario.record_size, seed);
        Self { kind, strings, picks: Prng::new(scenario.seed ^ 0xB1C5) }
    }

    /// The record that request `number` reads or changes.
    fn record(&mut self, number: u32, session: &Session<'_>) -> u32 {
        if self.kind.is_one_transaction() {
            return number;
        }
        let picked = self.picks.below(u64::from(session.scenario.fill));
        1 + u32::try_from(picked).expect("records are counted so")
    }

    /// Fill the tables, each in one transaction. The texts are built on the way, as a real program
    /// does: the time it takes decides whether the flusher wakes before the transaction ends.
    fn fill(&mut self, session: &Session<'_>, database: &Database) -> Result<(), RunError> {
        let fill = session.scenario.fill;
        for table in 1..=self.kind.tables() {
            let name = format!("table{table}");
            let during = |id: u32| sqlite_error(format!("filling table {table}, record {id}"));
            session.execute(database, "BEGIN;").map_err(during(0))?;
            for id in 1..=fill {
                let sql = insert(&name, id, &mut self.strings);
                session.charge_text(session.scenario.record_size);
                session.execute(database, sql).map_err(during(id))?;
            }
            session.execute(database, "COMMIT;").map_err(during(fill))?;
        }
        Ok(())
    }
}

/// End the interval after its requests and the END of the transaction.
fn ended(session: &Session<'_>, requests: u32, interval: Interval<'_>) -> Measured {
    let bytes = u64::from(requests) * u64::from(session.scenario.record_size);
    Measured::new(interval.end(), bytes)
}

/// End a transaction that only read, as it was ended before: that takes CPU time and changes
/// nothing.
fn end_again(session: &Session<'_>, mut interval: Interval<'_>) -> Result<Measured, RunError> {
    let end_ps = session.end_ps.get().expect("a part was run before");
    let cpu = &session.machine()?.cpu;
    interval.end_transaction(|| {
        cpu.charge_ps(end_ps);
        Ok(())
    })?;
    let requests = interval.request_count();
    Ok(ended(session, requests, interval))
}

impl Steps for MicroSteps {
    type Opened = Database;

    /// Timers run on, as they did in the reference runs.
    const HOLDS_TIMERS: bool = false;

    /// Make the tables, and fill them if this kind of request reads or changes records.
    fn prepare(&mut self, session: &Session<'_>) -> Result<(), RunError> {
        let database = session.open_database()?;
        for table in 1..=self.kind.tables() {
            let during = || sqlite_error(format!("making table {table}"));
            session.execute(&database, schema(&format!("table{table}"))).map_err(during())?;
        }
        if self.kind.is_filled() {
            self.fill(session, &database)?;
        }
        database.close().map_err(sqlite_error("closing the database".to_owned()))
    }

    fn drawn(&self) -> Option<Drawn> {
        Some(Drawn { strings: self.strings.clone(), numbers: self.picks.clone() })
    }

    fn go_on(&mut self, drawn: &Drawn) {
        self.strings.clone_from(&drawn.strings);
        self.picks.clone_from(&drawn.numbers);
    }

    fn open(&mut self, session: &Session<'_>) -> Result<Database, RunError> {
        session.open_database()
    }

    /// Time BEGIN, each request, and END. There is no BEGIN and END if each request commits by
    /// itself.
    fn measure(
        &mut self,
        session: &Session<'_>,
        database: &mut Database,
    ) -> Result<Measured, RunError> {
        let (kind, requests) = (self.kind, session.scenario.requests);
        let statements = kind.statements(requests);
        let texts = Ahead::new(1..=statements, |number| {
            let record = self.record(number, session);
            kind.statement(record, requests, &mut self.strings)
        });
        let mut interval = Interval::begin(session);
        let is_one = kind.is_one_transaction();
        if is_one {
            interval.begin_transaction(|| {
                let begun = session.execute(database, "BEGIN TRANSACTION;");
                begun.map_err(sqlite_error("BEGIN".to_owned()))
            })?;
        }
        for (number, sql) in (1..).zip(texts) {
            interval.request(kind.name(), || {
                let done = session.execute(database, sql);
                done.map_err(|error| {
                    sqlite_error(format!("request {number} of {statements}"))(error)
                })
            })?;
            if session.end_ps.get().is_some() {
                interval.end_parts(end_again)?;
            }
        }
        if is_one {
            let cpu = session.machine().ok().map(|machine| (&machine.cpu, machine.cpu.mark()));
            interval.end_transaction(|| {
                let ended = session.execute(database, "END TRANSACTION;");
                ended.map_err(sqlite_error("END".to_owned()))
            })?;
            if kind == Micro::Select {
                session.end_ps.set(cpu.map(|(cpu, mark)| cpu.busy_ps_since(&mark)));
            }
        }
        Ok(ended(session, requests, interval))
    }
}
