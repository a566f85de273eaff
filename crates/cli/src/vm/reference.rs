//! `flysch vm validate --reference`: compares the simulator with a reference of the kernel's
//! counts.

use std::fs;
use std::path::Path;

use flysch_lab::bench::scenario::Scenario;
use flysch_lab::reference::{Judgement, judge, parse};

use crate::failure::Failure;
use crate::output::{self, Format};
use crate::progress::carry_out;

/// Run the scenarios that correspond to the rows of a reference, and print both counts of each row.
pub(super) fn run(path: &Path, format: Format) -> Result<(), Failure> {
    let text = fs::read_to_string(path).map_err(|error| Failure::of_file(path, error))?;
    let rows = parse(&text).map_err(|error| Failure::of_file(path, error))?;
    let scenarios: Vec<Scenario> = rows.iter().flat_map(|row| row.scenarios.clone()).collect();
    let judged = judge(&rows, &carry_out(&scenarios)?);
    output::print(&output::rows(&columns(&judged), &judged, format))?;
    let beyond = judged.iter().filter(|judgement| !judgement.within).count();
    let rows = judged.len();
    if beyond == 0 {
        return Ok(());
    }
    Err(Failure::Beyond(format!("{beyond} of {rows} rows lie outside their bands")))
}

/// The columns of the table: what was run, both counts, and whether they agree.
fn columns(judged: &[Judgement]) -> Vec<String> {
    let Some(first) = judged.first() else { return Vec::new() };
    let labels = first.labels.keys().map(|&name| name.to_owned());
    let counts =
        first.counts.keys().flat_map(|name| [format!("{name}.kernel"), format!("{name}.flysch")]);
    labels.chain(counts).chain(["within".to_owned()]).collect()
}
