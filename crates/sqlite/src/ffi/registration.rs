//! A [`Vfs`] as SQLite's `sqlite3_vfs`. It is registered under a unique name while a database uses
//! it.
#![expect(unsafe_code, reason = "called by SQLite with raw pointers")]

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int};
use std::ptr::null_mut;
use std::rc::{Rc, Weak};
use std::slice;
use std::sync::atomic::{AtomicU64, Ordering};

use libsqlite3_sys as sqlite;

use super::{file, length, library, text};
use crate::error::Error;
use crate::flags::OpenFlags;
use crate::panics;
use crate::shared::Shared;
use crate::vfs::Vfs;

/// Milliseconds from the Julian epoch, where SQLite's clock starts, to 1970 (`unixEpoch` in
/// `os_unix.c`).
const UNIX_EPOCH_MS: i64 = 24_405_875 * 8_640_000;

thread_local! {
    /// The registrations made on this thread. Two databases over one `Vfs` use the same one, so
    /// they share their locks.
    static REGISTERED: RefCell<Vec<Weak<Registration>>> = const { RefCell::new(Vec::new()) };
}

/// A registered `Vfs`. Dropping it removes it from SQLite's list.
pub(crate) struct Registration {
    raw: *mut sqlite::sqlite3_vfs,
    /// The data that `pAppData` points to.
    shared: Rc<Shared>,
    name: CString,
}

impl Registration {
    /// Register `vfs`, or return the registration that it already has.
    pub(crate) fn obtain(vfs: Rc<dyn Vfs>) -> Result<Rc<Self>, Error> {
        library::set_up()?;
        REGISTERED.with_borrow_mut(|registered| {
            registered.retain(|registration| registration.strong_count() > 0);
            let mut live = registered.iter().filter_map(Weak::upgrade);
            let same = |found: &Rc<Self>| Rc::ptr_eq(&found.shared.vfs, &vfs);
            if let Some(found) = live.find(same) {
                return Ok(found);
            }
            let registration = Rc::new(Self::new(vfs)?);
            registered.push(Rc::downgrade(&registration));
            Ok(registration)
        })
    }

    fn new(vfs: Rc<dyn Vfs>) -> Result<Self, Error> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = CString::new(format!("flysch-{number}")).expect("a number holds no NUL");
        let shared = Rc::new(Shared::new(vfs));
        let raw = Box::into_raw(Box::new(description(&name, &shared)));
        let registration = Self { raw, shared, name };
        // SAFETY: the description and what it points to live until `drop` has unregistered it.
        match unsafe { sqlite::sqlite3_vfs_register(raw, 0) } {
            sqlite::SQLITE_OK => Ok(registration),
            code => Err(Error::new(code, "SQLite does not register the VFS")),
        }
    }

    pub(super) fn name(&self) -> &CStr {
        &self.name
    }

    pub(crate) fn shared(&self) -> &Rc<Shared> {
        &self.shared
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        // SAFETY: `raw` came from a box and is freed once. No connection uses it, as each keeps its
        // registration.
        unsafe {
            sqlite::sqlite3_vfs_unregister(self.raw);
            drop(Box::from_raw(self.raw));
        }
    }
}

fn description(name: &CStr, shared: &Rc<Shared>) -> sqlite::sqlite3_vfs {
    sqlite::sqlite3_vfs {
        iVersion: 2,
        szOsFile: file::SIZE,
        mxPathname: 1024,
        pNext: null_mut(),
        zName: name.as_ptr(),
        pAppData: Rc::as_ptr(shared).cast_mut().cast(),
        xOpen: Some(open),
        xDelete: Some(delete),
        xAccess: Some(access),
        xFullPathname: Some(full_pathname),
        // SQLite calls these four only for loadable extensions, which are never enabled.
        xDlOpen: None,
        xDlError: None,
        xDlSym: None,
        xDlClose: None,
        xRandomness: Some(randomness),
        xSleep: Some(sleep),
        xCurrentTime: Some(current_time),
        xGetLastError: None,
        xCurrentTimeInt64: Some(current_time_ms),
        xSetSystemCall: None,
        xGetSystemCall: None,
        xNextSystemCall: None,
    }
}

/// The data that `description` stored in `pAppData`.
///
/// # Safety
/// `vfs` is a registered description of this module.
unsafe fn shared(vfs: *mut sqlite::sqlite3_vfs) -> Rc<Shared> {
    // SAFETY: the pointer came from the `Rc` of a registration, which outlives every call of SQLite
    // on it.
    unsafe {
        let shared = (*vfs).pAppData.cast::<Shared>();
        Rc::increment_strong_count(shared);
        Rc::from_raw(shared)
    }
}

