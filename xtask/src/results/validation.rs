//! Results section: the simulator against all recorded counts of the real kernel.
//!
//! 1. `docs/validation.csv` holds the kernel's counts, which `flysch vm validate` measured in a
//!    guest. Its other columns are those of the simulator and are generated here.
//! 2. The program judges. If its bands are broken, it fails, and so does this stage.

use super::{Flysch, Mode, read, settle};
use crate::Outcome;
use crate::scratch::Scratch;
use serde_json::Value;
use std::fmt::Write;
use std::fs;

const RECORDED: &str = "docs/validation.csv";

const HEAD: &str = "\
The kernel runs the same workloads as the lab, and their counts are compared cell by cell. The table shows
errors without their sign, in per cent of the kernel's count. Below 20 pages they are in per cent of 20
pages. [validation.csv](validation.csv) has every cell with its sign, and
[validation.md](validation.md#what-differs-and-why) says what is compared and why some cells differ.

| cells | number | programs: median | 95th percentile | worst | reads: median | 95th percentile | worst |
|---|--:|--:|--:|--:|--:|--:|--:|
";

/// Simulate all cells again, write or compare their file, and show the distribution of the errors.
pub(super) fn render(flysch: &Flysch, mode: Mode) -> Outcome<String> {
    let place = Scratch::open()?;
    let fresh = place.path.join("validation.csv");
    let file = fresh.display().to_string();
    let words = ["vm", "validate", "--kernel-counts", RECORDED, "--csv", &file];
    let words = words.into_iter().chain(["--show", "summary", "--format", "json"]);
    let rows = flysch.runs(&words.map(str::to_owned).collect::<Vec<_>>())?;
    settle(RECORDED, &fs::read_to_string(&fresh)?, mode)?;
    let lines: Outcome<Vec<String>> = rows.iter().map(line).collect();
    Ok(HEAD.to_owned() + &lines?.concat() + &equal(&read(RECORDED)?)?)
}

fn line(row: &Value) -> Outcome<String> {
    let lacks = || format!("a row of `flysch vm validate` lacks a field: {row}");
    let name = row["cells"].as_str().ok_or_else(lacks)?;
    let number = row["number"].as_u64().ok_or_else(lacks)?;
    let mut text = format!("| {name} | {number} |");
    for count in ["programs", "reads"] {
        for rank in ["median", "percentile_95", "max"] {
            let share = row[count][rank].as_f64().ok_or_else(lacks)?;
            write!(text, " {:.1} |", share * 100.0)?;
        }
    }
    Ok(text + "\n")
}

/// A sentence on the number of cells in which both sides have the same counts.
fn equal(text: &str) -> Outcome<String> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let head = reader.headers()?.clone();
    let rows: Vec<csv::StringRecord> = reader.records().collect::<Result<_, _>>()?;
    let count = |of: &str| -> Outcome<usize> {
        let column = |side: &str| {
            let name = format!("{side}.{of}");
            head.iter().position(|it| it == name).ok_or(format!("{RECORDED} has no {name}"))
        };
        let (kernel, flysch) = (column("kernel")?, column("flysch")?);
        Ok(rows.iter().filter(|row| row.get(kernel) == row.get(flysch)).count())
    };
    let (programs, reads) = (count("page_programs")?, count("page_reads")?);
    Ok(format!("\nOf {} cells, programs are equal in {programs}, reads in {reads}.\n", rows.len()))
}

#[cfg(test)]
mod tests {
    use super::{equal, line};
    use serde_json::json;

    #[test]
    fn a_row_is_told_in_per_cent() {
        let spread = json!({"median": 0.0, "percentile_95": 0.0149, "max": 0.2});
        let row =
            json!({"cells": "jffs2 insert", "number": 20, "programs": spread, "reads": spread});
        let expected = "| jffs2 insert | 20 | 0.0 | 1.5 | 20.0 | 0.0 | 1.5 | 20.0 |\n";
        assert_eq!(line(&row).expect("it is whole"), expected);
        assert!(line(&json!({"cells": "jffs2 insert", "number": 20})).is_err());
    }

    #[test]
    fn equal_cells_are_counted() {
        let head =
            "fs,kernel.page_reads,flysch.page_reads,kernel.page_programs,flysch.page_programs\n";
        let told = equal(&format!("{head}a,1.0,1.0,2.0,3.0\nb,1.0,1.0,2.0,2.0\n"));
        let expected = "\nOf 2 cells, programs are equal in 1, reads in 2.\n";
        assert_eq!(told.expect("it has the columns"), expected);
        assert!(equal("fs\na\n").is_err());
    }
}
