//! The steps of the sensor log workload: fill the log, insert in transactions, then query by time
//! and by sensor.

use std::collections::VecDeque;

use flysch_chip::Prng;

use super::chip::{EngineMemory, Start};
use super::log::{self, Log, WANTED};
use crate::bench::RunError;
use crate::bench::measure::Measured;
use crate::bench::session::{Interval, Session, Steps};
use crate::workload::{Logger, Reading, Readings, SENSORS};

/// How many readings a query by time covers.
const RANGE: u32 = 100;

/// The state of the sensor log workload during a run.
pub(super) struct LoggerSteps<'r> {
    logger: Logger,
    readings: Readings,
    /// How many readings of each sensor the log holds.
    of_sensor: Vec<u32>,
    /// The sensors of the readings in the log, oldest first. Needed only where old readings are
    /// deleted.
    sensors: VecDeque<u32>,
    picks: Prng,
    /// The engine's RAM, until the log is opened.
    ram: Option<&'r mut EngineMemory>,
}

impl<'r> LoggerSteps<'r> {
    pub(super) fn new(logger: Logger, session: &Session<'_>, ram: &'r mut EngineMemory) -> Self {
        let scenario = session.scenario;
        let readings = Readings::new(scenario.alphabet, scenario.record_size, scenario.seed);
        let of_sensor = vec![0; SENSORS as usize];
        let picks = Prng::new(scenario.seed ^ 0xB1C5);
        Self { logger, readings, of_sensor, sensors: VecDeque::new(), picks, ram: Some(ram) }
    }

    /// Readings in the log before the measured transactions. If the log keeps a fixed number of
    /// readings, this is that number.
    fn fill(&self, session: &Session<'_>) -> u32 {
        if self.logger.keep > 0 { self.logger.keep } else { session.scenario.fill }
    }

    /// Readings that are ever inserted.
    fn total(&self, session: &Session<'_>) -> u32 {
        let measured = session.scenario.requests.saturating_mul(self.logger.batch);
        self.fill(session).saturating_add(measured)
    }

    /// The most readings that the log holds at a time.
    fn capacity(&self, session: &Session<'_>) -> u32 {
        match self.logger.keep {
            0 => self.total(session),
            keep => keep.saturating_add(self.logger.batch),
        }
    }

    /// The times of the readings that the next transaction deletes: the oldest ones. Empty if the
    /// log keeps all readings.
    fn gone(&mut self, done: u32) -> Vec<i64> {
        let Logger { batch, keep, .. } = self.logger;
        if keep == 0 {
            return Vec::new();
        }
        let first = done * batch;
        let gone = (first..first + batch).map(|nth| {
            let sensor = self.sensors.pop_front().expect("as many were inserted");
            self.of_sensor[sensor as usize] -= 1;
            Reading::time_of(nth)
        });
        gone.collect()
    }

    fn batch(&mut self) -> Vec<Reading> {
        let batch: Vec<Reading> = self.readings.by_ref().take(self.logger.batch as usize).collect();
        for reading in &batch {
            self.of_sensor[reading.sensor as usize] += 1;
            self.sensors.push_back(reading.sensor);
        }
        batch
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
        let total = self.total(session);
        let count = if self.logger.keep > 0 { self.logger.keep } else { total };
        let range = RANGE.min(count);
        for _ in 0..self.logger.queries {
            let first = total - count + self.pick(count - range + 1);
            let times = Reading::time_of(first)..=Reading::time_of(first + range - 1);
            let came = interval.request(BY_TIME, || log.by_time(session, times))?;
            check(came, range, BY_TIME)?;
        }
        for _ in 0..self.logger.queries {
            let sensor = self.pick(SENSORS);
            let came = interval.request(BY_SENSOR, || log.by_sensor(session, sensor))?;
            check(came, self.of_sensor[sensor as usize].min(WANTED), BY_SENSOR)?;
        }
        Ok(())
    }
}

/// The kinds of requests.
const INSERT: &str = "insert";
const BY_TIME: &str = "by_time";
const BY_SENSOR: &str = "by_sensor";

/// Refuse a query whose number of rows is not the expected one.
fn check(came: u64, wanted: u32, kind: &str) -> Result<(), RunError> {
    if came == u64::from(wanted) {
        return Ok(());
    }
    Err(RunError::Broken(format!("a query {kind} gave {came} readings of {wanted}")))
}

impl<'r> Steps for LoggerSteps<'r> {
    type Opened = Box<dyn Log + 'r>;

    fn prepare(&mut self, session: &Session<'_>) -> Result<(), RunError> {
        let capacity = self.capacity(session);
        let count = self.fill(session);
        let ram = self.ram.as_deref_mut().expect("the log is not open");
        let mut log = log::open(session, ram, capacity, Start::Create)?;
        let (counts, sensors) = (&mut self.of_sensor, &mut self.sensors);
        let mut readings = self.readings.by_ref().inspect(|reading| {
            counts[reading.sensor as usize] += 1;
            sensors.push_back(reading.sensor);
        });
        log::fill(session, &mut *log, &mut readings, count)?;
        log.close(session)
    }

    fn open(&mut self, session: &Session<'_>) -> Result<Self::Opened, RunError> {
        let ram = self.ram.take().expect("the log is opened once");
        log::open(session, ram, self.capacity(session), Start::Open)
    }

    fn measure(
        &mut self,
        session: &Session<'_>,
        log: &mut Self::Opened,
    ) -> Result<Measured, RunError> {
        let Logger { batch, queries, .. } = self.logger;
        let requests = session.scenario.requests;
        let mut interval = Interval::begin(session);
        for done in 0..requests {
            let readings = self.batch();
            let gone = self.gone(done);
            interval.request(INSERT, || log.insert(session, &readings, &gone))?;
        }
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
