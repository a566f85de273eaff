//! The numbers of a run that tables and charts show, by name, with their units.

use flysch_charts::number::{fixed, real};

use crate::bench::run::Run;

/// One number of a run.
pub struct Metric {
    /// Name in the head of a column and above a chart.
    pub name: &'static str,
    /// Digits behind the point.
    pub decimals: usize,
    /// Take it from a run. Not finite where it has no meaning.
    pub of: fn(&Run) -> f64,
}

impl Metric {
    /// The number of a run as text; a plain 0 where there is nothing.
    pub fn text(&self, run: &Run) -> String {
        let value = (self.of)(run);
        fixed(value, if value == 0.0 { 0 } else { self.decimals })
    }
}

/// Virtual time from before BEGIN to after END.
pub const TIME: Metric =
    Metric { name: "Time, ms", decimals: 1, of: |run| real(run.time_ns) / 1e6 };

/// Record data per virtual second.
pub const THROUGHPUT: Metric =
    Metric { name: "Throughput, KB/s", decimals: 1, of: |run| run.throughput_kb_s };

/// Array reads of data.
pub const READS: Metric =
    Metric { name: "Page reads", decimals: 0, of: |run| real(run.page_reads) };

/// Array programs of data.
pub const PROGRAMS: Metric =
    Metric { name: "Page programs", decimals: 0, of: |run| real(run.page_programs) };

/// Block erases.
pub const ERASES: Metric =
    Metric { name: "Block erases", decimals: 0, of: |run| real(run.block_erases) };

/// Array reads for a kilobyte of record data.
pub const READS_PER_KB: Metric =
    Metric { name: "Page reads per KB", decimals: 3, of: |run| per_kb(run.page_reads, run) };

/// Array programs for a kilobyte of record data.
pub const PROGRAMS_PER_KB: Metric =
    Metric { name: "Page programs per KB", decimals: 3, of: |run| per_kb(run.page_programs, run) };

/// Block erases for a kilobyte of record data.
pub const ERASES_PER_KB: Metric =
    Metric { name: "Block erases per KB", decimals: 4, of: |run| per_kb(run.block_erases, run) };

const OOB_PROGRAMS: Metric =
    Metric { name: "OOB programs", decimals: 0, of: |run| real(run.oob_programs) };

const WRITE_AMPLIFICATION: Metric =
    Metric { name: "Write amplif.", decimals: 2, of: write_amplification };

const ENERGY: Metric = Metric { name: "Energy, mJ", decimals: 2, of: |run| run.energy_mj };

const ERASE_COUNT_MAX: Metric =
    Metric { name: "Max erase count", decimals: 0, of: |run| f64::from(run.wear.max_erase_count) };

/// What the summary shows of each run.
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

/// Bytes programmed over bytes asked for; no number for a run that programmed nothing.
fn write_amplification(run: &Run) -> f64 {
    if run.page_programs == 0 {
        return f64::NAN;
    }
    real(run.page_programs) * f64::from(run.trace.geometry.page_size) / real(run.bytes)
}
