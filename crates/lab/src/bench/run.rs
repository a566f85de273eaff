//! One run of a workload on a stack: what was asked, what it cost.
//!
//! All counts come from the trace of the measured interval alone (BEGIN to END); setting up,
//! filling and dropping caches are outside it.

use std::collections::BTreeMap;

use flysch_chip::{CauseTree, Trace};
use serde::Serialize;

use crate::machine::power::Drawn;
use crate::trace::Operations;

/// What one run cost; its JSON object in `flysch bench --format json`.
#[derive(Clone, Debug, Serialize)]
pub struct Run {
    /// Workload name.
    pub workload: String,
    /// Stack, from the engine down, such as `sqlite/jffs2`.
    pub on: String,
    /// Platform name.
    pub platform: String,
    /// Part (chip model) name.
    pub part: String,
    /// Bytes of the random string in each record; of other workloads, of each request.
    pub record_size: u32,
    /// Requests; of records, between BEGIN and END.
    pub requests: u32,
    /// Seed of everything random.
    pub seed: u64,
    /// The other parameters, by their command-line names.
    pub parameters: BTreeMap<&'static str, String>,
    /// Virtual time from before BEGIN to after END, nanoseconds.
    pub time_ns: u64,
    /// Share of it that the CPU worked, nanoseconds.
    pub cpu_ns: u64,
    /// Response time of BEGIN, nanoseconds.
    pub begin_ns: u64,
    /// Response time of END, nanoseconds.
    pub end_ns: u64,
    /// Response times of the requests.
    pub latency_ns: Latency,
    /// Array reads of data.
    pub page_reads: u64,
    /// Array programs of data.
    pub page_programs: u64,
    /// Block erases.
    pub block_erases: u64,
    /// Array reads of OOB bytes alone.
    pub oob_reads: u64,
    /// Array programs of OOB bytes alone.
    pub oob_programs: u64,
    /// Reads of byte-addressable memory beside the NAND.
    pub nvram_reads: u64,
    /// Writes to it.
    pub nvram_writes: u64,
    /// Bytes that these moved.
    pub nvram_bytes: u64,
    /// Reads served by the MTD layer's one-page buffer.
    pub buffer_hits: u64,
    /// Array reads that opening the database took, before the interval.
    pub page_reads_at_open: u64,
    /// Bytes of data asked for; of records, requests times record size.
    pub bytes: u64,
    /// `bytes` per virtual second, in units of 1024 bytes.
    pub throughput_kb_s: f64,
    /// Energy of the operations of NAND and memory beside it, millijoules.
    pub energy_mj: f64,
    /// What each component drew of it, above idle.
    pub energy: Vec<Drawn>,
    /// Erase counts over the partition at the end of the run.
    pub wear: Wear,
    /// Record data, in units of 2^20 bytes, until the partition's rated erase cycles are used up if
    /// wear is spread evenly; none where nothing was programmed or no bytes were asked for. An erase gives a block's worth of
    /// programs, so: bytes times blocks times pages per block times endurance, over page programs.
    pub lifetime_mb: Option<f64>,
    /// Operations by cause: the path of scopes, outermost first, joined by " > ".
    pub by_cause: BTreeMap<String, Operations>,
    /// Figures that only this workload has, by name with unit.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub figures: BTreeMap<&'static str, f64>,
    /// What each kind of request cost, where there are several.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub by_kind: BTreeMap<&'static str, KindCost>,
    /// Response time of each request in order, nanoseconds.
    #[serde(skip)]
    pub request_ns: Vec<u64>,
    /// Operations by block of the partition in the measured interval.
    #[serde(skip)]
    pub by_block: Vec<Operations>,
    /// Erase count of each block of the partition at the end of the run.
    #[serde(skip)]
    pub erase_counts: Vec<u32>,
    /// The trace of the measured interval; empty where the scenario does not keep it.
    #[serde(skip)]
    pub trace: Trace,
}

impl Run {
    /// Empty the trace: of many runs, all that the figures do not tell of it.
    pub(crate) fn forget_trace(&mut self) {
        let causes = CauseTree::default();
        let geometry = self.trace.geometry;
        self.trace = Trace { geometry, causes, tasks: Vec::new(), events: Vec::new() };
    }
}

/// Percentiles of response times, nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Latency {
    /// Fastest request.
    pub min: u64,
    /// Median.
    pub p50: u64,
    /// 90th percentile.
    pub p90: u64,
    /// 99th percentile.
    pub p99: u64,
    /// Slowest request.
    pub max: u64,
}

/// What the requests of one kind cost.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct KindCost {
    /// Requests.
    pub count: u64,
    /// Their response times.
    pub latency_ns: Latency,
    /// Mean of these, nanoseconds.
    pub mean_ns: f64,
    /// All operations while they were served.
    pub operations: Operations,
}

/// Erase counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Wear {
    /// Of the most worn block.
    pub max_erase_count: u32,
    /// Mean over the blocks.
    pub mean_erase_count: f64,
    /// The most worn block's over the mean: 1 where wear is level; 0 where nothing was erased.
    pub max_over_mean: f64,
    /// Of the least worn block.
    pub min_erase_count: u32,
    /// Blocks marked bad.
    pub bad_blocks: u32,
}

impl Latency {
    /// Summarise response times; all zero where there are none. Percentiles are by nearest rank.
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
