//! The steps of the sensor log workload: fill the log, insert in transactions, then query by time
//! and by sensor.
//!
//! A log that keeps its newest readings alone goes round once before the interval. So the interval
//! has what a log costs that is as long as it gets: old readings go as new ones come.

use std::collections::VecDeque;

use flysch_chip::Prng;

use super::chip::{EngineMemory, Start};
use super::log::{self, Batch, Log, Plan, WANTED};
use crate::bench::RunError;
use crate::bench::measure::Measured;
use crate::bench::scenario::Scenario;
use crate::bench::session::{Interval, Session, Steps};
use crate::machine::stack::Engine;
use crate::workload::{Logger, Reading, Readings, SENSORS};

/// How many readings a query by time covers.
const RANGE: u32 = 100;
/// Blocks of readings that are inserted before the interval, beyond those that the log keeps twice.
/// The engine gives whole blocks back, and those of its newest readings not yet.
const BLOCKS_AHEAD: u32 = 4;

/// The state of the sensor log workload during a run.
pub(super) struct LoggerSteps<'r> {
    logger: Logger,
    stream: Stream,
    picks: Prng,
    plan: &'r Plan<'r>,
    /// The engine's RAM, until the log is opened.
    ram: Option<&'r mut EngineMemory>,
}

/// The readings, and what the log has of them.
struct Stream {
    readings: Readings,
    /// How many of the newest readings stay. 0 for all of them.
    keep: u32,
    /// Readings that were inserted.
    inserted: u32,
    /// How many readings of each sensor are among those that stay.
    of_sensor: Vec<u32>,
    /// The sensors of the readings that stay, oldest first. Needed only where old readings go.
    sensors: VecDeque<u32>,
}

impl Stream {
    /// The next transaction: new readings, and the time from which old ones stay.
    fn next(&mut self, count: u32) -> Batch {
        let readings: Vec<Reading> = self.readings.by_ref().take(count as usize).collect();
        self.inserted += count;
        for reading in &readings {
            self.of_sensor[reading.sensor as usize] += 1;
        }
        if self.keep == 0 {
            return Batch { readings, kept_from: None };
        }
        self.sensors.extend(readings.iter().map(|reading| reading.sensor));
        let gone = self.sensors.len().saturating_sub(self.keep as usize);
        for sensor in self.sensors.drain(..gone) {
            self.of_sensor[sensor as usize] -= 1;
        }
        let kept_from = (gone > 0).then(|| Reading::time_of(self.inserted - self.keep));
        Batch { readings, kept_from }
    }
}

fn is_flysch(scenario: &Scenario) -> bool {
    scenario.stack.engine == Engine::Flysch
}

/// How many readings fill so many blocks.
fn readings_of(scenario: &Scenario, blocks: u32) -> u32 {
    let per_block = scenario.build.part.geometry.block_size() / scenario.record_size.max(1);
    blocks.saturating_mul(per_block)
}

/// Readings that are inserted before the measured transactions.
fn fill(logger: Logger, scenario: &Scenario) -> u32 {
    let round = match logger.keep {
        0 => 0,
        keep => keep.saturating_mul(2).saturating_add(readings_of(scenario, BLOCKS_AHEAD)),
    };
    scenario.fill.max(round)
}

/// Readings that are ever inserted.
fn total(logger: Logger, scenario: &Scenario) -> u32 {
    let measured = scenario.requests.saturating_mul(logger.batch);
    fill(logger, scenario).saturating_add(measured)
}

/// The most readings that the log holds at a time. A ring gives back whole blocks, so it holds more
/// than it keeps.
pub(super) fn capacity(logger: Logger, scenario: &Scenario) -> u32 {
    match logger.keep {
        0 => total(logger, scenario),
        keep => keep.saturating_add(readings_of(scenario, BLOCKS_AHEAD)),
    }
}

impl<'r> LoggerSteps<'r> {
    pub(super) fn new(
        logger: Logger,
        session: &Session<'_>,
        plan: &'r Plan<'r>,
        ram: &'r mut EngineMemory,
    ) -> Self {
        let scenario = session.scenario;
        let readings = Readings::new(scenario.alphabet, scenario.record_size, scenario.seed);
        let stream = Stream {
            readings,
            keep: logger.keep,
            inserted: 0,
            of_sensor: vec![0; SENSORS as usize],
            sensors: VecDeque::new(),
        };
        let picks = Prng::new(scenario.seed ^ 0xB1C5);
        Self { logger, stream, picks, plan, ram: Some(ram) }
    }

