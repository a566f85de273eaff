//! A [`File`] as SQLite's `sqlite3_file`.
#![expect(unsafe_code, reason = "called by SQLite with raw pointers")]

use std::ffi::{c_int, c_void};
use std::ptr::{null, null_mut};
use std::rc::Rc;
use std::slice;

use libsqlite3_sys as sqlite;

use super::{length, sharing};
use crate::flags::{FileKind, Hint, OpenFlags, SyncFlags};
use crate::locks::LockLevel;
use crate::panics;
use crate::shared::Shared;
use crate::vfs::{File, VfsError};

/// The memory that SQLite allocates for a file. The methods come first, as SQLite demands, and a
/// pointer to our own data follows.
#[repr(C)]
struct Slot {
    base: sqlite::sqlite3_file,
    open: *mut OpenFile,
}

/// The number of bytes that SQLite must allocate for a file.
#[expect(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "two pointers")]
pub(super) const SIZE: c_int = size_of::<Slot>() as c_int;

/// A file that SQLite has open.
pub(super) struct OpenFile {
    file: Box<dyn File>,
    /// Empty for a nameless file, which no other connection can lock.
    pub(super) name: String,
    pub(super) holder: u64,
    may_share_memory: bool,
    pub(super) shared: Rc<Shared>,
}

impl OpenFile {
    pub(super) fn open(
        shared: &Rc<Shared>,
        name: Option<&str>,
        flags: OpenFlags,
    ) -> Result<Box<Self>, VfsError> {
        let file = shared.vfs.open(name, flags)?;
        let name = name.map(str::to_owned).unwrap_or_default();
        let is_database = flags.kind() == FileKind::Database;
        let may_share_memory = is_database && shared.vfs.supports_shared_memory(&name);
        let holder = shared.next_holder();
        Ok(Box::new(Self { file, name, holder, may_share_memory, shared: Rc::clone(shared) }))
    }

    /// Hand the file over to SQLite, which closes it later.
    ///
    /// # Safety
    /// `out` has room for `SIZE` bytes.
    pub(super) unsafe fn emplace(self: Box<Self>, out: *mut sqlite::sqlite3_file) {
        let methods = if self.may_share_memory { &SHARING } else { &PLAIN };
        let slot =
            Slot { base: sqlite::sqlite3_file { pMethods: methods }, open: Box::into_raw(self) };
        // SAFETY: promised by the caller.
        unsafe { out.cast::<Slot>().write(slot) };
    }

    pub(super) fn lock(&mut self, level: LockLevel) -> c_int {
        self.shared.vfs.note_lock_calls(level.calls_to_take());
        let granted = self.shared.locks.borrow_mut().acquire(&self.name, self.holder, level);
        if granted { sqlite::SQLITE_OK } else { sqlite::SQLITE_BUSY }
    }

    pub(super) fn unlock(&mut self, level: LockLevel) {
        let held = self.shared.locks.borrow().level(&self.name, self.holder);
        if held > level {
            self.shared.vfs.note_lock_calls(level.calls_to_release());
        }
        self.shared.locks.borrow_mut().release(&self.name, self.holder, level);
    }

    pub(super) fn unmap(&mut self) {
        self.shared.shm.borrow_mut().unmap(&self.name, self.holder);
    }
}

impl Drop for OpenFile {
    fn drop(&mut self) {
        self.unlock(LockLevel::None);
        self.unmap();
    }
}

/// Mark a file as not open, so that SQLite does not close it when `xOpen` fails.
///
/// # Safety
/// `out` has room for `SIZE` bytes.
pub(super) unsafe fn mark_closed(out: *mut sqlite::sqlite3_file) {
    let slot = Slot { base: sqlite::sqlite3_file { pMethods: null() }, open: null_mut() };
    // SAFETY: promised by the caller.
    unsafe { out.cast::<Slot>().write(slot) };
}

static SHARING: sqlite::sqlite3_io_methods = methods(2);
/// Methods of version 1 have no shared memory. SQLite then refuses the write-ahead log and keeps
/// the journal mode.
static PLAIN: sqlite::sqlite3_io_methods = methods(1);

const fn methods(version: c_int) -> sqlite::sqlite3_io_methods {
    sqlite::sqlite3_io_methods {
        iVersion: version,
        xClose: Some(close),
        xRead: Some(read),
        xWrite: Some(write),
        xTruncate: Some(truncate),
        xSync: Some(sync),
        xFileSize: Some(file_size),
        xLock: Some(sharing::lock),
        xUnlock: Some(sharing::unlock),
        xCheckReservedLock: Some(sharing::check_reserved_lock),
        xFileControl: Some(file_control),
        xSectorSize: Some(sector_size),
        xDeviceCharacteristics: Some(device_characteristics),
        // SQLite's pager checks whether xShmMap is there before it looks at the version.
        xShmMap: if version >= 2 { Some(sharing::shm_map) } else { None },
        xShmLock: if version >= 2 { Some(sharing::shm_lock) } else { None },
        xShmBarrier: if version >= 2 { Some(sharing::shm_barrier) } else { None },
        xShmUnmap: if version >= 2 { Some(sharing::shm_unmap) } else { None },
        xFetch: None,
        xUnfetch: None,
    }
}

