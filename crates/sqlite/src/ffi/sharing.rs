//! The methods of a `sqlite3_file` that several connections need: file locks, and the shared memory
//! of the write-ahead log.
#![expect(unsafe_code, reason = "called by SQLite with raw pointers")]

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;

use libsqlite3_sys as sqlite;

use super::file::answer;
use super::length;
use crate::locks::LEVELS;
use crate::shm::{RegionAt, SlotLock};

pub(super) unsafe extern "C" fn lock(file: *mut sqlite::sqlite3_file, level: c_int) -> c_int {
    // SAFETY: SQLite passes an open file.
    unsafe { answer(file, sqlite::SQLITE_IOERR_LOCK, |open| Ok(open.lock(LEVELS[length(level)]))) }
}

pub(super) unsafe extern "C" fn unlock(file: *mut sqlite::sqlite3_file, level: c_int) -> c_int {
    // SAFETY: SQLite passes an open file.
    unsafe {
        answer(file, sqlite::SQLITE_IOERR_UNLOCK, |open| {
            open.unlock(LEVELS[length(level)]);
            Ok(sqlite::SQLITE_OK)
        })
    }
}

pub(super) unsafe extern "C" fn check_reserved_lock(
    file: *mut sqlite::sqlite3_file,
    out: *mut c_int,
) -> c_int {
    // SAFETY: SQLite passes an open file and a place for the answer.
    unsafe {
        answer(file, sqlite::SQLITE_IOERR_CHECKRESERVEDLOCK, |open| {
            open.shared.vfs.note_lock_calls(1);
            *out = c_int::from(open.shared.locks.borrow().is_reserved(&open.name));
            Ok(sqlite::SQLITE_OK)
        })
    }
}

pub(super) unsafe extern "C" fn shm_map(
    file: *mut sqlite::sqlite3_file,
    index: c_int,
    size: c_int,
    extend: c_int,
    out: *mut *mut c_void,
) -> c_int {
    let at = RegionAt { index: length(index), size: length(size), extend: extend != 0 };
    // SAFETY: SQLite passes an open file and a place for the address. The region stays until the
    // file is unmapped, and its cells may be written through a shared reference.
    unsafe {
        answer(file, sqlite::SQLITE_IOERR_SHMMAP, |open| {
            let region = open.shared.shm.borrow_mut().map(&open.name, open.holder, at);
            *out = region.map_or(null_mut(), |region| region.as_ptr().cast_mut().cast());
            Ok(sqlite::SQLITE_OK)
        })
    }
}

pub(super) unsafe extern "C" fn shm_lock(
    file: *mut sqlite::sqlite3_file,
    first: c_int,
    count: c_int,
    flags: c_int,
) -> c_int {
    let slots = length(first)..length(first) + length(count);
    let how = if flags & sqlite::SQLITE_SHM_UNLOCK != 0 {
        SlotLock::Release
    } else if flags & sqlite::SQLITE_SHM_EXCLUSIVE != 0 {
        SlotLock::Exclusive
    } else {
        SlotLock::Shared
    };
    // SAFETY: SQLite passes an open file.
    unsafe {
        answer(file, sqlite::SQLITE_IOERR_SHMLOCK, |open| {
            open.shared.vfs.note_lock_calls(1);
            let granted = open.shared.shm.borrow_mut().lock(&open.name, open.holder, slots, how);
            Ok(if granted { sqlite::SQLITE_OK } else { sqlite::SQLITE_BUSY })
        })
    }
}

/// Do nothing: all users of a region are on one thread, which sees its own writes in order.
pub(super) unsafe extern "C" fn shm_barrier(_file: *mut sqlite::sqlite3_file) {}

/// End the mapping of one file. `delete` is ignored: the memory is freed with its last user anyway,
/// because no file keeps it.
pub(super) unsafe extern "C" fn shm_unmap(
    file: *mut sqlite::sqlite3_file,
    _delete: c_int,
) -> c_int {
    // SAFETY: SQLite passes an open file.
    unsafe {
        answer(file, sqlite::SQLITE_IOERR_SHMMAP, |open| {
            open.unmap();
            Ok(sqlite::SQLITE_OK)
        })
    }
}
