//! The steps of the micro-benchmark and of the contacts workload in the engine: inserts, selects,
//! joins and updates by key. The tables have the same columns as in SQLite.

use flysch::db::{Db, DbError, Direction, Durability};
use flysch::query::Merge;
use flysch::row::{Column, ColumnType, Index, IndexKind, Schema, Table, Value};
use flysch_chip::Prng;

use super::chip::{EngineChip, EngineMemory, Start, row_memory};
use crate::bench::measure::Measured;
use crate::bench::session::{Drawn, Interval, Session, Steps};
use crate::bench::{RunError, engine_error};
use crate::workload::{Contacts, Micro, Pattern, Places, RandomStrings, TEXT_COUNT};

const fn integer(name: &str) -> Column<'_> {
    Column::required(name, ColumnType::Integer)
}

const fn text(name: &str) -> Column<'_> {
    Column::required(name, ColumnType::Blob)
}

/// The index on the key, which both tables have.
const KEY: &[Index<'static>] =
    &[Index { columns: &[0], kind: IndexKind::Ordered, is_unique: true }];

/// A table of the micro-benchmark.
const fn records(name: &str) -> Table<'_> {
    const COLUMNS: &[Column<'static>] = &[integer("id"), text("val")];
    Table { name, columns: COLUMNS, indexes: KEY, zone: None, keep: None }
}

/// The table of the micro-benchmark.
const RECORDS: Schema<'static> = Schema { tables: &[records("table1")] };
/// The two tables that are joined.
const PAIR: Schema<'static> = Schema { tables: &[records("table1"), records("table2")] };
const _: () = assert!(RECORDS.check().is_ok() && PAIR.check().is_ok(), "the engine takes them");

/// The table of the contacts.
const CONTACTS: Schema<'static> = Schema {
    tables: &[Table {
        name: "contacts",
        columns: &[
            integer("_id"),
            integer("name_raw_contact_id"),
            integer("photo_id"),
            integer("send_to_voicemail"),
            integer("times_contacted"),
            integer("last_time_contacted"),
            integer("starred"),
            integer("in_visible_group"),
            integer("has_phone_number"),
            integer("status_update_id"),
            integer("single_is_restricted"),
            integer("link_type"),
            text("display_name"),
            text("phonetic_name"),
            text("custom_ringtone"),
            text("sort_key"),
            text("lookup"),
        ],
        indexes: KEY,
        zone: None,
        keep: None,
    }],
};
const _: () = assert!(CONTACTS.check().is_ok(), "the engine takes the schema");

const TABLE: u8 = 0;
/// The number of the table that the first one is joined with.
const OTHER: u8 = 1;
const BY_KEY: u8 = 0;

/// The requests of the measured interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    /// Insert rows in one transaction.
    Insert,
    /// Select rows by key.
    Select(Pattern),
    /// Join two tables by their keys, in one request.
    Join,
    /// Replace rows in one transaction.
    Update,
    /// Replace random rows, each in a transaction of its own.
    Commit,
}

/// The state of the workload during a run.
pub(super) struct TableSteps<'r> {
    schema: &'static Schema<'static>,
    asked: Asked,
    /// Rows in each table before the measured interval.
    fill: u32,
    /// Bytes of data in a row.
    row_size: u32,
    strings: RandomStrings,
    integers: Prng,
    /// Draws the records for updates in random order.
    picks: Prng,
    seed: u64,
    /// The engine's RAM, until the database is opened.
    ram: Option<&'r mut EngineMemory>,
}

/// An open database, and memory for one row of it.
pub(super) struct Opened<'r> {
    db: Db<'r, 'static, EngineChip<'r>>,
    row: Vec<u8>,
}

impl<'r> TableSteps<'r> {
    /// The steps of one kind of request of the micro-benchmark.
    pub(super) fn of_records(
        kind: Micro,
        session: &Session<'_>,
        ram: &'r mut EngineMemory,
    ) -> Self {
        let scenario = session.scenario;
        let (asked, schema) = match kind {
            Micro::Insert => (Asked::Insert, &RECORDS),
            Micro::Select => (Asked::Select(Pattern::Sequential), &RECORDS),
            Micro::Join => (Asked::Join, &PAIR),
            Micro::Update => (Asked::Update, &RECORDS),
            Micro::Commit => (Asked::Commit, &RECORDS),
        };
        let fill = if kind.is_filled() { scenario.fill } else { 0 };
        Self::new(schema, asked, fill, (scenario.record_size, 1), session, ram)
    }

    /// The steps of the contacts workload.
    pub(super) fn of_contacts(
        contacts: Contacts,
        session: &Session<'_>,
        ram: &'r mut EngineMemory,
    ) -> Self {
        let asked = Asked::Select(contacts.pattern);
        let texts = (contacts.text_size, TEXT_COUNT);
        Self::new(&CONTACTS, asked, contacts.records, texts, session, ram)
    }