unsafe extern "C" fn open(
    vfs: *mut sqlite::sqlite3_vfs,
    name: *const c_char,
    out: *mut sqlite::sqlite3_file,
    flags: c_int,
    flags_out: *mut c_int,
) -> c_int {
    // SAFETY: SQLite passes its own description, a name that is NULL or ends with NUL, and room for
    // a file.
    let (shared, name) = unsafe {
        file::mark_closed(out);
        (shared(vfs), (!name.is_null()).then(|| CStr::from_ptr(name)))
    };
    shared.answer(sqlite::SQLITE_CANTOPEN, || {
        let opened = file::OpenFile::open(&shared, name.map(text).transpose()?, OpenFlags(flags))?;
        // SAFETY: `out` has room for a file, and `flags_out` is NULL or a place for the flags.
        unsafe {
            opened.emplace(out);
            if let Some(flags_out) = flags_out.as_mut() {
                *flags_out = flags;
            }
        }
        Ok(sqlite::SQLITE_OK)
    })
}

unsafe extern "C" fn delete(
    vfs: *mut sqlite::sqlite3_vfs,
    name: *const c_char,
    sync_directory: c_int,
) -> c_int {
    // SAFETY: SQLite passes its own description and a name that ends with NUL.
    let (shared, name) = unsafe { (shared(vfs), CStr::from_ptr(name)) };
    shared.answer(sqlite::SQLITE_IOERR_DELETE, || {
        shared.vfs.delete(text(name)?, sync_directory != 0).map(|()| sqlite::SQLITE_OK)
    })
}

unsafe extern "C" fn access(
    vfs: *mut sqlite::sqlite3_vfs,
    name: *const c_char,
    _flags: c_int,
    found: *mut c_int,
) -> c_int {
    // SAFETY: SQLite passes its own description and a name that ends with NUL.
    let (shared, name) = unsafe { (shared(vfs), CStr::from_ptr(name)) };
    shared.answer(sqlite::SQLITE_IOERR_ACCESS, || {
        let exists = shared.vfs.exists(text(name)?)?;
        // SAFETY: SQLite passes a place for the answer.
        unsafe { *found = c_int::from(exists) };
        Ok(sqlite::SQLITE_OK)
    })
}

unsafe extern "C" fn full_pathname(
    _vfs: *mut sqlite::sqlite3_vfs,
    name: *const c_char,
    size: c_int,
    out: *mut c_char,
) -> c_int {
    // SAFETY: SQLite passes a name that ends with NUL and a buffer of `size` bytes, which do not
    // overlap.
    unsafe {
        let name = CStr::from_ptr(name).to_bytes_with_nul();
        if name.len() > length(size) {
            return sqlite::SQLITE_CANTOPEN;
        }
        out.copy_from_nonoverlapping(name.as_ptr().cast(), name.len());
    }
    sqlite::SQLITE_OK
}

unsafe extern "C" fn randomness(
    vfs: *mut sqlite::sqlite3_vfs,
    size: c_int,
    out: *mut c_char,
) -> c_int {
    // SAFETY: SQLite passes its own description and a buffer of `size` bytes, which is initialised
    // here.
    let (shared, bytes) = unsafe {
        out.write_bytes(0, length(size));
        (shared(vfs), slice::from_raw_parts_mut(out.cast::<u8>(), length(size)))
    };
    panics::catch((), || shared.vfs.fill_random(bytes));
    size
}

unsafe extern "C" fn sleep(vfs: *mut sqlite::sqlite3_vfs, microseconds: c_int) -> c_int {
    // SAFETY: SQLite passes its own description.
    let shared = unsafe { shared(vfs) };
    panics::catch((), || shared.vfs.sleep(microseconds.unsigned_abs().into()));
    microseconds
}

unsafe extern "C" fn current_time_ms(
    vfs: *mut sqlite::sqlite3_vfs,
    out: *mut sqlite::sqlite3_int64,
) -> c_int {
    // SAFETY: SQLite passes its own description and a place for the time.
    let (shared, out) = unsafe { (shared(vfs), &mut *out) };
    shared.answer(sqlite::SQLITE_ERROR, || {
        *out = UNIX_EPOCH_MS + shared.vfs.now_ms();
        Ok(sqlite::SQLITE_OK)
    })
}

#[expect(clippy::cast_precision_loss, reason = "SQLite's older clock counts days as a double")]
unsafe extern "C" fn current_time(vfs: *mut sqlite::sqlite3_vfs, out: *mut f64) -> c_int {
    let mut ms = 0;
    // SAFETY: SQLite passes its own description and a place for the time.
    unsafe {
        let code = current_time_ms(vfs, &raw mut ms);
        *out = ms as f64 / 86_400_000.0;
        code
    }
}
