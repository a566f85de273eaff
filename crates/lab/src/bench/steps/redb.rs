//! The steps of the micro-benchmark and of the contacts workload in redb, an engine of others: a
//! B+tree that copies on write, in one file. Keys are integers, and the other columns are the bytes
//! of the value.
//!
//! redb has no SQL and no join: the program that uses it joins by looking up each key. The CPU time
//! that redb takes is not known and not charged. That of the kernel is.

use flysch_chip::Prng;
use redb::{Database, Table, TableDefinition};

use crate::bench::measure::Measured;
use crate::bench::session::{Drawn, Interval, Session, Steps};
use crate::bench::{RunError, redb_error};
use crate::workload::{Contacts, Micro, Pattern, Places, RandomStrings, TEXT_COUNT};

type Rows = TableDefinition<'static, i64, &'static [u8]>;

const ROWS: Rows = TableDefinition::new("table1");
/// The table that is joined with the first one.
const OTHERS: Rows = TableDefinition::new("table2");
/// Bytes of the integers of a contact, besides its key.
const CONTACT_INTEGERS: usize = 11 * size_of::<i64>();

/// What is asked in the measured interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    Micro(Micro),
    /// Select rows by key.
    Select(Pattern),
}

/// The state of the workload during a run.
pub(super) struct RedbSteps {
    asked: Asked,
    /// Rows in each table before the measured interval.
    fill: u32,
    /// Bytes of integers at the beginning of each value.
    integers: usize,
    /// Number of texts in each value, and their bytes in all.
    text_count: u32,
    text_bytes: u32,
    strings: RandomStrings,
    /// Draws the integers, and the rows for updates in random order.
    picks: Prng,
    seed: u64,
}

impl RedbSteps {
    /// The steps of one kind of request of the micro-benchmark.
    pub(super) fn of_records(kind: Micro, session: &Session<'_>) -> Self {
        let scenario = session.scenario;
        let fill = if kind.is_filled() { scenario.fill } else { 0 };
        Self::new(Asked::Micro(kind), fill, (0, scenario.record_size, 1), session)
    }

    /// The steps of the contacts workload.
    pub(super) fn of_contacts(contacts: Contacts, session: &Session<'_>) -> Self {
        let row = (CONTACT_INTEGERS, contacts.text_size, TEXT_COUNT);
        Self::new(Asked::Select(contacts.pattern), contacts.records, row, session)
    }

    fn new(
        asked: Asked,
        fill: u32,
        (integers, text_size, text_count): (usize, u32, u32),
        session: &Session<'_>,
    ) -> Self {
        let seed = session.scenario.seed ^ 0x5EED;
        let strings = RandomStrings::new(session.scenario.alphabet, text_size, seed);
        let picks = Prng::new(session.scenario.seed ^ 0xB1C5);
        let text_bytes = text_size * text_count;
        Self { asked, fill, integers, text_count, text_bytes, strings, picks, seed }
    }

    /// The value of the next row.
    fn value(&mut self) -> Vec<u8> {
        let mut value = vec![0; self.integers];
        self.picks.fill(&mut value);
        for _ in 0..self.text_count {
            self.strings.append(&mut value);
        }
        value
    }

    fn pick(&mut self) -> i64 {
        1 + self.picks.below(self.fill.into()).cast_signed()
    }

    fn insert(
        &mut self,
        session: &Session<'_>,
        table: &mut Table<'_, i64, &'static [u8]>,
        id: i64,
    ) -> Result<(), RunError> {
        let value = self.value();
        let _scope = session.site.enter("statement");
        table.insert(id, value.as_slice()).map_err(redb_error("writing a row"))?;
        Ok(())
    }

    /// Write the rows of the measured interval, in one transaction.
    fn write_all(
        &mut self,
        session: &Session<'_>,
        database: &Database,
        kind: Micro,
        interval: &mut Interval<'_>,
    ) -> Result<(), RunError> {
        let begun = || database.begin_write().map_err(redb_error("beginning a transaction"));
        let transaction = interval.begin_transaction(begun)?;
        let mut table = transaction.open_table(ROWS).map_err(redb_error("opening the table"))?;
        for id in 1..=i64::from(session.scenario.requests) {
            interval.request(kind.name(), || self.insert(session, &mut table, id))?;
        }
        drop(table);
        interval.end_transaction(|| {
            let _scope = session.site.enter("commit");
            transaction.commit().map_err(redb_error("committing rows"))
        })
    }

