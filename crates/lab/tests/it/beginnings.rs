//! Scenarios that begin alike share a machine, which is taken back to the beginning before each. A
//! cell of such a sweep gives what it gives alone: figures, times, wear and trace.

use std::sync::Arc;

use flysch_lab::JournalMode;
use flysch_lab::bench::grid::{Grid, ReadAheadOption, run_all};
use flysch_lab::bench::run::Run;
use flysch_lab::bench::scenario::Scenario;
use flysch_lab::machine::platform::Platform;
use flysch_lab::machine::stack::{Engine, Stack};
use flysch_lab::workload::{Contacts, Micro, Pattern, Read, Workload};

const MICRO: [Micro; 5] = [Micro::Insert, Micro::Select, Micro::Join, Micro::Update, Micro::Commit];

/// A grid of all kinds of request of the micro-benchmark, with traces.
fn grid(platform: &str, stacks: &[Stack]) -> Grid {
    let platform = Arc::new(Platform::named(platform).expect("it is built in"));
    let mut grid = Grid::new(Micro::Insert, Stack::JFFS2, platform);
    grid.workloads = MICRO.map(Workload::from).to_vec();
    grid.stacks = stacks.to_vec();
    grid.axes.record_sizes = vec![150];
    grid.axes.fills = vec![300];
    grid.axes.requests = vec![5, 40, 200, 120];
    grid.keeps_traces = true;
    grid
}

/// Check that each cell gives together with the others what it gives alone.
fn check(grid: &Grid) {
    let scenarios = grid.scenarios();
    for (together, scenario) in run_all(&scenarios, || ()).into_iter().zip(&scenarios) {
        let Scenario { stack, workload, .. } = scenario;
        let cell = format!("{} {}, {} requests", stack.name(), workload.name(), scenario.requests);
        let (together, alone) = (together.expect("it runs"), scenario.run().expect("it runs"));
        let figures = |run: &Run| serde_json::to_value(run).expect("figures have JSON values");
        assert_eq!(figures(&together), figures(&alone), "{cell}");
        assert_eq!(together.request_ns, alone.request_ns, "{cell}");
        assert_eq!(together.by_block, alone.by_block, "{cell}");
        assert_eq!(together.erase_counts, alone.erase_counts, "{cell}");
        assert!(together.trace == alone.trace, "{cell}: traces differ");
    }
}

#[test]
fn requests_that_write_find_what_they_find_alone() {
    check(&grid("nandsim-6.1", &Stack::ALL));
    let mut kaist = grid("kaist-2.6.19", &Stack::ALL);
    kaist.axes.read_ahead = vec![ReadAheadOption::On, ReadAheadOption::Off];
    check(&kaist);
}

#[test]
fn a_small_cache_and_a_write_ahead_log_are_as_alone() {
    let mut small = grid("am62-6.12", &Stack::ALL);
    small.axes.cache_sizes = vec![10];
    check(&small);
    let mut logged = grid("am62-6.12", &[Stack::UBIFS, Stack::FTL]);
    logged.axes.journal_modes = vec![JournalMode::Wal];
    check(&logged);
}

#[test]
fn the_engine_finds_what_it_finds_alone() {
    let stacks = [Stack::FLYSCH, "flysch+nvram".parse().expect("it is known")];
    check(&grid("nandsim-6.1", &stacks));
}

#[cfg(feature = "redb")]
#[test]
fn redb_finds_what_it_finds_alone() {
    let stacks = Stack::ALL.map(|stack| Stack { engine: Engine::Redb, ..stack });
    let stacks: Vec<Stack> = stacks.into_iter().filter(|stack| stack.journals.is_none()).collect();
    check(&grid("nandsim-6.1", &stacks));
}

#[test]
fn aged_devices_are_as_alone() {
    let mut aged = grid("nandsim-6.1", &[Stack::JFFS2, Stack::YAFFS2, Stack::UBIFS, Stack::FTL]);
    aged.axes.aged_fills = vec![30];
    aged.axes.aged_invalids = vec![20];
    aged.axes.aged_erases = vec![100];
    check(&aged);
}

#[test]
fn reads_of_a_sweep_are_as_alone() {
    let patterns = [Pattern::Sequential, Pattern::Random];
    let reads = patterns.map(|pattern| Read { pattern, file_size: 1 << 18, ..Read::DEFAULT });
    let contacts = patterns.map(|pattern| Contacts { pattern, records: 100, ..Contacts::DEFAULT });
    let of_files = reads.map(|read| Read { request_size: 8192, inter_arrival_us: 3000, ..read });
    for (workloads, engine) in [
        (contacts.into_iter().map(Workload::Contacts).collect(), Engine::Sqlite),
        (reads.into_iter().chain(of_files).map(Workload::Read).collect(), Engine::File),
    ] {
        let mut grid = grid("nandsim-6.1", &Stack::ALL.map(|stack| Stack { engine, ..stack }));
        grid.workloads = workloads;
        grid.axes.read_ahead =
            vec![ReadAheadOption::On, ReadAheadOption::Off, ReadAheadOption::Advised];
        check(&grid);
    }
}
