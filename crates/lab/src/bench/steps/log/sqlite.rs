//! The log of sensors in SQLite: a table whose key is the time, and an index on the sensor.

use std::io::Write;
use std::ops::RangeInclusive;

use flysch_sqlite::Database;

use super::{Batch, Log, WANTED};
use crate::bench::session::Session;
use crate::bench::steps::chip::Start;
use crate::bench::{RunError, sqlite_error};
use crate::workload::Reading;

/// The table and its index.
const SCHEMA: &str = "\
CREATE TABLE log (at INTEGER PRIMARY KEY, sensor INTEGER, value REAL, note TEXT); \
CREATE INDEX by_sensor ON log (sensor);";

/// A log in a database of SQLite.
pub(super) struct FileLog {
    database: Database,
}

impl FileLog {
    pub(super) fn open(session: &Session<'_>, start: Start) -> Result<Self, RunError> {
        let database = session.open_database()?;
        if start == Start::Create {
            let made = session.execute(&database, SCHEMA);
            made.map_err(sqlite_error("making the log".to_owned()))?;
        }
        Ok(Self { database })
    }

    /// Execute a query and return the number of its rows.
    fn ask(&self, session: &Session<'_>, sql: &str) -> Result<u64, RunError> {
        let work = self.database.execute(sql);
        let work = work.map_err(|error| sqlite_error(sql.to_owned())(error))?;
        session.charge(&work, sql.as_bytes());
        Ok(work.rows)
    }
}

/// Append the statement that inserts a reading.
fn append_insert(sql: &mut Vec<u8>, reading: &Reading) {
    let Reading { time, sensor, value, note } = reading;
    write!(sql, "INSERT INTO log VALUES ({time}, {sensor}, {value}, '")
        .expect("memory takes what is written");
    sql.extend(note);
    sql.extend(b"');");
}

impl Log for FileLog {
    fn insert(&mut self, session: &Session<'_>, batch: &Batch) -> Result<(), RunError> {
        let Batch { readings, kept_from } = batch;
        let execute = |sql: &[u8]| {
            let done = session.execute(&self.database, sql);
            done.map_err(|error| sqlite_error("inserting readings".to_owned())(error))
        };
        // Without BEGIN and COMMIT, SQLite makes a single statement a transaction of its own.
        let is_several = readings.len() > 1 || kept_from.is_some();
        if is_several {
            execute(b"BEGIN;")?;
        }
        let mut sql = Vec::new();
        for reading in readings {
            sql.clear();
            append_insert(&mut sql, reading);
            execute(&sql)?;
        }
        if let Some(first) = kept_from {
            execute(format!("DELETE FROM log WHERE at < {first};").as_bytes())?;
        }
        if is_several { execute(b"COMMIT;") } else { Ok(()) }
    }

    fn by_time(
        &mut self,
        session: &Session<'_>,
        times: RangeInclusive<i64>,
    ) -> Result<u64, RunError> {
        let (from, to) = times.into_inner();
        let sql = format!("SELECT * FROM log WHERE at BETWEEN {from} AND {to} ORDER BY at;");
        self.ask(session, &sql)
    }

    fn by_sensor(&mut self, session: &Session<'_>, sensor: u32) -> Result<u64, RunError> {
        let sql = format!("SELECT * FROM log WHERE sensor = {sensor} LIMIT {WANTED};");
        self.ask(session, &sql)
    }

    fn is_short(&self) -> bool {
        false
    }

    fn close(self: Box<Self>, _: &Session<'_>) -> Result<(), RunError> {
        self.database.close().map_err(sqlite_error("closing the database".to_owned()))
    }
}
