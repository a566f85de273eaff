//! The result of a scenario: its parameters and what it cost.
//!
//! All counts come from the trace of the measured interval (BEGIN to END). Set-up, filling tables
//! and dropping caches are outside of it.

use std::collections::BTreeMap;

use flysch_chip::Trace;
use serde::Serialize;

use crate::machine::power::Drawn;
use crate::machine::standing::Standing;
use crate::parameter::Parameter;
use crate::trace::{Operations, StatementRow, TableRow};
use crate::workload::Amount;

/// The parameters of a scenario, in the form in which results list them.
#[derive(Clone, Debug, Serialize)]
pub struct Inputs {
    pub workload: String,
    /// Name of the stack, from the engine down, such as `sqlite/jffs2`.
    pub on: String,
    pub platform: String,
    /// Name of the part (the chip model).
    pub part: String,
    /// Bytes of the random string in each record. In workloads without records: bytes of each
    /// request.
    pub record_size: u32,
    /// Number of requests. In the micro-benchmark they lie between BEGIN and END.
    pub requests: u32,
    /// What a rate counts of the measured interval.
    #[serde(skip)]
    pub amount: Amount,
    /// Seed of all random numbers.
    pub seed: u64,
    /// Whether the platform can have this stack.
    pub standing: Standing,
    /// All other parameters, by their names on the command line.
    pub parameters: BTreeMap<&'static str, Parameter>,
}

/// What one scenario cost. `flysch bench --format json` prints it as a JSON object.
#[derive(Clone, Debug, Serialize)]
pub struct Run {
    #[serde(flatten)]
    pub inputs: Inputs,
    /// Length of the measured interval in virtual time, nanoseconds.
    pub time_ns: u64,
    /// The part of `time_ns` in which the CPU worked, nanoseconds.
    pub cpu_ns: u64,
    /// The CPU's share of `time_ns`.
    pub cpu_percent: f64,
    /// The share of `time_ns` that flash and NVRAM were busy.
    pub flash_percent: f64,
    /// Response time of the BEGIN statement, nanoseconds.
    pub begin_ns: u64,
    /// Response time of the END statement, nanoseconds.
    pub end_ns: u64,
    /// Percentiles of the requests' response times.
    pub latency_ns: Latency,
    /// Operations of all devices in the measured interval.
    #[serde(flatten, serialize_with = "Operations::within_a_run")]
    pub operations: Operations,
    /// Reads that the one-page buffer of the MTD layer served, without the chip.
    pub buffer_hits: u64,
    /// Page reads that opening the database took, before the measured interval.
    pub page_reads_at_open: u64,
    /// Bytes of data that the workload read or wrote: in the micro-benchmark, requests times record
    /// size.
    pub bytes: u64,
    /// `bytes` for each second of virtual time, in units of 1024 bytes.
    pub throughput_kb_s: f64,
    /// Energy that the NAND and the NVRAM took for their operations, millijoules.
    pub energy_mj: f64,
    /// The energy of each component above its idle power.
    pub energy: Vec<Drawn>,
    /// Erase counts of the partition at the end of the run.
    pub wear: Wear,
    /// How much data the workload could store until the partition reaches its rated erase cycles,
    /// in units of 2^20 bytes, if wear is spread evenly. Absent if nothing was programmed or no
    /// bytes were moved. An erase makes room for one block of programs, so the value is: bytes
    /// times `erase_budget` times pages per block, divided by page programs.
    pub lifetime_mb: Option<f64>,
    /// Erases that the partition has left at the end of the run: for each good block, those that it
    /// is rated for without those that it had.
    pub erase_budget: u64,
    /// Operations by cause. A cause is the path of scopes, outermost first, joined by " > ".
    pub by_cause: BTreeMap<String, Operations>,
    /// Figures that only some workloads have. The name of each ends in its unit.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub figures: BTreeMap<&'static str, f64>,
    /// What each statement cost, the most programs first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub by_statement: Vec<StatementRow>,
    /// What each table and index cost, the most programs first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub by_table: Vec<TableRow>,
    /// What each kind of request cost, for workloads with several kinds.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub by_kind: BTreeMap<&'static str, KindCost>,
    /// Response time of each request in order, nanoseconds.
    #[serde(skip)]
    pub request_ns: Vec<u64>,
    /// Operations on each block of the partition in the measured interval.
    #[serde(skip)]
    pub by_block: Vec<Operations>,
    /// Erase count of each block of the partition at the end of the run.
    #[serde(skip)]
    pub erase_counts: Vec<u32>,
    /// The trace of the measured interval. It is empty unless the scenario keeps it.
    #[serde(skip)]
    pub trace: Trace,
}

impl Run {
    /// Empty the trace to save memory when there are many results. All figures have been computed
    /// before.
    pub(crate) fn forget_trace(&mut self) {
        self.trace = Trace::empty(self.trace.geometry);
    }
}

/// A scenario that failed.
#[derive(Clone, Debug, Serialize)]
pub struct Failed {
    #[serde(flatten)]
    pub inputs: Inputs,
    /// Why there is no result, in one line.
    pub error: String,
}

/// Percentiles of response times, nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Latency {
    pub min: u64,
    pub p50: u64,
    pub p90: u64,
    pub p99: u64,
    pub max: u64,
}

/// What the requests of one kind cost.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct KindCost {
    /// Number of requests of this kind.
    pub count: u64,
    /// Percentiles of their response times.
    pub latency_ns: Latency,
    /// Mean of their response times, nanoseconds.
    pub mean_ns: f64,
    /// All chip operations while these requests were served.
    pub operations: Operations,
}

/// Erase counts of the blocks of the partition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Wear {
    /// Erase count of the most worn block.
    pub max_erase_count: u32,
    pub mean_erase_count: f64,
    /// Erase count of the most worn block, divided by the mean. It is 1 if wear is level, and 0 if
    /// no block was ever erased.
    pub max_over_mean: f64,
    /// Erase count of the least worn block.
    pub min_erase_count: u32,
    /// Number of blocks that are marked bad.
    pub bad_blocks: u32,
}

impl Latency {
    /// Summarise response times. All fields are zero if there are none. Percentiles are by nearest
    /// rank.
    pub fn of(request_ns: &[u64]) -> Self {
        let mut sorted = request_ns.to_vec();
        sorted.sort_unstable();
        let rank = |percent: usize| {
            let rank = (sorted.len() * percent).div_ceil(100);
            sorted.get(rank.saturating_sub(1)).copied().unwrap_or(0)
        };
        Self { min: rank(0), p50: rank(50), p90: rank(90), p99: rank(99), max: rank(100) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_by_nearest_rank() {
        let times: Vec<u64> = (1..=200).rev().collect();
        let wanted = Latency { min: 1, p50: 100, p90: 180, p99: 198, max: 200 };
        assert_eq!(Latency::of(&times), wanted);
        assert_eq!(Latency::of(&[]), Latency::default());
    }
}
