//! Counts of the kernel from an earlier comparison, read from its CSV file. With them, the
//! simulator can be checked on a machine without a virtual machine.

use std::fmt;
use std::path::Path;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use super::cell::{Counts, Key, Sample};
use super::verdict::title;

/// The file is not the result of a comparison. It holds the error message.
#[derive(Debug)]
pub struct RecordedError(String);

impl fmt::Display for RecordedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for RecordedError {}

/// A row without the columns of the simulator. Earlier files lack the columns that have a default.
#[derive(Deserialize)]
struct Row {
    fs: String,
    workload: String,
    record_size: u32,
    requests: u32,
    pattern: String,
    read_ahead: String,
    #[serde(default)]
    options: String,
    #[serde(rename = "kernel.page_reads")]
    page_reads: f64,
    #[serde(rename = "kernel.page_programs")]
    page_programs: f64,
    #[serde(rename = "kernel.block_erases")]
    block_erases: f64,
    #[serde(default, deserialize_with = "known", rename = "kernel.page_reads_at_open")]
    page_reads_at_open: Option<f64>,
    #[serde(default, deserialize_with = "known", rename = "kernel.time_ms")]
    time_ms: Option<f64>,
    #[serde(default, deserialize_with = "known", rename = "kernel.median_us")]
    median_us: Option<f64>,
    #[serde(default, deserialize_with = "known", rename = "kernel.percentile_99_us")]
    percentile_99_us: Option<f64>,
    #[serde(default, deserialize_with = "known", rename = "kernel.stopped_at")]
    stopped_at: Option<f64>,
    #[serde(default, deserialize_with = "known", rename = "kernel_least.page_reads")]
    reads_least: Option<f64>,
    #[serde(default, deserialize_with = "known", rename = "kernel_most.page_reads")]
    reads_most: Option<f64>,
    #[serde(default, deserialize_with = "known", rename = "kernel_least.page_programs")]
    programs_least: Option<f64>,
    #[serde(default, deserialize_with = "known", rename = "kernel_most.page_programs")]
    programs_most: Option<f64>,
    #[serde(default, deserialize_with = "known", rename = "kernel_least.block_erases")]
    erases_least: Option<f64>,
    #[serde(default, deserialize_with = "known", rename = "kernel_most.block_erases")]
    erases_most: Option<f64>,
}

/// A figure that may be unknown: the cell is then empty, or says `null`.
fn known<'de, D: Deserializer<'de>>(cell: D) -> Result<Option<f64>, D::Error> {
    let text = String::deserialize(cell)?;
    match text.as_str() {
        "" | "null" => Ok(None),
        number => number.parse().map(Some).map_err(D::Error::custom),
    }
}

impl From<Row> for (Key, Sample) {
    fn from(row: Row) -> Self {
        let mean = Counts {
            page_reads: row.page_reads,
            page_programs: row.page_programs,
            block_erases: row.block_erases,
            page_reads_at_open: row.page_reads_at_open,
            time_ms: row.time_ms,
            median_us: row.median_us,
            percentile_99_us: row.percentile_99_us,
            stopped_at: row.stopped_at,
        };
        let bound = |reads: Option<f64>, programs: Option<f64>, erases: Option<f64>| Counts {
            page_reads: reads.unwrap_or(mean.page_reads),
            page_programs: programs.unwrap_or(mean.page_programs),
            block_erases: erases.unwrap_or(mean.block_erases),
            ..mean
        };
        let least = bound(row.reads_least, row.programs_least, row.erases_least);
        let most = bound(row.reads_most, row.programs_most, row.erases_most);
        let Row { fs, workload, record_size, requests, pattern, read_ahead, options, .. } = row;
        let key = Key { fs, workload, record_size, requests, pattern, read_ahead, options };
        (key, Sample { mean, least, most })
    }
}

/// Read a file that `flysch vm validate --csv` wrote.
///
/// # Errors
/// Fails if it cannot be read, or if a row lacks a column or has an invalid count, or if a cell has
/// two rows. The message says which.
pub fn read(path: &Path) -> Result<Vec<(Key, Sample)>, RecordedError> {
    let failed = |error: csv::Error| RecordedError(error.to_string());
    let mut reader = csv::Reader::from_path(path).map_err(failed)?;
    let rows: Vec<(Key, Sample)> = reader
        .deserialize::<Row>()
        .map(|row| row.map(Into::into))
        .collect::<Result<_, _>>()
        .map_err(failed)?;
    let bounds = rows.iter().flat_map(|(_, it)| [it.mean, it.least, it.most]);
    let counts = bounds.flat_map(|it| [it.page_reads, it.page_programs, it.block_erases]);
    if let Some(count) = counts.into_iter().find(|&count| !(0.0..=1e15).contains(&count)) {
        return Err(RecordedError(format!("{count} is no count of operations")));
    }
    let mut keys: Vec<&Key> = rows.iter().map(|(key, _)| key).collect();
    keys.sort_unstable();
    match keys.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(RecordedError(format!("has the cell {} twice", title(pair[0])))),
        None => Ok(rows),
    }
}
