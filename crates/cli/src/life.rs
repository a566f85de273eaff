//! Adds the life of the flash to each run, and says what the figure assumes.

use std::collections::BTreeSet;

use clap::Args;
use flysch_lab::bench::life::{ERASES_MIN, Life, Rate};
use flysch_lab::workload::Unit;
use serde_json::Value;

use crate::progress::Cell;
use crate::sheet::Sheet;

/// The option for the life of the flash: how much is written in a day.
#[derive(Debug, Args)]
#[command(next_help_heading = "Life of the flash")]
pub(crate) struct LifeOptions {
    /// Amount written in a day: rows (86400 is one per second), transactions of postmark and tpcc,
    /// wakes of mount, or bytes (100MB) [default: 86400]
    #[arg(long, value_name = "RATE")]
    per_day: Option<Rate>,
}

impl LifeOptions {
    pub(crate) fn rate(&self) -> Rate {
        self.per_day.unwrap_or(Rate::DEFAULT)
    }

    /// Add the fields of a life to each row.
    pub(crate) fn expect(sheet: &mut Sheet) {
        for row in &mut sheet.rows {
            row["life"] = serde_json::to_value(Life::default()).expect("numbers have JSON values");
        }
    }

    /// Add its life to each row, and a remark below the table on what it assumes.
    pub(crate) fn tell(&self, sheet: &mut Sheet, cells: &[Cell]) {
        let rate = self.rate();
        let mut units = BTreeSet::new();
        for (row, cell) in sheet.rows.iter_mut().zip(cells) {
            if let Cell::Done(run) = cell {
                let life = Life::of(run, rate);
                units.extend(life.map(|_| run.inputs.amount.unit));
                let life = serde_json::to_value(life);
                row["life"] = life.expect("what is printed has JSON values");
            }
        }
        if sheet.rows.iter().any(|row| row["life"].is_object()) {
            let is_of_wakes = units.iter().all(|unit| *unit == Unit::Wakes);
            let few = if is_of_wakes { String::new() } else { few() };
            sheet.remarks.push(format!("life: at {}; {ASSUMED}{few}", rate.words(&units)));
        } else {
            sheet.rows.iter_mut().filter_map(Value::as_object_mut).for_each(|row| {
                row.remove("life");
            });
        }
    }
}

/// What the numbers of years assume.
const ASSUMED: &str = "the erases that the good blocks of the partition are rated for and have not \
                       had, without spare blocks, worn evenly; the lesser of what programs fill \
                       and what was erased. How long worn cells keep data is not in it.";

/// Where erases tell no life.
fn few() -> String {
    format!(" Programs alone count in a run of fewer than {ERASES_MIN} erases.")
}
