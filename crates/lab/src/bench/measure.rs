//! Compute the figures of a run from its trace. Every count comes from the events alone.

use std::collections::BTreeMap;

use flysch_chip::{EventKind, Trace};

use super::run::{KindCost, Latency, Run, Wear};
use super::scenario::Scenario;
use super::site::Blocks;
use crate::trace::{self, Operations};

/// The times of a run, in nanoseconds.
#[derive(Clone, Debug, Default)]
#[expect(clippy::struct_field_names, reason = "each is a time, and says its unit")]
pub struct Timing {
    /// The whole measured interval, from before BEGIN to after END.
    pub time_ns: u64,
    /// The part of `time_ns` in which the CPU worked.
    pub cpu_ns: u64,
    /// Response time of the BEGIN statement.
    pub begin_ns: u64,
    /// Response time of the END statement.
    pub end_ns: u64,
    /// The part of `time_ns` in which the workload paused between requests.
    pub idle_ns: u64,
    /// Response time of each request.
    pub request_ns: Vec<u64>,
}

/// What the workload reports about the measured interval.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    pub timing: Timing,
    /// Bytes of data that the workload read or wrote.
    pub bytes: u64,
    /// Figures that only some workloads have. The name of each ends in its unit.
    pub figures: BTreeMap<&'static str, f64>,
    /// For workloads with several kinds of request: the kind of each one, equal to its scope's
    /// label.
    pub kinds: Vec<&'static str>,
}

impl Measured {
    /// For workloads with one kind of request and no figures of their own.
    pub const fn new(timing: Timing, bytes: u64) -> Self {
        Self { timing, bytes, figures: BTreeMap::new(), kinds: Vec::new() }
    }
}

/// Compute the figures of a run.
pub fn measure(
    scenario: &Scenario,
    blocks: Blocks,
    trace: Trace,
    measured: Measured,
    page_reads_at_open: u64,
) -> Run {
    let Measured { timing, bytes, figures, kinds } = measured;
    let mut total = Operations::default();
    trace.events.iter().for_each(|event| total.add(event));
    let (by_statement, by_table) = if trace.blame.is_empty() {
        (Vec::new(), Vec::new())
    } else {
        (trace::by_statement(&trace), trace::by_table(&trace))
    };
    let active_ns = timing.time_ns - timing.idle_ns;
    let energy = scenario.build.platform.power.drawn(scenario.activity(), active_ns, &total);
    Run {
        inputs: scenario.inputs(),
        time_ns: timing.time_ns,
        cpu_ns: timing.cpu_ns,
        cpu_percent: percent(timing.cpu_ns, timing.time_ns),
        flash_percent: percent(total.flash_ns, timing.time_ns),
        begin_ns: timing.begin_ns,
        end_ns: timing.end_ns,
        latency_ns: Latency::of(&timing.request_ns),
        operations: total,
        buffer_hits: trace.count(EventKind::BufferHit),
        page_reads_at_open,
        bytes,
        throughput_kb_s: throughput_kb_s(bytes, timing.time_ns),
        energy_mj: energy.iter().map(|drawn| drawn.energy_mj).sum(),
        energy,
        wear: wear(&blocks),
        lifetime_mb: lifetime_mb(scenario, bytes, total.page_programs),
        erase_budget: u64::from(scenario.build.partition_blocks)
            * u64::from(scenario.build.part.endurance),
        by_cause: by_cause(&trace),
        figures,
        by_statement,
        by_table,
        by_kind: by_kind(&trace, &kinds, &timing.request_ns),
        request_ns: timing.request_ns,
        by_block: by_block(&trace, scenario.build.partition_blocks),
        erase_counts: blocks.erase_counts,
        trace,
    }
}

#[expect(clippy::cast_precision_loss, reason = "figures for people, far below 2^52")]
fn percent(part_ns: u64, whole_ns: u64) -> f64 {
    if whole_ns == 0 { 0.0 } else { part_ns as f64 * 100.0 / whole_ns as f64 }
}

#[expect(clippy::cast_precision_loss, reason = "figures for people, far below 2^52")]
fn throughput_kb_s(bytes: u64, time_ns: u64) -> f64 {
    if time_ns == 0 { 0.0 } else { bytes as f64 / 1024.0 / (time_ns as f64 / 1e9) }
}

#[expect(clippy::cast_precision_loss, reason = "figures for people, far below 2^52")]
fn lifetime_mb(scenario: &Scenario, bytes: u64, page_programs: u64) -> Option<f64> {
    let part = &scenario.build.part;
    let pages =
        f64::from(scenario.build.partition_blocks) * f64::from(part.geometry.pages_per_block);
    let programs_left = pages * f64::from(part.endurance);
    let mb = bytes as f64 / 1_048_576.0;
    (page_programs > 0 && bytes > 0).then(|| mb * programs_left / page_programs as f64)
}

#[expect(clippy::cast_precision_loss, reason = "a mean of block counts")]
fn wear(Blocks { erase_counts, bad_count }: &Blocks) -> Wear {
    let sum: u64 = erase_counts.iter().map(|&count| u64::from(count)).sum();
    let max_erase_count = erase_counts.iter().copied().max().unwrap_or(0);
    let mean_erase_count = sum as f64 / erase_counts.len().max(1) as f64;
    let is_new = max_erase_count == 0;
    Wear {
        max_erase_count,
        mean_erase_count,
        max_over_mean: if is_new { 0.0 } else { f64::from(max_erase_count) / mean_erase_count },
        min_erase_count: erase_counts.iter().copied().min().unwrap_or(0),
        bad_blocks: *bad_count,
    }
}

fn by_cause(trace: &Trace) -> BTreeMap<String, Operations> {
    let mut own: BTreeMap<_, Operations> = BTreeMap::new();
    for event in &trace.events {
        if event.kind.is_operation() {
            own.entry(event.cause).or_default().add(event);
        }
    }
    own.into_iter().map(|(cause, operations)| (trace.causes.path(cause), operations)).collect()
}

/// Times and operations of each kind of request. An operation belongs to the kind whose label is
/// the outermost scope of its cause.
#[expect(clippy::cast_precision_loss, reason = "a mean of response times")]
fn by_kind(
    trace: &Trace,
    kinds: &[&'static str],
    request_ns: &[u64],
) -> BTreeMap<&'static str, KindCost> {
    let mut times: BTreeMap<&'static str, Vec<u64>> = BTreeMap::new();
    for (kind, &ns) in kinds.iter().zip(request_ns) {
        times.entry(kind).or_default().push(ns);
    }
    let cost = |times: &Vec<u64>| KindCost {
        count: times.len() as u64,
        latency_ns: Latency::of(times),
        mean_ns: times.iter().sum::<u64>() as f64 / times.len() as f64,
        operations: Operations::default(),
    };
    let mut costs: BTreeMap<_, _> = times.iter().map(|(kind, ns)| (*kind, cost(ns))).collect();
    for event in trace.events.iter().filter(|event| event.kind.is_operation()) {
        let outermost = trace.causes.label(trace.causes.outermost(event.cause));
        if let Some(cost) = costs.get_mut(outermost) {
            cost.operations.add(event);
        }
    }
    costs
}

/// Operations of each block of the partition. The partition begins at block 0 of the chip.
fn by_block(trace: &Trace, block_count: u32) -> Vec<Operations> {
    let partition = trace::by_block(trace).into_iter().take(block_count as usize);
    partition.map(|tally| tally.operations).collect()
}
