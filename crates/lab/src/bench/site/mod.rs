//! Sites: where a scenario is carried out. A workload asks the same of each and is not told which.
//!
//! [`Simulated`] is a machine of the laboratory; [`crate::kernel`] is the Linux machine that this program
//! runs on.

mod simulated;

use std::cell::RefMut;
use std::rc::Rc;

use flysch_chip::{EventKind, Recorder, Scope, Trace};
use flysch_linux::filesystem::FsError;
use flysch_linux::vfs::{Advice, Fd, Vfs};
use flysch_sqlite::Database;

use crate::bench::scenario::{RunError, Scenario};

pub(crate) use simulated::SETTLE_NS;
pub use simulated::Simulated;

/// Calls on the files of a mounted file system.
pub trait Files {
    /// Open a file, made first if it may be and is missing.
    ///
    /// # Errors
    /// The file system's.
    fn open(&mut self, name: &str, create: bool) -> Result<Fd, FsError>;

    /// Read up to a buffer's worth; short only at the end of the file.
    ///
    /// # Errors
    /// The file system's.
    fn read(&mut self, fd: Fd, offset: u64, bytes: &mut [u8]) -> Result<usize, FsError>;

    /// Write all of `bytes`.
    ///
    /// # Errors
    /// The file system's.
    fn write(&mut self, fd: Fd, offset: u64, bytes: &[u8]) -> Result<(), FsError>;

    /// Make the file durable.
    ///
    /// # Errors
    /// The file system's.
    fn fsync(&mut self, fd: Fd) -> Result<(), FsError>;

    /// Tell the kernel how the file will be used.
    ///
    /// # Errors
    /// The file system's.
    fn advise(&mut self, fd: Fd, advice: Advice) -> Result<(), FsError>;

    /// Remove a file.
    ///
    /// # Errors
    /// The file system's.
    fn unlink(&mut self, name: &str) -> Result<(), FsError>;

    /// Close a file.
    ///
    /// # Errors
    /// The file system's.
    fn close(&mut self, fd: Fd) -> Result<(), FsError>;
}

impl Files for Vfs {
    fn open(&mut self, name: &str, create: bool) -> Result<Fd, FsError> {
        Self::open(self, name, create)
    }

    fn read(&mut self, fd: Fd, offset: u64, bytes: &mut [u8]) -> Result<usize, FsError> {
        Self::read(self, fd, offset, bytes)
    }

    fn write(&mut self, fd: Fd, offset: u64, bytes: &[u8]) -> Result<(), FsError> {
        Self::write(self, fd, offset, bytes)
    }

    fn fsync(&mut self, fd: Fd) -> Result<(), FsError> {
        Self::fsync(self, fd)
    }

    fn advise(&mut self, fd: Fd, advice: Advice) -> Result<(), FsError> {
        Self::advise(self, fd, advice)
    }

    fn unlink(&mut self, name: &str) -> Result<(), FsError> {
        Self::unlink(self, name)
    }

    fn close(&mut self, fd: Fd) -> Result<(), FsError> {
        Self::close(self, fd)
    }
}

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
