//! How long sweeps take in real time, on all cores: the 80 cells of the JFFS2 grid, the 160 of
//! JFFS2 and UBIFS, and single runs. On two cores the grids should take less than 20 s and 45 s,
//! and 300 MB of memory.

use std::fs;
use std::hint::black_box;
use std::sync::Arc;

use criterion::{Criterion, criterion_group, criterion_main};
use flysch_lab::bench::grid::{Grid, run_all};
use flysch_lab::machine::platform::Platform;
use flysch_lab::machine::stack::Stack;
use flysch_lab::workload::Micro;

fn grid(workload: Micro) -> Grid {
    let platform = Platform::named("nandsim-6.1").expect("it is built in");
    Grid::new(workload, Stack::JFFS2, Arc::new(platform))
}

fn cells(criterion: &mut Criterion) {
    let mut all = grid(Micro::Insert);
    all.workloads = Micro::OF_ALGORITHM_1.map(Into::into).to_vec();
    all.axes.record_sizes = vec![150, 300, 450, 600];
    all.axes.requests = vec![100, 500, 1000, 2500, 5000];
    let mut group = criterion.benchmark_group("sqlite");
    group.sample_size(10);
    for (name, stacks) in [
        ("80 cells of jffs2", vec![Stack::JFFS2]),
        ("160 cells of jffs2 and ubifs", vec![Stack::JFFS2, Stack::UBIFS]),
    ] {
        all.stacks = stacks;
        let scenarios = all.scenarios();
        assert_eq!(scenarios.len(), 80 * all.stacks.len());
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                let outcomes = run_all(black_box(&scenarios), || ());
                assert!(outcomes.iter().all(Result::is_ok), "every cell fits its partition");
            });
        });
    }
    for workload in [Micro::Insert, Micro::Update] {
        let scenario = &grid(workload).scenarios()[0];
        let name = format!("{} 1000 records of 600 bytes", workload.name());
        group.bench_function(name, |bencher| bencher.iter(|| scenario.run()));
    }
    group.finish();
    print_memory_max();
}

/// Print the most memory that the process had at any time, if the system says it.
#[expect(clippy::print_stdout, reason = "a figure beside those of criterion")]
fn print_memory_max() {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    if let Some(line) = status.lines().find(|line| line.starts_with("VmHWM")) {
        println!("peak memory: {}", line.trim_start_matches("VmHWM:").trim());
    }
}

criterion_group!(benches, cells);
criterion_main!(benches);
