//! Sites: where a scenario is carried out. A workload asks the same of each and is not told which.
//!
//! [`Simulated`] is a machine of the laboratory. A crate above it has the Linux machine that this
//! program runs on.

mod simulated;

use std::cell::RefMut;
use std::rc::Rc;

use flysch_chip::{EventKind, Recorder, Scope, Trace};
use flysch_sqlite::Database;

use crate::bench::error::RunError;
use crate::bench::scenario::Scenario;
use crate::machine::Machine;
use crate::machine::files::Files;

pub use simulated::{SETTLE_NS, Simulated};

/// The state of the partition's blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Blocks {
    /// Erase count of each.
    pub erase_counts: Vec<u32>,
    /// How many are marked bad.
    pub bad_count: u32,
}

/// Where a scenario is carried out: a mounted file system, a clock, a recording.
pub trait Site {
    /// Open the database `name` on the file system; its settings are left to the caller.
    ///
    /// # Errors
    /// SQLite's.
    fn open_database(&self, name: &str) -> Result<Database, flysch_sqlite::Error>;

    /// The file systems as SQLite sees them, where it does not bring its own.
    fn storage(&self) -> Option<Rc<dyn flysch_sqlite::Vfs>> {
        None
    }

    /// The machine, where it is simulated.
    fn machine(&self) -> Option<&Machine> {
        None
    }

    /// The files of the file system.
    fn files(&self) -> RefMut<'_, dyn Files>;

    /// Make everything durable and drop all caches: twice, with a while between.
    ///
    /// # Errors
    /// The file system's, or the kernel's.
    fn settle(&self) -> Result<(), RunError>;

    /// The time, nanoseconds from any start.
    fn now_ns(&self) -> u64;

    /// How long the CPU worked so far, nanoseconds.
    fn cpu_ns(&self) -> u64;

    /// Keep the file systems' timers from ending, or let them again: work costs no time on a virtual
    /// clock meanwhile, and a real kernel is told to wait longer.
    ///
    /// # Errors
    /// The kernel's.
    fn hold_timers(&self, held: bool) -> Result<(), RunError>;

    /// Set the read-ahead that the scenario asks for, before its database or file is opened.
    ///
    /// # Errors
    /// The kernel's.
    fn tune(&self, scenario: &Scenario) -> Result<(), RunError>;

    /// Let time pass without work.
    fn sleep(&self, ns: u64);

    /// Charge the engine's work, picoseconds; a real CPU charges itself.
    fn charge_ps(&self, ps: u64);

    /// Where scopes and marks are recorded.
    fn recorder(&self) -> &Recorder;

    /// Open a scope.
    fn enter(&self, label: &'static str) -> Scope {
        self.recorder().scope(label)
    }

    /// Forget what was recorded.
    ///
    /// # Errors
    /// The recording's.
    fn reset(&self) -> Result<(), RunError>;

    /// Events of a kind since the last reset.
    ///
    /// # Errors
    /// The recording's.
    fn count(&self, kind: EventKind) -> Result<u64, RunError>;

    /// Take the recording since the last reset.
    ///
    /// # Errors
    /// The recording's.
    fn take(&self) -> Result<Trace, RunError>;

    /// The state of the partition's blocks.
    fn blocks(&self) -> Blocks;
}
