//! The reference: counts of Linux 6.1 with nandsim, and how near a simulation must come to them.
//!
//! The files lie in `docs/reference`. They were measured on the unmodified kernel, at the functions
//! that read, program and erase the simulated array. [`parse`] turns any of them into rows: `bench`
//! those of the micro-benchmark, `journals` those of transactions with journals in several places,
//! `reads` those of files and databases that are read with and without read-ahead. A [`Row`] names
//! the scenarios to simulate. [`Row::judge`] compares their counts with the kernel's, each within
//! its [`Band`].

mod band;
mod bench;
mod error;
mod journals;
mod reads;

use std::collections::BTreeMap;
use std::sync::Arc;

use flysch_names::named;
use serde::Serialize;
use serde::de::DeserializeOwned;
use strum::{IntoStaticStr, VariantArray};

use crate::bench::grid::Grid;
use crate::bench::run::Run;
use crate::bench::scenario::Scenario;
use crate::machine::platform::Platform;
use crate::machine::stack::Stack;
use crate::workload::Workload;

pub use band::{Band, Compared};
pub use error::ReferenceError;

/// The platform whose kernel was measured.
const PLATFORM: &str = "nandsim-6.1";

/// One row of a reference.
#[derive(Clone, Debug)]
pub struct Row {
    /// What the kernel ran, by the names of the columns that describe it.
    pub labels: BTreeMap<&'static str, String>,
    /// The scenarios to compare with it. They differ only in their seeds.
    pub scenarios: Vec<Scenario>,
    /// The counts of the kernel.
    pub counts: Vec<Expected>,
}

/// A count of the kernel, and its band.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Expected {
    /// Which operations are counted.
    pub count: Count,
    /// The count of the kernel.
    pub kernel: f64,
    /// How far a simulation may be from it. None: any count is accepted.
    pub band: Option<Band>,
}

/// Which operations are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum Count {
    /// Pages of data that the chip read from its array.
    PageReads,
    /// Pages of data that the chip programmed into its array.
    PagePrograms,
    /// Blocks that the chip erased.
    BlockErases,
}

named!(Count);

/// A row of a reference with the counts of the kernel and of the simulation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Judgement {
    /// What the kernel ran, by the names of the columns that describe it.
    #[serde(flatten)]
    pub labels: BTreeMap<&'static str, String>,
    /// The compared counts, by name.
    #[serde(flatten)]
    pub counts: BTreeMap<&'static str, Compared>,
    /// Whether all counts are within their bands.
    pub within: bool,
}

impl Count {
    /// This count in the result of a run.
    #[expect(clippy::cast_precision_loss, reason = "counts of operations, far below 2^52")]
    fn of(self, run: &Run) -> f64 {
        let count = match self {
            Self::PageReads => run.operations.page_reads,
            Self::PagePrograms => run.operations.page_programs,
            Self::BlockErases => run.operations.block_erases,
        };
        count as f64
    }
}

impl Row {
    /// Compare the counts of the runs of this row's scenarios with those of the kernel.
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

/// Parse the rows of a reference. Its first column decides which kind it is.
///
/// # Errors
/// Fails if the text is none of the references, or if a row has an unknown value.
pub fn parse(text: &str) -> Result<Vec<Row>, ReferenceError> {
    match text.split(',').next().unwrap_or_default() {
        "fs" => bench::rows(text),
        "config" => journals::rows(text),
        "fs_variant" => reads::of_files(text),
        "fs_textlen" => reads::of_contacts(text),
        other => Err(ReferenceError::unknown("first column", other)),
    }
}

/// Judge each row by its own runs. `runs` are those of all rows' scenarios, in order.
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

/// The lines of a reference as structs. Fields are found by the names of the columns.
fn lines<L: DeserializeOwned>(text: &str) -> Result<Vec<L>, ReferenceError> {
    let lines = csv::Reader::from_reader(text.as_bytes()).into_deserialize();
    lines.collect::<Result<_, _>>().map_err(|error| ReferenceError::Csv { why: error.to_string() })
}

/// A workload on a stack of the measured platform.
fn grid(workload: impl Into<Workload>, stack: Stack) -> Grid {
    let platform = Platform::named(PLATFORM).expect("it is built in");
    Grid::new(workload, stack, Arc::new(platform))
}
