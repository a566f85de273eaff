//! Calibration: the prices of work, from small measurements that a kernel and the simulator make
//! alike.
//!
//! A measurement repeats one kind of call on files or of statements on SQLite. On a kernel it gives
//! a time. On the simulator it gives counts of each unit of work, and the time in which the CPU
//! waited for the chip. The prices are those with which counts and waits add up to the kernel's
//! times. None of the measurements is a workload of `bench`, so the times of those remain
//! predictions.

mod compiled;
mod content;
mod fit;
mod measurement;
mod statements;
mod table;

use std::sync::Arc;

use flysch_linux::jffs2;
use flysch_linux::ubifs;
use serde::{Deserialize, Serialize};

use crate::bench::RunError;
use crate::bench::grid::Grid;
use crate::bench::scenario::Scenario;
use crate::bench::site::{Simulated, Site};
use crate::machine::platform::Platform;
use crate::machine::stack::{Main, Stack};
use crate::workload::{Micro, Workload};

use measurement::Measurement;

pub use fit::{Fit, Price, fit};
pub use table::toml;

/// A file system with a compressor, on which all measurements are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Case {
    pub name: &'static str,
    pub main: Main,
    jffs2: Option<&'static [jffs2::Compressor]>,
    ubifs: Option<ubifs::Compressor>,
}

/// All cases. The first of each file system has the platform's own compressors.
pub const CASES: [Case; 7] = [
    jffs2_case("jffs2", None),
    jffs2_case("jffs2 zlib", Some(&[jffs2::Compressor::Zlib])),
    jffs2_case("jffs2 none", Some(&[])),
    ubifs_case("ubifs", None),
    ubifs_case("ubifs lzo", Some(ubifs::Compressor::Lzo)),
    ubifs_case("ubifs zlib", Some(ubifs::Compressor::Zlib)),
    ubifs_case("ubifs none", Some(ubifs::Compressor::None)),
];

const fn jffs2_case(name: &'static str, jffs2: Option<&'static [jffs2::Compressor]>) -> Case {
    Case { name, main: Main::Jffs2, jffs2, ubifs: None }
}

const fn ubifs_case(name: &'static str, ubifs: Option<ubifs::Compressor>) -> Case {
    Case { name, main: Main::Ubifs, jffs2: None, ubifs }
}

impl Case {
    /// The scenario that makes the case's file system. Its workload is not run.
    pub fn scenario(&self, platform: &Arc<Platform>) -> Scenario {
        let workload = Workload::from(Micro::Select);
        let stack = Stack { engine: workload.engine(), main: self.main, journals: None };
        let grid = Grid::new(workload, stack, Arc::clone(platform));
        let mut scenario = grid.scenarios().swap_remove(0);
        if let Some(compressors) = self.jffs2 {
            scenario.build.compressors = compressors.to_vec();
        }
        if let Some(compressor) = self.ubifs {
            scenario.build.ubifs_compressor = compressor;
        }
        scenario
    }
}

/// The time of one measurement on a kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Time {
    pub case: String,
    pub measurement: String,
    /// How often the call was made.
    pub calls: u32,
    /// Time of all calls, nanoseconds.
    pub ns: u64,
}

/// The work of one measurement on the simulator.
#[derive(Clone, Debug, PartialEq)]
pub struct Counted {
    pub case: &'static str,
    pub measurement: String,
    /// How often each unit of work was done.
    pub counts: flysch_linux::cpu::Counts,
    pub bytes_copied: u64,
    /// Time of the chip and of the platform's controller, nanoseconds.
    pub waited_ns: u64,
}

/// Make all measurements of a case on a site, and return their times.
///
/// # Errors
/// Names the measurement that failed.
pub fn times(case: &Case, site: &dyn Site) -> Result<Vec<Time>, RunError> {
    let mut times = Vec::new();
    for measurement in measurement::all() {
        let mut made = measurement.start(site)?;
        let before_ns = site.now_ns();
        made.run(site)?;
        let ns = site.now_ns() - before_ns;
        made.end(site)?;
        let Measurement { name, calls, .. } = measurement;
        times.push(Time { case: case.name.to_owned(), measurement: name, calls, ns });
    }
    Ok(times)
}

/// Make all measurements of a case on the simulator, and count their work.
///
/// # Errors
/// Names the measurement that failed.
///
/// # Panics
/// Never: the simulator has a machine.
pub fn counts(case: &Case, platform: &Arc<Platform>) -> Result<Vec<Counted>, RunError> {
    use flysch_chip::EventKind::{Program, Read};
    let site = Simulated::new(&case.scenario(platform))?;
    let machine = site.machine().expect("a simulated site");
    let (read_ns, program_ns) = platform.overhead_ns;
    let mut counted = Vec::new();
    for measurement in measurement::all() {
        let mut made = measurement.start(&site)?;
        site.reset()?;
        let (counts, bytes) = machine.cpu.counts();
        let (now_ns, busy_ns) = (site.now_ns(), machine.cpu.busy_ns());
        made.run(&site)?;
        let (counts_after, bytes_after) = machine.cpu.counts();
        let (page_reads, page_programs) = (site.count(Read)?, site.count(Program)?);
        // The time of the controller and its driver is charged as the CPU's.
        let controller_ns = page_reads * read_ns + page_programs * program_ns;
        let busy_ns = machine.cpu.busy_ns() - busy_ns;
        let waited_ns = site.now_ns() - now_ns - busy_ns + controller_ns;
        made.end(&site)?;
        counted.push(Counted {
            case: case.name,
            measurement: measurement.name,
            counts: std::array::from_fn(|unit| counts_after[unit] - counts[unit]),
            bytes_copied: bytes_after - bytes,
            waited_ns,
        });
    }
    Ok(counted)
}

#[cfg(test)]
mod tests {
    use flysch_linux::cpu::Unit;

    use super::*;

    /// SQLite computes a checksum over each frame of a write-ahead log, and none over a journal.
    #[test]
    fn bytes_of_a_log_are_counted() {
        let platform = Arc::new(Platform::named("nandsim-6.1").unwrap());
        let counted = counts(&CASES[6], &platform).unwrap();
        let bytes = |name: &str| {
            let found = counted.iter().find(|it| it.measurement == name).unwrap();
            found.counts[Unit::SqlWalByte as usize]
        };
        assert_eq!(bytes("sql journal"), 0);
        // Each of the 100 updates writes a page with its header.
        assert!((100 * 1048..110 * 1048).contains(&bytes("sql log")), "{}", bytes("sql log"));
    }
}
