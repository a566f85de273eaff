//! The real SQLite over a safe file-system trait. SQLite never knows what lies below.
//!
//! ```text
//! database   Database: execute, query, prepare, configure, close   prepared: Prepared: run, many times
//! settings   what to set; era: per release of SQLite
//! ffi        connection (sqlite3), statement (sqlite3_stmt), registration (sqlite3_vfs), file (sqlite3_file),
//!            library (process-wide set-up)
//! locks shm  file locks and WAL shared memory between connections, so that no `Vfs` has to bring its own
//! vfs        the traits that an implementer writes: Vfs, File
//! ```
//!
//! Invariants:
//! 1. Only `ffi` contains `unsafe`.
//! 2. Nothing reaches SQLite but through the [`Vfs`]: bytes, time and randomness. The same calls over a `Vfs` that
//!    answers the same give the same bytes, whatever other threads do (`ffi::library` tells how).
//! 3. An error of a `Vfs` becomes an [`Error`]. A panic unwinds out of the [`Database`] call that met it, unless the
//!    profile makes panics abort.

mod current;
mod database;
mod era;
mod error;
mod ffi;
mod flags;
mod locks;
mod names;
mod panics;
mod prepared;
mod settings;
mod shared;
mod shm;
mod spill;
mod value;
mod vfs;

pub use database::Database;
pub use era::Era;
pub use error::Error;
pub use flags::{Characteristics, FileKind, Hint, OpenFlags, SyncFlags};
pub use names::UnknownName;
pub use prepared::{Answer, Prepared};
pub use settings::{JournalMode, LockingMode, Settings, Synchronous};
pub use spill::SpillFile;
pub use value::{Value, Work};
pub use vfs::{File, Vfs, VfsError};
