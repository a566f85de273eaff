//! Life: how many years the flash bears a workload at a given rate.
//!
//! 1. There are two limits, and the smaller one counts. *By programs*: pages are programmed until
//!    the blocks are full, and then blocks must be erased. *By erases*: the erases that the run
//!    counted.
//! 2. A run on a new partition erases few blocks until it has written the whole partition once. So
//!    its count of erases says little, and its programs tell how many erases will follow.
//! 3. The first write of a session erases blocks that later ones do not. Where these may be many of
//!    a run's erases, its erases tell no life. Each wake has a first write, so they count there.

use std::collections::BTreeSet;
use std::str::FromStr;

use serde::Serialize;

use super::run::Run;
use crate::workload::{Amount, Unit};

/// Days of a year.
const YEAR_DAYS: f64 = 365.25;
/// Bytes of a MB in a rate.
const MB: f64 = 1e6;
/// The fewest erases of a run that tell its life. Those of a session's first write, one or two, are
/// less than a tenth of these.
pub const ERASES_MIN: u64 = 30;

/// How much a program writes in a day.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rate {
    /// Rows, or what else a rate counts of the workload.
    Units(f64),
    /// Bytes of record data.
    Bytes(f64),
}

impl Rate {
    /// One row a second.
    pub const DEFAULT: Self = Self::Units(86_400.0);

    /// The rate in words, for workloads of which it counts these units.
    pub fn words(self, units: &BTreeSet<Unit>) -> String {
        match self {
            Self::Units(count) => {
                let names: Vec<&str> = units.iter().map(|unit| unit.name()).collect();
                format!("{count} {} a day", names.join(" or "))
            }
            Self::Bytes(bytes) => format!("{} MB a day", bytes / MB),
        }
    }
}

impl FromStr for Rate {
    type Err = String;

    /// Parse `86400` (rows) or `100MB`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || "a rate is rows a day, such as 86400, or data, such as 100MB".to_owned();
        let (digits, of): (&str, fn(f64) -> Self) = match text.strip_suffix("MB") {
            Some(digits) => (digits, |mb| Self::Bytes(mb * MB)),
            None => (text, Self::Units),
        };
        let number: f64 = digits.trim().replace('_', "").parse().map_err(|_| wrong())?;
        if (1e-3..=1e12).contains(&number) { Ok(of(number)) } else { Err(wrong()) }
    }
}

/// How many years the partition lasts, by each of the two limits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Life {
    /// The lesser of the two limits.
    pub years: f64,
    /// Years until the erases that the programs require reach the rated number.
    pub years_by_programs: f64,
    /// Years until the counted erases reach the rated number. None if the run erased fewer blocks
    /// than [`ERASES_MIN`], or a wake none.
    pub years_by_erases: Option<f64>,
}

impl Life {
    /// The life of a partition if the run's workload goes on at this rate. None if the run
    /// programmed nothing, or if the rate is in bytes and the run moved none.
    #[expect(clippy::cast_precision_loss, reason = "figures for people, far below 2^52")]
    pub fn of(run: &Run, rate: Rate) -> Option<Self> {
        let Amount { unit, count } = run.inputs.amount;
        let runs_a_day = match rate {
            Rate::Units(units) => units / count as f64,
            Rate::Bytes(bytes) => bytes / run.bytes as f64,
        };
        let programs_a_day = run.operations.page_programs as f64 * runs_a_day;
        if run.operations.page_programs == 0 || !programs_a_day.is_finite() {
            return None;
        }
        let budget = run.erase_budget as f64;
        let pages_per_block = f64::from(run.trace.geometry.pages_per_block);
        let years_by_programs = budget * pages_per_block / programs_a_day / YEAR_DAYS;
        let erases = run.operations.block_erases;
        let is_told = erases >= if unit == Unit::Wakes { 1 } else { ERASES_MIN };
        let years_by_erases = is_told.then(|| budget / (erases as f64 * runs_a_day) / YEAR_DAYS);
        let years = years_by_erases.map_or(years_by_programs, |it| it.min(years_by_programs));
        Some(Self { years, years_by_programs, years_by_erases })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_rows_or_data() {
        assert_eq!("86_400".parse(), Ok(Rate::Units(86_400.0)));
        assert_eq!("100MB".parse(), Ok(Rate::Bytes(1e8)));
        for wrong in ["", "0", "-1", "many", "1e99", "NaN", "10GB"] {
            wrong.parse::<Rate>().unwrap_err();
        }
    }
}
