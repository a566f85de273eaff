//! The log of sensors in redb: a table whose key is the time, and a multimap from sensors to times.

use std::ops::RangeInclusive;

use redb::{Database, MultimapTableDefinition, TableDefinition};

use super::{Batch, Log, WANTED};
use crate::bench::session::Session;
use crate::bench::steps::chip::Start;
use crate::bench::{RunError, redb_error};

/// Readings by time: the sensor and the value, then the note.
const LOG: TableDefinition<'static, i64, (u32, f64, &'static [u8])> = TableDefinition::new("log");
const BY_SENSOR: MultimapTableDefinition<'static, u32, i64> =
    MultimapTableDefinition::new("by_sensor");

/// A log in a database of redb.
pub(super) struct RedbLog {
    database: Database,
}

impl RedbLog {
    pub(super) fn open(session: &Session<'_>, start: Start) -> Result<Self, RunError> {
        let mut log = Self { database: session.open_redb()? };
        if start == Start::Create {
            // A table is made when it is first opened for writing.
            log.insert(session, &Batch { readings: Vec::new(), kept_from: None })?;
        }
        Ok(log)
    }
}

impl Log for RedbLog {
    fn insert(&mut self, session: &Session<'_>, batch: &Batch) -> Result<(), RunError> {
        let scope = session.site.enter("statement");
        let transaction =
            self.database.begin_write().map_err(redb_error("beginning a transaction"))?;
        let mut log = transaction.open_table(LOG).map_err(redb_error("opening the log"))?;
        let mut by_sensor =
            transaction.open_multimap_table(BY_SENSOR).map_err(redb_error("opening the index"))?;
        for reading in &batch.readings {
            let value = (reading.sensor, reading.value, reading.note.as_slice());
            log.insert(reading.time, value).map_err(redb_error("inserting a reading"))?;
            by_sensor
                .insert(reading.sensor, reading.time)
                .map_err(redb_error("inserting into the index"))?;
        }
        if let Some(first) = batch.kept_from {
            let gone = log.extract_from_if(..first, |_, _| true);
            for reading in gone.map_err(redb_error("deleting old readings"))? {
                let (time, value) = reading.map_err(redb_error("deleting a reading"))?;
                by_sensor
                    .remove(value.value().0, time.value())
                    .map_err(redb_error("deleting from the index"))?;
            }
        }
        drop((log, by_sensor));
        drop(scope);
        let _scope = session.site.enter("commit");
        transaction.commit().map_err(redb_error("committing readings"))
    }

    fn by_time(
        &mut self,
        session: &Session<'_>,
        times: RangeInclusive<i64>,
    ) -> Result<u64, RunError> {
        let _scope = session.site.enter("statement");
        let reading = self.database.begin_read().map_err(redb_error("beginning to read"))?;
        let log = reading.open_table(LOG).map_err(redb_error("opening the log"))?;
        let mut count = 0;
        for row in log.range(times).map_err(redb_error("a query by time"))? {
            row.map_err(redb_error("a query by time"))?;
            count += 1;
        }
        Ok(count)
    }

    fn by_sensor(&mut self, session: &Session<'_>, sensor: u32) -> Result<u64, RunError> {
        let _scope = session.site.enter("statement");
        let reading = self.database.begin_read().map_err(redb_error("beginning to read"))?;
        let log = reading.open_table(LOG).map_err(redb_error("opening the log"))?;
        let by_sensor =
            reading.open_multimap_table(BY_SENSOR).map_err(redb_error("opening the index"))?;
        let mut count = 0;
        let times = by_sensor.get(sensor).map_err(redb_error("a query by sensor"))?;
        for time in times.take(WANTED as usize) {
            let time = time.map_err(redb_error("a query by sensor"))?;
            let row = log.get(time.value()).map_err(redb_error("a query by sensor"))?;
            count += u64::from(row.is_some());
        }
        Ok(count)
    }

    fn is_short(&self) -> bool {
        false
    }

    /// Close the database: redb notes then that it need not be repaired when it is opened.
    fn close(self: Box<Self>, session: &Session<'_>) -> Result<(), RunError> {
        let _scope = session.site.enter("close");
        drop(self.database);
        Ok(())
    }
}
