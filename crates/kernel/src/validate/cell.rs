//! A cell of the comparison: a run that was made on the kernel and on the simulator, with the
//! errors of the simulator.

use std::collections::BTreeMap;

use flysch_lab::bench::run::{Inputs, Run};
use flysch_lab::workload::{Read, Workload};
use serde::Serialize;
use serde_json::Value;

use super::draw::Line;

/// For counts of pages below this number, the error is relative to this number and not to the
/// count.
pub const FEW_PAGES: f64 = 20.0;
/// For counts of erases below this number, the error is relative to this number.
pub const FEW_ERASES: f64 = 10.0;

/// The parameters that identify a cell.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Key {
    /// Name of the file system.
    pub fs: String,
    pub workload: String,
    /// Size of a record or of a request in bytes. 0 if `options` has it.
    pub record_size: u32,
    /// 0 if `options` has it.
    pub requests: u32,
    /// Order of the requests. Empty for workloads that have only one.
    pub pattern: String,
    /// Read-ahead window in cache pages.
    pub read_ahead: String,
    /// The options of a cell that is not part of a grid.
    pub options: String,
}

/// A group of cells, which has bands of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// The grid of the micro-benchmark.
    Micro,
    /// The read-ahead grid.
    Reads,
    /// What users run.
    Workloads,
}

impl Key {
    pub fn group(&self) -> Group {
        if !self.options.is_empty() {
            Group::Workloads
        } else if self.workload == Workload::Read(Read::DEFAULT).name() {
            Group::Reads
        } else {
            Group::Micro
        }
    }
}

impl From<&Line> for Key {
    fn from(line: &Line) -> Self {
        let Line { fs, workload, options } = line.clone();
        let (pattern, read_ahead) = (String::new(), String::new());
        Self { fs, workload, record_size: 0, requests: 0, pattern, read_ahead, options }
    }
}

/// The line of a cell that has options of its own.
impl From<&Key> for Line {
    fn from(key: &Key) -> Self {
        let Key { fs, workload, options, .. } = key.clone();
        Self { fs, workload, options }
    }
}

impl From<&Inputs> for Key {
    fn from(inputs: &Inputs) -> Self {
        let parameter =
            |name: &str| inputs.parameters.get(name).map(ToString::to_string).unwrap_or_default();
        Self {
            fs: inputs.on.rsplit(['/', ':']).next().unwrap_or_default().to_owned(),
            workload: inputs.workload.clone(),
            record_size: inputs.record_size,
            requests: inputs.requests,
            pattern: parameter("pattern"),
            read_ahead: parameter("read-ahead"),
            options: String::new(),
        }
    }
}

/// What a run cost. What may be unknown is None: earlier recordings have counts alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Counts {
    /// Pages of data that the chip read from its array.
    pub page_reads: f64,
    /// Pages of data that the chip programmed into its array.
    pub page_programs: f64,
    /// Blocks that the chip erased.
    pub block_erases: f64,
    /// Page reads of opening the database, before the measured interval.
    pub page_reads_at_open: Option<f64>,
    /// Time of the measured interval, milliseconds.
    pub time_ms: Option<f64>,
    /// Median response time of the requests, microseconds.
    pub median_us: Option<f64>,
    /// 99th percentile of their response times, microseconds.
    pub percentile_99_us: Option<f64>,
    /// The record or request at which the run failed, such as on full flash; 0 if no record or
    /// request had begun. A run that went to its end has none.
    pub stopped_at: Option<f64>,
}

impl Counts {
    /// A run that ended with this error.
    pub fn stopped(error: &str) -> Self {
        let words: Vec<&str> = error.split([' ', ':', ',']).collect();
        let numbers = words.windows(2).filter(|pair| ["record", "request"].contains(&pair[0]));
        let number = numbers.filter_map(|pair| pair[1].parse().ok()).next_back();
        Self { stopped_at: Some(number.unwrap_or(0.0)), ..Self::default() }
    }

