//! Measurements of SQLite: statements on a database in memory, and on a file whose writes nothing
//! makes durable.

use flysch_sqlite::Database;

use super::content::Content;
use crate::bench::session::{charge, literal_len};
use crate::bench::site::Site;
use crate::bench::{RunError, sqlite_error};
use crate::workload::{Alphabet, RandomStrings};

const MEMORY: &str = ":memory:";
const FILE: &str = "calibrate.db";
const ROWS: u32 = 300;

/// Statements to measure.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sql {
    pub(super) name: &'static str,
    pub(super) calls: u32,
    database: &'static str,
    /// Settings of the database.
    pragmas: &'static str,
    /// The text of the statement for a row. `{id}` stands for its number, `{short}` and `{long}`
    /// for strings.
    text: &'static str,
}

const fn memory(name: &'static str, calls: u32, text: &'static str) -> Sql {
    Sql { name, calls, database: MEMORY, pragmas: "", text }
}

const fn file(name: &'static str, calls: u32, pragmas: &'static str, text: &'static str) -> Sql {
    Sql { name, calls, database: FILE, pragmas, text }
}

/// A statement that only builds its text.
const TEXT: &str = "";

pub(super) const ALL: [Sql; 17] = [
    memory("text", 100, TEXT),
    memory("constant", 100, "SELECT 1;"),
    memory("sum", 100, "SELECT 1+2+3+4+5+6+7+8+9+10+11+12+13+14+15+16+17+18+19+20+21+22+23+24;"),
    memory("begin", 100, "BEGIN; COMMIT;"),
    memory("select", 100, "SELECT value FROM rows WHERE id = {id};"),
    memory("select two", 100, "SELECT id, value FROM rows WHERE id = {id};"),
    memory("select wide", 100, "SELECT * FROM wide WHERE id = {id};"),
    memory("count", 10, "SELECT count(*) FROM rows WHERE id % 7 = 3;"),
    memory("scan", 10, "SELECT id FROM rows WHERE id % 7 <> 3;"),
    memory("join", 4, "SELECT rows.value FROM rows, more WHERE rows.id = more.id;"),
    memory("insert short", 100, "INSERT INTO more VALUES ({id} + 1000, '{short}');"),
    memory("insert long", 100, "INSERT INTO more VALUES ({id} + 2000, '{long}');"),
    memory("update short", 100, "UPDATE rows SET value = '{short}' WHERE id = {id};"),
    memory("update long", 100, "UPDATE rows SET value = '{long}' WHERE id = {id};"),
    file(
        "select file",
        100,
        "PRAGMA cache_size = 10; PRAGMA locking_mode = exclusive;",
        "SELECT value FROM rows WHERE id = {id};",
    ),
    file(
        "update file",
        100,
        "PRAGMA journal_mode = memory; PRAGMA synchronous = off;",
        "UPDATE rows SET value = '{short}' WHERE id = {id};",
    ),
    file(
        "journal",
        50,
        "PRAGMA synchronous = off;",
        "UPDATE rows SET value = '{short}' WHERE id = {id};",
    ),
];

/// Statements whose database is open and whose texts are built.
pub(super) struct Prepared {
    database: Option<Database>,
    texts: Vec<Vec<u8>>,
    is_text_only: bool,
}

impl Prepared {
    pub(super) fn new(sql: Sql, site: &dyn Site) -> Result<Self, RunError> {
        let during = || sqlite_error(format!("preparing the statements {}", sql.name));
        let database = site.open_database(sql.database).map_err(during())?;
        database.execute("PRAGMA page_size = 1024;").map_err(during())?;
        database.execute("PRAGMA synchronous = off;").map_err(during())?;
        database.execute("BEGIN;").map_err(during())?;
        let columns: Vec<String> = (1..17).map(|number| format!("column_{number}")).collect();
        let wide = format!("CREATE TABLE wide (id INTEGER PRIMARY KEY, {});", columns.join(","));
        database.execute(wide).map_err(during())?;
        for table in ["rows", "more"] {
            let create = format!("CREATE TABLE {table} (id INTEGER PRIMARY KEY, value TEXT);");
            database.execute(create).map_err(during())?;
        }
        let mut strings = Strings::new();
        for id in 1..=ROWS {
            let (short, long) = (strings.short(), strings.long());
            for text in [
                format!("INSERT INTO rows VALUES ({id}, '{long}');"),
                format!("INSERT INTO more VALUES ({id}, '{short}');"),
                format!(
                    "INSERT INTO wide VALUES ({id}{});",
                    format!(",'{}'", &short[..20]).repeat(16)
                ),
            ] {
                database.execute(text).map_err(during())?;
            }
        }
        database.execute("COMMIT;").map_err(during())?;
        if !sql.pragmas.is_empty() {
            database.execute(sql.pragmas).map_err(during())?;
        }
        // What a first statement loads is loaded.
        database.execute("SELECT count(*) FROM rows;").map_err(during())?;
        let texts = (0..sql.calls).map(|call| {
            let id = call * 37 % ROWS + 1;
            let text = sql.text.replace("{id}", &id.to_string());
            let text = text.replace("{short}", &strings.short());
            text.replace("{long}", &strings.long()).into_bytes()
        });
        let texts = texts.collect();
        Ok(Self { database: Some(database), texts, is_text_only: sql.text == TEXT })
    }

    /// Run all statements. The database is closed afterwards, and its file is removed.
    pub(super) fn run(&mut self, site: &dyn Site) -> Result<(), RunError> {
        if self.is_text_only {
            return self.build_texts(site);
        }
        let database = self.database.take().expect("the statements run once");
        for text in &self.texts {
            let work = database.execute(text);
            let work = work.map_err(sqlite_error(String::from_utf8_lossy(text).into_owned()))?;
            charge(site, &work, literal_len(text));
        }
        let is_file = database.name() == FILE || database.name().ends_with(FILE);
        database.close().map_err(sqlite_error("closing the database".to_owned()))?;
        if is_file {
            site.files().unlink(FILE)?;
        }
        Ok(())
    }

    fn build_texts(&self, site: &dyn Site) -> Result<(), RunError> {
        const LEN: u32 = 600;
        let mut strings = RandomStrings::new(Alphabet::Bytes, LEN, 3);
        for _ in &self.texts {
            let mut text = b"INSERT INTO record VALUES (1, '".to_vec();
            strings.append(&mut text);
            if text.is_empty() {
                return Err(RunError::Broken("a text is empty".to_owned()));
            }
            site.charge(flysch_linux::cpu::Unit::Text, 1);
            site.charge(flysch_linux::cpu::Unit::TextByte, LEN.into());
        }
        Ok(())
    }
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

    fn next(&mut self, len: usize) -> String {
        self.0 += 1;
        String::from_utf8_lossy(&Content::Text.bytes(len, self.0)).into_owned()
    }
}