    fn new(
        schema: &'static Schema<'static>,
        asked: Asked,
        fill: u32,
        (text_size, text_count): (u32, u32),
        session: &Session<'_>,
        ram: &'r mut EngineMemory,
    ) -> Self {
        let seed = session.scenario.seed ^ 0x5EED;
        let strings = RandomStrings::new(session.scenario.alphabet, text_size, seed);
        let row_size = text_size * text_count;
        let integers = Prng::new(seed);
        let picks = Prng::new(session.scenario.seed ^ 0xB1C5);
        Self { schema, asked, fill, row_size, strings, integers, picks, seed, ram: Some(ram) }
    }

    fn capacity(&self, session: &Session<'_>) -> u32 {
        match self.asked {
            Asked::Insert => session.scenario.requests,
            Asked::Select(_) | Asked::Join | Asked::Update | Asked::Commit => self.fill,
        }
    }

    fn pick(&mut self) -> u32 {
        let picked = self.picks.below(u64::from(self.fill));
        1 + u32::try_from(picked).expect("records are counted so")
    }

    /// Make the updates of the measured interval: all in one transaction, or each in its own.
    fn updates(
        &mut self,
        session: &Session<'_>,
        db: &mut Db<'_, 'static, EngineChip<'_>>,
        interval: &mut Interval<'_>,
    ) -> Result<(), RunError> {
        let requests = session.scenario.requests;
        if self.asked == Asked::Commit {
            for _ in 0..requests {
                let id = self.pick();
                interval.request("commit", || self.replace(session, db, id))?;
            }
            return Ok(());
        }
        let failed = engine_error("updating rows");
        let mut transaction = interval.begin_transaction(|| db.begin().map_err(&failed))?;
        for id in 1..=requests {
            interval.request("update", || {
                let _scope = session.site.enter("statement");
                self.insert(id, |values| transaction.update(TABLE, values).map(drop))
            })?;
        }
        interval.end_transaction(|| {
            let _scope = session.site.enter("commit");
            transaction.commit(Durability::Durable).map_err(&failed)
        })?;
        Ok(())
    }

    /// Replace a row in a transaction of its own.
    fn replace(
        &mut self,
        session: &Session<'_>,
        db: &mut Db<'_, 'static, EngineChip<'_>>,
        id: u32,
    ) -> Result<(), RunError> {
        let failed = engine_error("updating a row");
        let scope = session.site.enter("statement");
        let mut transaction = db.begin().map_err(&failed)?;
        self.insert(id, |values| transaction.update(TABLE, values).map(drop))?;
        drop(scope);
        let _scope = session.site.enter("commit");
        transaction.commit(Durability::Durable).map_err(&failed)
    }

    /// Make the join, which is one request.
    fn join(
        &self,
        session: &Session<'_>,
        opened: &mut Opened<'_>,
        interval: &mut Interval<'_>,
    ) -> Result<(), RunError> {
        let Opened { db, row } = opened;
        let failed = engine_error("the join");
        let mut other = row_memory(self.row_size);
        let requests = i64::from(session.scenario.requests);
        let ends = (&Value::Integer(i64::MIN), &Value::Integer(requests));
        let found = interval.request("join", || {
            let _scope = session.site.enter("statement");
            let side = |table| db.range(table, BY_KEY, ends, Direction::Forward).map_err(&failed);
            let mut joined = Merge::new(side(TABLE)?, side(OTHER)?, (&[0], &[0]));
            let mut found = 0;
            while joined.next(db, row, &mut other).map_err(&failed)?.is_some() {
                found += 1;
            }
            Ok(found)
        })?;
        let wanted = requests.min(i64::from(self.fill));
        if found == wanted {
            return Ok(());
        }
        Err(RunError::Broken(format!("the join gave {found} rows of {wanted}")))
    }

    /// The integers and the texts of row `id`.
    fn content(&mut self, id: u32) -> (Vec<i64>, Vec<Vec<u8>>) {
        let columns = self.schema.tables[usize::from(TABLE)].columns;
        let is_integer = |column: &&Column<'_>| column.kind == ColumnType::Integer;
        let integer_count = columns.iter().filter(is_integer).count();
        let drawn = (1..integer_count).map(|_| self.integers.below(1 << 31).cast_signed());
        let integers = std::iter::once(i64::from(id)).chain(drawn).collect();
        let texts = (integer_count..columns.len()).map(|_| {
            let mut text = Vec::new();
            self.strings.append(&mut text);
            text
        });
        (integers, texts.collect())
    }