    /// Replace a random row in a transaction of its own.
    fn replace_one(&mut self, session: &Session<'_>, database: &Database) -> Result<(), RunError> {
        let id = self.pick();
        let transaction = database.begin_write().map_err(redb_error("beginning a transaction"))?;
        let mut table = transaction.open_table(ROWS).map_err(redb_error("opening the table"))?;
        self.insert(session, &mut table, id)?;
        drop(table);
        let _scope = session.site.enter("commit");
        transaction.commit().map_err(redb_error("committing a row"))
    }

    /// Look up rows by key, in the order of `places`. Every one that was inserted must be there.
    fn select(
        &self,
        session: &Session<'_>,
        database: &Database,
        places: impl Iterator<Item = u64>,
        interval: &mut Interval<'_>,
    ) -> Result<(), RunError> {
        let reading = database.begin_read().map_err(redb_error("beginning to read"))?;
        let table = reading.open_table(ROWS).map_err(redb_error("opening the table"))?;
        for place in places {
            let id = place.cast_signed() + 1;
            let found = interval.request("select", || {
                let _scope = session.site.enter("statement");
                table.get(id).map_err(redb_error("a select"))
            })?;
            if found.is_none() && place < self.fill.into() {
                return Err(RunError::Broken(format!("row {id} is not found")));
            }
        }
        Ok(())
    }
}

/// Join the two tables by key, which is one request.
fn join(
    session: &Session<'_>,
    database: &Database,
    fill: u32,
    interval: &mut Interval<'_>,
) -> Result<(), RunError> {
    let reading = database.begin_read().map_err(redb_error("beginning to read"))?;
    let rows = reading.open_table(ROWS).map_err(redb_error("opening a table"))?;
    let others = reading.open_table(OTHERS).map_err(redb_error("opening a table"))?;
    let requests = session.scenario.requests;
    let found = interval.request("join", || {
        let _scope = session.site.enter("statement");
        let mut found = 0;
        for row in rows.range(..=i64::from(requests)).map_err(redb_error("the join"))? {
            let (key, _) = row.map_err(redb_error("the join"))?;
            let other = others.get(key.value()).map_err(redb_error("the join"))?;
            found += u32::from(other.is_some());
        }
        Ok(found)
    })?;
    let wanted = requests.min(fill);
    if found == wanted {
        return Ok(());
    }
    Err(RunError::Broken(format!("the join gave {found} rows of {wanted}")))
}

impl Steps for RedbSteps {
    type Opened = Database;

    fn prepare(&mut self, session: &Session<'_>) -> Result<(), RunError> {
        let database = session.open_redb()?;
        let transaction = database.begin_write().map_err(redb_error("making the tables"))?;
        let is_join = self.asked == Asked::Micro(Micro::Join);
        let tables: &[Rows] = if is_join { &[ROWS, OTHERS] } else { &[ROWS] };
        for definition in tables {
            let mut table =
                transaction.open_table(*definition).map_err(redb_error("making a table"))?;
            for id in 1..=i64::from(self.fill) {
                self.insert(session, &mut table, id)?;
            }
        }
        transaction.commit().map_err(redb_error("filling the tables"))
    }

    fn drawn(&self) -> Option<Drawn> {
        Some(Drawn { strings: self.strings.clone(), numbers: self.picks.clone() })
    }

    fn go_on(&mut self, drawn: &Drawn) {
        self.strings.clone_from(&drawn.strings);
        self.picks.clone_from(&drawn.numbers);
    }

    fn open(&mut self, session: &Session<'_>) -> Result<Database, RunError> {
        session.open_redb()
    }

    fn measure(
        &mut self,
        session: &Session<'_>,
        database: &mut Database,
    ) -> Result<Measured, RunError> {
        let requests = session.scenario.requests;
        let mut interval = Interval::begin(session);
        match self.asked {
            Asked::Micro(kind @ (Micro::Insert | Micro::Update)) => {
                self.write_all(session, database, kind, &mut interval)?;
            }
            Asked::Micro(Micro::Commit) => {
                for _ in 0..requests {
                    interval.request("commit", || self.replace_one(session, database))?;
                }
            }
            Asked::Micro(Micro::Join) => join(session, database, self.fill, &mut interval)?,
            Asked::Micro(Micro::Select) => {
                self.select(session, database, 0..requests.into(), &mut interval)?;
            }
            Asked::Select(pattern) => {
                let places = Places::new(pattern, self.fill.into(), self.seed);
                let places = places.take(requests as usize);
                self.select(session, database, places, &mut interval)?;
            }
        }
        let bytes = u64::from(requests) * u64::from(self.text_bytes);
        Ok(Measured::new(interval.end(), bytes))
    }
}
