//! Connections and statements of any SQLite library, by numbers. Calls are passed on even if they
//! are misuse, because a recording must be able to repeat all that a program did.
#![expect(unsafe_code, reason = "calls SQLite with raw pointers")]

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_int, c_uchar};
use std::path::Path;
use std::ptr::{null, null_mut};
use std::rc::Rc;

use libsqlite3_sys as sqlite;

use super::api::Api;
use super::library;
use super::registration::Registration;
use crate::current::Running;
use crate::error::Error;
use crate::vfs::Vfs;

/// The encodings of a text that is bound, as SQLite numbers them.
#[derive(Clone, Copy)]
#[repr(u8)]
pub(crate) enum Encoding {
    Utf8 = 1,
    /// In the byte order of the machine.
    Utf16 = 4,
}

pub(crate) struct Handles {
    api: Api,
    /// `None` for a loaded library, which has its own file system.
    registration: Option<Rc<Registration>>,
    connections: BTreeMap<u32, *mut sqlite::sqlite3>,
    statements: BTreeMap<u32, *mut sqlite::sqlite3_stmt>,
}

impl Handles {
    /// The bundled library, on `vfs`.
    pub(crate) fn bundled(vfs: Rc<dyn Vfs>) -> Result<Self, Error> {
        let registration = Some(Registration::obtain(vfs)?);
        let (connections, statements) = (BTreeMap::new(), BTreeMap::new());
        Ok(Self { api: Api::bundled(), registration, connections, statements })
    }

    /// A library of the host.
    pub(crate) fn load(path: &Path) -> Result<Self, String> {
        let (connections, statements) = (BTreeMap::new(), BTreeMap::new());
        Ok(Self { api: Api::load(path)?, registration: None, connections, statements })
    }

    /// Whether this is the bundled library, on a file system of this process.
    pub(crate) const fn is_bundled(&self) -> bool {
        self.registration.is_some()
    }

    fn running(&self) -> Option<Running> {
        self.registration.as_ref().map(|it| Running::begin(&it.shared().vfs))
    }

    fn connection(&self, id: u32) -> *mut sqlite::sqlite3 {
        self.connections.get(&id).copied().unwrap_or(null_mut())
    }

    fn statement(&self, id: u32) -> *mut sqlite::sqlite3_stmt {
        self.statements.get(&id).copied().unwrap_or(null_mut())
    }

    /// Open a connection. Even if this fails, the connection exists and must be closed.
    pub(crate) fn open(&mut self, id: u32, name: &CStr, flags: c_int, vfs: &CStr) -> c_int {
        let own = self.registration.as_ref().map(|it| it.name().as_ptr());
        let given = if vfs.is_empty() { null() } else { vfs.as_ptr() };
        let mut raw = null_mut();
        let running = self.running();
        // SAFETY: the names end with NUL, and `raw` is a place for the connection.
        let code =
            unsafe { (self.api.open)(name.as_ptr(), &raw mut raw, flags, own.unwrap_or(given)) };
        drop(running);
        self.connections.insert(id, raw);
        code
    }

    /// Close a connection. If `waits`, it is closed only when its last statement is finalised.
    pub(crate) fn close(&mut self, id: u32, waits: bool) -> c_int {
        let _running = self.running();
        let raw = self.connection(id);
        let close = if waits { self.api.close_later } else { self.api.close };
        // SAFETY: the connection is open, or NULL.
        let code = unsafe { close(raw) };
        if code == sqlite::SQLITE_OK {
            self.connections.remove(&id);
        }
        code
    }

