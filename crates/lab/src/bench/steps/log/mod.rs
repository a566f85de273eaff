//! A log of sensor readings in a database: a trait with one implementation for each engine.

mod flysch;
mod sqlite;

use std::ops::RangeInclusive;

use crate::bench::RunError;
use crate::bench::session::Session;
use crate::bench::steps::chip::{EngineMemory, Start};
use crate::machine::stack::Engine;
use crate::workload::Reading;

/// Readings in each transaction that fills the log.
const FILL_BATCH: usize = 128;
/// How many readings a query by sensor asks for.
pub(super) const WANTED: u32 = 10;

/// A log of sensor readings, with the calls that the workload makes.
pub(super) trait Log {
    /// Insert readings and delete those with the times `gone`, in one transaction.
    fn insert(
        &mut self,
        session: &Session<'_>,
        readings: &[Reading],
        gone: &[i64],
    ) -> Result<(), RunError>;

    /// Query the readings in a range of times, in order of time. Returns their number.
    fn by_time(
        &mut self,
        session: &Session<'_>,
        times: RangeInclusive<i64>,
    ) -> Result<u64, RunError>;

    /// Query [`WANTED`] readings of a sensor, or all if it has fewer. Returns their number.
    fn by_sensor(&mut self, session: &Session<'_>, sensor: u32) -> Result<u64, RunError>;

    fn close(self: Box<Self>, session: &Session<'_>) -> Result<(), RunError>;
}

/// Open the log of a session. The engine on the bare chip takes all its RAM from `memory`.
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

/// Create the log and insert `count` readings, in transactions of [`FILL_BATCH`].
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
