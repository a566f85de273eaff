//! Calls on files that the simulated stack and the host both implement.

use flysch_linux::cpu::Unit;
use flysch_linux::filesystem::FsError;
use flysch_linux::vfs::{Advice, Fd, Vfs};

/// Calls on the files of a mounted file system.
pub trait Files {
    /// Open a file. If `create` is set and the file is missing, it is made.
    ///
    /// # Errors
    /// Fails if the file system fails or there is no such file.
    fn open(&mut self, name: &str, create: bool) -> Result<Fd, FsError>;

    /// Read into a buffer. Returns fewer bytes than the buffer has only at the end of the file.
    ///
    /// # Errors
    /// Fails if the file system fails.
    fn read(&mut self, fd: Fd, offset: u64, bytes: &mut [u8]) -> Result<usize, FsError>;

    /// Write all of `bytes`.
    ///
    /// # Errors
    /// Fails if the file system fails or is full.
    fn write(&mut self, fd: Fd, offset: u64, bytes: &[u8]) -> Result<(), FsError>;

    /// Make the file durable.
    ///
    /// # Errors
    /// Fails if the file system fails.
    fn fsync(&mut self, fd: Fd) -> Result<(), FsError>;

    /// Tell the kernel how the file will be used.
    ///
    /// # Errors
    /// Fails if the file system fails.
    fn advise(&mut self, fd: Fd, advice: Advice) -> Result<(), FsError>;

    fn unlink(&mut self, name: &str) -> Result<(), FsError>;

    fn close(&mut self, fd: Fd) -> Result<(), FsError>;

    /// Let the time pass that the program takes to draw this many random bytes. On the host it
    /// has passed by itself.
    fn pass_drawing(&self, bytes: u64);
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

    fn pass_drawing(&self, bytes: u64) {
        self.charge(Unit::DrawnByte, bytes);
    }
}
