//! The figures of a run that tables and charts show, with their names and units.

use flysch_charts::number::{fixed, real};

use super::cases::Case;
use crate::bench::run::Run;

/// A figure of a run, for tables and charts.
pub struct Metric {
    /// Name in the head of a column and above a chart.
    pub name: &'static str,
    /// Number of digits after the decimal point.
    pub decimals: usize,
    /// Compute the figure from a run. The result is not finite if the run does not have the figure.
    pub of: fn(&Run) -> f64,
}

impl Metric {
    /// The figure of a run as text. Zero is written without decimals.
    pub fn text(&self, run: &Run) -> String {
        self.words((self.of)(run))
    }

    /// The mean of a case as text. If there are several seeds, half the width of the interval is
    /// added.
    pub(super) fn text_of(&self, case: &Case<'_>) -> String {
        let spread = case.spread(self.of);
        let mean = self.words(spread.mean);
        if spread.half > 0.0 { format!("{mean} \u{b1} {}", self.words(spread.half)) } else { mean }
    }

    fn words(&self, value: f64) -> String {
        fixed(value, if value == 0.0 { 0 } else { self.decimals })
    }
}

/// Length of the measured interval in virtual time.
pub const TIME: Metric =
    Metric { name: "Time, ms", decimals: 1, of: |run| real(run.time_ns) / 1e6 };

/// Record data per second of virtual time.
pub const THROUGHPUT: Metric =
    Metric { name: "Throughput, KB/s", decimals: 1, of: |run| run.throughput_kb_s };

/// Pages of data that the chip read from its array.
pub const READS: Metric =
    Metric { name: "Page reads", decimals: 0, of: |run| real(run.operations.page_reads) };

/// Pages of data that the chip programmed into its array.
pub const PROGRAMS: Metric =
    Metric { name: "Page programs", decimals: 0, of: |run| real(run.operations.page_programs) };

pub const ERASES: Metric =
    Metric { name: "Block erases", decimals: 0, of: |run| real(run.operations.block_erases) };

/// Page reads for each kilobyte of record data.
pub const READS_PER_KB: Metric = Metric {
    name: "Page reads per KB",
    decimals: 3,
    of: |run| per_kb(run.operations.page_reads, run),
};

/// Page programs for each kilobyte of record data.
pub const PROGRAMS_PER_KB: Metric = Metric {
    name: "Page programs per KB",
    decimals: 3,
    of: |run| per_kb(run.operations.page_programs, run),
};

/// Block erases for each kilobyte of record data.
pub const ERASES_PER_KB: Metric = Metric {
    name: "Block erases per KB",
    decimals: 4,
    of: |run| per_kb(run.operations.block_erases, run),
};

const OOB_PROGRAMS: Metric =
    Metric { name: "OOB programs", decimals: 0, of: |run| real(run.operations.oob_programs) };

const WRITE_AMPLIFICATION: Metric =
    Metric { name: "Write amplif.", decimals: 2, of: write_amplification };

const ENERGY: Metric = Metric { name: "Energy, mJ", decimals: 2, of: |run| run.energy_mj };

const ERASE_COUNT_MAX: Metric =
    Metric { name: "Max erase count", decimals: 0, of: |run| f64::from(run.wear.max_erase_count) };

/// The figures that the summary shows for each run.
pub const SUMMARY: [Metric; 12] = [
    TIME,
    THROUGHPUT,
    READS,
    PROGRAMS,
    ERASES,
    OOB_PROGRAMS,
    READS_PER_KB,
    PROGRAMS_PER_KB,
    ERASES_PER_KB,
    WRITE_AMPLIFICATION,
    ENERGY,
    ERASE_COUNT_MAX,
];

fn per_kb(count: u64, run: &Run) -> f64 {
    real(count) * 1024.0 / real(run.bytes)
}

/// Bytes programmed, divided by bytes that the workload moved. NaN if nothing was programmed.
fn write_amplification(run: &Run) -> f64 {
    if run.operations.page_programs == 0 {
        return f64::NAN;
    }
    real(run.operations.page_programs) * f64::from(run.trace.geometry.page_size) / real(run.bytes)
}
