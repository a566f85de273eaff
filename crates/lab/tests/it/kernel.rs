//! The counts of the real kernel: what JFFS2 costs on Linux 6.1 with nandsim, row by row of
//! `docs/reference/kernel-6.1-bench.csv`, and where the read-ahead shows.

use std::fmt;
use std::sync::Arc;

use flysch_lab::EccMode;
use flysch_lab::bench::grid::{Grid, ReadAheadChoice, run_all};
use flysch_lab::bench::run::Run;
use flysch_lab::bench::scenario::Scenario;
use flysch_lab::machine::platform::{Platform, ecc_mode};
use flysch_lab::machine::stack::Stack;
use flysch_lab::workload::{Alphabet, Micro, Workload};
use serde::Deserialize;

const REFERENCE: &str = include_str!("../../../../docs/reference/kernel-6.1-bench.csv");
/// Rows of JFFS2 in the reference.
const ROW_COUNT: usize = 42;

/// What the kernel counted: a row of the reference.
#[derive(Debug, Deserialize)]
struct Row {
    fs: String,
    op: String,
    record_size: u32,
    requests: u32,
    page_reads: u64,
    page_programs: u64,
    block_erases: u64,
    variant: String,
}

/// How far from the kernel's a count may lie.
struct Band {
    percent: u64,
    slack: u64,
}

/// A count outside its band.
struct Miss<'a> {
    row: &'a Row,
    count: &'static str,
    kernel: u64,
    flysch: f64,
}

fn grid(workload: impl Into<Workload>) -> Grid {
    let platform = Platform::named("nandsim-6.1").expect("it is built in");
    Grid::new(workload, Stack::JFFS2, Arc::new(platform))
}

impl Row {
    fn is_variant(&self) -> bool {
        self.variant != "main"
    }

    /// The runs that answer to this row; of update, whose collection draws random blocks, three.
    fn scenarios(&self) -> Vec<Scenario> {
        let workload: Workload = self.op.parse().expect("a workload of the lab");
        let mut grid = grid(workload);
        grid.axes.record_sizes = vec![self.record_size];
        grid.axes.requests = vec![self.requests];
        grid.axes.seeds = if workload == Micro::Update.into() { vec![1, 2, 3] } else { vec![1] };
        match self.variant.as_str() {
            "main" => (),
            "ra0" => grid.axes.read_ahead = vec![ReadAheadChoice::Off],
            "compr_none" => grid.axes.compressions = vec!["none".parse().expect("it is known")],
            "alpha" => grid.axes.alphabets = vec![Alphabet::Base64],
            "page4096" => grid.axes.page_sizes = vec![4096],
            "soft_ecc_subpage_reads" => grid.axes.ecc = vec![software()],
            unknown => panic!("no option of the lab answers to the variant {unknown}"),
        }
        grid.scenarios()
    }

    /// The counts that have a band, each with the kernel's.
    fn bands(&self) -> Vec<(&'static str, u64, Band)> {
        let erases = Band { percent: 0, slack: (self.block_erases * 3 / 10).max(3) };
        let mut bands = vec![
            ("page_programs", self.page_programs, self.program_band()),
            ("block_erases", self.block_erases, erases),
        ];
        bands.extend(self.read_band().map(|band| ("page_reads", self.page_reads, band)));
        bands
    }

    fn program_band(&self) -> Band {
        let percent = if self.is_variant() || self.op == "update" { 10 } else { 3 };
        Band { percent, slack: 0 }
    }

    /// The kernel's inserts read up to 18 pages by chance; they have no band.
    fn read_band(&self) -> Option<Band> {
        match (self.op.as_str(), self.is_variant()) {
            ("insert", _) => None,
            ("update", false) => Some(Band { percent: 15, slack: 0 }),
            ("update", true) => Some(Band { percent: 10, slack: 0 }),
            (_, false) => Some(Band { percent: 5, slack: 3 }),
            (_, true) => Some(Band { percent: 10, slack: 3 }),
        }
    }

    fn misses(&self, runs: &[Run]) -> Vec<Miss<'_>> {
        let mut misses = Vec::new();
        for (count, kernel, band) in self.bands() {
            let flysch = mean(runs.iter().map(|run| count_in(run, count)));
            if !band.holds(kernel, flysch) {
                misses.push(Miss { row: self, count, kernel, flysch });
            }
        }
        misses
    }
}

fn count_in(run: &Run, count: &str) -> u64 {
    match count {
        "page_reads" => run.page_reads,
        "page_programs" => run.page_programs,
        "block_erases" => run.block_erases,
        unknown => panic!("{unknown} has no band"),
    }
}

