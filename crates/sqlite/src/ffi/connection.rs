//! A connection to a database (`sqlite3`), which its owner closes.
#![expect(unsafe_code, reason = "calls SQLite with raw pointers")]

use std::ffi::{CStr, c_int};
use std::mem::replace;
use std::ptr::{NonNull, null, null_mut};
use std::rc::Rc;
use std::slice;

use libsqlite3_sys as sqlite;

use super::registration::Registration;
use super::statement::Statement;
use crate::current::Running;
use crate::error::Error;
use crate::panics;

pub(crate) struct Connection {
    /// NULL once the connection is closed.
    raw: *mut sqlite::sqlite3,
    /// `None` for a connection on the VFS of the operating system.
    registration: Option<Rc<Registration>>,
}

impl Connection {
    /// Open a database on a registered `Vfs`, or on the file systems of the operating system.
    pub(crate) fn open(registration: Option<Rc<Registration>>, name: &CStr) -> Result<Self, Error> {
        // SQLite's mutex for a connection is not needed, because only one thread uses it.
        let flags = sqlite::SQLITE_OPEN_READWRITE
            | sqlite::SQLITE_OPEN_CREATE
            | sqlite::SQLITE_OPEN_NOMUTEX
            | sqlite::SQLITE_OPEN_EXRESCODE;
        let mut raw = null_mut();
        let vfs = registration.as_ref().map_or(null(), |registration| registration.name().as_ptr());
        let running = begin(registration.as_deref());
        // SAFETY: each name ends with NUL or, for the default VFS, is NULL, and `raw` is a place
        // for the connection.
        let code = unsafe { sqlite::sqlite3_open_v2(name.as_ptr(), &raw mut raw, flags, vfs) };
        drop(running);
        if raw.is_null() {
            return Err(Error::new(code, "out of memory"));
        }
        // SQLite returns a connection, which must be closed, even when it could not open the
        // database.
        let connection = Self { raw, registration };
        panics::resume();
        connection.check(code).map(|()| connection)
    }

    /// Run `action` with this connection's `Vfs` as the source of randomness. If the `Vfs` panicked
    /// during `action`, the panic continues here.
    pub(crate) fn run<T>(&self, action: impl FnOnce(&Self) -> T) -> T {
        let running = begin(self.registration.as_deref());
        let result = action(self);
        drop(running);
        panics::resume();
        result
    }

    /// Compile the first statement of `sql`. Returns it with the text that follows it. There is no
    /// statement in an empty text or in a comment.
    pub(crate) fn prepare<'c, 's>(
        &'c self,
        sql: &'s CStr,
    ) -> Result<(Option<Statement<'c>>, &'s CStr), Error> {
        let size = c_int::try_from(sql.count_bytes() + 1)
            .map_err(|_| Error::new(sqlite::SQLITE_TOOBIG, "the statement text is too long"))?;
        let mut raw = null_mut();
        let mut tail = sql.as_ptr();
        // SAFETY: `sql` is `size` bytes with the NUL at its end. The tail points into it.
        let (code, rest) = unsafe {
            let places = (&raw mut raw, &raw mut tail);
            let code = sqlite::sqlite3_prepare_v2(self.raw, sql.as_ptr(), size, places.0, places.1);
            (code, CStr::from_ptr(tail))
        };
        let statement = NonNull::new(raw).map(|raw| Statement::own(raw, self));
        self.check(code).map(|()| (statement, rest))
    }

    /// How often SQLite asked its page caches for a page and found it there, since the last call.
    pub(crate) fn take_pages(&self) -> u64 {
        let (mut pages, mut highest) = (0, 0);
        // SAFETY: the connection is open, and SQLite writes to these two numbers alone.
        let code = unsafe {
            let hits = sqlite::SQLITE_DBSTATUS_CACHE_HIT;
            sqlite::sqlite3_db_status(self.raw, hits, &raw mut pages, &raw mut highest, 1)
        };
        assert_eq!(code, sqlite::SQLITE_OK, "SQLite counts the hits of its caches");
        pages.unsigned_abs().into()
    }

    /// Copy the pages of the database that is attached as `schema`.
    pub(crate) fn image(&self, schema: &CStr) -> Result<Vec<u8>, Error> {
        let mut size = 0_i64;
        // SAFETY: the connection is open, and `size` is a place for the length. The answer is NULL
        // or `size` bytes of SQLite's allocator, which are copied and given back.
        unsafe {
            let data = sqlite::sqlite3_serialize(self.raw, schema.as_ptr(), &raw mut size, 0);
            let len = usize::try_from(size).unwrap_or(0);
            if data.is_null() {
                return Err(Error::new(sqlite::SQLITE_ERROR, "there is no such database"));
            }
            let image = slice::from_raw_parts(data, len).to_vec();
            sqlite::sqlite3_free(data.cast());
            Ok(image)
        }
    }

    /// Close the connection. Returns an error if SQLite cannot.
    pub(crate) fn close(mut self) -> Result<(), Error> {
        let code = self.release();
        panics::resume();
        if code == sqlite::SQLITE_OK { Ok(()) } else { Err(Error::new(code, "cannot close")) }
    }

    pub(super) fn check(&self, code: c_int) -> Result<(), Error> {
        if matches!(code, sqlite::SQLITE_OK | sqlite::SQLITE_ROW | sqlite::SQLITE_DONE) {
            return Ok(());
        }
        // SAFETY: the connection is open; its message ends with NUL and is copied at once.
        let message = unsafe { CStr::from_ptr(sqlite::sqlite3_errmsg(self.raw)) };
        let registration = self.registration.as_ref();
        let cause = registration.and_then(|registration| registration.shared().failure.get());
        Err(Error { cause, ..Error::new(code, message.to_string_lossy()) })
    }

    fn release(&mut self) -> c_int {
        let _running = begin(self.registration.as_deref());
        let raw = replace(&mut self.raw, null_mut());
        // SAFETY: `raw` is open or, the second time, NULL, which is allowed. No statement is left,
        // because each borrows the connection.
        unsafe { sqlite::sqlite3_close(raw) }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.release();
        panics::resume();
    }
}

fn begin(registration: Option<&Registration>) -> Option<Running> {
    registration.map(|registration| {
        registration.shared().failure.set(None);
        Running::begin(&registration.shared().vfs)
    })
}
