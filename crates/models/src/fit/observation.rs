//! Observations: the rows of a CSV of runs that a model is fitted to.

use std::fmt;

/// The costs that are modelled, by the names of their columns.
pub const COSTS: [&str; 4] = ["time_ns", "page_reads", "page_programs", "block_erases"];
/// The columns that say what was run.
const ASKED: [&str; 5] = ["workload", "on", "platform", "record_size", "requests"];

/// The parameters and costs of a measured run.
#[derive(Clone, Debug, PartialEq)]
pub struct Observation {
    /// Workload, stack and platform. Observations with the same subject share a model.
    pub of: Subject,
    /// Size of a record in bytes.
    pub record_size: f64,
    pub requests: f64,
    /// The costs in the order of [`COSTS`].
    pub costs: [f64; COSTS.len()],
}

/// What a model describes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct Subject {
    pub workload: String,
    pub on: String,
    pub platform: String,
}

/// Why a text contains no observations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ObservationError {
    /// The text is not valid CSV.
    Csv {
        /// The error message of the CSV reader.
        why: String,
    },
    Columns {
        /// The names of the missing columns.
        missing: Vec<&'static str>,
    },
    /// A cell is not a number, or is negative.
    Number {
        /// Line of the file, counted from 1.
        line: u64,
        /// Name of the column.
        column: &'static str,
        /// The text of the cell.
        given: String,
    },
    /// The file has no rows.
    Empty,
}

impl fmt::Display for ObservationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Csv { why } => write!(f, "not a CSV file: {why}"),
            Self::Columns { missing } => {
                write!(f, "no column {}; flysch bench --format csv writes them", missing.join(", "))
            }
            Self::Number { line, column, given } => {
                write!(f, "line {line}: {column} '{given}' is no number of zero or more")
            }
            Self::Empty => f.write_str("no runs"),
        }
    }
}

impl std::error::Error for ObservationError {}

/// Parse the observations of a CSV file with column names. Other columns are ignored.
///
/// # Errors
/// Returns the first problem that is found.
pub fn read(text: &[u8]) -> Result<Vec<Observation>, ObservationError> {
    let invalid = |error: csv::Error| ObservationError::Csv { why: error.to_string() };
    let mut reader = csv::Reader::from_reader(text);
    let head = reader.headers().map_err(invalid)?.clone();
    let place = |name: &str| head.iter().position(|column| column == name);
    let needed = ASKED.iter().chain(&COSTS).copied();
    let missing: Vec<&str> = needed.filter(|name| place(name).is_none()).collect();
    if !missing.is_empty() {
        return Err(ObservationError::Columns { missing });
    }
    let mut rows = Vec::new();
    for record in reader.records() {
        let record = record.map_err(invalid)?;
        let cell = |name| place(name).and_then(|place| record.get(place)).unwrap_or_default();
        let number = |name: &'static str| {
            let parsed: Option<f64> = cell(name).trim().parse().ok();
            parsed.filter(|value| value.is_finite() && *value >= 0.0).ok_or_else(|| {
                let line = record.position().map_or(0, csv::Position::line);
                ObservationError::Number { line, column: name, given: cell(name).to_owned() }
            })
        };
        let mut costs = [0.0; COSTS.len()];
        for (cost, name) in costs.iter_mut().zip(COSTS) {
            *cost = number(name)?;
        }
        let text = |name| cell(name).to_owned();
        rows.push(Observation {
            of: Subject { workload: text("workload"), on: text("on"), platform: text("platform") },
            record_size: number("record_size")?,
            requests: number("requests")?,
            costs,
        });
    }
    if rows.is_empty() { Err(ObservationError::Empty) } else { Ok(rows) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str =
        "workload,on,platform,record_size,requests,time_ns,page_reads,page_programs,block_erases\n";

    #[test]
    fn what_is_wrong_is_named() {
        let check = |text: &str, said: &str| {
            let error = read(text.as_bytes()).expect_err("it is wrong").to_string();
            assert!(error.contains(said), "{error}");
        };
        check("", "no column workload, on, platform");
        check(
            "workload,on,platform,record_size,requests,time_ns\n",
            "no column page_reads, page_programs, block_erases;",
        );
        check(HEAD, "no runs");
        check(&format!("{HEAD}insert,a,b,600,many,1,2,3,4\n"), "line 2: requests 'many'");
        check(&format!("{HEAD}insert,a,b,600,5,-1,2,3,4\n"), "line 2: time_ns '-1'");
        check(&format!("{HEAD}insert,a,b\n"), "not a CSV file");
    }
}