impl Band {
    fn holds(&self, kernel: u64, flysch: f64) -> bool {
        let kernel = exact(kernel);
        (flysch - kernel).abs() <= exact(self.percent) * kernel / 100.0 + exact(self.slack)
    }
}

impl fmt::Display for Miss<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Row { op, record_size, requests, variant, .. } = self.row;
        let Self { count, kernel, flysch, .. } = self;
        write!(f, "{op} {record_size} B x {requests} {variant}: {count} {flysch:.1}, not {kernel}")
    }
}

fn software() -> EccMode {
    ecc_mode("soft").expect("a place of error correction")
}

fn exact(count: u64) -> f64 {
    f64::from(u32::try_from(count).expect("counts of one run"))
}

fn mean(counts: impl ExactSizeIterator<Item = u64>) -> f64 {
    let run_count = counts.len() as u64;
    exact(counts.sum()) / exact(run_count)
}

fn rows() -> Vec<Row> {
    let mut reader = csv::Reader::from_reader(REFERENCE.as_bytes());
    let rows = reader.deserialize().collect::<Result<Vec<Row>, _>>().expect("the reference");
    rows.into_iter().filter(|row| row.fs == "jffs2").collect()
}

fn runs(scenarios: &[Scenario]) -> Vec<Run> {
    let outcomes = run_all(scenarios, || ()).into_iter().collect::<Result<_, _>>();
    outcomes.expect("the reference's runs fit their partition")
}

#[test]
fn jffs2_counts_as_the_kernel_does() {
    let rows = rows();
    assert_eq!(rows.len(), ROW_COUNT);
    let scenarios: Vec<Vec<Scenario>> = rows.iter().map(Row::scenarios).collect();
    let mut runs = runs(&scenarios.concat()).into_iter();
    let mut misses = Vec::new();
    for (row, scenarios) in rows.iter().zip(&scenarios) {
        let of_row: Vec<Run> = runs.by_ref().take(scenarios.len()).collect();
        misses.extend(row.misses(&of_row).iter().map(Miss::to_string));
    }
    assert!(misses.is_empty(), "outside their bands:\n{}", misses.join("\n"));
}

/// Requests of a select of 600 records of 600 bytes that take 20 times the median and more: those
/// that a read-ahead fetches 4 cache pages and more for.
fn peaks(read_ahead: ReadAheadChoice) -> Vec<usize> {
    let mut grid = grid(Micro::Select);
    grid.axes.requests = vec![600];
    grid.axes.read_ahead = vec![read_ahead];
    let [run] = runs(&grid.scenarios()).try_into().expect("one run");
    let times = run.request_ns.iter().zip(1..);
    times.filter(|&(&time, _)| time >= 20 * run.latency_ns.p50).map(|(_, number)| number).collect()
}

#[test]
fn select_peaks_where_the_window_is_read() {
    let kernel = [3_usize, 15, 47, 111, 237, 364, 491];
    let ours = peaks(ReadAheadChoice::On);
    assert_eq!(ours.len(), kernel.len(), "{ours:?}");
    let mut pairs = kernel.iter().zip(&ours);
    assert!(pairs.all(|(kernel, ours)| kernel.abs_diff(*ours) <= 1), "{ours:?}");
    assert_eq!(peaks(ReadAheadChoice::Off), [0_usize; 0]);
}

#[test]
fn bands_are_those_promised() {
    let row = |op: &str, variant: &str| Row {
        fs: "jffs2".to_owned(),
        op: op.to_owned(),
        record_size: 600,
        requests: 1000,
        page_reads: 100,
        page_programs: 1000,
        block_erases: 20,
        variant: variant.to_owned(),
    };
    let cases = [
        ("insert", "main", (9999.0, 1030.0, 26.0)),
        ("insert", "alpha", (9999.0, 1100.0, 14.0)),
        ("select", "main", (108.0, 970.0, 26.0)),
        ("join", "ra0", (113.0, 1100.0, 26.0)),
        ("update", "main", (115.0, 1100.0, 26.0)),
        ("update", "page4096", (110.0, 900.0, 26.0)),
    ];
    for (op, variant, (reads, programs, erases)) in cases {
        let row = row(op, variant);
        for (count, kernel, band) in row.bands() {
            let edge = match count {
                "page_reads" => reads,
                "page_programs" => programs,
                _ => erases,
            };
            let beyond = edge + (edge - exact(kernel)).signum();
            assert!(band.holds(kernel, edge), "{op} {variant} {count} {edge}");
            assert!(!band.holds(kernel, beyond), "{op} {variant} {count} {beyond}");
        }
    }
}
