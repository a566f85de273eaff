//! Power and energy: time, times the power that a component draws meanwhile above what it draws idle.
//!
//! A platform whose power was measured gives mean powers of the whole run, by component, engine, file
//! system, order of requests and read-ahead, as Tables 2 and 3 of Olivier et al. (`EWiLi` 2014) do;
//! there RAM and flash hang on one rail. For other platforms they come from data sheets: CPU and RAM
//! for the whole run, since the kernel waits for the chip with the CPU; NAND and memory beside it
//! for the time that they are busy.

use serde::{Deserialize, Serialize};

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

/// What of a run decides which mean powers are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Activity {
    /// Engine, as stacks name it.
    pub engine: &'static str,
    /// File system, as stacks name it.
    pub fs: &'static str,
    /// Order of the requests, by its name.
    pub pattern: &'static str,
    /// Whether the kernel reads ahead.
    pub reads_ahead: bool,
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
    /// What each component drew in a run that was active for `active_ns` and kept the devices as
    /// busy as `total` says.
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