/// Run `action` on an open file and return the result code for SQLite. `io_code` is the code for a
/// failure of the medium.
///
/// # Safety
/// This module opened `file`, it is not closed, and nobody else uses it during the call.
pub(super) unsafe fn answer(
    file: *mut sqlite::sqlite3_file,
    io_code: c_int,
    action: impl FnOnce(&mut OpenFile) -> Result<c_int, VfsError>,
) -> c_int {
    // SAFETY: promised by the caller.
    let open = unsafe { &mut *(*file.cast::<Slot>()).open };
    let shared = Rc::clone(&open.shared);
    shared.answer(io_code, || action(open))
}

unsafe extern "C" fn close(file: *mut sqlite::sqlite3_file) -> c_int {
    // SAFETY: SQLite closes each opened file once; it came from a box.
    let open = unsafe { Box::from_raw((*file.cast::<Slot>()).open) };
    panics::catch((), || drop(open));
    sqlite::SQLITE_OK
}

unsafe extern "C" fn read(
    file: *mut sqlite::sqlite3_file,
    out: *mut c_void,
    size: c_int,
    offset: sqlite::sqlite3_int64,
) -> c_int {
    // SAFETY: SQLite passes a buffer of `size` bytes. It is initialised here, which also gives a
    // short read its zeros.
    let bytes = unsafe {
        out.cast::<u8>().write_bytes(0, length(size));
        slice::from_raw_parts_mut(out.cast::<u8>(), length(size))
    };
    // SAFETY: SQLite passes an open file.
    unsafe {
        answer(file, sqlite::SQLITE_IOERR_READ, |open| {
            let read_size = open.file.read(offset.cast_unsigned(), bytes)?;
            bytes[read_size..].fill(0);
            let is_whole = read_size == bytes.len();
            Ok(if is_whole { sqlite::SQLITE_OK } else { sqlite::SQLITE_IOERR_SHORT_READ })
        })
    }
}

unsafe extern "C" fn write(
    file: *mut sqlite::sqlite3_file,
    data: *const c_void,
    size: c_int,
    offset: sqlite::sqlite3_int64,
) -> c_int {
    // SAFETY: SQLite passes `size` bytes and an open file.
    unsafe {
        let bytes = slice::from_raw_parts(data.cast::<u8>(), length(size));
        answer(file, sqlite::SQLITE_IOERR_WRITE, |open| {
            open.file.write(offset.cast_unsigned(), bytes).map(|()| sqlite::SQLITE_OK)
        })
    }
}

unsafe extern "C" fn truncate(
    file: *mut sqlite::sqlite3_file,
    size: sqlite::sqlite3_int64,
) -> c_int {
    // SAFETY: SQLite passes an open file.
    unsafe {
        answer(file, sqlite::SQLITE_IOERR_TRUNCATE, |open| {
            open.file.truncate(size.cast_unsigned()).map(|()| sqlite::SQLITE_OK)
        })
    }
}

unsafe extern "C" fn sync(file: *mut sqlite::sqlite3_file, flags: c_int) -> c_int {
    let flags = SyncFlags {
        full: flags & 0x0f == sqlite::SQLITE_SYNC_FULL,
        data_only: flags & sqlite::SQLITE_SYNC_DATAONLY != 0,
    };
    // SAFETY: SQLite passes an open file.
    unsafe {
        answer(file, sqlite::SQLITE_IOERR_FSYNC, |open| {
            open.file.sync(flags).map(|()| sqlite::SQLITE_OK)
        })
    }
}

unsafe extern "C" fn file_size(
    file: *mut sqlite::sqlite3_file,
    out: *mut sqlite::sqlite3_int64,
) -> c_int {
    // SAFETY: SQLite passes an open file and a place for its size.
    unsafe {
        answer(file, sqlite::SQLITE_IOERR_FSTAT, |open| {
            *out = open.file.size()?.cast_signed();
            Ok(sqlite::SQLITE_OK)
        })
    }
}

unsafe extern "C" fn file_control(
    file: *mut sqlite::sqlite3_file,
    operation: c_int,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: the two operations with an argument point to numbers of these types.
    let hint = unsafe {
        match operation {
            sqlite::SQLITE_FCNTL_SIZE_HINT => {
                Hint::Size((*argument.cast::<sqlite::sqlite3_int64>()).cast_unsigned())
            }
            sqlite::SQLITE_FCNTL_CHUNK_SIZE => {
                Hint::ChunkSize((*argument.cast::<c_int>()).cast_unsigned())
            }
            sqlite::SQLITE_FCNTL_OVERWRITE => Hint::Overwrite,
            sqlite::SQLITE_FCNTL_SYNC => Hint::Sync,
            sqlite::SQLITE_FCNTL_COMMIT_PHASETWO => Hint::CommitPhaseTwo,
            sqlite::SQLITE_FCNTL_CKPT_START => Hint::CheckpointStart,
            sqlite::SQLITE_FCNTL_CKPT_DONE => Hint::CheckpointDone,
            _ => return sqlite::SQLITE_NOTFOUND,
        }
    };
    // SAFETY: SQLite passes an open file.
    unsafe {
        answer(file, sqlite::SQLITE_IOERR, |open| {
            open.file.hint(hint);
            Ok(sqlite::SQLITE_OK)
        })
    }
}

unsafe extern "C" fn sector_size(file: *mut sqlite::sqlite3_file) -> c_int {
    // SAFETY: SQLite passes an open file.
    unsafe { answer(file, 0, |open| Ok(open.file.sector_size().cast_signed())) }
}

unsafe extern "C" fn device_characteristics(file: *mut sqlite::sqlite3_file) -> c_int {
    // SAFETY: SQLite passes an open file.
    unsafe { answer(file, 0, |open| Ok(open.file.characteristics().0)) }
}
