//! A log of sensor readings in a database: a trait with one implementation for each engine.

mod flysch;
#[cfg(feature = "redb")]
mod redb;
mod sqlite;

use std::ops::RangeInclusive;

use ::flysch::row::{Schema, Table};

pub(super) use self::flysch::table;
use crate::bench::RunError;
use crate::bench::session::Session;
use crate::bench::steps::chip::{EngineMemory, Start};
use crate::machine::stack::Engine;
use crate::workload::Reading;

/// The most readings of a transaction that fills the log.
const FILL_BATCH: u32 = 128;
/// How many readings a query by sensor asks for.
pub(super) const WANTED: u32 = 10;

/// What the engine has to know of the log before it is opened.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan<'t> {
    schema: Schema<'t>,
    /// The readings that the memory and the indexes are planned for.
    capacity: u32,
}

impl<'t> Plan<'t> {
    pub(super) const fn new(table: &'t [Table<'t>; 1], capacity: u32) -> Self {
        Self { schema: Schema { tables: table }, capacity }
    }
}

/// What one transaction does with the log.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Batch {
    /// The readings that are inserted.
    pub(super) readings: Vec<Reading>,
    /// In a log that keeps its newest readings alone: the time of the oldest one that stays. The
    /// engine's table is a ring, and sees to that itself.
    pub(super) kept_from: Option<i64>,
}

/// A log of sensor readings, with the calls that the workload makes.
pub(super) trait Log {
    /// Insert readings, and delete those that are older than the log keeps, in one transaction.
    fn insert(&mut self, session: &Session<'_>, batch: &Batch) -> Result<(), RunError>;

    /// Query the readings in a range of times, in order of time. Returns their number.
    fn by_time(
        &mut self,
        session: &Session<'_>,
        times: RangeInclusive<i64>,
    ) -> Result<u64, RunError>;

    /// Query [`WANTED`] readings of a sensor, or all if it has fewer. Returns their number.
    fn by_sensor(&mut self, session: &Session<'_>, sensor: u32) -> Result<u64, RunError>;

    /// Whether readings that the log is to keep had to go for want of space.
    fn is_short(&self) -> bool;

    fn close(self: Box<Self>, session: &Session<'_>) -> Result<(), RunError>;
}

/// Open the log of a session. The engine on the bare chip takes all its RAM from `memory`.
pub(super) fn open<'r>(
    session: &Session<'_>,
    memory: &'r mut EngineMemory,
    plan: &'r Plan<'r>,
    start: Start,
) -> Result<Box<dyn Log + 'r>, RunError> {
    match session.scenario.stack.engine {
        Engine::Flysch => Ok(Box::new(flysch::ChipLog::open(session, memory, plan, start)?)),
        #[cfg(feature = "redb")]
        Engine::Redb => Ok(Box::new(redb::RedbLog::open(session, start)?)),
        #[cfg(not(feature = "redb"))]
        Engine::Redb => Err(RunError::no_redb()),
        Engine::Sqlite | Engine::File => Ok(Box::new(sqlite::FileLog::open(session, start)?)),
    }
}

/// Insert `count` readings, in transactions of up to [`FILL_BATCH`]. `next` gives those of the next
/// transaction.
pub(super) fn fill(
    session: &Session<'_>,
    log: &mut dyn Log,
    count: u32,
    mut next: impl FnMut(u32) -> Batch,
) -> Result<(), RunError> {
    let mut left = count;
    while left > 0 && !log.is_short() {
        let some = left.min(FILL_BATCH);
        left -= some;
        log.insert(session, &next(some))?;
    }
    Ok(())
}
