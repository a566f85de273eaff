//! The file system as SQLite sees it: the two traits that an implementer writes, and their errors.
//!
//! The traits have no locks between connections and no shared memory for the write-ahead log: this
//! crate implements both.

use std::fmt;

use crate::flags::{Characteristics, Hint, OpenFlags, SyncFlags};

/// A file system, a clock and a source of randomness. One thread uses it, so it need not be `Send`.
pub trait Vfs {
    /// Open a file. `name` is `None` for a temporary file without a name, which disappears with its
    /// last handle.
    ///
    /// # Errors
    /// `CannotOpen` when the file is missing and `flags` do not allow to create it. Any error of
    /// the medium.
    fn open(&self, name: Option<&str>, flags: OpenFlags) -> Result<Box<dyn File>, VfsError>;

    /// Remove a file. With `sync_directory` the removal is durable when the call returns.
    ///
    /// # Errors
    /// `NotFound` when there is no such file. Any error of the medium.
    fn delete(&self, name: &str, sync_directory: bool) -> Result<(), VfsError>;

    /// Whether a file exists. For an empty file both answers are right: SQLite's own unix VFS says
    /// no.
    ///
    /// # Errors
    /// Any error of the medium.
    fn exists(&self, name: &str) -> Result<bool, VfsError>;

    /// Fill `bytes` from a seeded generator. This is the only randomness that SQLite gets. The
    /// caller holds a lock of the whole process, so the call must be quick and must not use SQLite.
    fn fill_random(&self, bytes: &mut [u8]);

    /// Let the virtual clock advance. SQLite calls this while it waits for a lock.
    fn sleep(&self, microseconds: u64);

    /// The virtual time in milliseconds since 1970.
    fn now_ms(&self) -> i64;

    /// Whether connections may share memory for the database `name`. If not, SQLite refuses the
    /// write-ahead log, unless the locking mode is exclusive.
    fn supports_shared_memory(&self, name: &str) -> bool;

    /// SQLite's own unix VFS would now make this many system calls for the locks of a file. This
    /// crate keeps the locks itself; a measurement may charge for the calls.
    fn note_lock_calls(&self, _calls: u32) {}
}

/// An open file. Dropping it closes it.
pub trait File {
    /// Read at `offset` and return how many bytes were read. They are fewer than asked for only at
    /// the end of the file.
    ///
    /// # Errors
    /// Any error of the medium.
    fn read(&mut self, offset: u64, bytes: &mut [u8]) -> Result<usize, VfsError>;

    /// Write all of `bytes` at `offset`. A gap between the end of the file and `offset` reads as
    /// zeros.
    ///
    /// # Errors
    /// `NoSpace` when the medium is full. Any other error of the medium.
    fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<(), VfsError>;

    /// Set the length of the file to `size` bytes.
    ///
    /// # Errors
    /// Any error of the medium.
    fn truncate(&mut self, size: u64) -> Result<(), VfsError>;

    /// Make everything that was written so far durable.
    ///
    /// # Errors
    /// Any error of the medium.
    fn sync(&mut self, flags: SyncFlags) -> Result<(), VfsError>;

    /// The length of the file in bytes.
    ///
    /// # Errors
    /// Any error of the medium.
    fn size(&mut self) -> Result<u64, VfsError>;

    /// The number of bytes that an interrupted write may damage.
    fn sector_size(&self) -> u32;

    /// The properties that the medium has.
    fn characteristics(&self) -> Characteristics;

    /// SQLite announces what it is about to do. It expects no answer; a measurement may use it.
    fn hint(&mut self, _hint: Hint) {}
}

/// The ways in which a [`Vfs`] or a [`File`] can fail.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum VfsError {
    /// The medium failed to read or write.
    Io,
    /// The medium has no space left.
    NoSpace,
    /// There is no such file.
    NotFound,
    /// The file cannot be opened.
    CannotOpen,
    /// The medium cannot be written.
    ReadOnly,
    /// The file system is damaged.
    Corrupt,
    /// The power is off. Every further call fails with the same error.
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
