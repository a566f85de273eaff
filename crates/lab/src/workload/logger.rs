//! A log of sensor readings. Readings are inserted in order of time, one or more in a transaction,
//! and queried by time and by sensor.
//!
//! A reading has a time, which is the primary key, a sensor, which has an index, a value, and a
//! note. The note fills the row up to the scenario's record size.

use std::collections::BTreeMap;

use flysch_chip::Prng;

use super::strings::{Alphabet, RandomStrings};
use crate::parameter::Parameter;

/// Bytes of a reading without its note: time, sensor, value.
pub const READING_SIZE_MIN: u32 = 8 + 4 + 8;
/// Number of sensors that readings come from.
pub(crate) const SENSORS: u32 = 1000;
/// Time of the first reading: 2020-01-01, microseconds since 1970.
const TIME_FIRST: i64 = 1_577_836_800_000_000;
/// Time between two readings, microseconds.
const INTERVAL: i64 = 1_000_000;

/// Transactions that insert readings, then queries. The number of transactions is the scenario's
/// `requests`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Logger {
    /// Readings in each transaction.
    pub batch: u32,
    /// How many of the newest readings the log keeps: the engine's table is a ring, and in SQLite
    /// each transaction deletes as many old readings as it inserts new ones. 0 keeps all.
    pub keep: u32,
    /// Number of queries by time after the transactions, and of queries by sensor.
    pub queries: u32,
}

impl Logger {
    /// Each reading is inserted in a transaction of its own.
    pub const DEFAULT: Self = Self { batch: 1, keep: 0, queries: 100 };

    pub(super) fn parameters(self) -> BTreeMap<&'static str, Parameter> {
        BTreeMap::from([
            ("batch", self.batch.into()),
            ("keep", self.keep.into()),
            ("queries", self.queries.into()),
        ])
    }
}

/// One measurement of a sensor.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Reading {
    /// Microseconds since 1970.
    pub(crate) time: i64,
    pub(crate) sensor: u32,
    pub(crate) value: f64,
    pub(crate) note: Vec<u8>,
}

impl Reading {
    /// The time of the reading with this number, counted from 0.
    pub(crate) fn time_of(number: u32) -> i64 {
        TIME_FIRST + i64::from(number) * INTERVAL
    }
}

/// An endless sequence of readings, in order of time.
#[derive(Clone, Debug)]
pub(crate) struct Readings {
    notes: RandomStrings,
    prng: Prng,
    next: u32,
}

impl Readings {
    /// Readings whose rows have `record_size` bytes.
    pub(crate) fn new(alphabet: Alphabet, record_size: u32, seed: u64) -> Self {
        let note_size = record_size.saturating_sub(READING_SIZE_MIN);
        let notes = RandomStrings::new(alphabet, note_size, seed ^ 0x5EED);
        Self { notes, prng: Prng::new(seed ^ 0x106), next: 0 }
    }
}

impl Iterator for Readings {
    type Item = Reading;

    fn next(&mut self) -> Option<Reading> {
        let time = Reading::time_of(self.next);
        self.next += 1;
        let mut draw = |bound: u32| {
            u32::try_from(self.prng.below(u64::from(bound))).expect("below a number of 32 bits")
        };
        let (sensor, value) = (draw(SENSORS), f64::from(draw(1 << 20)) + 0.5);
        let mut note = Vec::new();
        self.notes.append(&mut note);
        Some(Reading { time, sensor, value, note })
    }
}
