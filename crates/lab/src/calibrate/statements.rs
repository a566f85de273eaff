//! Measurements of SQLite: statements on a database in memory, and on a file whose writes nothing
//! makes durable.

use flysch_linux::cpu::Unit;
use flysch_sqlite::{Database, Value};

use super::compiled::{self, Bind};
use super::content::Content;
use crate::bench::site::Site;
use crate::bench::sql::charge;
use crate::bench::{RunError, sqlite_error};
use crate::workload::{Alphabet, RandomStrings};

const MEMORY: &str = ":memory:";
const FILE: &str = "calibrate.db";
const ROWS: u32 = 300;
/// Rows of the table whose rows take several pages.
const LARGE_ROWS: u32 = 40;

/// Statements to measure.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sql {
    pub(super) name: &'static str,
    pub(super) calls: u32,
    place: Place,
    /// The text of the statement for a row. `{id}` stands for its number, `{short}`,
    /// `{long}` and `{large}` for strings.
    text: &'static str,
    /// What its parameters are given, if it is compiled once and run many times.
    binds: &'static [Bind],
}

/// The database of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// In memory.
    Memory,
    /// In memory, within one transaction, as a program does that cares for its speed.
    Transaction,
    /// A file, with these settings.
    File(&'static str),
}

const fn of(place: Place, name: &'static str, calls: u32, text: &'static str) -> Sql {
    Sql { name, calls, place, text, binds: &[] }
}

/// A statement that is compiled once and run 100 times in a transaction.
const fn compiled(name: &'static str, text: &'static str, binds: &'static [Bind]) -> Sql {
    Sql { name, calls: 100, place: Place::Transaction, text, binds }
}

/// A statement that only builds its text.
const TEXT: &str = "";
const SUM: &str = "SELECT 1+2+3+4+5+6+7+8+9+10+11+12+13+14+15+16+17+18+19+20+21+22+23+24;";
const SELECT: &str = "SELECT value FROM rows WHERE id = {id};";
const SELECT_LARGE: &str = "SELECT value FROM large WHERE id = {id} % 40 + 1;";
const UPDATE_LARGE: &str = "UPDATE large SET value = '{large}' WHERE id = {id} % 40 + 1;";
const UPDATE: &str = "UPDATE rows SET value = '{short}' WHERE id = {id};";
const INSERT_WIDE: &str = "INSERT INTO wide (id, column_1, column_2, column_3, column_4) \
                           VALUES ({id} + 1000, {id}, 7, '{short}', NULL);";

/// A file of which few pages are kept, by one program alone.
const READ: Place = Place::File("PRAGMA cache_size = 10; PRAGMA locking_mode = exclusive;");
/// A file without a journal, which nothing makes durable.
const WRITTEN: Place = Place::File("PRAGMA journal_mode = memory; PRAGMA synchronous = off;");
/// A file with a journal, which nothing makes durable.
const JOURNALED: Place = Place::File("PRAGMA synchronous = off;");
/// A file with a write-ahead log, of one program alone, which nothing makes durable.
const LOGGED: Place = Place::File(
    "PRAGMA locking_mode = exclusive; PRAGMA journal_mode = wal; PRAGMA synchronous = off;",
);

/// The statements of `compiled.rs`, whose table has a key of three columns.
const KEY: &[Bind] = &[Bind::One, Bind::Group, Bind::Number];
const BY_KEY: &str = "SELECT amount, name FROM keyed WHERE a = ? AND b = ? AND c = ?;";
const WHOLE: &str = "SELECT * FROM keyed WHERE a = ? AND b = ? AND c = ?;";
const BY_ROWID: &str = "SELECT name FROM keyed WHERE rowid = ?;";
const SUM_OF: &str = "SELECT sum(amount) FROM keyed WHERE a = ? AND b = ? AND c < ?;";
const ADD: &str = "UPDATE keyed SET amount = amount + 1 WHERE a = ? AND b = ? AND c = ?;";
const REMOVE: &str = "DELETE FROM keyed WHERE a = ? AND b = ? AND c = ?;";
const MORE: &str = "INSERT INTO keyed VALUES (?, ?, ? + 1000, 5, 0, ?, ?);";
const ALL_OF_A_ROW: &[Bind] = &[Bind::One, Bind::Group, Bind::Number, Bind::Name, Bind::Note];

