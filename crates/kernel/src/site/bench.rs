//! Run one scenario on the real machine.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use flysch_chip::Part;
use flysch_lab::bench::RunError;
use flysch_lab::bench::run::Run;
use flysch_lab::bench::scenario::Scenario;
use flysch_lab::bench::site::Site;
use flysch_lab::machine::age::REST_NS;
use flysch_lab::machine::stack::Engine;
use flysch_nand::Geometry;

use super::cell::{Cell, bad_blocks};
use super::error::KernelError;
use super::flash::{Flash, window};
use super::target::Target;
use crate::live::device::{Mtd, Window};
use crate::live::level::Level;
use crate::live::tracer::{LiveTracer, TracerOptions};

/// Names of the databases that runs make, and the endings of the files that SQLite puts next to
/// them.
const DATABASES: [&str; 3] = ["test.db", "tpcc.db", "orders.db"];
const COMPANIONS: [&str; 4] = ["", "-journal", "-wal", "-shm"];
/// The file of workloads without SQLite.
const FILE: &str = "file";

/// The conditions of a run on the machine.
#[derive(Clone, Debug)]
pub struct Conditions {
    /// The MTD device that is erased, gets the file system, and is recorded.
    pub mtd: Option<String>,
    /// The level to record at. None: the level nearest to the array.
    pub level: Option<Level>,
    /// Size of each processor's trace buffer in KiB. A whole run must fit.
    pub buffer_kib: u32,
    /// Whether nothing is traced. Then times are free of the tracer's overhead, but there are no
    /// counts.
    pub is_untraced: bool,
    /// Names of the parameters that the user set. Those that describe the flash are checked.
    pub asked: Vec<&'static str>,
}

/// Run `scenario` on `target`. Counts come from the live tracer, and times are measured.
///
/// # Errors
/// Fails if the flash cannot be used or traced, if it is not as the scenario asks, or if the run
/// fails.
pub fn run(
    scenario: &Scenario,
    target: &Target,
    conditions: &Conditions,
) -> Result<Run, KernelError> {
    let mtd = conditions.mtd.as_deref();
    check_fit(scenario, target, mtd)?;
    let window = Window { timing: Some(scenario.build.part.timing), ..window(target, mtd)? };
    let scenario = as_it_is(scenario, window.geometry, conditions)?;
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
    age(&site, &scenario)?;
    let mut run = scenario.run_at(Box::new(site))?;
    run.inputs.on = target.to_string();
    run.inputs.parameters.retain(|name, _| target.refuses(name).is_none());
    run.inputs.parameters.insert("hook", level.into());
    Ok(run)
}

/// The site of `scenario` on `target`, which is not traced.
///
/// # Errors
/// Fails if the flash cannot be used, or if it is not as the scenario asks.
pub fn open(
    scenario: &Scenario,
    target: &Target,
    conditions: &Conditions,
) -> Result<Box<dyn Site>, KernelError> {
    let mtd = conditions.mtd.as_deref();
    check_fit(scenario, target, mtd)?;
    let geometry = window(target, mtd)?.geometry;
    let scenario = as_it_is(scenario, geometry, conditions)?;
    let flash = match target {
        Target::Fresh(main) => {
            let mtd = Mtd::named(mtd.ok_or(KernelError::NoMtdNamed)?)?;
            Flash::make(*main, &mtd, &scenario)?
        }
        Target::Mounted(path) => Flash::find(path)?,
    };
    Ok(Box::new(Cell::new(flash, None, geometry, 0)))
}

/// Refuse scenarios that cannot run on a real kernel.
fn check_fit(scenario: &Scenario, target: &Target, mtd: Option<&str>) -> Result<(), KernelError> {
    if mtd.is_none() && target.main().is_some() {
        return Err(KernelError::NoMtdNamed);
    }
    let unfit = |why: &str| Err(KernelError::Unfit(why.to_owned()));
    if scenario.advises_random && scenario.stack.engine == Engine::Sqlite {
        return unfit("SQLite's own VFS gives no advice to the kernel");
    }
    if scenario.stack.journals.is_some() {
        return unfit("journals apart are for simulated stacks");
    }
    Ok(())
}

/// The scenario with the geometry of the real flash. It is refused if the user set another.
fn as_it_is(
    scenario: &Scenario,
    geometry: Geometry,
    conditions: &Conditions,
) -> Result<Scenario, KernelError> {
    let mut scenario = scenario.clone();
    let (build, asks) = (&mut scenario.build, |name| conditions.asked.contains(&name));
    let blocks = std::mem::replace(&mut build.partition_blocks, geometry.block_count);
    if asks("partition-blocks") && blocks != geometry.block_count {
        return Err(KernelError::Unfit(format!(
            "--partition-blocks {blocks}: the flash has {} blocks",
            geometry.block_count
        )));
    }
    let shape = |it: Geometry| (it.page_size, it.oob_size, it.pages_per_block);
    if shape(build.part.geometry) == shape(geometry) {
        return Ok(scenario);
    }
    if asks("part") {
        return Err(KernelError::Unfit(format!(
            "--part {}: the flash has {} pages of {}+{} bytes a block",
            build.part.name, geometry.pages_per_block, geometry.page_size, geometry.oob_size
        )));
    }
    let name = conditions.mtd.clone().unwrap_or_else(|| "unknown".to_owned());
    build.part = Arc::new(Part { name, geometry, ..Part::clone(&build.part) });
    Ok(scenario)
}

/// Age the flash as the scenario asks, by the same writes as on a simulated stack.
fn age(site: &Cell, scenario: &Scenario) -> Result<(), KernelError> {
    let build = &scenario.build;
    if build.age.has_data() {
        let aged = build.age.write(&mut *site.files(), build.partition_bytes(), build.seed);
        aged.map_err(RunError::Age)?;
        rustix::fs::sync();
        site.sleep(REST_NS);
    }
    Ok(())
}

/// The files that a run makes in a directory of the user. They are removed on drop.
struct Made(Vec<PathBuf>);

impl Made {
    fn none_of(flash: &Flash, target: &Target) -> Result<Self, KernelError> {
        if target.main().is_some() {
            return Ok(Self(Vec::new()));
        }
        let of = |database: &str| COMPANIONS.map(|end| format!("{database}{end}"));
        let names = DATABASES.into_iter().flat_map(of).chain([FILE.to_owned()]);
        let paths: Vec<_> = names.map(|name| flash.folder.join(name)).collect();
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