    /// Compile the first statement of a text. Returns the result code and how many bytes of the
    /// text were used.
    pub(crate) fn prepare(
        &mut self,
        connection: u32,
        id: u32,
        sql: &[u8],
        flags: c_int,
    ) -> (c_int, usize) {
        let Ok(text) = CString::new(sql.split(|byte| *byte == 0).next().unwrap_or(sql)) else {
            return (sqlite::SQLITE_MISUSE, 0);
        };
        let (mut raw, mut tail) = (null_mut(), text.as_ptr());
        let db = self.connection(connection);
        if db.is_null() {
            return (sqlite::SQLITE_MISUSE, 0);
        }
        let flags = flags.cast_unsigned();
        let running = self.running();
        // SAFETY: the text ends with NUL, and SQLite leaves the tail inside of it.
        let (code, used) = unsafe {
            let code =
                (self.api.prepare)(db, text.as_ptr(), -1, flags, &raw mut raw, &raw mut tail);
            let rest = if tail.is_null() { text.as_ptr() } else { tail };
            (code, rest.offset_from(text.as_ptr()))
        };
        drop(running);
        if !raw.is_null() {
            self.statements.insert(id, raw);
        }
        (code, usize::try_from(used).unwrap_or(0))
    }

    pub(crate) fn has_statement(&self, id: u32) -> bool {
        self.statements.contains_key(&id)
    }

    pub(crate) fn bind_null(&self, id: u32, parameter: c_int) -> c_int {
        // SAFETY: the statement is compiled, or NULL, which SQLite refuses. The same holds below.
        unsafe { (self.api.bind_null)(self.statement(id), parameter) }
    }

    pub(crate) fn bind_integer(&self, id: u32, parameter: c_int, value: i64) -> c_int {
        // SAFETY: as above.
        unsafe { (self.api.bind_integer)(self.statement(id), parameter, value) }
    }

    pub(crate) fn bind_real(&self, id: u32, parameter: c_int, value: f64) -> c_int {
        // SAFETY: as above.
        unsafe { (self.api.bind_real)(self.statement(id), parameter, value) }
    }

    pub(crate) fn bind_text(
        &self,
        id: u32,
        parameter: c_int,
        text: &[u8],
        encoding: Encoding,
    ) -> c_int {
        let (data, size) = (text.as_ptr().cast(), text.len() as u64);
        let (transient, encoding) = (sqlite::SQLITE_TRANSIENT(), encoding as c_uchar);
        // SAFETY: SQLite copies the `size` bytes before it returns.
        unsafe {
            (self.api.bind_text)(self.statement(id), parameter, data, size, transient, encoding)
        }
    }

    pub(crate) fn bind_blob(&self, id: u32, parameter: c_int, blob: &[u8]) -> c_int {
        let (data, size) = (blob.as_ptr().cast(), blob.len() as u64);
        // SAFETY: SQLite copies the `size` bytes before it returns.
        unsafe {
            let transient = sqlite::SQLITE_TRANSIENT();
            (self.api.bind_blob)(self.statement(id), parameter, data, size, transient)
        }
    }

    pub(crate) fn bind_zeros(&self, id: u32, parameter: c_int, size: u64) -> c_int {
        // SAFETY: as for NULL.
        unsafe { (self.api.bind_zeros)(self.statement(id), parameter, size) }
    }

    pub(crate) fn clear(&self, id: u32) -> c_int {
        // SQLite's own function does not check for NULL.
        if !self.has_statement(id) {
            return sqlite::SQLITE_MISUSE;
        }
        // SAFETY: the statement is compiled.
        unsafe { (self.api.clear)(self.statement(id)) }
    }

    pub(crate) fn step(&self, id: u32) -> c_int {
        let _running = self.running();
        // SAFETY: the statement is compiled, or NULL, which SQLite refuses.
        unsafe { (self.api.step)(self.statement(id)) }
    }

    pub(crate) fn reset(&mut self, id: u32) -> c_int {
        let _running = self.running();
        // SAFETY: the statement is compiled, or NULL, which does nothing.
        unsafe { (self.api.reset)(self.statement(id)) }
    }

    pub(crate) fn finalize(&mut self, id: u32) -> c_int {
        let _running = self.running();
        let raw = self.statements.remove(&id).unwrap_or(null_mut());
        // SAFETY: the statement is compiled, or NULL, which does nothing.
        unsafe { (self.api.finalize)(raw) }
    }

