//! Sites: where a scenario runs. Workloads make the same calls at each site.
//!
//! [`Simulated`] is the simulated machine. The kernel crate adds the Linux machine that this
//! program runs on.

mod simulated;

use std::cell::RefMut;
use std::rc::Rc;

use flysch_chip::{EventKind, Recorder, Scope, Trace};
use flysch_linux::cpu::Unit;
use flysch_sqlite::Database;

use crate::bench::error::RunError;
use crate::bench::scenario::Scenario;
use crate::machine::Machine;
use crate::machine::files::Files;

pub use simulated::{SETTLE_NS, Simulated, SiteMark};

/// The state of the partition's blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Blocks {
    pub erase_counts: Vec<u32>,
    /// Number of blocks that are marked bad.
    pub bad_count: u32,
    /// Which blocks are marked bad. Empty at a site that knows their number alone.
    pub bad: Vec<u32>,
}

impl Blocks {
    /// How many more erases the good blocks are rated for, if each is rated for `endurance`.
    pub(crate) fn erases_left(&self, endurance: u32) -> u64 {
        let left = |(_, &count): (u32, &u32)| u64::from(endurance.saturating_sub(count));
        let good = (0..).zip(&self.erase_counts).filter(|(block, _)| !self.bad.contains(block));
        good.map(left).sum()
    }
}

/// A place where scenarios run: a mounted file system, a clock, and a recorder of operations.
pub trait Site {
    /// Open the database `name` on the file system. The caller sets its settings.
    ///
    /// # Errors
    /// Fails if SQLite cannot open the database.
    fn open_database(&self, name: &str) -> Result<Database, flysch_sqlite::Error>;

    /// The file systems in the form in which SQLite uses them. None if SQLite uses those of the
    /// host.
    fn storage(&self) -> Option<Rc<dyn flysch_sqlite::Vfs>> {
        None
    }

    /// The simulated machine. None at a site that is a real machine.
    fn machine(&self) -> Option<&Machine> {
        None
    }

    /// The state of the site as it is now, while no database or file is open. None if it cannot be
    /// kept.
    fn mark(&self) -> Option<SiteMark> {
        None
    }

    /// Take the site back to a mark of it. No database or file is open.
    fn take_back(&self, _mark: &SiteMark) {}

    /// The files of the file system.
    fn files(&self) -> RefMut<'_, dyn Files>;

    /// Make everything durable, drop all caches, wait, and drop them again.
    ///
    /// # Errors
    /// Fails if the file system or the kernel fails.
    fn settle(&self) -> Result<(), RunError>;

    /// The current time in nanoseconds. Where it starts is not defined.
    fn now_ns(&self) -> u64;

    /// How long the CPU has worked so far, nanoseconds.
    fn cpu_ns(&self) -> u64;

    /// Keep the timers of the file systems from expiring, or release them. At the simulated site,
    /// work takes no virtual time while they are held; a real kernel gets longer timeouts.
    ///
    /// # Errors
    /// Fails if the kernel refuses the timeouts.
    fn hold_timers(&self, held: bool) -> Result<(), RunError>;

    /// Set the scenario's read-ahead. This comes before its database or file is opened.
    ///
    /// # Errors
    /// Fails if the kernel refuses the setting.
    fn tune(&self, scenario: &Scenario) -> Result<(), RunError>;

    /// Let time pass without work.
    fn sleep(&self, ns: u64);

    /// Charge the CPU time of work of the program. On a real CPU this does nothing.
    fn charge(&self, unit: Unit, number: u64);

    /// The recorder of scopes and marks.
    fn recorder(&self) -> &Recorder;

    /// Open a scope. Operations that follow have it in their cause until it is dropped.
    fn enter(&self, label: &'static str) -> Scope {
        self.recorder().scope(label)
    }

    /// Discard what was recorded so far.
    ///
    /// # Errors
    /// Fails if the recorder of a real kernel fails.
    fn reset(&self) -> Result<(), RunError>;

    /// The number of events of one kind since the last reset.
    ///
    /// # Errors
    /// Fails if the recorder of a real kernel fails.
    fn count(&self, kind: EventKind) -> Result<u64, RunError>;

    /// Take a part of the trace before its end, if it is long: events whose tables are known. The
    /// others come with a later part. None if the trace is short, or can only be taken whole.
    fn take_part(&self) -> Option<Trace> {
        None
    }

    /// Take the trace recorded since the last reset, but for the parts that were taken before.
    ///
    /// # Errors
    /// Fails if the recorder of a real kernel fails.
    fn take(&self) -> Result<Trace, RunError>;

    /// The state of the partition's blocks.
    fn blocks(&self) -> Blocks;
}
