//! A real file system as the site of a scenario. The live tracer records its chip.

use std::cell::{RefCell, RefMut};
use std::fs;
use std::path::PathBuf;

use flysch_chip::{Clock, Event, EventKind, Recorder, Scope, Trace};
use flysch_lab::bench::RunError;
use flysch_lab::bench::scenario::Scenario;
use flysch_lab::bench::site::{Blocks, SETTLE_NS, Site};
use flysch_lab::machine::files::Files;
use flysch_linux::cpu::Unit;
use flysch_nand::Geometry;
use flysch_sqlite::Database;

use super::clock;
use super::error::KernelError;
use super::files::RealFiles;
use super::flash::Flash;
use super::timers::Timers;
use crate::live::LiveError;
use crate::live::tracer::{LiveTracer, Span};

const DROP_CACHES: &str = "/proc/sys/vm/drop_caches";
/// The value for `drop_caches` that drops page cache, directory entries and inodes.
const EVERYTHING: &str = "3";

/// A mounted file system, and the recording of its flash.
pub(super) struct Cell {
    // Fields are dropped in order: first the probes are removed, then the file system is unmounted.
    tracer: Option<RefCell<LiveTracer>>,
    files: RefCell<RealFiles>,
    geometry: Geometry,
    flash: Flash,
    timers: RefCell<Timers>,
    recorder: Recorder,
    spans: RefCell<Vec<Span>>,
    erase_counts: RefCell<Vec<u32>>,
    bad_count: u32,
}

impl Cell {
    pub(super) fn new(
        flash: Flash,
        tracer: Option<LiveTracer>,
        geometry: Geometry,
        bad_count: u32,
    ) -> Self {
        Self {
            tracer: tracer.map(RefCell::new),
            geometry,
            files: RefCell::new(RealFiles::new(flash.folder.clone())),
            flash,
            timers: RefCell::default(),
            recorder: Recorder::new(Clock::new(), &own_task()),
            spans: RefCell::default(),
            erase_counts: RefCell::new(vec![0; geometry.block_count as usize]),
            bad_count,
        }
    }

    /// Take the recorded trace, and add its erases to the erase counts of the blocks.
    fn drain(&self) -> Result<Trace, RunError> {
        let Some(tracer) = &self.tracer else {
            return Ok(Recorder::new(Clock::new(), &own_task()).take(self.geometry));
        };
        let mut tracer = tracer.borrow_mut();
        // Reading the trace causes no flash operations, but other programs may cause some in the
        // meantime.
        tracer.switch(false).map_err(live)?;
        tracer.set_spans(own_task(), self.spans.take());
        tracer.drain().map_err(live)?;
        let lost = tracer.lost();
        if lost > 0 {
            let message = format!("{lost} events were lost: the trace buffer is too small");
            return Err(RunError::Kernel { during: "tracing".to_owned(), message });
        }
        let trace = tracer.take();
        let mut counts = self.erase_counts.borrow_mut();
        for event in trace.events.iter().filter(|event| event.kind == EventKind::Erase) {
            counts[event.addr as usize] += 1;
        }
        tracer.switch(true).map_err(live)?;
        Ok(trace)
    }

    /// Advance the recorder's clock to the real time, and return it.
    fn tick(&self) -> u64 {
        let now_ns = clock::now_ns();
        let clock = self.recorder.clock();
        clock.advance(now_ns - clock.now_ns());
        now_ns
    }
}

impl Site for Cell {
    fn open_database(&self, name: &str) -> Result<Database, flysch_sqlite::Error> {
        // A database in memory has no file.
        let is_file = !name.starts_with(':');
        let path = if is_file { self.flash.folder.join(name) } else { PathBuf::from(name) };
        Database::open_file(&path)
    }

    fn files(&self) -> RefMut<'_, dyn Files> {
        RefMut::map(self.files.borrow_mut(), |files| files as &mut dyn Files)
    }

    fn settle(&self) -> Result<(), RunError> {
        rustix::fs::sync();
        drop_caches()?;
        clock::sleep(SETTLE_NS);
        rustix::fs::sync();
        drop_caches()
    }

    fn now_ns(&self) -> u64 {
        self.tick()
    }

    fn cpu_ns(&self) -> u64 {
        clock::cpu_ns()
    }

    fn hold_timers(&self, held: bool) -> Result<(), RunError> {
        self.timers.borrow_mut().hold(held).map_err(|error| RunError::Kernel {
            during: "holding its timers".to_owned(),
            message: error.to_string(),
        })
    }

    fn tune(&self, scenario: &Scenario) -> Result<(), RunError> {
        self.files.borrow_mut().advises_random = scenario.advises_random;
        Ok(())
    }

    fn sleep(&self, ns: u64) {
        clock::sleep(ns);
    }

    fn charge(&self, _unit: Unit, _number: u64) {}

    fn recorder(&self) -> &Recorder {
        &self.recorder
    }

    fn enter(&self, label: &'static str) -> Scope {
        // The times in the trace are whole microseconds, rounded down.
        let from_ns = self.tick() / 1000 * 1000;
        self.spans.borrow_mut().push(Span { from_ns, label });
        self.recorder.scope(label)
    }

    fn reset(&self) -> Result<(), RunError> {
        self.recorder.reset();
        self.drain().map(drop)
    }

    fn count(&self, kind: EventKind) -> Result<u64, RunError> {
        Ok(self.drain()?.count(kind))
    }

    fn take(&self) -> Result<Trace, RunError> {
        let mut trace = self.drain()?;
        let marks = self.recorder.take(trace.geometry);
        let task = trace.tasks.iter().position(|task| *task == own_task());
        let task = task.unwrap_or_else(|| {
            trace.tasks.push(own_task());
            trace.tasks.len() - 1
        });
        for mark in marks.events {
            let cause =
                trace.causes.child(flysch_chip::CauseId::ROOT, marks.causes.label(mark.cause));
            let task = flysch_chip::TaskId(u8::try_from(task).unwrap_or(u8::MAX));
            trace.events.push(Event { cause, task, ..mark });
        }
        // The mark of a request comes before the request's operations.
        trace.events.sort_by_key(|event| (event.time_ns / 1000, event.kind != EventKind::Mark));
        Ok(trace)
    }

    fn blocks(&self) -> Blocks {
        let erase_counts = self.erase_counts.borrow().clone();
        Blocks { erase_counts, bad_count: self.bad_count, bad: Vec::new() }
    }
}

/// The name of this task, as the kernel writes it in the trace.
fn own_task() -> String {
    let name = fs::read_to_string("/proc/self/comm").unwrap_or_default();
    name.trim_end().to_owned()
}

fn drop_caches() -> Result<(), RunError> {
    fs::write(DROP_CACHES, EVERYTHING).map_err(|error| {
        let message = format!("{DROP_CACHES}: {error}");
        RunError::Kernel { during: "dropping caches".to_owned(), message }
    })
}

#[expect(clippy::needless_pass_by_value, reason = "maps an error")]
fn live(error: LiveError) -> RunError {
    RunError::Kernel { during: "tracing".to_owned(), message: error.to_string() }
}

/// Number of blocks of an MTD device that are marked bad.
pub(super) fn bad_blocks(mtd: &str) -> Result<u32, KernelError> {
    let path = format!("/sys/class/mtd/{mtd}/bad_blocks");
    let text = fs::read_to_string(&path).map_err(|error| KernelError::at(path)(&error))?;
    Ok(text.trim().parse().unwrap_or(0))
}
