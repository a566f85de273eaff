//! The state that all files and connections of one registered `Vfs` share.

use std::cell::{Cell, RefCell};
use std::ffi::c_int;
use std::rc::Rc;

use libsqlite3_sys as sqlite;

use crate::locks::LockTable;
use crate::panics;
use crate::shm::ShmTable;
use crate::vfs::{Vfs, VfsError};

pub(crate) struct Shared {
    pub(crate) vfs: Rc<dyn Vfs>,
    pub(crate) locks: RefCell<LockTable>,
    pub(crate) shm: RefCell<ShmTable>,
    /// The last failure of the `Vfs`. It is reported in addition to SQLite's own message.
    pub(crate) failure: Cell<Option<VfsError>>,
    holders: Cell<u64>,
}

impl Shared {
    pub(crate) fn new(vfs: Rc<dyn Vfs>) -> Self {
        Self {
            vfs,
            locks: RefCell::default(),
            shm: RefCell::default(),
            failure: Cell::new(None),
            holders: Cell::new(0),
        }
    }

    /// A number that identifies an open file in the lock tables.
    pub(crate) fn next_holder(&self) -> u64 {
        self.holders.set(self.holders.get() + 1);
        self.holders.get()
    }

    /// Run a callback of SQLite and turn its outcome into a result code. `io_code` is the code for
    /// a failure of the medium.
    pub(crate) fn answer(
        &self,
        io_code: c_int,
        callback: impl FnOnce() -> Result<c_int, VfsError>,
    ) -> c_int {
        panics::catch(io_code, || {
            callback().unwrap_or_else(|failure| {
                self.failure.set(Some(failure));
                result_code(failure, io_code)
            })
        })
    }
}

pub(crate) fn result_code(failure: VfsError, io_code: c_int) -> c_int {
    match failure {
        VfsError::Io | VfsError::PowerLost => io_code,
        VfsError::NoSpace => sqlite::SQLITE_FULL,
        VfsError::NotFound if io_code == sqlite::SQLITE_IOERR_DELETE => {
            sqlite::SQLITE_IOERR_DELETE_NOENT
        }
        VfsError::NotFound | VfsError::CannotOpen => sqlite::SQLITE_CANTOPEN,
        VfsError::ReadOnly => sqlite::SQLITE_READONLY,
        VfsError::Corrupt => sqlite::SQLITE_IOERR_CORRUPTFS,
    }
}
