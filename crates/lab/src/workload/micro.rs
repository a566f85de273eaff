//! The micro-benchmark of Boukhobza et al. (ERTS 2014), Algorithm 1: one kind of request, repeated
//! in one transaction, on a table of an integer key and a random string. And, on the same table,
//! transactions of one request each, which show what a journal costs.

use std::collections::VecDeque;
use std::ops::RangeInclusive;

use flysch_chip::Prng;
use flysch_sqlite::Database;

use super::strings::RandomStrings;
use super::{Measured, Steps};
use crate::bench::scenario::{RunError, sqlite_error};
use crate::bench::session::{Interval, Session};

/// A kind of request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Micro {
    /// Insert records with ascending keys.
    Insert,
    /// Select records by key, ascending.
    Select,
    /// Join two equal tables over their keys: one statement for all requests.
    Join,
    /// Replace the string of records, by ascending key.
    Update,
    /// Replace the string of random records, each in a transaction of its own.
    Commit,
}

impl Micro {
    /// The kinds of Algorithm 1.
    pub const ALL: [Self; 4] = [Self::Insert, Self::Select, Self::Join, Self::Update];

    /// Name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Insert => "insert",
            Self::Select => "select",
            Self::Join => "join",
            Self::Update => "update",
            Self::Commit => "commit",
        }
    }

    /// Tables it needs.
    pub const fn tables(self) -> u32 {
        match self {
            Self::Join => 2,
            Self::Insert | Self::Select | Self::Update | Self::Commit => 1,
        }
    }

    /// Whether the tables are filled before the measured interval.
    pub const fn is_filled(self) -> bool {
        !matches!(self, Self::Insert)
    }

    /// Whether it leaves the tables as they are.
    pub const fn is_reading(self) -> bool {
        matches!(self, Self::Select | Self::Join)
    }

    /// How many statements make `requests` requests.
    pub const fn statements(self, requests: u32) -> u32 {
        match self {
            Self::Join => 1,
            Self::Insert | Self::Select | Self::Update | Self::Commit => requests,
        }
    }

    /// Whether all requests are one transaction.
    pub const fn is_one_transaction(self) -> bool {
        !matches!(self, Self::Commit)
    }

    /// The text of the statement on record `number`, counted from 1, of a run of `requests`.
    pub fn statement(self, number: u32, requests: u32, strings: &mut RandomStrings) -> Vec<u8> {
        match self {
            Self::Insert => insert("table1", number, strings),
            Self::Select => format!("SELECT val FROM table1 WHERE id = {number};").into_bytes(),
            Self::Update | Self::Commit => {
                let mut sql = b"UPDATE table1 SET val = '".to_vec();
                strings.append(&mut sql);
                sql.extend(format!("' WHERE id = {number};").bytes());
                sql
            }
            Self::Join => format!(
                "SELECT table2.val FROM table1, table2 \
                 WHERE table1.id = table2.id AND table2.id <= {requests};"
            )
            .into_bytes(),
        }
    }
}

/// The text that makes a table.
pub fn schema(table: &str) -> String {
    format!("CREATE TABLE {table} (id INTEGER PRIMARY KEY, val TEXT);")
}

/// The text that inserts record `id`.
pub fn insert(table: &str, id: u32, strings: &mut RandomStrings) -> Vec<u8> {
    let mut sql = format!("INSERT INTO {table} VALUES ({id}, '").into_bytes();
    strings.append(&mut sql);
    sql.extend(b"');");
    sql
}

/// Texts of statements, made before they are due: making them takes time on a real machine, which is
/// neither the database's nor the flash's.
struct Ahead<F> {
    numbers: RangeInclusive<u32>,
    make: F,
    ready: VecDeque<Vec<u8>>,
}

impl<F: FnMut(u32) -> Vec<u8>> Ahead<F> {
    /// So many at a time, so that they take tens of megabytes at most.
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

/// A run of it under way.
pub(super) struct Run {
    kind: Micro,
    strings: RandomStrings,
    /// Which records are picked where that is random.
    picks: Prng,
}

impl Run {
    pub(super) fn new(kind: Micro, session: &Session<'_>) -> Self {
        let scenario = session.scenario;
        let seed = scenario.seed ^ 0x5EED;
        let strings = RandomStrings::new(scenario.alphabet, scenario.record_size, seed);
        Self { kind, strings, picks: Prng::new(scenario.seed ^ 0xB1C5) }
    }

    /// The record that request `number` is about.
    fn record(&mut self, number: u32, session: &Session<'_>) -> u32 {
        if self.kind.is_one_transaction() {
            return number;
        }
        let picked = self.picks.below(u64::from(session.scenario.fill));
        1 + u32::try_from(picked).expect("records are counted so")
    }

    /// Fill the tables, each in one transaction. Their texts are made on the way, as a program makes
    /// them: how long that takes decides whether the flusher wakes before the transaction ends.
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

impl Steps for Run {
    type Opened = Database;

    /// As the reference runs were.
    const HOLDS_TIMERS: bool = false;

    /// Make the tables, and fill them if the kind reads or changes records.
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

    fn open(&mut self, session: &Session<'_>) -> Result<Database, RunError> {
        session.open_database()
    }

    /// BEGIN, the requests, END: each timed. Without BEGIN and END where each request commits.
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
            interval.begin_ns = interval.timed("begin", || {
                let begun = session.execute(database, "BEGIN TRANSACTION;");
                begun.map_err(sqlite_error("BEGIN".to_owned()))
            })?;
        }
        for (number, sql) in (1..).zip(texts) {
            interval.request(kind.name(), || {
                let done = session.execute(database, sql);
                done.map_err(sqlite_error(format!("request {number} of {statements}")))
            })?;
        }
        if is_one {
            interval.end_ns = interval.timed("end", || {
                let ended = session.execute(database, "END TRANSACTION;");
                ended.map_err(sqlite_error("END".to_owned()))
            })?;
        }
        let bytes = u64::from(requests) * u64::from(session.scenario.record_size);
        Ok(Measured::new(interval.end(), bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::super::strings::Alphabet;
    use super::*;

    #[test]
    fn statements_are_those_of_the_paper() {
        let mut strings = RandomStrings::new(Alphabet::Constant, 3, 1);
        let cases = [
            (Micro::Insert, "INSERT INTO table1 VALUES (7, 'xxx');"),
            (Micro::Select, "SELECT val FROM table1 WHERE id = 7;"),
            (Micro::Update, "UPDATE table1 SET val = 'xxx' WHERE id = 7;"),
        ];
        for (workload, text) in cases {
            assert_eq!(workload.statement(7, 10, &mut strings), text.as_bytes());
        }
    }
}
