//! Adds the life of the flash to each run, and says what the figure assumes.

use clap::Args;
use flysch_lab::bench::life::{Life, Rate};
use serde_json::Value;

use crate::progress::Cell;
use crate::sheet::Sheet;

/// The option for the life of the flash: how much is written in a day.
#[derive(Debug, Args)]
#[command(next_help_heading = "Life of the flash")]
pub(crate) struct LifeOptions {
    /// Amount written in a day: rows (86400 is one per second), or bytes (100MB) [default: 86400]
    #[arg(long, value_name = "RATE")]
    per_day: Option<Rate>,
}

impl LifeOptions {
    /// Add the fields of a life to each row.
    pub(crate) fn expect(sheet: &mut Sheet) {
        for row in &mut sheet.rows {
            row["life"] = serde_json::to_value(Life::default()).expect("numbers have JSON values");
        }
    }

    /// Add its life to each row, and a remark below the table on what it assumes.
    pub(crate) fn tell(&self, sheet: &mut Sheet, cells: &[Cell]) {
        let rate = self.per_day.unwrap_or(Rate::DEFAULT);
        for (row, cell) in sheet.rows.iter_mut().zip(cells) {
            if let Cell::Done(run) = cell {
                let life = serde_json::to_value(Life::of(run, rate));
                row["life"] = life.expect("what is printed has JSON values");
            }
        }
        if sheet.rows.iter().any(|row| row["life"].is_object()) {
            sheet.remarks.push(format!("life: at {rate}; {ASSUMED}"));
        } else {
            sheet.rows.iter_mut().filter_map(Value::as_object_mut).for_each(|row| {
                row.remove("life");
            });
        }
    }
}

/// What the numbers of years assume.
const ASSUMED: &str = "the rated erases of the partition alone, without spare blocks, worn evenly; \
                       the lesser of what programs fill and what was erased. How long worn cells \
                       keep data is not in it, and a run shorter than the partition tells its \
                       programs only.";
