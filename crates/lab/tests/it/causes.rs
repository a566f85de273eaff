//! Every operation of the chip has a cause. The operations of all causes sum up to those of the
//! chip. The same scenario gives the same figures, whatever runs at the same time.

use std::cell::Cell;
use std::sync::{Arc, OnceLock};

use flysch_chip::{CauseId, Event, EventKind, EventPlace, Trace, Traffic};
use flysch_lab::JournalMode;
use flysch_lab::bench::grid::{Grid, ReadAheadOption, run_all};
use flysch_lab::bench::run::Run;
use flysch_lab::bench::scenario::Scenario;
use flysch_lab::machine::platform::{Platform, ecc_mode};
use flysch_lab::machine::stack::{Main, Stack};
use flysch_lab::trace::Operations;
use flysch_lab::workload::{Alphabet, Micro};
use flysch_sqlite::Database;

/// Every workload on every stack of every platform, with few requests.
fn everything() -> Grid {
    let platforms = Platform::names();
    let platforms = platforms.iter().map(|name| Platform::named(name).expect("it is built in"));
    let platforms: Vec<Arc<Platform>> = platforms.map(Arc::new).collect();
    let mut grid = Grid::new(Micro::Insert, Stack::JFFS2, Arc::clone(&platforms[0]));
    grid.workloads = Micro::OF_ALGORITHM_1.map(Into::into).to_vec();
    grid.stacks = Stack::ALL.to_vec();
    grid.platforms = platforms;
    grid.axes.requests = vec![200];
    grid.axes.fills = vec![300];
    grid.keeps_traces = true;
    grid
}

/// One grid for each parameter that changes what the stack does. Each is for two of the platforms,
/// which take turns.
fn grids() -> Vec<Grid> {
    let turn = Cell::new(0);
    let unlike = |change: &dyn Fn(&mut Grid)| {
        let mut grid = everything();
        let count = grid.platforms.len();
        grid.platforms.rotate_left(turn.get() % count);
        grid.platforms.truncate(2);
        turn.set(turn.get() + 2);
        change(&mut grid);
        grid
    };
    vec![
        unlike(&|grid| {
            grid.axes.read_ahead = vec![ReadAheadOption::Off, ReadAheadOption::Pages(7)];
        }),
        unlike(&|grid| grid.axes.compressions = vec!["none".parse().expect("it is known")]),
        unlike(&|grid| grid.axes.ecc = vec![ecc_mode("soft").expect("it is known")]),
        unlike(&|grid| grid.axes.page_sizes = vec![4096]),
        unlike(&|grid| grid.axes.cache_sizes = vec![10]),
        unlike(&|grid| grid.axes.alphabets = vec![Alphabet::Constant]),
        // The partition is so small that garbage must be collected.
        unlike(&|grid| {
            grid.stacks.retain(|stack| stack.main == Main::Jffs2);
            grid.axes.partition_blocks = vec![12];
        }),
        unlike(&|grid| {
            use JournalMode::{Memory, Off, Persist, Truncate};
            grid.axes.journal_modes = vec![Truncate, Persist, Memory, Off];
        }),
    ]
}

/// Every workload on every stack of every platform, run on all cores. Two tests look at the runs.
fn runs_of_everything() -> &'static [Run] {
    static RUNS: OnceLock<Vec<Run>> = OnceLock::new();
    RUNS.get_or_init(|| all_runs(&everything().scenarios()))
}

fn all_runs(scenarios: &[Scenario]) -> Vec<Run> {
    let runs = run_all(scenarios, || ()).into_iter().zip(scenarios).map(|(outcome, scenario)| {
        outcome.unwrap_or_else(|error| panic!("{:?} {scenario:?}: {error}", scenario.workload))
    });
    runs.collect()
}

#[expect(clippy::cast_precision_loss, reason = "runs of seconds in nanoseconds")]
fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

fn json(run: &Run) -> String {
    serde_json::to_string(run).expect("a run has JSON values")
}

fn sum<'a>(parts: impl IntoIterator<Item = &'a Operations>) -> Operations {
    parts.into_iter().fold(Operations::default(), |mut sum, part| {
        sum += *part;
        sum
    })
}