pub(super) const ALL: [Sql; 41] = [
    of(Place::Memory, "text", 100, TEXT),
    of(Place::Memory, "constant", 100, "SELECT 1;"),
    of(Place::Memory, "sum", 100, SUM),
    of(Place::Memory, "literal short", 100, "SELECT '{short}';"),
    of(Place::Memory, "literal long", 100, "SELECT '{long}';"),
    of(Place::Memory, "literal large", 50, "SELECT '{large}';"),
    of(Place::Memory, "begin", 100, "BEGIN; COMMIT;"),
    of(Place::Memory, "select", 100, SELECT),
    of(Place::Memory, "select two", 100, "SELECT id, value FROM rows WHERE id = {id};"),
    of(Place::Memory, "select wide", 100, "SELECT * FROM wide WHERE id = {id};"),
    of(Place::Memory, "select large", 50, SELECT_LARGE),
    of(Place::Memory, "count", 10, "SELECT count(*) FROM rows WHERE id % 7 = 3;"),
    of(Place::Memory, "scan", 10, "SELECT id FROM rows WHERE id % 7 <> 3;"),
    of(Place::Memory, "count short", 10, "SELECT count(*) FROM more WHERE id % 7 = 3;"),
    of(Place::Memory, "scan short", 10, "SELECT id FROM more WHERE id % 7 <> 3;"),
    of(Place::Memory, "join", 4, "SELECT rows.value FROM rows, more WHERE rows.id = more.id;"),
    of(
        Place::Transaction,
        "insert short",
        100,
        "INSERT INTO more VALUES ({id} + 1000, '{short}');",
    ),
    of(Place::Transaction, "insert long", 100, "INSERT INTO more VALUES ({id} + 2000, '{long}');"),
    of(Place::Transaction, "insert wide", 100, INSERT_WIDE),
    of(Place::Transaction, "append short", 100, "INSERT INTO more VALUES (NULL, '{short}');"),
    of(Place::Transaction, "append long", 100, "INSERT INTO more VALUES (NULL, '{long}');"),
    of(Place::Transaction, "append large", 50, "INSERT INTO more VALUES (NULL, '{large}');"),
    of(Place::Transaction, "update short", 100, UPDATE),
    of(Place::Transaction, "update long", 100, "UPDATE rows SET value = '{long}' WHERE id = {id};"),
    of(Place::Transaction, "update large", 50, UPDATE_LARGE),
    of(Place::Transaction, "delete", 100, "DELETE FROM rows WHERE id = {id};"),
    of(Place::Memory, "update alone", 100, UPDATE),
    of(READ, "select file", 100, SELECT),
    of(WRITTEN, "update file", 100, UPDATE),
    of(JOURNALED, "journal", 50, UPDATE),
    of(WRITTEN, "update large file", 20, UPDATE_LARGE),
    of(JOURNALED, "journal large", 20, UPDATE_LARGE),
    of(LOGGED, "log", 100, UPDATE),
    of(LOGGED, "log large", 20, UPDATE_LARGE),
    compiled("compiled select", BY_KEY, KEY),
    compiled("compiled row", WHOLE, KEY),
    compiled("compiled rowid", BY_ROWID, &[Bind::Number]),
    compiled("compiled sum", SUM_OF, KEY),
    compiled("compiled update", ADD, KEY),
    compiled("compiled insert", MORE, ALL_OF_A_ROW),
    compiled("compiled delete", REMOVE, KEY),
];

/// Statements whose database is open and whose texts are built.
pub(super) struct Prepared {
    sql: Sql,
    database: Database,
    texts: Vec<Vec<u8>>,
    /// The values of each run, if the statement is compiled once.
    values: Vec<Vec<Value>>,
}

