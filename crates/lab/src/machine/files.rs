//! Calls on files, whatever file system they are on.

use flysch_linux::filesystem::FsError;
use flysch_linux::vfs::{Advice, Fd, Vfs};

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
