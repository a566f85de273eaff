//! A cell of the comparison: a run that was made on the kernel and on the simulator, with the
//! errors of the simulator.

use std::collections::BTreeMap;

use flysch_lab::bench::run::Run;
use serde::Serialize;
use serde_json::Value;

/// For counts below this number, the error is relative to this number instead of the count.
pub const FEW_PAGES: f64 = 20.0;

/// The parameters that identify a cell.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Key {
    /// Name of the file system.
    pub fs: String,
    pub workload: String,
    /// Size of a record or of a request in bytes.
    pub record_size: u32,
    pub requests: u32,
    /// Order of the requests. Empty for workloads that have only one.
    pub pattern: String,
    /// Read-ahead window in cache pages.
    pub read_ahead: String,
}

/// Counts of the chip's operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Counts {
    /// Pages of data that the chip read from its array.
    pub page_reads: f64,
    /// Pages of data that the chip programmed into its array.
    pub page_programs: f64,
    /// Blocks that the chip erased.
    pub block_erases: f64,
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
    /// Error of page reads, relative to the kernel's count.
    pub read_error: f64,
    /// Error of page programs, relative to the kernel's count.
    pub program_error: f64,
}

impl Cell {
    /// Compare the counts of both sides.
    pub fn new(key: Key, kernel: Counts, flysch: Counts) -> Self {
        let read_error = error(kernel.page_reads, flysch.page_reads);
        let program_error = error(kernel.page_programs, flysch.page_programs);
        Self { key, kernel, flysch, read_error, program_error }
    }

    /// The larger of the two errors, without sign.
    pub fn worst(&self) -> f64 {
        self.read_error.abs().max(self.program_error.abs())
    }
}

/// The error of the simulator, relative to the kernel's count or to [`FEW_PAGES`].
fn error(kernel: f64, flysch: f64) -> f64 {
    (flysch - kernel) / kernel.max(FEW_PAGES)
}

/// Key and counts of a simulated run.
#[expect(clippy::cast_precision_loss, reason = "counts of operations, far below 2^52")]
pub fn of_run(run: &Run) -> (Key, Counts) {
    let parameter =
        |name: &str| run.inputs.parameters.get(name).map(ToString::to_string).unwrap_or_default();
    let key = Key {
        fs: run.inputs.on.rsplit(['/', ':']).next().unwrap_or_default().to_owned(),
        workload: run.inputs.workload.clone(),
        record_size: run.inputs.record_size,
        requests: run.inputs.requests,
        pattern: parameter("pattern"),
        read_ahead: parameter("read-ahead"),
    };
    let counts = Counts {
        page_reads: run.operations.page_reads as f64,
        page_programs: run.operations.page_programs as f64,
        block_erases: run.operations.block_erases as f64,
    };
    (key, counts)
}

/// Key and counts of a run that a guest returned as JSON. None if it is not a run.
pub fn of_json(run: &Value) -> Option<(Key, Counts)> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let number = |name: &str| run[name].as_f64();
    let whole = |name: &str| run[name].as_u64().and_then(|number| u32::try_from(number).ok());
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
    };
    let counts = Counts {
        page_reads: number("page_reads")?,
        page_programs: number("page_programs")?,
        block_erases: number("block_erases")?,
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
    pub fn of(traced: &[Value], untraced: &[Value]) -> Option<Self> {
        let time = |run: &Value| run["time_ns"].as_f64();
        let (mut with_ns, mut without_ns, mut events) = (0.0, 0.0, 0.0);
        for run in untraced {
            let (key, _) = of_json(run)?;
            let twin = traced.iter().find(|it| of_json(it).is_some_and(|it| it.0 == key))?;
            let (_, counts) = of_json(twin)?;
            with_ns += time(twin)?;
            without_ns += time(run)?;
            events += counts.page_reads + counts.page_programs + counts.block_erases;
        }
        let added_ns = with_ns - without_ns;
        let are_pairs = without_ns > 0.0 && events > 0.0;
        are_pairs.then(|| Self {
            share: added_ns / without_ns,
            event_ns: added_ns / events,
            events,
        })
    }
}

/// The mean counts of all runs of each cell.
pub fn means(runs: impl IntoIterator<Item = (Key, Counts)>) -> BTreeMap<Key, Counts> {
    let mut sums: BTreeMap<Key, (Counts, f64)> = BTreeMap::new();
    for (key, counts) in runs {
        let (sum, number) = sums.entry(key).or_default();
        sum.page_reads += counts.page_reads;
        sum.page_programs += counts.page_programs;
        sum.block_erases += counts.block_erases;
        *number += 1.0;
    }
    let mean = |(sum, number): (Counts, f64)| Counts {
        page_reads: sum.page_reads / number,
        page_programs: sum.page_programs / number,
        block_erases: sum.block_erases / number,
    };
    sums.into_iter().map(|(key, sum)| (key, mean(sum))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(page_reads: f64, page_programs: f64) -> Counts {
        Counts { page_reads, page_programs, block_erases: 0.0 }
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
        let cell = Cell::new(key.clone(), kernel, counts(1.0, 210.0));
        assert!((cell.read_error + 0.05).abs() < 1e-9 && (cell.program_error - 0.05).abs() < 1e-9);
        assert!((cell.worst() - 0.05).abs() < 1e-9);
        let means = means([(key.clone(), counts(1.0, 4.0)), (key.clone(), counts(3.0, 8.0))]);
        assert_eq!(means[&key], counts(2.0, 6.0));
        assert!(of_json(&serde_json::json!({"on": "kernel:jffs2"})).is_none());
    }

    #[test]
    fn the_tracer_takes_what_the_same_runs_take_longer() {
        let run = |requests: u32, time_ns: u32| {
            serde_json::json!({
                "on": "kernel:jffs2", "workload": "insert", "record_size": 600,
                "requests": requests, "time_ns": time_ns, "page_reads": 10, "page_programs": 30,
                "block_erases": 0
            })
        };
        let traced = [run(1, 500), run(2, 1100), run(3, 900)];
        let overhead = Overhead::of(&traced, &[run(2, 1000)]).unwrap();
        assert!((overhead.share - 0.1).abs() < 1e-9 && (overhead.event_ns - 2.5).abs() < 1e-9);
        assert_eq!((Overhead::of(&traced, &[run(4, 1)]), Overhead::of(&traced, &[])), (None, None));
    }
}