    /// Combine each figure of two runs. A figure that one of them lacks is lacking.
    fn with(self, other: Self, combine: impl Fn(f64, f64) -> f64) -> Self {
        let both = |a: Option<f64>, b: Option<f64>| Some(combine(a?, b?));
        Self {
            page_reads: combine(self.page_reads, other.page_reads),
            page_programs: combine(self.page_programs, other.page_programs),
            block_erases: combine(self.block_erases, other.block_erases),
            page_reads_at_open: both(self.page_reads_at_open, other.page_reads_at_open),
            time_ms: both(self.time_ms, other.time_ms),
            median_us: both(self.median_us, other.median_us),
            percentile_99_us: both(self.percentile_99_us, other.percentile_99_us),
            stopped_at: both(self.stopped_at, other.stopped_at),
        }
    }
}

/// The runs of a cell with all of its seeds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sample {
    pub mean: Counts,
    /// The least of each count.
    pub least: Counts,
    /// The greatest of each count.
    pub most: Counts,
}

impl From<Counts> for Sample {
    fn from(counts: Counts) -> Self {
        Self { mean: counts, least: counts, most: counts }
    }
}

impl Sample {
    /// The sample of these runs, of which there is one at least.
    fn of(runs: &[Counts]) -> Self {
        let all = |combine: fn(f64, f64) -> f64| {
            runs.iter().copied().reduce(|a, b| a.with(b, combine)).unwrap_or_default()
        };
        #[expect(clippy::cast_precision_loss, reason = "a number of seeds")]
        let number = runs.len().max(1) as f64;
        let sum = all(|a, b| a + b);
        let mean = sum.with(sum, |sum, _| sum / number);
        Self { mean, least: all(f64::min), most: all(f64::max) }
    }

    /// Whether a count of both sides lies in a common range.
    fn overlaps(&self, other: &Self, count: fn(&Counts) -> f64) -> bool {
        count(&self.least) <= count(&other.most) && count(&other.least) <= count(&self.most)
    }
}

/// A cell that was run on both sides.
#[derive(Clone, Debug, Serialize)]
pub struct Cell {
    /// The parameters of the run.
    #[serde(flatten)]
    pub key: Key,
    /// Counts of the kernel: the mean over its seeds.
    pub kernel: Counts,
    /// Counts of the simulator: the mean over the same seeds.
    pub flysch: Counts,
    /// The least and the greatest counts of the seeds on each side.
    pub kernel_least: Counts,
    pub kernel_most: Counts,
    pub flysch_least: Counts,
    pub flysch_most: Counts,
    /// Error of page reads, relative to the kernel's count.
    pub read_error: f64,
    /// Error of page programs, relative to the kernel's count.
    pub program_error: f64,
    /// Error of block erases, relative to the kernel's count.
    pub erase_error: f64,
    /// Errors of the interval's time, of the median response time and of the 99th percentile.
    pub time_error: Option<f64>,
    pub median_error: Option<f64>,
    pub percentile_99_error: Option<f64>,
    /// Whether the ranges of the seeds meet, for reads, programs and erases.
    pub meets: bool,
}

impl Cell {
    /// Compare the counts of both sides.
    pub fn new(key: Key, kernel: &Sample, flysch: &Sample) -> Self {
        let (real, ours) = (kernel.mean, flysch.mean);
        let of_time = |kernel: Option<f64>, flysch: Option<f64>| {
            let kernel = kernel.filter(|&time| time > 0.0)?;
            Some((flysch? - kernel) / kernel)
        };
        let counts: [fn(&Counts) -> f64; 3] =
            [|it| it.page_reads, |it| it.page_programs, |it| it.block_erases];
        Self {
            key,
            kernel: real,
            flysch: ours,
            kernel_least: kernel.least,
            kernel_most: kernel.most,
            flysch_least: flysch.least,
            flysch_most: flysch.most,
            read_error: error(real.page_reads, ours.page_reads, FEW_PAGES),
            program_error: error(real.page_programs, ours.page_programs, FEW_PAGES),
            erase_error: error(real.block_erases, ours.block_erases, FEW_ERASES),
            time_error: of_time(real.time_ms, ours.time_ms),
            median_error: of_time(real.median_us, ours.median_us),
            percentile_99_error: of_time(real.percentile_99_us, ours.percentile_99_us),
            meets: counts.into_iter().all(|count| kernel.overlaps(flysch, count)),
        }
    }

