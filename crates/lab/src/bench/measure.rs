//! Compute the figures of a run from its trace. Every count comes from the events alone.

use std::collections::BTreeMap;

use flysch_chip::{CauseId, EventKind, Trace};

use super::earlier::Earlier;
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

/// Compute the figures of a run from its whole trace.
pub fn measure(
    scenario: &Scenario,
    blocks: Blocks,
    trace: Trace,
    measured: Measured,
    page_reads_at_open: u64,
) -> Run {
    measure_rest(scenario, blocks, (Earlier::default(), trace), measured, page_reads_at_open)
}

/// The run of a scenario in which nothing happens. It has all fields that the scenario's result can
/// have.
pub fn blank(scenario: &Scenario) -> Run {
    let figures = scenario.workload.figures().iter().map(|&name| (name, 0.0)).collect();
    let measured = Measured { figures, ..Measured::default() };
    let trace = Trace::empty(scenario.build.part.geometry);
    measure(scenario, Blocks::default(), trace, measured, 0)
}

/// Compute the figures of a run from what its earlier events came to, and the rest of its trace.
pub(super) fn measure_rest(
    scenario: &Scenario,
    blocks: Blocks,
    (earlier, trace): (Earlier, Trace),
    measured: Measured,
    page_reads_at_open: u64,
) -> Run {
    let Measured { timing, bytes, figures, kinds } = measured;
    let by_cause = by_cause(&earlier, &trace);
    let mut total = Operations::default();
    for operations in by_cause.values() {
        total += *operations;
    }
    let (by_statement, by_table) = if trace.blame.is_empty() {
        (Vec::new(), Vec::new())
    } else {
        let by_statement = trace::by_statement_after(&earlier.by_runner, &trace);
        (by_statement, trace::by_table_after(earlier.tables, &trace))
    };
    let erase_budget = blocks.erases_left(scenario.build.part.endurance);
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
        buffer_hits: earlier.buffer_hits + trace.count(EventKind::BufferHit),
        page_reads_at_open,
        bytes,
        throughput_kb_s: throughput_kb_s(bytes, timing.time_ns),
        energy_mj: energy.iter().map(|drawn| drawn.energy_mj).sum(),
        energy,
        wear: wear(&blocks),
        lifetime_mb: lifetime_mb(scenario, erase_budget, bytes, total.page_programs),
        erase_budget,
        by_kind: by_kind(&trace, &by_cause, &kinds, &timing.request_ns),
        by_cause: named(&trace, by_cause),
        figures,
        by_statement,
        by_table,
        request_ns: timing.request_ns,
        by_block: by_block(&earlier.by_block, &trace, scenario.build.partition_blocks),
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
fn lifetime_mb(
    scenario: &Scenario,
    erase_budget: u64,
    bytes: u64,
    page_programs: u64,
) -> Option<f64> {
    let pages_per_block = scenario.build.part.geometry.pages_per_block;
    let programs_left = erase_budget as f64 * f64::from(pages_per_block);
    let mb = bytes as f64 / 1_048_576.0;
    (page_programs > 0 && bytes > 0).then(|| mb * programs_left / page_programs as f64)
}

#[expect(clippy::cast_precision_loss, reason = "a mean of block counts")]
fn wear(Blocks { erase_counts, bad_count, .. }: &Blocks) -> Wear {
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

fn by_cause(earlier: &Earlier, trace: &Trace) -> BTreeMap<CauseId, Operations> {
    let mut own: BTreeMap<_, Operations> = BTreeMap::new();
    for ((_, cause), operations) in &earlier.by_runner {
        *own.entry(*cause).or_default() += *operations;
    }
    for event in &trace.events {
        if event.kind.is_operation() {
            own.entry(event.cause).or_default().add(event);
        }
    }
    own
}

fn named(trace: &Trace, by_cause: BTreeMap<CauseId, Operations>) -> BTreeMap<String, Operations> {
    by_cause.into_iter().map(|(cause, sum)| (trace.causes.path(cause), sum)).collect()
}

/// Times and operations of each kind of request. An operation belongs to the kind whose label is
/// the outermost scope of its cause.
#[expect(clippy::cast_precision_loss, reason = "a mean of response times")]
fn by_kind(
    trace: &Trace,
    by_cause: &BTreeMap<CauseId, Operations>,
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
    for (cause, operations) in by_cause {
        let outermost = trace.causes.label(trace.causes.outermost(*cause));
        if let Some(cost) = costs.get_mut(outermost) {
            cost.operations += *operations;
        }
    }
    costs
}

/// Operations of each block of the partition. The partition begins at block 0 of the chip.
fn by_block(earlier: &[Operations], trace: &Trace, block_count: u32) -> Vec<Operations> {
    let partition = trace::by_block(trace).into_iter().take(block_count as usize);
    let mut sums: Vec<Operations> = partition.map(|tally| tally.operations).collect();
    sums.iter_mut().zip(earlier).for_each(|(sum, earlier)| *sum += *earlier);
    sums
}
