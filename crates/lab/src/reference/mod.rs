//! The reference: what Linux 6.1 with nandsim counted, and how near to it a simulation must come.
//!
//! The files lie in `docs/reference`. They were measured on the unmodified kernel at the functions
//! that read, program and erase the simulated array. [`parse`] makes rows of any of them: `bench` of
//! the micro-benchmark, `journals` of transactions with journals in several places, `reads` of files
//! and databases that are read with and without read-ahead. A [`Row`] names the scenarios that answer
//! to it, and [`Row::judge`] sets their counts against the kernel's, each within its [`Band`].

mod band;
mod bench;
mod error;
mod journals;
mod reads;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::bench::grid::Grid;
use crate::bench::run::Run;
use crate::bench::scenario::Scenario;
use crate::machine::platform::Platform;
use crate::machine::stack::Stack;
use crate::workload::Workload;

pub use band::{Band, Compared};
pub use error::ReferenceError;

/// The platform that was measured.
const PLATFORM: &str = "nandsim-6.1";

/// A row of a reference.
#[derive(Clone, Debug)]
pub struct Row {
    /// What was run, by the names of the columns that tell it.
    pub labels: BTreeMap<&'static str, String>,
    /// The runs that answer to it; they differ in their seed alone.
    pub scenarios: Vec<Scenario>,
    /// What the kernel counted.
    pub counts: Vec<Expected>,
}

/// A count of the kernel, and how far from it a simulation may lie.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Expected {
    /// What is counted.
    pub count: Count,
    /// The kernel's count.
    pub kernel: f64,
    /// How far from it; anything goes where there is none.
    pub band: Option<Band>,
}

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// Array reads of data.
    PageReads,
    /// Array programs of data.
    PagePrograms,
    /// Block erases.
    BlockErases,
}

/// A row with the simulation's counts beside the kernel's.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Judgement {
    /// What was run, by the names of the columns that tell it.
    #[serde(flatten)]
    pub labels: BTreeMap<&'static str, String>,
    /// Both counts, by name.
    #[serde(flatten)]
    pub counts: BTreeMap<&'static str, Compared>,
    /// Whether all counts lie within their bands.
    pub within: bool,
}

impl Count {
    /// Name, as a run has it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::PageReads => "page_reads",
            Self::PagePrograms => "page_programs",
            Self::BlockErases => "block_erases",
        }
    }

    /// It, in a run.
    #[expect(clippy::cast_precision_loss, reason = "counts of operations, far below 2^52")]
    fn of(self, run: &Run) -> f64 {
        let count = match self {
            Self::PageReads => run.page_reads,
            Self::PagePrograms => run.page_programs,
            Self::BlockErases => run.block_erases,
        };
        count as f64
    }
}

impl Row {
    /// Set the counts of the runs that answer to it against the kernel's.
    pub fn judge(&self, runs: &[Run]) -> Judgement {
        let compare = |expected: &Expected| {
            let counts: Vec<f64> = runs.iter().map(|run| expected.count.of(run)).collect();
            (expected.count.name(), Compared::new(expected.kernel, &counts, expected.band))
        };
        let counts: BTreeMap<_, _> = self.counts.iter().map(compare).collect();
        let within = counts.values().all(|compared| compared.within);
        Judgement { labels: self.labels.clone(), counts, within }
    }
}

/// Read the rows of a reference; its columns tell which it is.
///
/// # Errors
/// The text is none of the references, or a row is not understood.
pub fn parse(text: &str) -> Result<Vec<Row>, ReferenceError> {
    match text.split(',').next().unwrap_or_default() {
        "fs" => bench::rows(text),
        "config" => journals::rows(text),
        "fs_variant" => reads::of_files(text),
        "fs_textlen" => reads::of_contacts(text),
        other => Err(ReferenceError::unknown("first column", other)),
    }
}

/// Judge each row by its share of `runs`, which are those of all rows' scenarios in order.
pub fn judge(rows: &[Row], runs: &[Run]) -> Vec<Judgement> {
    let mut left = runs;
    let mut judged = Vec::with_capacity(rows.len());
    for row in rows {
        let (own, others) = left.split_at(row.scenarios.len());
        judged.push(row.judge(own));
        left = others;
    }
    judged
}

/// The lines of a reference, by the names of their columns.
fn lines<L: DeserializeOwned>(text: &str) -> Result<Vec<L>, ReferenceError> {
    let lines = csv::Reader::from_reader(text.as_bytes()).into_deserialize();
    lines.collect::<Result<_, _>>().map_err(|error| ReferenceError::Csv { why: error.to_string() })
}

/// A workload on a stack of the platform that was measured.
fn grid(workload: impl Into<Workload>, stack: Stack) -> Grid {
    let platform = Platform::named(PLATFORM).expect("it is built in");
    Grid::new(workload, stack, Arc::new(platform))
}