    /// The larger of the errors of reads and programs, without sign.
    pub fn worst(&self) -> f64 {
        self.read_error.abs().max(self.program_error.abs())
    }

    /// Whether the run went to its end on both sides.
    pub const fn is_whole(&self) -> bool {
        self.kernel.stopped_at.is_none() && self.flysch.stopped_at.is_none()
    }
}

/// The error of the simulator, relative to the kernel's count or to `few`, whichever is more.
fn error(kernel: f64, flysch: f64, few: f64) -> f64 {
    (flysch - kernel) / kernel.max(few)
}

/// Key and counts of a simulated run.
#[expect(clippy::cast_precision_loss, reason = "counts of operations, far below 2^52")]
pub fn of_run(run: &Run) -> (Key, Counts) {
    let counts = Counts {
        page_reads: run.operations.page_reads as f64,
        page_programs: run.operations.page_programs as f64,
        block_erases: run.operations.block_erases as f64,
        page_reads_at_open: Some(run.page_reads_at_open as f64),
        time_ms: Some(run.time_ns as f64 / 1e6),
        median_us: Some(run.latency_ns.p50 as f64 / 1e3),
        percentile_99_us: Some(run.latency_ns.p99 as f64 / 1e3),
        stopped_at: None,
    };
    (Key::from(&run.inputs), counts)
}

/// Key and counts of a run that a guest returned as JSON. None if it is not a run.
pub fn of_json(run: &Value) -> Option<(Key, Counts)> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let number = |name: &str| run[name].as_f64();
    let whole = |name: &str| run[name].as_u64().and_then(|number| u32::try_from(number).ok());
    let time_us = |name: &str| run["latency_ns"][name].as_f64().map(|ns| ns / 1e3);
    let parameter = |name: &str| match &run["parameters"][name] {
        Value::String(word) => word.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    };
    let key = Key {
        fs: text(&run["on"])?.rsplit(['/', ':']).next().unwrap_or_default().to_owned(),
        workload: text(&run["workload"])?,
        record_size: whole("record_size")?,
        requests: whole("requests")?,
        pattern: parameter("pattern"),
        read_ahead: parameter("read-ahead"),
        options: String::new(),
    };
    let counts = Counts {
        page_reads: number("page_reads")?,
        page_programs: number("page_programs")?,
        block_erases: number("block_erases")?,
        page_reads_at_open: number("page_reads_at_open"),
        time_ms: number("time_ns").map(|ns| ns / 1e6),
        median_us: time_us("p50"),
        percentile_99_us: time_us("p99"),
        stopped_at: None,
    };
    Some((key, counts))
}

/// The overhead of the tracer on a machine.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Overhead {
    /// Additional time, relative to the time without the tracer.
    pub share: f64,
    /// Additional time for each event, nanoseconds.
    pub event_ns: f64,
    /// Number of events in the compared runs.
    pub events: f64,
}

impl Overhead {
    /// Compare runs with the tracer and the same runs without it. None if there are no such pairs.
    pub fn of(traced: &BTreeMap<Key, Sample>, untraced: &BTreeMap<Key, Sample>) -> Option<Self> {
        let (mut with_ms, mut without_ms, mut events) = (0.0, 0.0, 0.0);
        for (key, without) in untraced {
            let Counts { page_reads, page_programs, block_erases, .. } = traced.get(key)?.mean;
            with_ms += traced[key].mean.time_ms?;
            without_ms += without.mean.time_ms?;
            events += page_reads + page_programs + block_erases;
        }
        let added_ms = with_ms - without_ms;
        let are_pairs = without_ms > 0.0 && events > 0.0;
        are_pairs.then(|| Self {
            share: added_ms / without_ms,
            event_ns: added_ms * 1e6 / events,
            events,
        })
    }
}

