//! Tests of the report: it is complete, the same every time, and safe to open.

use std::collections::BTreeMap;

use flysch_charts::page::is_own;
use flysch_chip::Trace;
use flysch_nand::Geometry;

use super::html;
use crate::bench::life::Rate;
use crate::bench::run::{Inputs, Latency, Run, Wear};
use crate::machine::standing::Standing;
use crate::trace::Operations;
use crate::workload::{Amount, Unit};

/// A run whose numbers follow from its size alone.
fn run(workload: &str, on: &str, record_size: u32, requests: u32) -> Run {
    let request_ns: Vec<u64> = (1..=u64::from(requests))
        .map(|nth| if nth % 64 == 47 { 42_000_000 } else { 1_000_000 })
        .collect();
    let spent = Operations {
        page_reads: 7,
        page_programs: u64::from(requests),
        block_erases: 3,
        flash_ns: 5_000_000,
        ..Operations::default()
    };
    Run {
        inputs: Inputs {
            workload: workload.to_owned(),
            on: on.to_owned(),
            platform: "board".to_owned(),
            part: "chip".to_owned(),
            record_size,
            requests,
            amount: Amount { unit: Unit::Rows, count: requests.into() },
            seed: 1,
            standing: Standing::Answer,
            parameters: BTreeMap::from([("cache", 2000.into())]),
        },
        time_ns: 20_000_000 + request_ns.iter().sum::<u64>(),
        cpu_ns: 10_000_000,
        cpu_percent: 10.0,
        flash_percent: 5.0,
        begin_ns: 80_000,
        end_ns: 9_000_000,
        latency_ns: Latency::of(&request_ns),
        operations: Operations { oob_programs: 3, ..spent },
        buffer_hits: 0,
        page_reads_at_open: 9,
        bytes: u64::from(record_size) * u64::from(requests),
        throughput_kb_s: 100.0 + f64::from(record_size),
        energy_mj: 0.5,
        energy: Vec::new(),
        wear: Wear {
            max_erase_count: 4,
            mean_erase_count: 1.5,
            max_over_mean: 2.667,
            min_erase_count: 1,
            bad_blocks: 0,
        },
        lifetime_mb: Some(2048.0),
        erase_budget: 300_000,
        by_cause: BTreeMap::from([("END > write > collect".to_owned(), spent)]),
        figures: BTreeMap::new(),
        by_kind: BTreeMap::new(),
        by_statement: Vec::new(),
        by_table: Vec::new(),
        request_ns,
        by_block: vec![spent, Operations::default(), spent],
        erase_counts: vec![4, 1, 4],
        trace: trace(),
    }
}

/// A trace without events.
fn trace() -> Trace {
    Trace::empty(Geometry {
        page_size: 2048,
        oob_size: 64,
        sectors_per_page: 4,
        partial_programs: 4,
        pages_per_block: 64,
        block_count: 2048,
        in_order: true,
    })
}

/// A run in which nothing happened, on a partition with this many blocks.
fn nothing(blocks: usize) -> Run {
    Run {
        bytes: 0,
        time_ns: 0,
        cpu_ns: 0,
        throughput_kb_s: f64::NAN,
        operations: Operations::default(),
        lifetime_mb: None,
        by_cause: BTreeMap::new(),
        by_block: vec![Operations::default(); blocks],
        erase_counts: vec![0; blocks],
        ..run("none", "stack", 0, 0)
    }
}

fn sweep() -> Vec<Run> {
    let mut runs = Vec::new();
    for workload in ["insert", "select", "join", "update"] {
        for on in ["sqlite/jffs2", "sqlite/ubifs"] {
            for record_size in [150, 300, 450, 600] {
                for requests in [100, 500, 1000, 1500, 5000] {
                    runs.push(run(workload, on, record_size, requests));
                }
            }
        }
    }
    runs
}

/// Check what holds for every report: it is well-formed, loads nothing from the network, and shows
/// no invalid number.
fn check(runs: &[Run]) -> String {
    let page = html("Title", "subtitle", Rate::DEFAULT, runs);
    assert_eq!(
        page,
        html("Title", "subtitle", Rate::DEFAULT, runs),
        "the same runs give the same bytes"
    );
    check_balance(&page);
    let elsewhere = page.replace("xmlns=\"http://www.w3.org/2000/svg\"", "");
    for banned in ["http", "//cdn", "url(", "@import", "NaN", ">inf", "\"inf"] {
        assert!(!elsewhere.contains(banned), "{banned} in the page");
    }
    page
}

