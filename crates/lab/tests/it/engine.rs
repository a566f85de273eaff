//! The engine on the bare chip beside SQLite: the same workloads, every operation with its cause.

use std::sync::Arc;

use flysch::db::DbError;
use flysch_lab::bench::RunError;
use flysch_lab::bench::grid::{Grid, run_all};
use flysch_lab::bench::run::Run;
use flysch_lab::machine::platform::Platform;
use flysch_lab::machine::stack::{Journals, Stack};
use flysch_lab::workload::{Contacts, Logger, Micro, Mount, Pattern, Stop, Workload};

fn grid(workloads: &[Workload], stacks: &[Stack]) -> Grid {
    let platform = Arc::new(Platform::named("nandsim-6.1").expect("it is built in"));
    let mut grid = Grid::new(Micro::Insert, Stack::FLYSCH, platform);
    grid.workloads = workloads.to_vec();
    grid.stacks = stacks.to_vec();
    grid.axes.record_sizes = vec![40];
    grid.axes.requests = vec![50];
    grid.axes.fills = vec![300];
    grid
}

fn runs(grid: &Grid) -> Vec<Run> {
    let scenarios = grid.scenarios();
    let outcomes = run_all(&scenarios, || ()).into_iter().zip(&scenarios);
    let runs = outcomes.map(|(outcome, scenario)| {
        outcome.unwrap_or_else(|error| panic!("{}: {error}", scenario.stack.name()))
    });
    runs.collect()
}

#[test]
fn a_log_is_kept_and_asked_on_the_engine_as_on_sqlite() {
    let logger = Logger { batch: 3, queries: 7, ..Logger::DEFAULT };
    for run in runs(&grid(&[Workload::Logger(logger)], &[Stack::FLYSCH, Stack::JFFS2])) {
        let count = |kind| run.by_kind[kind].count;
        assert_eq!((count("insert"), count("by_time"), count("by_sensor")), (50, 7, 7));
        assert_eq!(run.by_kind["by_time"].operations.page_programs, 0, "{}", run.inputs.on);
        let programs = run.by_kind["insert"].operations.page_programs;
        assert!(programs >= 50, "{}: {programs} programs for 50 durable commits", run.inputs.on);
        assert_eq!(run.bytes, 50 * 3 * 40);
    }
}

/// A log on 48 blocks that takes more readings than fit on them, and keeps this many.
fn ring(keep: u32, stacks: &[Stack]) -> Grid {
    let logger = Logger { batch: 200, keep, queries: 5 };
    let mut grid = grid(&[Workload::Logger(logger)], stacks);
    grid.axes.partition_blocks = vec![48];
    grid.axes.requests = vec![1000];
    grid
}

/// The workload itself checks that the readings to be kept are there.
#[test]
fn a_ring_takes_readings_without_end_and_moves_none() {
    let mut ring = ring(5000, &[Stack::FLYSCH, Stack::FLYSCH_NVRAM]);
    let requests = 700;
    ring.axes.requests = vec![requests];
    for run in runs(&ring) {
        let geometry = run.trace.geometry;
        // A reading of 40 bytes takes 42 as a row.
        let pages = u64::from(requests) * 200 * 42 / u64::from(geometry.page_size);
        let programs = run.operations.page_programs;
        let commits = if run.operations.nvram_writes > 0 { 0 } else { u64::from(requests) };
        assert!(programs > pages, "{programs} programs for {pages} pages of readings");
        // Entries of two indexes are written some times; rows are written once.
        let most = commits + 3 * pages;
        assert!(programs < most, "{programs} programs, {pages} pages and {commits} commits");
        let (filled, erases) =
            (programs / u64::from(geometry.pages_per_block), run.operations.block_erases);
        // Some log blocks end early, where the changes of the block table are many.
        assert!(erases.abs_diff(filled) * 20 <= filled, "{erases} of {filled} blocks");
        assert!(erases > 48, "the partition went round: {erases} erases");
    }
}

#[test]
fn a_ring_that_does_not_fit_is_refused() {
    // The first does not fit by the bytes of its readings, the second by what the engine needs.
    for keep in [200_000, 60_000] {
        let outcome = ring(keep, &[Stack::FLYSCH]).scenarios()[0].run().map(drop);
        assert_eq!(outcome, Err(RunError::Ring { keep, blocks: 48 }));
    }
    let outcome = ring(0, &[Stack::FLYSCH]).scenarios()[0].run().map(drop);
    let is_full = matches!(outcome, Err(RunError::Engine { error: DbError::Full, .. }));
    assert!(is_full, "a log that keeps all of them: {outcome:?}");
}