    /// Make row `id` and pass it to `insert`.
    fn insert(
        &mut self,
        id: u32,
        insert: impl FnOnce(&[Value<'_>]) -> Result<(), DbError>,
    ) -> Result<(), RunError> {
        let (integers, texts) = self.content(id);
        let integers = integers.iter().map(|&integer| Value::from(integer));
        let values: Vec<_> = integers.chain(texts.iter().map(|text| Value::Blob(text))).collect();
        insert(&values).map_err(|error| engine_error(&format!("inserting row {id}"))(error))
    }

    /// Make the inserts of the measured interval, in one transaction.
    fn inserts(
        &mut self,
        session: &Session<'_>,
        db: &mut Db<'_, 'static, EngineChip<'_>>,
        interval: &mut Interval<'_>,
    ) -> Result<(), RunError> {
        let failed = engine_error("beginning a transaction");
        let mut transaction = interval.begin_transaction(|| db.begin().map_err(failed))?;
        for id in 1..=session.scenario.requests {
            interval.request("insert", || {
                let _scope = session.site.enter("statement");
                self.insert(id, |values| transaction.insert(TABLE, values))
            })?;
        }
        interval.end_transaction(|| {
            let _scope = session.site.enter("commit");
            transaction.commit(Durability::Durable).map_err(engine_error("committing rows"))
        })?;
        Ok(())
    }

    /// Make the selects of the measured interval.
    fn selects(
        &self,
        session: &Session<'_>,
        opened: &mut Opened<'_>,
        pattern: Pattern,
        interval: &mut Interval<'_>,
    ) -> Result<(), RunError> {
        let Opened { db, row } = opened;
        let places = Places::new(pattern, u64::from(self.fill), self.seed);
        for (place, number) in places.zip(1..=session.scenario.requests) {
            let key = [Value::from(place.cast_signed() + 1)];
            let found = interval.request("select", || {
                let _scope = session.site.enter("statement");
                let found = db.get(TABLE, BY_KEY, &key, row).map(|found| found.is_some());
                found.map_err(|error| engine_error(&format!("request {number}"))(error))
            })?;
            if !found {
                return Err(RunError::Broken(format!("row {} is not found", place + 1)));
            }
        }
        Ok(())
    }
}

/// Rows in each transaction that fills a table.
const FILLED_AT_ONCE: usize = 256;

impl<'r> Steps for TableSteps<'r> {
    type Opened = Opened<'r>;

    fn prepare(&mut self, session: &Session<'_>) -> Result<(), RunError> {
        let capacity = self.capacity(session);
        let mut ram = self.ram.take();
        let memory = ram.as_deref_mut().expect("the database is not open");
        let mut db = memory.database(session, self.schema, capacity, Start::Create)?;
        // A transaction must be small: the engine keeps the index entries of its rows in RAM.
        for (table, _) in (0..).zip(self.schema.tables) {
            for first in (1..=self.fill).step_by(FILLED_AT_ONCE) {
                let mut transaction = db.begin().map_err(engine_error("filling the table"))?;
                for id in (first..=self.fill).take(FILLED_AT_ONCE) {
                    self.insert(id, |values| transaction.insert(table, values))?;
                }
                let committed = transaction.commit(Durability::Durable);
                committed.map_err(engine_error("filling the table"))?;
            }
        }
        db.close().map(drop).map_err(engine_error("closing the database"))?;
        self.ram = ram;
        Ok(())
    }

    fn drawn(&self) -> Option<Drawn> {
        Some(Drawn { strings: self.strings.clone(), numbers: self.integers.clone() })
    }

    fn go_on(&mut self, drawn: &Drawn) {
        self.strings.clone_from(&drawn.strings);
        self.integers.clone_from(&drawn.numbers);
    }

    fn open(&mut self, session: &Session<'_>) -> Result<Opened<'r>, RunError> {
        let capacity = self.capacity(session);
        let ram = self.ram.take().expect("the database is opened once");
        let db = ram.database(session, self.schema, capacity, Start::Open)?;
        Ok(Opened { db, row: row_memory(self.row_size) })
    }

    fn measure(
        &mut self,
        session: &Session<'_>,
        opened: &mut Opened<'r>,
    ) -> Result<Measured, RunError> {
        let mut interval = Interval::begin(session);
        match self.asked {
            Asked::Insert => self.inserts(session, &mut opened.db, &mut interval)?,
            Asked::Select(pattern) => self.selects(session, opened, pattern, &mut interval)?,
            Asked::Join => self.join(session, opened, &mut interval)?,
            Asked::Update | Asked::Commit => {
                self.updates(session, &mut opened.db, &mut interval)?;
            }
        }
        let bytes = u64::from(session.scenario.requests) * u64::from(self.row_size);
        Ok(Measured::new(interval.end(), bytes))
    }
}
