//! Energy: time, times the power that a component draws meanwhile above what it draws idle.
//!
//! A platform whose power was measured gives mean powers of the whole run, by component, engine, file
//! system, order of requests and read-ahead, as Tables 2 and 3 of Olivier et al. (`EWiLi` 2014) do;
//! there RAM and flash hang on one rail. For other platforms they come from data sheets: CPU and RAM
//! for the whole run, since the kernel waits for the chip with the CPU; NAND and memory beside it
//! for the time that they are busy.

use serde::{Deserialize, Serialize};

use super::scenario::Scenario;
use crate::trace::Operations;

/// Power that devices draw while they work.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Power {
    /// The NAND, milliwatts; of no use where a draw covers it.
    pub nand_active_mw: u32,
    /// The memory beside it that journals may lie on, milliwatts.
    pub nvram_active_mw: u32,
    /// Mean powers of a run. Of each component the first that fits a run is drawn.
    pub draw: Vec<Draw>,
}

/// Mean power of a component during runs of some kind; what is not told does not matter.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Draw {
    /// What draws it.
    pub component: Component,
    /// Milliwatts, above idle.
    pub mw: f64,
    /// Engine, as stacks name it.
    pub engine: Option<String>,
    /// File system, as stacks name it.
    pub fs: Option<String>,
    /// Order of the requests: `sequential` or `random`.
    pub pattern: Option<String>,
    /// Whether the kernel reads ahead: `on` or `off`.
    pub read_ahead: Option<String>,
}

/// What draws power.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Component {
    /// The processor.
    Cpu,
    /// RAM alone.
    Ram,
    /// RAM and flash, on one rail.
    Memory,
    /// The NAND alone.
    Nand,
    /// The memory beside it.
    Nvram,
}

/// What a component drew in a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Drawn {
    /// What drew it.
    pub component: Component,
    /// Mean power, milliwatts.
    pub power_mw: f64,
    /// How long, nanoseconds.
    pub time_ns: u64,
    /// Time times power, millijoules.
    pub energy_mj: f64,
}

impl Drawn {
    #[expect(clippy::cast_precision_loss, reason = "figures for people, far below 2^52")]
    fn new(component: Component, power_mw: f64, time_ns: u64) -> Self {
        Self { component, power_mw, time_ns, energy_mj: time_ns as f64 / 1e9 * power_mw }
    }
}

impl Draw {
    /// Whether it fits every run.
    pub const fn is_unconditional(&self) -> bool {
        self.engine.is_none()
            && self.fs.is_none()
            && self.pattern.is_none()
            && self.read_ahead.is_none()
    }

    fn fits(&self, scenario: &Scenario) -> bool {
        let is = |wanted: &Option<String>, there: &str| {
            wanted.as_ref().is_none_or(|wanted| wanted == there)
        };
        let read_ahead = if scenario.reads_ahead() { "on" } else { "off" };
        is(&self.engine, scenario.stack.engine.name())
            && is(&self.fs, scenario.stack.main.name())
            && is(&self.pattern, scenario.workload.pattern().name())
            && is(&self.read_ahead, read_ahead)
    }
}

impl Power {
    /// What each component drew in a run that was active for `active_ns` and kept the devices as
    /// busy as `total` says.
    pub fn drawn(&self, scenario: &Scenario, active_ns: u64, total: &Operations) -> Vec<Drawn> {
        let mut all: Vec<Drawn> = Vec::new();
        for draw in self.draw.iter().filter(|draw| draw.fits(scenario)) {
            if all.iter().all(|drawn| drawn.component != draw.component) {
                all.push(Drawn::new(draw.component, draw.mw, active_ns));
            }
        }
        let covers_nand = all.iter().any(|drawn| drawn.component == Component::Memory);
        let nand_ns = total.nand_time_ns();
        if !covers_nand && nand_ns > 0 {
            all.push(Drawn::new(Component::Nand, f64::from(self.nand_active_mw), nand_ns));
        }
        if total.nvram_time_ns > 0 {
            let power_mw = f64::from(self.nvram_active_mw);
            all.push(Drawn::new(Component::Nvram, power_mw, total.nvram_time_ns));
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::bench::grid::{Grid, ReadAheadChoice};
    use crate::machine::platform::Platform;
    use crate::machine::stack::{Main, Stack};
    use crate::workload::{Contacts, Pattern, Read, Workload};

    fn scenario(workload: Workload, stack: Stack, choice: ReadAheadChoice) -> Scenario {
        let platform = Platform::named("omap3evm-2.6.37").expect("it is built in");
        let mut grid = Grid::new(workload, stack, Arc::new(platform));
        grid.read_ahead = vec![choice];
        grid.scenarios().remove(0)
    }

    #[test]
    fn powers_are_those_of_the_papers_tables() {
        use ReadAheadChoice::{Advised, Off, On};
        let read = |pattern| Workload::Read(Read { pattern, ..Read::DEFAULT });
        let (sequential, random) = (read(Pattern::Sequential), read(Pattern::Random));
        let contacts = Workload::Contacts(Contacts::DEFAULT);
        let (jffs2, yaffs2) = (Stack::file(Main::Jffs2), Stack::file(Main::Yaffs2));
        let cases = [
            (sequential, jffs2, On, [223.0, 29.0]),
            (sequential, jffs2, Off, [223.0, 24.0]),
            (random, jffs2, Advised, [223.0, 23.0]),
            (sequential, yaffs2, On, [211.0, 28.0]),
            (random, yaffs2, Off, [214.0, 26.0]),
            (contacts, Stack::JFFS2, On, [245.65, 30.188]),
            (contacts, Stack::YAFFS2, Off, [245.296, 36.319]),
        ];
        for (workload, stack, choice, powers) in cases {
            let scenario = scenario(workload, stack, choice);
            let busy = Operations { time_ns: 5, ..Operations::default() };
            let drawn = scenario.build.platform.power.drawn(&scenario, 2_000_000_000, &busy);
            let found: Vec<f64> = drawn.iter().map(|drawn| drawn.power_mw).collect();
            assert_eq!(found, powers, "{} on {}", workload.name(), stack.name());
            assert!(drawn.iter().all(|it| (it.energy_mj - 2.0 * it.power_mw).abs() < 1e-9));
        }
    }
}
