//! Puts redb on a simulated stack: calls of its storage backend become system calls.
//!
//! redb writes the pages of a transaction in the order of a hash table, which differs from run to
//! run. The backend puts them in order of their offsets, so that a run can be repeated.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::rc::Rc;

use flysch_chip::Recorder;
use flysch_linux::filesystem::FsError;
use flysch_linux::vfs::{Fd, Vfs};
use fragile::Fragile;
use redb::{Builder, Database, DatabaseError, StorageBackend};

/// The file of a database on a simulated file system. Simulations run on one thread, although redb
/// asks for a backend that may be used by several.
struct Backend(Fragile<RefCell<OpenFile>>);

struct OpenFile {
    linux: Rc<RefCell<Vfs>>,
    recorder: Recorder,
    fd: Fd,
    /// What was written since the last other call, by offset.
    written: BTreeMap<u64, Vec<u8>>,
}

/// Open the database `name`, or make it where it is missing or empty. `cache_bytes` is the memory
/// that redb uses for pages: nine tenths for reading, one tenth for writing.
///
/// # Errors
/// Fails if the file system fails, or if the file is no database that redb can repair.
pub(crate) fn open(
    linux: &Rc<RefCell<Vfs>>,
    recorder: &Recorder,
    name: &str,
    cache_bytes: usize,
) -> Result<Database, DatabaseError> {
    let fd = linux.borrow_mut().open(name, true).map_err(io_error)?;
    let written = BTreeMap::new();
    let file = OpenFile { linux: Rc::clone(linux), recorder: recorder.clone(), fd, written };
    let backend = Backend(Fragile::new(RefCell::new(file)));
    Builder::new().set_cache_size(cache_bytes).create_with_backend(backend)
}

fn io_error(error: FsError) -> io::Error {
    io::Error::other(error.to_string())
}

impl OpenFile {
    /// Make a call on the file, after all earlier writes.
    fn call<T>(&mut self, call: impl FnOnce(&mut Vfs, Fd) -> Result<T, FsError>) -> io::Result<T> {
        let _scope = self.recorder.scope("database");
        let mut linux = self.linux.borrow_mut();
        for (offset, bytes) in std::mem::take(&mut self.written) {
            linux.write(self.fd, offset, &bytes).map_err(io_error)?;
        }
        call(&mut linux, self.fd).map_err(io_error)
    }

    /// Whether a write that waits shares bytes with a new one, but not all of them.
    fn has_part_of(&self, offset: u64, len: usize) -> bool {
        let end = offset + len as u64;
        let before = self.written.range(..end).next_back();
        before.is_some_and(|(&start, bytes)| {
            start + bytes.len() as u64 > offset && (start, bytes.len()) != (offset, len)
        })
    }
}

impl Drop for OpenFile {
    fn drop(&mut self) {
        // A file that cannot be written any more, as after a power cut, is closed all the same.
        let _closed = self.call(Vfs::close);
    }
}

impl Backend {
    fn call<T>(&self, call: impl FnOnce(&mut Vfs, Fd) -> Result<T, FsError>) -> io::Result<T> {
        self.0.get().borrow_mut().call(call)
    }
}

impl fmt::Debug for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a file on a simulated file system")
    }
}

impl StorageBackend for Backend {
    fn len(&self) -> io::Result<u64> {
        self.call(Vfs::size)
    }

    fn read(&self, offset: u64, len: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; len];
        let count = self.call(|linux, fd| linux.read(fd, offset, &mut bytes))?;
        if count < len { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(bytes) }
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.call(|linux, fd| linux.truncate(fd, len))
    }

    fn sync_data(&self, _eventual: bool) -> io::Result<()> {
        self.call(Vfs::fdatasync)
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut file = self.0.get().borrow_mut();
        if file.has_part_of(offset, data.len()) {
            file.call(|_, _| Ok(()))?;
        }
        file.written.insert(offset, data.to_vec());
        Ok(())
    }
}