/// Check that every element is closed, in the reverse order of opening.
fn check_balance(page: &str) {
    let body = page.split("<script>").next().expect("a page");
    let mut open: Vec<&str> = Vec::new();
    for tag in body.split('<').skip(1).map(|rest| rest.split('>').next().expect("a tag")) {
        let name = tag.trim_start_matches('/').split([' ', '/']).next().expect("a name");
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name), "closing tag");
        } else if !(tag.ends_with('/') || name == "!DOCTYPE" || name == "meta") {
            open.push(name);
        }
    }
    assert_eq!(open, ["html", "body"], "the script and the ends of these follow");
}

#[test]
fn a_report_knows_its_own() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("report.html");
    for (text, own) in
        [(html("", "", Rate::DEFAULT, &[]), true), ("<!DOCTYPE html>".to_owned(), false)]
    {
        std::fs::write(&file, text).expect("a file");
        assert_eq!(is_own(&file), own);
    }
    assert!(!is_own(folder.path()) && !is_own(&folder.path().join("none")));
}

#[test]
fn one_run_is_told() {
    let page = check(&[run("insert", "sqlite/jffs2", 600, 1000)]);
    for shown in
        ["1\u{202f}000 requests of 600 bytes", "END", "collect", "Peaks at requests 47, 111"]
    {
        assert!(page.contains(shown), "{shown}");
    }
    assert!(!page.contains("Against the number"), "one count of requests is no axis");
}

#[test]
fn every_run_of_a_sweep_appears() {
    let runs = sweep();
    let page = check(&runs);
    let summary = page.split("</table>").next().expect("a table");
    assert_eq!(summary.matches("<tr><th scope=\"row\">").count(), runs.len());
    assert!(page.contains("Against the number of requests"));
    assert!(page.len() < 1_500_000, "{} bytes", page.len());
}

#[test]
fn ratios_are_computed() {
    let (fast, mut slow) = (run("insert", "fast", 600, 100), run("insert", "slow", 600, 100));
    slow.time_ns = fast.time_ns * 3;
    slow.operations.page_programs = fast.operations.page_programs * 2;
    slow.operations.block_erases = 0;
    let page = check(&[slow, fast]);
    for shown in [
        "<b>slow</b> takes 3.00\u{202f}\u{d7} as long",
        "<b>slow</b> programs 2.00\u{202f}\u{d7} as many",
    ] {
        assert!(page.contains(shown), "{shown}");
    }
    assert!(page.contains("<b>Erases least:</b> <b>slow</b>, 0 block erases."));
    // 300,000 erases of 64 pages are left, and a row takes one program or two.
    let lives = "222\u{202f}days on <b>fast</b> and 111\u{202f}days on <b>slow</b>.";
    let rate = "<b>Lifetime</b> at 86400 rows a day, ";
    assert!(page.contains(rate) && page.contains(lives), "{page}");
}

#[test]
fn what_tells_runs_apart_is_named() {
    let on = run("select", "stack", 600, 100);
    let mut off = on.clone();
    off.inputs.parameters = BTreeMap::from([("cache", 0.into())]);
    let page = check(&[on.clone(), off, on]);
    for name in ["stack, cache 2000", "stack, cache 0", "stack, cache 2000 #2"] {
        assert!(page.contains(&format!("<th scope=\"row\">{name}</th>")), "{name}");
    }
}

#[test]
fn hostile_names_stay_text() {
    let hostile = "</title><script>alert('x')</script>\"&\0";
    let mut bad = run(hostile, hostile, 600, 100);
    bad.inputs.platform = hostile.to_owned();
    bad.inputs.part = hostile.to_owned();
    bad.inputs.parameters.insert("cache", hostile.into());
    bad.by_cause = bad.by_cause.into_values().map(|spent| (hostile.to_owned(), spent)).collect();
    check(&[bad.clone(), run("insert", "other", 150, 50)]);
    let page = html(hostile, hostile, Rate::DEFAULT, &[bad]);
    check_balance(&page);
    assert_eq!(page.matches("<script>").count(), 1, "only the page's own");
}

#[test]
fn nothing_is_no_fault() {
    check(&[]);
    check(&[nothing(0)]);
    check(&[nothing(1)]);
    check(&[nothing(5000), run("none", "other", 600, 100)]);
    check(&[run("insert", "stack", 600, 1), run("insert", "stack", 600, 2)]);
    let mut still = run("insert", "stack", 600, 100);
    still.request_ns.fill(0);
    still.latency_ns = Latency::default();
    check(&[still]);
}

#[test]
fn many_stacks_have_names_and_places() {
    let runs: Vec<Run> =
        (0..24).map(|nth| run("insert", &format!("stack{nth}"), 600, 6000)).collect();
    let page = check(&runs);
    assert!(page.contains("stack23"));
}
