//! The file system as SQLite sees it: the two traits an implementer writes, and how they may fail.
//!
//! Locks between connections and the shared memory of the write-ahead log are not here: this crate brings them.

use std::fmt;

use crate::flags::{Characteristics, Hint, OpenFlags, SyncFlags};

/// A file system, a clock and a source of randomness. Used by one thread; need not be `Send`.
pub trait Vfs {
    /// Open a file. `name` is `None` for a nameless temporary file, which ends with its last handle.
    ///
    /// # Errors
    /// `CannotOpen` when the file is missing and `flags` do not allow to create it, and whatever the medium does.
    fn open(&self, name: Option<&str>, flags: OpenFlags) -> Result<Box<dyn File>, VfsError>;

    /// Remove a file; with `sync_directory` the removal is durable on return.
    ///
    /// # Errors
    /// `NotFound` when there is no such file, and whatever the medium does.
    fn delete(&self, name: &str, sync_directory: bool) -> Result<(), VfsError>;

    /// Tell whether a file exists. SQLite's own unix VFS says no for an empty file; both answers are right.
    ///
    /// # Errors
    /// Whatever the medium does.
    fn exists(&self, name: &str) -> Result<bool, VfsError>;

    /// Fill `bytes` from a seeded generator. The only randomness SQLite gets. Called with a lock of the whole process
    /// held, so it must be quick and must not call SQLite.
    fn fill_random(&self, bytes: &mut [u8]);

    /// Let the virtual clock advance. SQLite calls it while it waits for a lock.
    fn sleep(&self, microseconds: u64);

    /// Tell the virtual time, in milliseconds since 1970.
    fn now_ms(&self) -> i64;

    /// Tell whether the database `name` may be mapped as shared memory. Without it SQLite refuses the write-ahead
    /// log, unless the locking mode is exclusive.
    fn supports_shared_memory(&self, name: &str) -> bool;
}

/// An open file. Dropping it closes it.
pub trait File {
    /// Read at `offset` and tell how many bytes there were; fewer than asked for only at the end of the file.
    ///
    /// # Errors
    /// Whatever the medium does.
    fn read(&mut self, offset: u64, bytes: &mut [u8]) -> Result<usize, VfsError>;

    /// Write all of `bytes` at `offset`, extending the file with zeros where needed.
    ///
    /// # Errors
    /// `NoSpace` when the medium is full, and whatever else it does.
    fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<(), VfsError>;

    /// Set the length of the file.
    ///
    /// # Errors
    /// Whatever the medium does.
    fn truncate(&mut self, size: u64) -> Result<(), VfsError>;

    /// Make everything written so far durable.
    ///
    /// # Errors
    /// Whatever the medium does.
    fn sync(&mut self, flags: SyncFlags) -> Result<(), VfsError>;

    /// Tell the length of the file.
    ///
    /// # Errors
    /// Whatever the medium does.
    fn size(&mut self) -> Result<u64, VfsError>;

    /// Tell how many bytes an interrupted write may damage.
    fn sector_size(&self) -> u32;

    /// Tell what the medium promises.
    fn characteristics(&self) -> Characteristics;

    /// Learn what SQLite is about to do. Only for attribution: no answer is expected.
    fn hint(&mut self, _hint: Hint) {}
}

/// How a [`Vfs`] or a [`File`] fails.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum VfsError {
    /// The medium failed.
    Io,
    /// The medium is full.
    NoSpace,
    /// There is no such file.
    NotFound,
    /// The file cannot be opened.
    CannotOpen,
    /// The medium may not be written.
    ReadOnly,
    /// The file system is damaged.
    Corrupt,
    /// The power is gone; every further call fails alike.
    PowerLost,
}

impl fmt::Display for VfsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Io => "input/output error",
            Self::NoSpace => "no space left",
            Self::NotFound => "no such file",
            Self::CannotOpen => "cannot open the file",
            Self::ReadOnly => "read-only",
            Self::Corrupt => "the file system is damaged",
            Self::PowerLost => "power lost",
        })
    }
}

impl std::error::Error for VfsError {}
