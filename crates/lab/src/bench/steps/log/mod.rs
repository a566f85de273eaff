//! A log of sensors in a database: the same table on every engine.

mod flysch;
mod sqlite;

use std::ops::RangeInclusive;

use crate::bench::RunError;
use crate::bench::session::Session;
use crate::bench::steps::chip::{EngineMemory, Start};
use crate::machine::stack::Engine;
use crate::workload::Reading;

/// Readings of a transaction while the log is filled.
const FILL_BATCH: usize = 128;
/// Readings that a query by sensor asks for.
pub(super) const WANTED: u32 = 10;

/// A log of sensors, as the workload writes and asks it.
pub(super) trait Log {
    /// Insert readings in one transaction, which deletes those of the times `gone`.
    fn insert(
        &mut self,
        session: &Session<'_>,
        readings: &[Reading],
        gone: &[i64],
    ) -> Result<(), RunError>;

    /// Ask for the readings of a range of times, in its order. Gives how many came.
    fn by_time(
        &mut self,
        session: &Session<'_>,
        times: RangeInclusive<i64>,
    ) -> Result<u64, RunError>;

    /// Ask for some [`WANTED`] readings of a sensor. Gives how many came.
    fn by_sensor(&mut self, session: &Session<'_>, sensor: u32) -> Result<u64, RunError>;

    fn close(self: Box<Self>, session: &Session<'_>) -> Result<(), RunError>;
}

/// Open the log of a session. An engine on the bare chip works in `memory` alone.
pub(super) fn open<'r>(
    session: &Session<'_>,
    memory: &'r mut EngineMemory,
    capacity: u32,
    start: Start,
) -> Result<Box<dyn Log + 'r>, RunError> {
    match session.scenario.stack.engine {
        Engine::Flysch => Ok(Box::new(flysch::ChipLog::open(session, memory, capacity, start)?)),
        Engine::Sqlite | Engine::File => Ok(Box::new(sqlite::FileLog::open(session, start)?)),
    }
}

/// Make the log with `count` readings in it, some to a transaction.
pub(super) fn fill(
    session: &Session<'_>,
    log: &mut dyn Log,
    readings: &mut impl Iterator<Item = Reading>,
    count: u32,
) -> Result<(), RunError> {
    let mut left = count as usize;
    while left > 0 {
        let batch: Vec<Reading> = readings.by_ref().take(left.min(FILL_BATCH)).collect();
        left -= batch.len();
        log.insert(session, &batch, &[])?;
    }
    Ok(())
}
