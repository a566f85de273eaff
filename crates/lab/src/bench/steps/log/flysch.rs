//! The log of sensors in this project's engine: rows are in order of time, and a hash index finds
//! them by sensor. A log that keeps its newest readings is a ring table, which gives whole blocks
//! of the oldest ones back.

use std::ops::RangeInclusive;

use flysch::db::{Db, Direction, Durability};
use flysch::row::{Column, ColumnType, Index, IndexKind, Keep, Schema, Table, Value};

use super::{Batch, Log, Plan, WANTED};
use crate::bench::session::Session;
use crate::bench::steps::chip::{EngineChip, EngineMemory, Start, row_memory};
use crate::bench::{RunError, engine_error};
use crate::workload::Reading;

/// The table with its indexes, if it keeps all readings.
const TABLE: Table<'static> = Table {
    name: "log",
    columns: &[
        Column::required("at", ColumnType::Time),
        Column::required("sensor", ColumnType::Integer),
        Column::required("value", ColumnType::Real),
        Column::required("note", ColumnType::Blob),
    ],
    indexes: &[
        Index { columns: &[0], kind: IndexKind::Ordered, is_unique: true },
        Index { columns: &[1], kind: IndexKind::Hash, is_unique: false },
    ],
    zone: Some(0),
    keep: None,
};
const _: () = assert!(Schema { tables: &[TABLE] }.check().is_ok(), "the engine takes the schema");

/// The table of a log that keeps all readings, or if `keep` is not 0 this many of the newest.
pub(in crate::bench::steps) const fn table(keep: u32) -> Table<'static> {
    let keep = if keep > 0 { Some(Keep::Rows(keep)) } else { None };
    Table { keep, ..TABLE }
}

const LOG: u8 = 0;
const BY_TIME: u8 = 0;
const BY_SENSOR: u8 = 1;

/// A log in the engine, on the bare chip.
pub(super) struct ChipLog<'r> {
    db: Db<'r, 'r, EngineChip<'r>>,
    row: Vec<u8>,
}

impl<'r> ChipLog<'r> {
    pub(super) fn open(
        session: &Session<'_>,
        memory: &'r mut EngineMemory,
        plan: &'r Plan<'r>,
        start: Start,
    ) -> Result<Self, RunError> {
        let db = memory.database(session, &plan.schema, plan.capacity, start)?;
        Ok(Self { db, row: row_memory(session.scenario.record_size) })
    }
}

impl Log for ChipLog<'_> {
    fn insert(&mut self, session: &Session<'_>, batch: &Batch) -> Result<(), RunError> {
        let scope = session.site.enter("statement");
        let mut transaction = self.db.begin().map_err(engine_error("beginning a transaction"))?;
        for Reading { time, sensor, value, note } in &batch.readings {
            let values = [
                Value::Time(*time),
                Value::from(i64::from(*sensor)),
                Value::from(*value),
                Value::Blob(note),
            ];
            transaction.insert(LOG, &values).map_err(engine_error("inserting a reading"))?;
        }
        drop(scope);
        let _scope = session.site.enter("commit");
        transaction.commit(Durability::Durable).map_err(engine_error("committing readings"))
    }

    fn by_time(
        &mut self,
        session: &Session<'_>,
        times: RangeInclusive<i64>,
    ) -> Result<u64, RunError> {
        let _scope = session.site.enter("statement");
        let failed = engine_error("a query by time");
        let (from, to) = times.into_inner();
        let ends = (&Value::Time(from), &Value::Time(to));
        let range = self.db.range(LOG, BY_TIME, ends, Direction::Forward);
        let mut range = range.map_err(&failed)?;
        let mut count = 0;
        while range.next(&mut self.db, &mut self.row).map_err(&failed)?.is_some() {
            count += 1;
        }
        Ok(count)
    }

    fn by_sensor(&mut self, session: &Session<'_>, sensor: u32) -> Result<u64, RunError> {
        let _scope = session.site.enter("statement");
        let failed = engine_error("a query by sensor");
        let key = [Value::from(i64::from(sensor))];
        let mut found = self.db.find(LOG, BY_SENSOR, &key).map_err(&failed)?;
        let mut count = 0;
        while count < u64::from(WANTED) {
            if found.next(&mut self.db, &mut self.row).map_err(&failed)?.is_none() {
                break;
            }
            count += 1;
        }
        Ok(count)
    }

    fn is_short(&self) -> bool {
        self.db.stats().pressed_blocks > 0
    }

    fn close(self: Box<Self>, session: &Session<'_>) -> Result<(), RunError> {
        let _scope = session.site.enter("close");
        self.db.close().map(drop).map_err(engine_error("closing the log"))
    }
}
