//! Run one scenario on the real machine.

use std::fs;
use std::path::PathBuf;

use flysch_lab::bench::run::Run;
use flysch_lab::bench::scenario::Scenario;
use flysch_lab::machine::stack::Engine;

use super::cell::{Cell, bad_blocks};
use super::error::KernelError;
use super::flash::{Flash, window};
use super::target::Target;
use crate::live::device::{Mtd, Window};
use crate::live::level::Level;
use crate::live::tracer::{LiveTracer, TracerOptions};

/// Names of the files that runs make.
const FILES: [&str; 3] = ["test.db", "test.db-journal", "file"];

/// The conditions of a run on the machine.
#[derive(Clone, Debug)]
pub struct Conditions {
    /// The MTD device that is erased, gets the file system, and is recorded.
    pub mtd: Option<String>,
    /// The level to hook at. None stands for the level nearest to the array.
    pub level: Option<Level>,
    /// Size of each processor's trace buffer in KiB. A whole run must fit.
    pub buffer_kib: u32,
    /// Whether nothing is recorded. Then times are free of the tracer's overhead, but there are no
    /// counts.
    pub is_untraced: bool,
}

/// Run `scenario` on `target`. The counts come from the live tracer; the times are real.
///
/// # Errors
/// Fails if the flash cannot be used or traced, or if the run fails.
pub fn run(
    scenario: &Scenario,
    target: &Target,
    conditions: &Conditions,
) -> Result<Run, KernelError> {
    let mtd = conditions.mtd.as_deref();
    if mtd.is_none() && target.main().is_some() {
        return Err(KernelError::NoMtdNamed);
    }
    if scenario.advises_random && scenario.stack.engine == Engine::Sqlite {
        return Err(KernelError::Unfit(
            "SQLite's own VFS gives no advice to the kernel".to_owned(),
        ));
    }
    if scenario.stack.journals.is_some() {
        return Err(KernelError::Unfit("journals apart are for simulated stacks".to_owned()));
    }
    let window = Window { timing: Some(scenario.build.part.timing), ..window(target, mtd)? };
    let mut scenario = scenario.clone();
    scenario.build.partition_blocks = window.geometry.block_count;
    let options = TracerOptions { level: conditions.level, buffer_kib: conditions.buffer_kib };
    let geometry = window.geometry;
    let tracer =
        if conditions.is_untraced { None } else { Some(LiveTracer::start(window, options)?) };
    let level = tracer.as_ref().map_or("none", |tracer| tracer.level().name());
    let flash = match target {
        Target::Fresh(main) => {
            let mtd = Mtd::named(mtd.ok_or(KernelError::NoMtdNamed)?)?;
            Flash::make(*main, &mtd, &scenario)?
        }
        Target::Mounted(path) => Flash::find(path)?,
    };
    let _made = Made::none_of(&flash, target)?;
    let bad_count = mtd.map_or(Ok(0), |name| bad_blocks(name.trim_start_matches("/dev/")))?;
    let site = Cell::new(flash, tracer, geometry, bad_count);
    let mut run = scenario.run_at(Box::new(site))?;
    run.on = target.to_string();
    run.parameters.insert("hook", level.into());
    Ok(run)
}

/// The files that a run makes in a directory of the user. They are removed when this is dropped.
struct Made(Vec<PathBuf>);

impl Made {
    fn none_of(flash: &Flash, target: &Target) -> Result<Self, KernelError> {
        if target.main().is_some() {
            return Ok(Self(Vec::new()));
        }
        let paths: Vec<_> = FILES.iter().map(|name| flash.folder.join(name)).collect();
        match paths.iter().find(|path| path.exists()) {
            Some(path) => Err(KernelError::InTheWay(path.clone())),
            None => Ok(Self(paths)),
        }
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        for path in &self.0 {
            // Errors are ignored, because most runs make only some of these files.
            fs::remove_file(path).ok();
        }
    }
}
