//! Counts of the kernel from an earlier comparison, read from its CSV file. With them, the
//! simulator can be checked on a machine without a virtual machine.

use std::fmt;
use std::path::Path;

use serde::Deserialize;

use super::cell::{Counts, Key};

/// The file is not the result of a comparison. It holds the error message.
#[derive(Debug)]
pub struct RecordedError(String);

impl fmt::Display for RecordedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for RecordedError {}

/// A row without the columns of the simulator.
#[derive(Deserialize)]
struct Row {
    fs: String,
    workload: String,
    record_size: u32,
    requests: u32,
    pattern: String,
    read_ahead: String,
    #[serde(rename = "kernel.page_reads")]
    page_reads: f64,
    #[serde(rename = "kernel.page_programs")]
    page_programs: f64,
    #[serde(rename = "kernel.block_erases")]
    block_erases: f64,
}

impl From<Row> for (Key, Counts) {
    fn from(row: Row) -> Self {
        let Row { fs, workload, record_size, requests, pattern, read_ahead, .. } = row;
        let Row { page_reads, page_programs, block_erases, .. } = row;
        let key = Key { fs, workload, record_size, requests, pattern, read_ahead };
        (key, Counts { page_reads, page_programs, block_erases })
    }
}

/// Read a file that `flysch vm validate --csv` wrote.
///
/// # Errors
/// Fails if it cannot be read, or if a row lacks a column or has an invalid count. The message says
/// which.
pub fn read(path: &Path) -> Result<Vec<(Key, Counts)>, RecordedError> {
    let failed = |error: csv::Error| RecordedError(error.to_string());
    let mut reader = csv::Reader::from_path(path).map_err(failed)?;
    let rows: Vec<(Key, Counts)> = reader
        .deserialize::<Row>()
        .map(|row| row.map(Into::into))
        .collect::<Result<_, _>>()
        .map_err(failed)?;
    let counts = rows.iter().flat_map(|(_, it)| [it.page_reads, it.page_programs, it.block_erases]);
    match counts.into_iter().find(|&count| !(0.0..=1e15).contains(&count)) {
        Some(count) => Err(RecordedError(format!("{count} is no count of operations"))),
        None => Ok(rows),
    }
}