    fn pick(&mut self, bound: u32) -> u32 {
        let picked = self.picks.below(u64::from(bound));
        u32::try_from(picked).expect("below a number of 32 bits")
    }

    /// Run the queries by time, then those by sensor.
    fn ask(
        &mut self,
        session: &Session<'_>,
        log: &mut dyn Log,
        interval: &mut Interval<'_>,
    ) -> Result<(), RunError> {
        let total = self.stream.inserted;
        let count = if self.logger.keep > 0 { self.logger.keep } else { total };
        let range = RANGE.min(count);
        let is_ring = self.logger.keep > 0 && is_flysch(session.scenario);
        for _ in 0..self.logger.queries {
            let first = total - count + self.pick(count - range + 1);
            let times = Reading::time_of(first)..=Reading::time_of(first + range - 1);
            let came = interval.request(BY_TIME, || log.by_time(session, times))?;
            check(came, (range, range), BY_TIME)?;
        }
        for _ in 0..self.logger.queries {
            let sensor = self.pick(SENSORS);
            let came = interval.request(BY_SENSOR, || log.by_sensor(session, sensor))?;
            let least = self.stream.of_sensor[sensor as usize].min(WANTED);
            // What an engine holds beyond what it has to keep is found too.
            let most = if is_ring { WANTED } else { least };
            check(came, (least, most), BY_SENSOR)?;
        }
        Ok(())
    }
}

/// Refuse a log that had to let readings go which it is to keep.
fn check_space(logger: Logger, scenario: &Scenario, log: &dyn Log) -> Result<(), RunError> {
    if log.is_short() { Err(too_long(logger, scenario)) } else { Ok(()) }
}

const fn too_long(logger: Logger, scenario: &Scenario) -> RunError {
    RunError::Ring { keep: logger.keep, blocks: scenario.build.partition_blocks }
}

/// The kinds of requests.
const INSERT: &str = "insert";
const BY_TIME: &str = "by_time";
const BY_SENSOR: &str = "by_sensor";

/// Refuse a query whose number of rows is none of the expected ones.
fn check(came: u64, (least, most): (u32, u32), kind: &str) -> Result<(), RunError> {
    if (u64::from(least)..=u64::from(most)).contains(&came) {
        return Ok(());
    }
    Err(RunError::Broken(format!("a query {kind} gave {came} readings of {least}")))
}

impl<'r> Steps for LoggerSteps<'r> {
    type Opened = Box<dyn Log + 'r>;

    fn prepare(&mut self, session: &Session<'_>) -> Result<(), RunError> {
        let (logger, scenario) = (self.logger, session.scenario);
        let size = u64::from(logger.keep) * u64::from(scenario.record_size);
        let geometry = scenario.build.part.geometry;
        let space = u64::from(geometry.block_size()) * u64::from(scenario.build.partition_blocks);
        if is_flysch(scenario) && size > space {
            return Err(too_long(logger, scenario));
        }
        let ram = self.ram.as_deref_mut().expect("the log is not open");
        let stream = &mut self.stream;
        let mut log = log::open(session, ram, self.plan, Start::Create)?;
        log::fill(session, &mut *log, fill(logger, scenario), |count| stream.next(count))?;
        check_space(logger, scenario, &*log)?;
        log.close(session)
    }

    fn open(&mut self, session: &Session<'_>) -> Result<Self::Opened, RunError> {
        let ram = self.ram.take().expect("the log is opened once");
        log::open(session, ram, self.plan, Start::Open)
    }

    fn measure(
        &mut self,
        session: &Session<'_>,
        log: &mut Self::Opened,
    ) -> Result<Measured, RunError> {
        let Logger { batch, queries, .. } = self.logger;
        let requests = session.scenario.requests;
        let mut interval = Interval::begin(session);
        for _ in 0..requests {
            let batch = self.stream.next(batch);
            interval.request(INSERT, || log.insert(session, &batch))?;
        }
        check_space(self.logger, session.scenario, &**log)?;
        self.ask(session, &mut **log, &mut interval)?;
        let record_size = u64::from(session.scenario.record_size);
        let bytes = u64::from(requests) * u64::from(batch) * record_size;
        let mut measured = Measured::new(interval.end(), bytes);
        for (kind, count) in [(INSERT, requests), (BY_TIME, queries), (BY_SENSOR, queries)] {
            measured.kinds.extend(std::iter::repeat_n(kind, count as usize));
        }
        Ok(measured)
    }
}
