//! The options of the workload tpcc.

use clap::{Args, value_parser};
use flysch_lab::bench::grid::spread;
use flysch_lab::tpcc::{Files, Pace, Scale};
use flysch_lab::workload::Tpcc;
use flysch_names::UnknownName;

use crate::failure::Failure;
use crate::numbers::{Numbers, at_most, once, optional};

/// The largest number of terminals: ten for each warehouse.
const TERMINALS_MAX: u32 = 10 * Scale::WAREHOUSES_MAX;

/// The options of TPC-C.
#[derive(Debug, Args)]
pub(crate) struct TpccOptions {
    /// tpcc: warehouses [default: 1]
    #[arg(long, value_name = "N")]
    warehouses: Option<Numbers>,
    /// tpcc: divides the specification's numbers of items, customers and orders [default: 1]
    #[arg(long, value_name = "N")]
    scale_divisor: Option<Numbers>,
    /// tpcc: terminals; each waits for an answer before its next request [default: 1]
    #[arg(long, value_name = "N")]
    terminals: Option<Numbers>,
    /// tpcc: keying and think times of the specification, on or off [default: off]
    #[arg(long, value_name = "on|off", value_delimiter = ',', value_parser = pace)]
    think_times: Vec<Pace>,
    /// tpcc: percent of New-Order transactions that roll back [default: 1]
    #[arg(long, value_name = "PERCENT", value_delimiter = ',', value_parser = value_parser!(u32).range(0..=100))]
    rollback_percent: Vec<u32>,
    /// tpcc: files of the database, 1 or 2 (with orders in the second) [default: 1]
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = files)]
    database_files: Vec<Files>,
}

fn pace(text: &str) -> Result<Pace, String> {
    match text {
        "on" => Ok(Pace::Specified),
        "off" => Ok(Pace::None),
        _ => Err(UnknownName::new("choice", text, ["on", "off"]).to_string()),
    }
}

fn files(text: &str) -> Result<Files, String> {
    match text {
        "1" => Ok(Files::One),
        "2" => Ok(Files::Two),
        _ => Err(UnknownName::new("number of files", text, ["1", "2"]).to_string()),
    }
}

impl TpccOptions {
    /// The names of the options, each with whether the user set it.
    pub(crate) fn given(&self) -> [(&'static str, bool); 6] {
        [
            ("warehouses", self.warehouses.is_some()),
            ("scale-divisor", self.scale_divisor.is_some()),
            ("terminals", self.terminals.is_some()),
            ("think-times", !self.think_times.is_empty()),
            ("rollback-percent", !self.rollback_percent.is_empty()),
            ("database-files", !self.database_files.is_empty()),
        ]
    }

    /// The workload with every combination of the options' values.
    pub(crate) fn spread(&self, plain: Tpcc) -> Result<Vec<Tpcc>, Failure> {
        let list = |name: &str, given: &Option<Numbers>, most: u32| {
            let numbers = optional(name, given.as_ref())?;
            numbers.iter().try_for_each(|&number| at_most(name, number, "the limit", most))?;
            Ok::<_, Failure>(numbers)
        };
        let warehouses = list("warehouses", &self.warehouses, Scale::WAREHOUSES_MAX)?;
        let divisors = list("scale-divisor", &self.scale_divisor, Scale::DIVISOR_MAX)?;
        let terminals = list("terminals", &self.terminals, TERMINALS_MAX)?;
        once("--think-times", &self.think_times)?;
        once("--rollback-percent", &self.rollback_percent)?;
        once("--database-files", &self.database_files)?;
        let mut all = vec![plain];
        all = spread(all, &warehouses, |it, &count| it.scale.warehouses = count);
        all = spread(all, &divisors, |it, &divisor| it.scale.divisor = divisor);
        all = spread(all, &terminals, |it, &count| it.terminals = count);
        all = spread(all, &self.think_times, |it, &pace| it.pace = pace);
        all = spread(all, &self.rollback_percent, |it, &percent| it.rollback_percent = percent);
        Ok(spread(all, &self.database_files, |it, &files| it.files = files))
    }
}