#[test]
fn programs_of_the_engine_bear_the_cause_that_their_page_tells() {
    let logger = Workload::Logger(Logger { batch: 100, queries: 1, ..Logger::DEFAULT });
    let mut grid = grid(&[logger], &[Stack::FLYSCH]);
    grid.axes.requests = vec![200];
    let runs = runs(&grid);
    let [run] = runs.as_slice() else { panic!("one run") };
    let mut programs = 0;
    for (cause, operations) in &run.by_cause {
        let innermost = cause.rsplit(" > ").next().expect("a scope");
        let is_program = ["log", "record", "run", "merge", "root", "scrub"].contains(&innermost);
        assert_eq!(is_program, operations.page_programs > 0, "{cause}");
        programs += operations.page_programs;
    }
    assert_eq!(programs, run.operations.page_programs);
    for label in ["log", "record", "run", "merge"] {
        let is_there = run.by_cause.keys().any(|cause| cause.ends_with(&format!("> {label}")));
        assert!(is_there, "{label} in {:?}", run.by_cause.keys());
    }
}

#[test]
fn inserts_and_selects_by_key_run_on_the_engine() {
    let workloads = [
        Workload::Micro(Micro::Insert),
        Workload::Micro(Micro::Select),
        Workload::Contacts(Contacts { pattern: Pattern::Random, ..Contacts::DEFAULT }),
    ];
    let runs = runs(&grid(&workloads, &[Stack::FLYSCH]));
    let [insert, select, contacts] = runs.as_slice() else { panic!("three runs") };
    assert!(insert.operations.page_programs > 0 && insert.end_ns > 0);
    for reading in [select, contacts] {
        assert_eq!(reading.operations.page_programs, 0, "{}", reading.inputs.workload);
        assert!(reading.operations.page_reads > 0, "{}", reading.inputs.workload);
    }
}

/// The workload itself checks that all committed readings are there.
#[test]
fn every_stack_comes_back_from_a_cut_and_from_a_clean_stop() {
    let workloads = [Stop::Cut, Stop::Clean].map(|stop| Workload::Mount(Mount { stop }));
    let pramfs = Stack::YAFFS2.with(Journals::Pramfs);
    let stacks = [Stack::FLYSCH, Stack::JFFS2, Stack::YAFFS2, Stack::UBIFS, Stack::FTL, pramfs];
    let mut grid = grid(&workloads, &stacks);
    grid.axes.seeds = vec![1, 2];
    for run in runs(&grid) {
        let kinds: Vec<_> = run.by_kind.keys().copied().collect();
        assert_eq!(kinds, ["mount", "open", "write"], "{}", run.inputs.on);
        assert!(run.by_kind["write"].operations.page_programs > 0, "{}", run.inputs.on);
    }
}

#[test]
fn the_engine_gives_the_same_figures_again() {
    let workloads = [Workload::Logger(Logger::DEFAULT), Workload::Mount(Mount::DEFAULT)];
    let grid = grid(&workloads, &[Stack::FLYSCH]);
    let json = |run: &Run| serde_json::to_string(run).expect("a run has JSON values");
    let [first, second] = [runs(&grid), runs(&grid)];
    for (first, second) in first.iter().zip(&second) {
        assert_eq!(json(first), json(second));
    }
    let mut other = grid;
    other.axes.seeds = vec![2];
    assert_ne!(json(&runs(&other)[0]), json(&first[0]), "the seed matters");
}

#[test]
fn commits_beside_the_chip_program_nothing_and_outlive_a_cut() {
    let logger = Workload::Logger(Logger { queries: 3, ..Logger::DEFAULT });
    let both = runs(&grid(&[logger], &[Stack::FLYSCH, Stack::FLYSCH_NVRAM]));
    let [plain, beside] = both.as_slice() else { panic!("two runs") };
    assert_eq!(plain.operations.nvram_writes, 0);
    assert!(
        beside.operations.nvram_writes >= 50,
        "{} writes for 50 commits",
        beside.operations.nvram_writes
    );
    assert!(
        beside.operations.page_programs * 4 < plain.operations.page_programs,
        "{} programs",
        beside.operations.page_programs
    );
    for stop in [Stop::Cut, Stop::Clean] {
        let mounts = runs(&grid(&[Workload::Mount(Mount { stop })], &[Stack::FLYSCH_NVRAM]));
        assert!(mounts[0].by_kind["open"].operations.page_reads > 0, "{stop:?}");
    }
}
