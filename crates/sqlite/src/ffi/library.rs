//! The configuration of SQLite that the whole process shares, and the source of SQLite's
//! randomness.
//!
//! SQLite has one pseudo-random generator per process, which takes one seed from the default VFS.
//! Journal nonces, WAL salts, random row ids and `random()` all draw from it. So the numbers of one
//! thread would depend on how many numbers the other threads drew. Here every draw has its own
//! seed, which comes from the `Vfs` of the drawing thread:
//!
//! 1. `sqlite3_randomness` locks the static mutex of the generator. The mutex methods are SQLite's
//!    own, with one addition: locking this mutex also resets the generator, with
//!    `sqlite3_randomness(0, NULL)` inside the lock.
//! 2. A generator that was reset asks the default VFS for a seed. The default VFS is a copy of the
//!    system's, with one exception: its `xRandomness` asks the `Vfs` of the database call that runs
//!    on this thread.
//!
//! So the bytes drawn depend on `Vfs::fill_random` alone, and threads wait for each other only
//! during a draw. A thread that uses SQLite without this crate gets its seed from the operating
//! system, as without this configuration.
#![expect(unsafe_code, reason = "configures the C library and is called by it")]

use std::cell::Cell;
use std::ffi::{c_char, c_int};
use std::ptr::null_mut;
use std::slice;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

use libsqlite3_sys as sqlite;

use crate::error::Error;
use crate::{current, panics};

type Randomness = unsafe extern "C" fn(*mut sqlite::sqlite3_vfs, c_int, *mut c_char) -> c_int;

/// SQLite's own mutex methods, which the replaced ones call.
static MUTEX_METHODS: OnceLock<sqlite::sqlite3_mutex_methods> = OnceLock::new();
static RANDOMNESS: OnceLock<Randomness> = OnceLock::new();
static GENERATOR_MUTEX: AtomicPtr<sqlite::sqlite3_mutex> = AtomicPtr::new(null_mut());

thread_local! {
    /// Whether this thread is resetting the generator. It then holds the generator's mutex.
    static RESETTING: Cell<bool> = const { Cell::new(false) };
}

/// Configure SQLite, once per process.
pub(crate) fn set_up() -> Result<(), Error> {
    static RESULT: OnceLock<c_int> = OnceLock::new();
    match *RESULT.get_or_init(configure) {
        sqlite::SQLITE_OK => Ok(()),
        code => Err(Error::new(code, "SQLite was in use before flysch-sqlite could configure it")),
    }
}

fn configure() -> c_int {
    let configured = replace_mutex_methods().and_then(|()| replace_default_vfs());
    configured.err().unwrap_or(sqlite::SQLITE_OK)
}

fn check(code: c_int) -> Result<(), c_int> {
    if code == sqlite::SQLITE_OK { Ok(()) } else { Err(code) }
}

fn replace_mutex_methods() -> Result<(), c_int> {
    // SAFETY: the options get the argument types that SQLite documents for them. SQLite is shut
    // down only if this function was the first to use it: otherwise the first call is refused.
    unsafe {
        // Memory statistics would take a mutex of the whole process at every allocation.
        check(sqlite::sqlite3_config(sqlite::SQLITE_CONFIG_MEMSTATUS, 0))?;
        // SQLite then opens a file for each statement journal, so the `Vfs` decides where it lives
        // (see `spill`).
        check(sqlite::sqlite3_config(sqlite::SQLITE_CONFIG_STMTJRNL_SPILL, 0))?;
        // SQLite chooses its mutex methods when it is initialised, but returns them only while it
        // is not.
        check(sqlite::sqlite3_initialize())?;
        check(sqlite::sqlite3_shutdown())?;
        let mut mutex = std::mem::zeroed::<sqlite::sqlite3_mutex_methods>();
        check(sqlite::sqlite3_config(sqlite::SQLITE_CONFIG_GETMUTEX, &raw mut mutex))?;
        let replaced = sqlite::sqlite3_mutex_methods {
            xMutexEnter: Some(enter),
            xMutexLeave: Some(leave),
            ..mutex
        };
        MUTEX_METHODS.set(mutex).map_err(|_| sqlite::SQLITE_MISUSE)?;
        check(sqlite::sqlite3_config(sqlite::SQLITE_CONFIG_MUTEX, &raw const replaced))?;
        check(sqlite::sqlite3_initialize())
    }
}

fn replace_default_vfs() -> Result<(), c_int> {
    // SAFETY: the default VFS is plain data in static memory. Its copy is never freed, as SQLite
    // requires of a registered VFS, and its functions find their data through the copied
    // `pAppData`.
    unsafe {
        let generator_mutex = sqlite::sqlite3_mutex_alloc(sqlite::SQLITE_MUTEX_STATIC_PRNG);
        GENERATOR_MUTEX.store(generator_mutex, Ordering::Release);
        let system =
            sqlite::sqlite3_vfs_find(std::ptr::null()).as_ref().ok_or(sqlite::SQLITE_ERROR)?;
        let randomness = system.xRandomness.ok_or(sqlite::SQLITE_ERROR)?;
        RANDOMNESS.set(randomness).map_err(|_| sqlite::SQLITE_MISUSE)?;
        let seeded = Box::leak(Box::new(sqlite::sqlite3_vfs {
            zName: c"flysch-default".as_ptr(),
            pNext: null_mut(),
            xRandomness: Some(seed),
            ..*system
        }));
        check(sqlite::sqlite3_vfs_register(seeded, 1))
    }
}

fn mutex_methods() -> &'static sqlite::sqlite3_mutex_methods {
    MUTEX_METHODS.get().expect("the methods are kept before they are replaced")
}

fn is_generator_mutex(mutex: *mut sqlite::sqlite3_mutex) -> bool {
    mutex == GENERATOR_MUTEX.load(Ordering::Acquire)
}

unsafe extern "C" fn enter(mutex: *mut sqlite::sqlite3_mutex) {
    let is_generator = is_generator_mutex(mutex);
    if is_generator && RESETTING.get() {
        return;
    }
    let original = mutex_methods().xMutexEnter.expect("SQLite's mutexes can be entered");
    // SAFETY: SQLite passes a mutex that the original methods made.
    unsafe { original(mutex) };
    if is_generator {
        RESETTING.set(true);
        // SAFETY: without a buffer this marks the generator as unseeded and returns. Its lock is
        // held already, and `RESETTING` keeps it from being taken or released again.
        unsafe { sqlite::sqlite3_randomness(0, null_mut()) };
        RESETTING.set(false);
    }
}

unsafe extern "C" fn leave(mutex: *mut sqlite::sqlite3_mutex) {
    if is_generator_mutex(mutex) && RESETTING.get() {
        return;
    }
    let original = mutex_methods().xMutexLeave.expect("SQLite's mutexes can be left");
    // SAFETY: SQLite passes a mutex that the original methods made and this thread entered.
    unsafe { original(mutex) };
}

unsafe extern "C" fn seed(vfs: *mut sqlite::sqlite3_vfs, size: c_int, out: *mut c_char) -> c_int {
    // SAFETY: SQLite passes a buffer of `size` bytes; zeroed first, so that all of it is
    // initialised.
    let bytes = unsafe {
        out.write_bytes(0, super::length(size));
        slice::from_raw_parts_mut(out.cast::<u8>(), super::length(size))
    };
    if panics::catch(true, || current::fill_random(bytes)) {
        return size;
    }
    // SAFETY: the system's function gets the arguments that SQLite made for it; it does not look at
    // `vfs`.
    RANDOMNESS.get().map_or(0, |original| unsafe { original(vfs, size, out) })
}
