//! Observations: the rows of a CSV of runs, to which a model is fitted.

use std::collections::BTreeMap;
use std::fmt;

/// The costs that are modelled, by the names of their columns.
pub const COSTS: [&str; 4] = ["time_ns", "page_reads", "page_programs", "block_erases"];
/// The columns with the parameters that a model distinguishes.
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

/// The workload, stack and platform that a model is for.
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
    /// Runs of one subject differ in a parameter that a model does not have.
    Parameter {
        /// Line of the file at which it differs, counted from 1.
        line: u64,
        /// Name of the column.
        column: String,
    },
    /// Two runs have the same parameters but different costs.
    Alike {
        /// Line of the second one, counted from 1.
        line: u64,
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
            Self::Parameter { line, column } => write!(
                f,
                "line {line}: {column} varies, and a model knows only record_size and requests; \
                 fit the runs of one value at a time"
            ),
            Self::Alike { line } => write!(
                f,
                "line {line}: a run with the same parameters stands above, and cost something else"
            ),
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
    let mut seen = Seen::of(&head);
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
        seen.check(&record)?;
        rows.push(Observation {
            of: Subject { workload: text("workload"), on: text("on"), platform: text("platform") },
            record_size: number("record_size")?,
            requests: number("requests")?,
            costs,
        });
    }
    if rows.is_empty() { Err(ObservationError::Empty) } else { Ok(rows) }
}

/// Columns with parameters, in addition to those that a model distinguishes.
const OTHERS: [&str; 1] = ["part"];

/// The parameters of the rows so far, to find rows that a model cannot distinguish.
struct Seen {
    /// Columns of the subject.
    subject: Vec<usize>,
    /// Columns of parameters that a model does not have, with their names.
    others: Vec<(usize, String)>,
    /// Columns by which the runs of a subject may differ.
    known: Vec<usize>,
    costs: Vec<usize>,
    /// The values of `others` in the first run of each subject.
    first: BTreeMap<Vec<String>, Vec<String>>,
    /// The costs by the values of subject and `known`.
    runs: BTreeMap<Vec<String>, Vec<String>>,
}

impl Seen {
    fn of(head: &csv::StringRecord) -> Self {
        let places = |names: &[&str]| {
            let is_named = |(_, name): &(usize, &str)| names.contains(name);
            head.iter().enumerate().filter(is_named).map(|(place, _)| place).collect()
        };
        let is_other = |name: &str| name.starts_with("parameters.") || OTHERS.contains(&name);
        let others = head.iter().enumerate().filter(|(_, name)| is_other(name));
        Self {
            subject: places(&ASKED[..3]),
            others: others.map(|(place, name)| (place, name.to_owned())).collect(),
            known: places(&["workload", "on", "platform", "record_size", "requests", "seed"]),
            costs: places(&COSTS),
            first: BTreeMap::new(),
            runs: BTreeMap::new(),
        }
    }

    fn check(&mut self, record: &csv::StringRecord) -> Result<(), ObservationError> {
        let line = record.position().map_or(0, csv::Position::line);
        let cells = |places: &[usize]| -> Vec<String> {
            places.iter().map(|&place| record[place].to_owned()).collect()
        };
        let places: Vec<usize> = self.others.iter().map(|(place, _)| *place).collect();
        let own = cells(&places);
        let first = self.first.entry(cells(&self.subject)).or_insert_with(|| own.clone());
        if let Some(place) = (0..own.len()).find(|&place| own[place] != first[place]) {
            return Err(ObservationError::Parameter { line, column: self.others[place].1.clone() });
        }
        let costs = cells(&self.costs);
        match self.runs.insert(cells(&self.known), costs.clone()) {
            Some(before) if before != costs => Err(ObservationError::Alike { line }),
            Some(_) | None => Ok(()),
        }
    }
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
        check(
            &format!("{HEAD}insert,a,b,600,5,1,2,3,4\ninsert,a,b,600,5,1,2,9,4\n"),
            "line 3: a run with the same parameters stands above",
        );
        let head = format!("parameters.page-size,{HEAD}");
        check(
            &format!("{head}1024,insert,a,b,600,5,1,2,3,4\n4096,insert,a,b,600,6,1,2,9,4\n"),
            "line 3: parameters.page-size varies",
        );
    }

    #[test]
    fn seeds_and_subjects_may_differ() {
        let head = format!("seed,parameters.page-size,{HEAD}");
        let rows = "1,9,insert,a,b,600,5,1,2,3,4\n2,9,insert,a,b,600,5,1,2,9,4\n1,7,insert,c,b,600,5,1,2,3,4\n";
        assert_eq!(read(format!("{head}{rows}").as_bytes()).map(|rows| rows.len()), Ok(3));
    }
}
