//! Life: how many years the flash bears a workload at a given rate.
//!
//! 1. There are two limits, and the smaller one counts. *By programs*: pages are programmed until
//!    the blocks are full, and then blocks must be erased. *By erases*: the erases that the run
//!    counted.
//! 2. A run on a new partition erases few blocks until it has written the whole partition once. So
//!    its count of erases says little, and its programs tell how many erases will follow.

use std::str::FromStr;

use serde::Serialize;

use super::run::Run;

/// Days of a year.
const YEAR_DAYS: f64 = 365.25;
/// Bytes of a MB in a rate.
const MB: f64 = 1e6;

/// How much a program writes in a day.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rate {
    /// Rows, or requests of workloads without rows.
    Rows(f64),
    /// Bytes of record data.
    Bytes(f64),
}

impl Rate {
    /// One row a second.
    pub const DEFAULT: Self = Self::Rows(86_400.0);
}

impl FromStr for Rate {
    type Err = String;

    /// Parse `86400` (rows) or `100MB`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || "a rate is rows a day, such as 86400, or data, such as 100MB".to_owned();
        let (digits, of): (&str, fn(f64) -> Self) = match text.strip_suffix("MB") {
            Some(digits) => (digits, |mb| Self::Bytes(mb * MB)),
            None => (text, Self::Rows),
        };
        let number: f64 = digits.trim().replace('_', "").parse().map_err(|_| wrong())?;
        if (1e-3..=1e12).contains(&number) { Ok(of(number)) } else { Err(wrong()) }
    }
}

impl std::fmt::Display for Rate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Rows(rows) => write!(f, "{rows} rows a day"),
            Self::Bytes(bytes) => write!(f, "{} MB a day", bytes / MB),
        }
    }
}

/// How many years the partition lasts, by each of the two limits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Life {
    /// The lesser of the two limits.
    pub years: f64,
    /// Years until the erases that the programs require reach the rated number.
    pub years_by_programs: f64,
    /// Years until the counted erases reach the rated number. None if the run erased nothing.
    pub years_by_erases: Option<f64>,
}

impl Life {
    /// The life of a partition if the run's workload goes on at this rate. None if the run
    /// programmed nothing, or if the rate is in bytes and the run moved none.
    #[expect(clippy::cast_precision_loss, reason = "figures for people, far below 2^52")]
    pub fn of(run: &Run, rate: Rate) -> Option<Self> {
        let runs_a_day = match rate {
            Rate::Rows(rows) => rows / run.rows() as f64,
            Rate::Bytes(bytes) => bytes / run.bytes as f64,
        };
        let programs_a_day = run.operations.page_programs as f64 * runs_a_day;
        if run.operations.page_programs == 0 || !programs_a_day.is_finite() {
            return None;
        }
        let budget = run.erase_budget as f64;
        let pages_per_block = f64::from(run.trace.geometry.pages_per_block);
        let years_by_programs = budget * pages_per_block / programs_a_day / YEAR_DAYS;
        let erases_a_day = run.operations.block_erases as f64 * runs_a_day;
        let years_by_erases =
            (run.operations.block_erases > 0).then(|| budget / erases_a_day / YEAR_DAYS);
        let years = years_by_erases.map_or(years_by_programs, |it| it.min(years_by_programs));
        Some(Self { years, years_by_programs, years_by_erases })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_rows_or_data() {
        assert_eq!("86_400".parse(), Ok(Rate::Rows(86_400.0)));
        assert_eq!("100MB".parse(), Ok(Rate::Bytes(1e8)));
        for wrong in ["", "0", "-1", "many", "1e99", "NaN", "10GB"] {
            wrong.parse::<Rate>().unwrap_err();
        }
    }
}
