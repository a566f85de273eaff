//! Power and energy. The energy of a component is time multiplied by its power above idle.
//!
//! For some platforms, power was measured. They give the mean power of each component in whole
//! runs, by engine, file system, order of requests and read-ahead, as in Tables 2 and 3 of Olivier
//! et al. (`EWiLi` 2014). On their board RAM and flash share one power rail. For other platforms
//! the powers come from data sheets. CPU and RAM then count for the whole run, because the CPU
//! waits for the chip. NAND and NVRAM count for the time that they are busy.

use serde::{Deserialize, Serialize};

use crate::trace::Operations;

/// The power that devices take while they work.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Power {
    /// Power of the busy NAND, milliwatts. It has no effect if `draw` has an entry for the NAND.
    pub nand_active_mw: u32,
    /// Power of the busy NVRAM, milliwatts.
    pub nvram_active_mw: u32,
    /// Mean powers of components in runs. For each component, the first entry that matches a run is
    /// used.
    pub draw: Vec<Draw>,
}

/// The mean power of a component in certain runs. A condition that is absent matches all runs.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Draw {
    /// The component that takes the power.
    pub component: Component,
    /// Power above idle, milliwatts.
    pub mw: f64,
    /// The engine of the runs, named as in stacks.
    pub engine: Option<String>,
    /// The file system of the runs, named as in stacks.
    pub fs: Option<String>,
    /// The order of the runs' requests: `sequential` or `random`.
    pub pattern: Option<String>,
    /// Whether the kernel reads ahead in the runs: `on` or `off`.
    pub read_ahead: Option<String>,
}

/// A component that takes power.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Component {
    Cpu,
    /// RAM, if its power is measured apart from the flash.
    Ram,
    /// RAM and flash together, on one power rail.
    Memory,
    /// NAND, if its power is measured apart from RAM.
    Nand,
    /// The byte-addressable memory in addition to the NAND.
    Nvram,
}

/// The facts about a run that its mean powers depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Activity {
    /// Engine, named as in stacks.
    pub engine: &'static str,
    /// File system, named as in stacks.
    pub fs: &'static str,
    /// Order of the requests, by its name.
    pub pattern: &'static str,
    /// Whether the kernel reads ahead.
    pub reads_ahead: bool,
}

/// The energy that one component took in a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Drawn {
    /// The component that took the power.
    pub component: Component,
    /// Mean power during this time, milliwatts.
    pub power_mw: f64,
    /// How long it took this power, nanoseconds.
    pub time_ns: u64,
    /// Time multiplied by power, millijoules.
    pub energy_mj: f64,
}

impl Drawn {
    #[expect(clippy::cast_precision_loss, reason = "figures for people, far below 2^52")]
    fn new(component: Component, power_mw: f64, time_ns: u64) -> Self {
        Self { component, power_mw, time_ns, energy_mj: time_ns as f64 / 1e9 * power_mw }
    }
}

impl Draw {
    /// Whether this entry matches every run.
    pub const fn is_unconditional(&self) -> bool {
        self.engine.is_none()
            && self.fs.is_none()
            && self.pattern.is_none()
            && self.read_ahead.is_none()
    }

    fn fits(&self, activity: Activity) -> bool {
        let is = |wanted: &Option<String>, there: &str| {
            wanted.as_ref().is_none_or(|wanted| wanted == there)
        };
        is(&self.engine, activity.engine)
            && is(&self.fs, activity.fs)
            && is(&self.pattern, activity.pattern)
            && is(&self.read_ahead, if activity.reads_ahead { "on" } else { "off" })
    }
}

impl Power {
    /// The energy of each component in a run. The run worked for `active_ns`, and `total` says how
    /// long the devices were busy.
    pub fn drawn(&self, activity: Activity, active_ns: u64, total: &Operations) -> Vec<Drawn> {
        let mut all: Vec<Drawn> = Vec::new();
        for draw in self.draw.iter().filter(|draw| draw.fits(activity)) {
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
