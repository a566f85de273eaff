//! redb on the simulated file systems: the same workloads as SQLite, and power cuts.

use std::sync::Arc;

use flysch_lab::bench::grid::{Grid, run_all};
use flysch_lab::bench::run::Run;
use flysch_lab::bench::scenario::Scenario;
use flysch_lab::machine::platform::Platform;
use flysch_lab::machine::stack::{Main, Stack};
use flysch_lab::workload::{Contacts, Logger, Micro, Mount, Stop, Workload};

const ON_FLASH: [Main; 4] = [Main::Jffs2, Main::Yaffs2, Main::Ubifs, Main::Ftl];

fn runs(workloads: &[Workload], seeds: &[u64]) -> Vec<Run> {
    let platform = Arc::new(Platform::named("nandsim-6.1").expect("it is built in"));
    let mut grid = Grid::new(Micro::Insert, Stack::FLYSCH, platform);
    grid.workloads = workloads.to_vec();
    grid.stacks = ON_FLASH.map(Stack::redb).to_vec();
    grid.axes.record_sizes = vec![100];
    grid.axes.requests = vec![60];
    grid.axes.fills = vec![300];
    grid.axes.seeds = seeds.to_vec();
    let scenarios = grid.scenarios();
    let outcomes = run_all(&scenarios, || ()).into_iter().zip(&scenarios);
    let runs = outcomes.map(|(outcome, Scenario { stack, workload, .. })| {
        outcome.unwrap_or_else(|error| panic!("{} {}: {error}", stack.name(), workload.name()))
    });
    runs.collect()
}

/// The workloads themselves check that every row is found.
#[test]
fn every_request_is_answered_and_every_commit_is_durable() {
    let logger = Logger { batch: 3, queries: 7, keep: 200 };
    let micro = [Micro::Insert, Micro::Select, Micro::Join, Micro::Update, Micro::Commit];
    let mut workloads = micro.map(Workload::Micro).to_vec();
    workloads.extend([Workload::Contacts(Contacts::DEFAULT), Workload::Logger(logger)]);
    for run in runs(&workloads, &[1]) {
        let (on, workload) = (&run.inputs.on, &run.inputs.workload);
        let programs = run.operations.page_programs;
        match workload.as_str() {
            "commit" | "logger" => assert!(programs >= 60, "{on}, {workload}: {programs}"),
            "insert" | "update" => assert!(programs >= 3, "{on}, {workload}: {programs}"),
            _ => assert_eq!(programs, 0, "{on}: {workload} only reads"),
        }
    }
}

/// The workload checks that all acknowledged transactions are there after the stop, and one that
/// was cut in full or not at all.
#[test]
fn what_was_committed_is_there_after_a_stop() {
    for stop in [Stop::Cut, Stop::Clean] {
        for run in runs(&[Workload::Mount(Mount { stop })], &[1, 2, 3, 4, 5, 6]) {
            let write = &run.by_kind["write"];
            assert!(write.operations.page_programs > 0, "{}: nothing is written", run.inputs.on);
        }
    }
}

#[test]
fn a_run_can_be_repeated() {
    let commits = [Workload::Micro(Micro::Commit)];
    for (one, other) in runs(&commits, &[7]).iter().zip(&runs(&commits, &[7])) {
        assert_eq!(one.operations, other.operations, "{}", one.inputs.on);
        assert_eq!(one.time_ns, other.time_ns, "{}", one.inputs.on);
    }
}