    /// Run all statements of a text with the library's own `sqlite3_exec`.
    pub(crate) fn exec(&self, connection: u32, sql: &[u8]) -> c_int {
        let (Ok(text), db) = (CString::new(sql), self.connection(connection)) else {
            return sqlite::SQLITE_MISUSE;
        };
        // SAFETY: the text ends with NUL. A connection that is NULL is refused.
        unsafe { (self.api.exec)(db, text.as_ptr(), None, null_mut(), null_mut()) }
    }

    pub(crate) fn busy_timeout(&self, connection: u32, ms: c_int) -> c_int {
        // SAFETY: the connection is open.
        self.with(connection, |db| unsafe { (self.api.busy_timeout)(db, ms) })
    }

    pub(crate) fn checkpoint(&self, connection: u32, schema: &CStr, mode: c_int) -> c_int {
        let _running = self.running();
        let name = if schema.is_empty() { null() } else { schema.as_ptr() };
        // SAFETY: the connection is open, and the name ends with NUL or is NULL.
        self.with(connection, |db| unsafe {
            (self.api.checkpoint)(db, name, mode, null_mut(), null_mut())
        })
    }

    pub(crate) fn auto_checkpoint(&self, connection: u32, pages: c_int) -> c_int {
        // SAFETY: the connection is open.
        self.with(connection, |db| unsafe { (self.api.auto_checkpoint)(db, pages) })
    }

    /// Whether no transaction is open on a connection.
    pub(crate) fn autocommit(&self, connection: u32) -> bool {
        // SAFETY: the connection is open.
        self.with(connection, |db| unsafe { (self.api.autocommit)(db) }) != 0
    }

    /// Number of rows that the connection has changed.
    pub(crate) fn total_changes(&self, connection: u32) -> u64 {
        // SAFETY: the connection is open.
        let count = self.with(connection, |db| unsafe { (self.api.total_changes)(db) });
        count.cast_unsigned().into()
    }

    /// The first column of the row that a statement is at.
    pub(crate) fn first_column(&self, id: u32) -> String {
        // SAFETY: the statement is compiled and is at a row; the text is copied at once.
        unsafe {
            let text = (self.api.column_text)(self.statement(id), 0);
            if text.is_null() {
                return String::new();
            }
            CStr::from_ptr(text.cast()).to_string_lossy().into_owned()
        }
    }

    /// The library's message on the last failure of a connection.
    pub(crate) fn message(&self, connection: u32) -> String {
        let db = self.connection(connection);
        if db.is_null() {
            return "there is no such connection".to_owned();
        }
        // SAFETY: the connection is open; the text ends with NUL and is copied at once.
        unsafe { CStr::from_ptr((self.api.message)(db)).to_string_lossy().into_owned() }
    }

    /// The version of the source that the library was built from.
    pub(crate) fn source(&self) -> String {
        // SAFETY: the text is constant.
        unsafe { CStr::from_ptr((self.api.source)()).to_string_lossy().into_owned() }
    }

    /// Let time pass on the machine of the shim. Does nothing without a shim.
    pub(crate) fn pass(&self, ns: u64) {
        if let Some(pass) = self.api.pass {
            // SAFETY: it is the shim's function.
            unsafe { pass(ns) };
        }
    }

    fn with(&self, id: u32, call: impl FnOnce(*mut sqlite::sqlite3) -> c_int) -> c_int {
        let db = self.connection(id);
        if db.is_null() { sqlite::SQLITE_MISUSE } else { call(db) }
    }
}

impl Drop for Handles {
    /// Close what was left open on a file system of this process. A process with a library of its
    /// own has it closed by its end, as the recorded program did.
    fn drop(&mut self) {
        if !self.is_bundled() {
            return;
        }
        for id in self.statements.keys().copied().collect::<Vec<_>>() {
            self.finalize(id);
        }
        for id in self.connections.keys().copied().collect::<Vec<_>>() {
            self.close(id, true);
        }
    }
}

/// Whether a text ends with a complete statement.
pub(crate) fn is_complete(sql: &str) -> bool {
    let Ok(text) = CString::new(sql) else { return true };
    // SAFETY: the text ends with NUL.
    library::set_up().is_ok() && unsafe { sqlite::sqlite3_complete(text.as_ptr()) } == 1
}
