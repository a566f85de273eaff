//! A run that does not keep its trace counts it in parts and lets them go. Its figures are those of
//! a run that keeps it all.

use std::sync::Arc;

use flysch_lab::bench::grid::Grid;
use flysch_lab::bench::run::Run;
use flysch_lab::machine::platform::Platform;
use flysch_lab::machine::stack::{Main, Stack};
use flysch_lab::workload::{Logger, Micro, Postmark, Workload};

/// More events than a part has.
const EVENTS_MIN: usize = 70_000;

/// Check that a workload has the same figures with its trace and without.
fn check(workload: Workload, stack: Stack, requests: u32) {
    let platform = Platform::named("am62-6.12").expect("it is built in");
    let mut grid = Grid::new(workload, stack, Arc::new(platform));
    grid.axes.requests = vec![requests];
    let run = |keeps_traces| {
        let scenarios = Grid { keeps_traces, ..grid.clone() }.scenarios();
        scenarios[0].run().expect("it runs")
    };
    let (kept, counted) = (run(true), run(false));
    let cell = format!("{} on {}", workload.name(), stack.name());
    assert!(kept.trace.events.len() > EVENTS_MIN, "{cell}: {} events", kept.trace.events.len());
    assert_eq!(counted.trace.events.len(), 0, "{cell}");
    let figures = |run: &Run| serde_json::to_value(run).expect("figures have JSON values");
    assert_eq!(figures(&counted), figures(&kept), "{cell}");
    assert_eq!(counted.request_ns, kept.request_ns, "{cell}");
    assert_eq!(counted.by_block, kept.by_block, "{cell}");
    assert_eq!(counted.erase_counts, kept.erase_counts, "{cell}");
}

#[test]
fn figures_do_not_depend_on_whether_the_trace_is_kept() {
    check(Micro::Commit.into(), Stack::JFFS2, 4000);
    check(Workload::Logger(Logger::DEFAULT), Stack::YAFFS2, 2000);
    check(Workload::Postmark(Postmark::DEFAULT), Stack::file(Main::Jffs2), 4000);
}
