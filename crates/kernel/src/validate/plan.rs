//! Plans: the cells to compare, and how to run them on each side.

use std::sync::Arc;

use flysch_lab::bench::grid::{Grid, ReadAheadOption};
use flysch_lab::bench::scenario::Scenario;
use flysch_lab::machine::platform::Platform;
use flysch_lab::machine::stack::{Main, Stack};
use flysch_lab::workload::{Micro, Pattern, Read, Workload};

use super::cell::{Group, Key};

/// The simulated platform that corresponds to the guest.
pub const PLATFORM: &str = "nandsim-6.1";

/// Time that the tracer takes for each page read or programmed in the guest, nanoseconds: measured
/// by runs with and without it (`flysch vm validate --quick`), 37 to 38 us.
const PROBE_NS: u64 = 38_000;

/// The platform while its operations are traced, as those of the guest are: the time of the probes
/// is a part of the kernel's times.
pub fn traced(platform: &Platform) -> Platform {
    let (read_ns, program_ns) = platform.overhead_ns;
    Platform { overhead_ns: (read_ns + PROBE_NS, program_ns + PROBE_NS), ..platform.clone() }
}

/// A grid of cells of the micro-benchmark.
#[derive(Clone, Copy, Debug)]
pub struct MicroPlan {
    pub workloads: &'static [Micro],
    pub record_sizes: &'static [u32],
    pub requests: &'static [u32],
    /// Number of rows in the tables that are filled.
    pub fill: u32,
    /// Seeds of updates on JFFS2, whose mean counts are compared. JFFS2's collector picks blocks at
    /// random, and the kernel seeds this from its clock. All other cells use only the first seed.
    pub seeds: &'static [u64],
}

/// Twelve cells on two file systems. Their tables are filled within 5 s, before the kernel's
/// flusher starts. So the kernel's counts are the same each time.
pub const QUICK: MicroPlan = MicroPlan {
    workloads: &[Micro::Insert, Micro::Select, Micro::Update],
    record_sizes: &[600],
    requests: &[100, 1000],
    fill: 1000,
    seeds: &[1],
};

/// All 160 cells of the micro-benchmark.
pub const FULL: MicroPlan = MicroPlan {
    workloads: &Micro::OF_ALGORITHM_1,
    record_sizes: &[150, 300, 450, 600],
    requests: &[100, 500, 1000, 2000, 5000],
    fill: 5000,
    seeds: &[1, 2, 3],
};

/// Numbers of requests of the read-ahead grid.
const READ_REQUESTS: [u32; 8] = [8, 16, 32, 64, 128, 256, 512, 1024];
const FILE_SYSTEMS: [Main; 2] = [Main::Jffs2, Main::Ubifs];

impl MicroPlan {
    /// The cells that are also run without the tracer to measure its overhead: one workload that
    /// programs pages and one that reads them.
    #[must_use]
    pub const fn untraced(&self) -> Self {
        let workloads = &[Micro::Insert, Micro::Select];
        Self { workloads, record_sizes: &[600], requests: &[1000], fill: self.fill, seeds: &[1] }
    }

    /// The words after `flysch bench` that run a cell of a grid on the kernel.
    pub fn words(&self, key: &Key) -> Vec<String> {
        let Key { fs, workload, record_size, requests, pattern, read_ahead, .. } = key;
        if key.group() == Group::Reads {
            let read_ahead = if read_ahead == "0" { "off" } else { "on" };
            return words(&format!(
                "{workload} --on kernel:{fs} --pattern {pattern} --read-ahead {read_ahead} \
                 --requests {requests}"
            ));
        }
        let is_drawn = fs == Main::Jffs2.name() && workload == Micro::Update.name();
        let seeds = self.seeds(is_drawn).iter().map(ToString::to_string).collect::<Vec<_>>();
        let is_filled = workload != Micro::Insert.name();
        let fill = if is_filled { format!("--fill {} ", self.fill) } else { String::new() };
        words(&format!(
            "{workload} --on kernel:{fs} --record-size {record_size} --requests {requests} \
             {fill}--seed {}",
            seeds.join(",")
        ))
    }

    /// The seeds of a cell, in which the kernel may draw the blocks that it collects.
    fn seeds(&self, is_drawn: bool) -> &'static [u64] {
        if is_drawn { self.seeds } else { &self.seeds[..1] }
    }

    /// The scenarios of the same cells for the simulator.
    pub fn scenarios(&self, platform: &Arc<Platform>) -> Vec<Scenario> {
        let mut all = Vec::new();
        for main in FILE_SYSTEMS {
            for &workload in self.workloads {
                let stack =
                    Stack { engine: Workload::from(workload).engine(), main, journals: None };
                let mut grid = Grid::new(Workload::from(workload), stack, Arc::clone(platform));
                grid.axes.record_sizes = self.record_sizes.to_vec();
                grid.axes.requests = self.requests.to_vec();
                grid.axes.fills = vec![self.fill];
                let is_drawn = (main, workload) == (Main::Jffs2, Micro::Update);
                grid.axes.seeds = self.seeds(is_drawn).to_vec();
                all.extend(grid.scenarios());
            }
        }
        all
    }
}

/// The scenarios of the read-ahead grid, which uses JFFS2 and varies its window.
pub fn read_scenarios(platform: &Arc<Platform>) -> Vec<Scenario> {
    let stack = Stack::file(Main::Jffs2);
    let grid = |pattern| {
        let read = Workload::Read(Read { pattern, ..Read::DEFAULT });
        let mut grid = Grid::new(read, stack, Arc::clone(platform));
        grid.axes.requests = READ_REQUESTS.to_vec();
        grid.axes.read_ahead = vec![ReadAheadOption::On, ReadAheadOption::Off];
        grid.scenarios()
    };
    [Pattern::Sequential, Pattern::Random].into_iter().flat_map(grid).collect()
}

fn words(line: &str) -> Vec<String> {
    line.split(' ').map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_are_asked_for_the_same_cells() {
        let platform = Arc::new(Platform::named(PLATFORM).unwrap());
        let cells = |plan: &MicroPlan| {
            let first = |scenario: &&Scenario| scenario.seed == 1;
            plan.scenarios(&platform).iter().filter(first).count()
        };
        assert_eq!((cells(&QUICK), cells(&FULL)), (12, 160));
        assert_eq!(read_scenarios(&platform).len(), 32);
        let asked = |plan: &MicroPlan, scenarios: &[Scenario]| {
            let key = |scenario: &Scenario| Key::from(&scenario.inputs());
            let mut lines: Vec<String> =
                scenarios.iter().map(|it| plan.words(&key(it)).join(" ")).collect();
            lines.dedup();
            lines
        };
        let quick = asked(&QUICK, &QUICK.scenarios(&platform));
        let first = "insert --on kernel:jffs2 --record-size 600 --requests 100 --seed 1";
        assert_eq!((quick.len(), quick[0].as_str()), (12, first));
        let full = asked(&FULL, &FULL.scenarios(&platform));
        let drawn: Vec<&String> =
            full.iter().filter(|line| line.contains("--seed 1,2,3")).collect();
        assert_eq!((full.len(), drawn.len()), (160, 20));
        assert!(drawn.iter().all(|line| line.starts_with("update --on kernel:jffs2 ")));
        let reads = asked(&FULL, &read_scenarios(&platform));
        let last = "read --on kernel:jffs2 --pattern random --read-ahead off --requests 1024";
        assert_eq!((reads.len(), reads[31].as_str()), (32, last));
    }
}