impl Prepared {
    pub(super) fn new(sql: Sql, site: &dyn Site) -> Result<Self, RunError> {
        let during = || sqlite_error(format!("preparing the statements {}", sql.name));
        let (file, settings) = match sql.place {
            Place::Memory => (MEMORY, ""),
            Place::Transaction => (MEMORY, "BEGIN;"),
            Place::File(settings) => (FILE, settings),
        };
        let database = site.open_database(file).map_err(during())?;
        let mut strings = Strings::new();
        fill(&database, &mut strings).map_err(during())?;
        if !sql.binds.is_empty() {
            compiled::fill(&database).map_err(during())?;
        }
        if !settings.is_empty() {
            database.execute(settings).map_err(during())?;
        }
        // What a first statement loads is loaded.
        database.execute("SELECT count(*) FROM rows;").map_err(during())?;
        let texts = (0..sql.calls).map(|call| {
            let id = call * 37 % ROWS + 1;
            let text = sql.text.replace("{id}", &id.to_string());
            let text = text.replace("{short}", &strings.short());
            let text = text.replace("{long}", &strings.long());
            text.replace("{large}", &strings.large()).into_bytes()
        });
        let texts = texts.collect();
        let values = compiled::values(sql.binds, sql.calls);
        Ok(Self { sql, database, texts, values })
    }

    /// Run all statements.
    pub(super) fn run(&self, site: &dyn Site) -> Result<(), RunError> {
        if self.sql.text == TEXT {
            self.build_texts(site);
            return Ok(());
        }
        if !self.sql.binds.is_empty() {
            let run = compiled::run(&self.database, site, self.sql.text, &self.values);
            return run.map_err(|error| sqlite_error(self.sql.name.to_owned())(error));
        }
        for text in &self.texts {
            let work = self.database.execute(text);
            let work = work
                .map_err(|error| sqlite_error(String::from_utf8_lossy(text).into_owned())(error))?;
            charge(site, &work, text);
        }
        Ok(())
    }

    /// Close the database, and remove its file.
    pub(super) fn end(self, site: &dyn Site) -> Result<(), RunError> {
        self.database.close().map_err(sqlite_error("closing the database".to_owned()))?;
        if let Place::File(_) = self.sql.place {
            site.files().unlink(FILE)?;
        }
        Ok(())
    }

    fn build_texts(&self, site: &dyn Site) {
        const LEN: u32 = 600;
        let mut strings = RandomStrings::new(Alphabet::Bytes, LEN, 3);
        for _ in &self.texts {
            let mut text = b"INSERT INTO record VALUES (1, '".to_vec();
            strings.append(&mut text);
            // Nobody uses the text, and it has to be built all the same.
            std::hint::black_box(text);
            site.charge(Unit::Text, 1);
            site.charge(Unit::TextByte, LEN.into());
        }
    }
}

/// Make the tables: three of an id and a string, and one of 17 columns.
fn fill(database: &Database, strings: &mut Strings) -> Result<(), flysch_sqlite::Error> {
    let columns: Vec<String> = (1..17).map(|number| format!("column_{number}")).collect();
    for text in [
        "PRAGMA page_size = 1024;".to_owned(),
        "PRAGMA synchronous = off;".to_owned(),
        "BEGIN;".to_owned(),
        format!("CREATE TABLE wide (id INTEGER PRIMARY KEY, {});", columns.join(",")),
        "CREATE TABLE rows (id INTEGER PRIMARY KEY, value TEXT);".to_owned(),
        "CREATE TABLE more (id INTEGER PRIMARY KEY, value TEXT);".to_owned(),
        "CREATE TABLE large (id INTEGER PRIMARY KEY, value TEXT);".to_owned(),
    ] {
        database.execute(text)?;
    }
    for id in 1..=ROWS {
        let (short, long) = (strings.short(), strings.long());
        let part = &short[..20];
        let wide = format!(",'{part}'").repeat(16);
        database.execute(format!("INSERT INTO rows VALUES ({id}, '{long}');"))?;
        database.execute(format!("INSERT INTO more VALUES ({id}, '{short}');"))?;
        database.execute(format!("INSERT INTO wide VALUES ({id}{wide});"))?;
    }
    for id in 1..=LARGE_ROWS {
        let large = strings.large();
        database.execute(format!("INSERT INTO large VALUES ({id}, '{large}');"))?;
    }
    database.execute("COMMIT;").map(drop)
}

/// Strings of rows, each different.
struct Strings(u64);

impl Strings {
    const fn new() -> Self {
        Self(0)
    }

    fn short(&mut self) -> String {
        self.next(100)
    }

    fn long(&mut self) -> String {
        self.next(600)
    }

    fn large(&mut self) -> String {
        self.next(5000)
    }

    fn next(&mut self, len: usize) -> String {
        self.0 += 1;
        String::from_utf8_lossy(&Content::Text.bytes(len, self.0)).into_owned()
    }
}
