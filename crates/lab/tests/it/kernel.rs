//! The simulated counts against those of the real kernel: Linux 6.1 with nandsim, row by row of
//! `docs/reference`. Also the requests at which its read-ahead shows.

use std::sync::Arc;

use flysch_lab::bench::grid::{Grid, ReadAheadOption, run_all};
use flysch_lab::bench::run::Run;
use flysch_lab::bench::scenario::Scenario;
use flysch_lab::machine::platform::Platform;
use flysch_lab::machine::stack::Stack;
use flysch_lab::reference::{Row, judge, parse};
use flysch_lab::workload::Micro;

const BENCH: &str = include_str!("../../../../docs/reference/kernel-6.1-bench.csv");
const JOURNALS: &str = include_str!("../../../../docs/reference/kernel-6.1-hybrid.csv");
const READS: &str = include_str!("../../../../docs/reference/kernel-6.1-readahead.csv");
const CONTACTS: &str = include_str!("../../../../docs/reference/kernel-6.1-contacts.csv");

fn runs(scenarios: &[Scenario]) -> Vec<Run> {
    let outcomes = run_all(scenarios, || ()).into_iter().collect::<Result<_, _>>();
    outcomes.expect("the reference's runs fit their partition")
}

/// Run the scenarios of these rows. All counts must be within their bands. `count` is the expected
/// number of rows.
fn check(rows: &[Row], count: usize) {
    assert_eq!(rows.len(), count);
    let scenarios: Vec<Scenario> = rows.iter().flat_map(|row| row.scenarios.clone()).collect();
    let judged = judge(rows, &runs(&scenarios));
    let misses: Vec<_> = judged.iter().filter(|judgement| !judgement.within).collect();
    assert!(misses.is_empty(), "outside their bands: {misses:#?}");
}

#[test]
fn jffs2_counts_as_the_kernel_does() {
    let mut rows = parse(BENCH).unwrap();
    assert_eq!(rows.len(), 83);
    rows.retain(|row| row.labels["fs"] == "jffs2");
    check(&rows, 42);
}

#[test]
fn transactions_with_journals_elsewhere_count_as_the_kernel_does() {
    check(&parse(JOURNALS).unwrap(), 23);
}

#[test]
fn a_file_is_read_as_the_kernel_reads_it() {
    check(&parse(READS).unwrap(), 86);
}

#[test]
fn contacts_are_read_as_the_kernel_reads_them() {
    check(&parse(CONTACTS).unwrap(), 48);
}

#[test]
fn what_is_no_reference_is_refused() {
    for text in ["", "a,b\n1,2\n", "config,transactions\njffs2-nand,1\n"] {
        assert!(parse(text).is_err(), "{text}");
    }
    let strange = JOURNALS.replace("jffs2-nand,", "jffs2-paper,");
    let error = parse(&strange).expect_err("there is no such run").to_string();
    assert_eq!(error, "no reference: unknown run 'jffs2-paper'");
}

/// The requests that take at least 20 times the median, in a select of 600 records of 600 bytes.
/// These are the requests for which read-ahead fetches 4 or more cache pages.
fn peaks(read_ahead: ReadAheadOption) -> Vec<usize> {
    let platform = Platform::named("nandsim-6.1").expect("it is built in");
    let mut grid = Grid::new(Micro::Select, Stack::JFFS2, Arc::new(platform));
    grid.axes.requests = vec![600];
    grid.axes.read_ahead = vec![read_ahead];
    let [run] = runs(&grid.scenarios()).try_into().expect("one run");
    let times = run.request_ns.iter().zip(1..);
    times.filter(|&(&time, _)| time >= 20 * run.latency_ns.p50).map(|(_, number)| number).collect()
}

#[test]
fn select_peaks_where_the_window_is_read() {
    let kernel = [3_usize, 15, 47, 111, 237, 364, 491];
    let ours = peaks(ReadAheadOption::On);
    assert_eq!(ours.len(), kernel.len(), "{ours:?}");
    let mut pairs = kernel.iter().zip(&ours);
    assert!(pairs.all(|(kernel, ours)| kernel.abs_diff(*ours) <= 1), "{ours:?}");
    assert_eq!(peaks(ReadAheadOption::Off), [0_usize; 0]);
}