/// The runs of each cell, put together.
pub fn samples(runs: impl IntoIterator<Item = (Key, Counts)>) -> BTreeMap<Key, Sample> {
    let mut all: BTreeMap<Key, Vec<Counts>> = BTreeMap::new();
    for (key, counts) in runs {
        all.entry(key).or_default().push(counts);
    }
    all.into_iter().map(|(key, runs)| (key, Sample::of(&runs))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(page_reads: f64, page_programs: f64) -> Counts {
        Counts { page_reads, page_programs, ..Counts::default() }
    }

    #[test]
    fn few_pages_are_compared_in_pages() {
        let json = serde_json::json!({
            "on": "kernel:jffs2", "workload": "insert", "record_size": 600, "requests": 100,
            "parameters": {"read-ahead": "32"}, "page_reads": 2, "page_programs": 200,
            "block_erases": 0
        });
        let (key, kernel) = of_json(&json).unwrap();
        assert_eq!((key.fs.as_str(), key.read_ahead.as_str()), ("jffs2", "32"));
        let cell = Cell::new(key.clone(), &kernel.into(), &counts(1.0, 210.0).into());
        assert!((cell.read_error + 0.05).abs() < 1e-9 && (cell.program_error - 0.05).abs() < 1e-9);
        assert!((cell.worst() - 0.05).abs() < 1e-9);
        let samples = samples([(key.clone(), counts(1.0, 4.0)), (key.clone(), counts(3.0, 8.0))]);
        let Sample { mean, least, most } = samples[&key];
        assert_eq!((mean, least, most), (counts(2.0, 6.0), counts(1.0, 4.0), counts(3.0, 8.0)));
        assert!(of_json(&serde_json::json!({"on": "kernel:jffs2"})).is_none());
    }

    #[test]
    fn a_run_that_fills_the_flash_tells_where() {
        let at = |error: &str| Counts::stopped(error).stopped_at.unwrap();
        assert!((at("filling table 1, record 533: disk is full") - 533.0).abs() < 1e-9);
        assert!((at("at request 12 of 300: disk is full") - 12.0).abs() < 1e-9);
        assert!(at("no space left on device").abs() < 1e-9);
        let key = Key::from(&Line {
            fs: "ubifs".to_owned(),
            workload: "insert".to_owned(),
            options: "--fill 1".to_owned(),
        });
        let (full, whole) = (Counts::stopped("record 5: full"), counts(3.0, 3.0));
        assert!(!Cell::new(key.clone(), &full.into(), &whole.into()).is_whole());
        let cell = Cell::new(key, &counts(3.0, 3.0).into(), &whole.into());
        assert!(cell.is_whole() && cell.meets);
    }

    #[test]
    fn the_tracer_takes_what_the_same_runs_take_longer() {
        let run = |requests: u32, time_ms: f64| {
            let line = Line { fs: String::new(), workload: String::new(), options: String::new() };
            let time_ms = Some(time_ms);
            (Key { requests, ..Key::from(&line) }, Counts { time_ms, ..counts(10.0, 30.0) })
        };
        let traced = samples([run(1, 5e-4), run(2, 1.1e-3), run(3, 9e-4)]);
        let overhead = Overhead::of(&traced, &samples([run(2, 1e-3)])).unwrap();
        assert!((overhead.share - 0.1).abs() < 1e-9 && (overhead.event_ns - 2.5).abs() < 1e-9);
        let of = |untraced: &[(Key, Counts)]| Overhead::of(&traced, &samples(untraced.to_vec()));
        assert_eq!((of(&[run(4, 1.0)]), of(&[])), (None, None));
    }
}
