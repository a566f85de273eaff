//! The cells of what users run on the simulator.

use std::sync::Arc;

use flysch_kernel::validate::cell::{Counts, Key, of_run};
use flysch_kernel::validate::draw::Line;
use flysch_kernel::validate::plan::{PLATFORM, traced};
use flysch_kernel::validate::verdict::title;

use crate::bench;
use crate::failure::Failure;
use crate::progress::{Cell, attempt, tell};

/// Run cells on the simulator.
pub(super) fn simulated(lines: &[Line]) -> Result<Vec<(Key, Counts)>, Failure> {
    let (mut keys, mut scenarios) = (Vec::new(), Vec::new());
    for line in lines {
        let platform = ["--platform", PLATFORM].map(str::to_owned);
        let words = line.words(&format!("{}/{}", bench::engine_of(&line.workload)?, line.fs));
        let mut of_line = bench::scenarios(words.into_iter().chain(platform))?;
        for scenario in &mut of_line {
            let build = &mut scenario.build;
            build.platform = Arc::new(traced(&build.platform));
        }
        keys.extend(of_line.iter().map(|_| Key::from(line)));
        scenarios.extend(of_line);
    }
    let cells = attempt(&scenarios, false);
    let counts = |(key, cell): (Key, &Cell)| match cell {
        Cell::Done(run) => (key, of_run(run).1),
        Cell::Failed(failed) => {
            tell(&format!("on the simulator: {}: {}", title(&key), failed.error));
            (key, Counts::stopped(&failed.error))
        }
    };
    Ok(keys.into_iter().zip(&cells).map(counts).collect())
}
