//! Plans: the cells to compare, and how to run them on each side.

use std::sync::Arc;

use flysch_lab::bench::grid::{Grid, ReadAheadOption};
use flysch_lab::bench::scenario::Scenario;
use flysch_lab::machine::platform::Platform;
use flysch_lab::machine::stack::{Main, Stack};
use flysch_lab::workload::{Micro, Pattern, Read, Workload};

/// The simulated platform that corresponds to the guest.
pub const PLATFORM: &str = "nandsim-6.1";

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

    /// The arguments of `flysch bench` in the guest.
    pub fn arguments(&self) -> Vec<String> {
        let names: Vec<&str> = self.workloads.iter().map(|workload| workload.name()).collect();
        self.bench(&format!("{} --on kernel:jffs2,kernel:ubifs", names.join(",")))
    }

    /// The arguments of `flysch bench` for the other seeds, if there are any.
    pub fn repetition(&self) -> Option<Vec<String>> {
        let others = self.seeds.get(1..).filter(|others| !others.is_empty())?;
        Some(self.bench(&format!("update --on kernel:jffs2 --seed {}", list(others))))
    }

    fn bench(&self, what: &str) -> Vec<String> {
        let Self { record_sizes, requests, fill, .. } = self;
        let (record_sizes, requests) = (list(record_sizes), list(requests));
        words(&format!("{what} --record-size {record_sizes} --requests {requests} --fill {fill}"))
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
                grid.axes.seeds = if is_drawn { self.seeds.to_vec() } else { vec![1] };
                all.extend(grid.scenarios());
            }
        }
        all
    }
}

/// The arguments of `flysch bench` for the read-ahead grid. It uses JFFS2, whose read-ahead window
/// is varied.
pub fn read_arguments() -> Vec<String> {
    let line = format!(
        "read --on kernel:jffs2 --pattern sequential,random --read-ahead on,off --requests {}",
        list(&READ_REQUESTS)
    );
    words(&line)
}

/// The scenarios of the read-ahead grid for the simulator.
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

fn list(numbers: &[impl ToString]) -> String {
    numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
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
        assert_eq!(QUICK.arguments()[0], "insert,select,update");
        assert_eq!(QUICK.repetition(), None);
        let repetition = FULL.repetition().unwrap().join(" ");
        assert!(repetition.starts_with("update --on kernel:jffs2 --seed 2,3 "), "{repetition}");
    }
}