#[test]
fn causes_are_all_known_and_sum_up() {
    let unlike: Vec<Scenario> = grids().iter().flat_map(Grid::scenarios).collect();
    for run in all_runs(&unlike).iter().chain(runs_of_everything()) {
        let title =
            format!("{} on {} {:?}", run.inputs.workload, run.inputs.on, run.inputs.parameters);
        let other = run.by_cause.keys().find(|cause| cause.split(" > ").any(|it| it == "other"));
        assert_eq!(other, None, "{title}");
        let nvram = run.trace.events.iter().filter(|it| it.kind.place() == EventPlace::Byte);
        let busy_ns = |event: &Event| u64::from(event.duration_ns);
        let total = Operations {
            page_reads: run.operations.page_reads,
            page_programs: run.operations.page_programs,
            block_erases: run.operations.block_erases,
            oob_reads: run.operations.oob_reads,
            oob_programs: run.operations.oob_programs,
            nvram_reads: run.operations.nvram_reads,
            nvram_writes: run.operations.nvram_writes,
            nvram_erases: 0,
            nvram_bytes: run.operations.nvram_bytes,
            nvram_time_ns: nvram.map(busy_ns).sum(),
            flash_ns: run.trace.events.iter().map(busy_ns).sum(),
        };
        assert_eq!(sum(run.by_cause.values()), total, "{title}");
        let drawn = run.energy.iter().map(|it| it.power_mw * seconds(it.time_ns));
        assert!(run.energy_mj > 0.0, "{title}");
        assert!((run.energy_mj - drawn.sum::<f64>()).abs() < 1e-9 * run.energy_mj, "{title}");
        let on_nand = Operations {
            nvram_reads: 0,
            nvram_writes: 0,
            nvram_bytes: 0,
            nvram_time_ns: 0,
            flash_ns: total.nand_time_ns(),
            ..total
        };
        assert_eq!(sum(&run.by_block), on_nand, "{title}");
        let is_journalled = run.inputs.parameters["journal-mode"] == "delete".into()
            && run.operations.page_programs > 0;
        let has_pram = run.inputs.on.ends_with("+pramfs");
        assert!(
            has_pram || run.operations.nvram_reads + run.operations.nvram_writes == 0,
            "{title}"
        );
        assert!(!(has_pram && is_journalled) || run.operations.nvram_writes > 0, "{title}");
        let on_flash = run.inputs.on != Stack::TMPFS.name();
        assert_eq!(!run.by_cause.is_empty(), on_flash, "{title}");
    }
}

/// The devices count their operations themselves. From the first format on, each must be an event
/// with a cause.
#[test]
fn the_trace_holds_all_that_the_chip_did() {
    for scenario in everything().scenarios() {
        let Scenario { build, settings, stack, .. } = &scenario;
        let machine = build.format_and_mount(*stack).expect("nothing fails");
        let storage = machine.storage(*settings, 1);
        let database = Database::open(storage, "test.db").expect("nothing fails");
        database.configure(settings).expect("nothing fails");
        let sql = "CREATE TABLE t (x); INSERT INTO t VALUES (randomblob(9999)); SELECT * FROM t;";
        database.execute(sql).expect("nothing fails");
        drop(database);
        machine.linux.borrow_mut().unmount().expect("nothing fails");
        let trace = machine.recorder.take(build.part.geometry);
        let operations = machine.device.borrow().device().operations();
        let events = trace.events.iter().filter(|event| event.kind.is_operation());
        assert_eq!(events.clone().count() as u64, operations, "{stack:?}");
        assert_eq!(traffic(&trace), machine.pram.borrow().device().traffic(), "{stack:?}");
        let other = events.into_iter().find(|event| event.cause == CauseId::ROOT);
        assert_eq!(other, None, "{stack:?}");
    }
}

/// What the events say about transfers on the bus of the PRAM.
fn traffic(trace: &Trace) -> Traffic {
    let moved = |kind| {
        let events = trace.events.iter().filter(move |event| event.kind == kind);
        events.fold((0, 0), |(count, bytes), it| (count + 1, bytes + u64::from(it.bytes)))
    };
    let (reads, read_bytes) = moved(EventKind::NvRead);
    let (writes, written_bytes) = moved(EventKind::NvWrite);
    Traffic { reads, read_bytes, writes, written_bytes }
}

#[test]
fn same_scenario_same_figures() {
    let scenarios = everything().scenarios();
    let runs = runs_of_everything();
    for (scenario, run) in scenarios.iter().zip(runs) {
        let alone = scenario.run().expect("it ran before");
        assert_eq!(json(run), json(&alone));
        assert_eq!(run.request_ns, alone.request_ns);
        assert_eq!(run.trace.events, alone.trace.events);
        assert_eq!(run.erase_counts, alone.erase_counts);
    }
    let mut other = scenarios[0].clone();
    other.seed += 1;
    let other = other.run().expect("another seed runs too");
    assert_ne!(json(&runs[0]), json(&other), "the seed matters");
}
