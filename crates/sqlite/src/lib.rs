//! The real SQLite over a safe file-system trait. SQLite does not know what lies below the trait.
//!
//! ```text
//! database   Database: execute, query, prepare, configure, close
//! prepared   Prepared: a statement that runs many times
//! settings   what can be set; safety: what a power cut leaves under it; era: the defaults of a SQLite release
//! ffi        connection (sqlite3), statement (sqlite3_stmt), registration (sqlite3_vfs),
//!            file (sqlite3_file), library (the configuration of the process)
//! locks shm  file locks and the WAL's shared memory between connections, so that no `Vfs`
//!            has to implement them
//! calls      the calls of SQLite's interface that a program makes, as values; player repeats them
//! remote     SQLite in programs of the user, on a Vfs of this process
//! vfs        the traits that an implementer writes: Vfs, File
//! ```
//!
//! Invariants:
//! 1. Only `ffi` contains `unsafe`.
//! 2. SQLite gets its bytes, its time and its randomness through the [`Vfs`] alone. If the `Vfs`
//!    answers the same calls in the same way, the bytes are the same, whatever other threads do
//!    (`ffi::library` describes how).
//! 3. An error of a `Vfs` becomes an [`Error`]. A panic of a `Vfs` unwinds out of the [`Database`]
//!    call that met it, unless the build profile makes panics abort.

pub mod calls;
mod current;
mod database;
mod era;
mod error;
mod ffi;
mod flags;
mod locks;
mod panics;
mod player;
mod prepared;
pub mod remote;
mod safety;
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
pub use player::{Library, Played, Player, is_complete};
pub use prepared::{Answer, Prepared};
pub use safety::Safety;
pub use settings::{JournalMode, LockingMode, Settings, Synchronous};
pub use spill::SpillFile;
pub use value::{Value, Work};
pub use vfs::{File, Vfs, VfsError};

/// The version of SQLite that is built in.
pub fn version() -> &'static str {
    libsqlite3_sys::SQLITE_VERSION.to_str().unwrap_or("unknown")
}
