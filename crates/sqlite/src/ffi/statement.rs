//! A compiled statement (`sqlite3_stmt`), which its owner finalises.
#![expect(unsafe_code, reason = "calls SQLite with raw pointers")]

use std::ffi::c_int;
use std::ptr::NonNull;
use std::slice;

use libsqlite3_sys as sqlite;

use super::connection::Connection;
use super::length;
use crate::error::Error;
use crate::value::Value;

/// A compiled statement. Dropping it finalises it.
pub(crate) struct Statement<'c> {
    raw: NonNull<sqlite::sqlite3_stmt>,
    connection: &'c Connection,
}

impl<'c> Statement<'c> {
    /// Take over a statement that `connection` compiled. Nobody else may finalise it.
    pub(super) fn own(raw: NonNull<sqlite::sqlite3_stmt>, connection: &'c Connection) -> Self {
        Self { raw, connection }
    }

    pub(crate) fn connection(&self) -> &'c Connection {
        self.connection
    }

    /// The number of parameters in the text.
    pub(crate) fn parameter_count(&self) -> usize {
        // SAFETY: the statement is not finalised.
        length(unsafe { sqlite::sqlite3_bind_parameter_count(self.raw.as_ptr()) })
    }

    /// Give the parameter `number` a value. The first parameter has the number 1.
    pub(crate) fn bind(&mut self, number: c_int, value: &Value) -> Result<(), Error> {
        let statement = self.raw.as_ptr();
        let transient = sqlite::SQLITE_TRANSIENT();
        // SAFETY: the statement is not finalised; SQLite copies the `size` bytes before it returns.
        let code = unsafe {
            match value {
                Value::Null => sqlite::sqlite3_bind_null(statement, number),
                Value::Integer(value) => sqlite::sqlite3_bind_int64(statement, number, *value),
                Value::Real(value) => sqlite::sqlite3_bind_double(statement, number, *value),
                Value::Text(bytes) => {
                    let data = bytes.as_ptr().cast();
                    sqlite::sqlite3_bind_text(statement, number, data, size(bytes)?, transient)
                }
                Value::Blob(bytes) => {
                    let data = bytes.as_ptr().cast();
                    sqlite::sqlite3_bind_blob(statement, number, data, size(bytes)?, transient)
                }
            }
        };
        self.connection.check(code)
    }

    /// Make the statement ready to run again and release its locks. Its parameters keep their
    /// values.
    pub(crate) fn reset(&mut self) {
        // SAFETY: the statement is not finalised. The result code repeats a failure that `step`
        // reported before.
        unsafe { sqlite::sqlite3_reset(self.raw.as_ptr()) };
    }

    /// Run to the next row. Returns false after the last one.
    pub(crate) fn step(&mut self) -> Result<bool, Error> {
        // SAFETY: the statement is not finalised.
        let code = unsafe { sqlite::sqlite3_step(self.raw.as_ptr()) };
        self.connection.check(code).map(|()| code == sqlite::SQLITE_ROW)
    }

    /// Number of columns of its result.
    pub(crate) fn column_count(&self) -> u64 {
        // SAFETY: the statement is not finalized.
        let count = unsafe { sqlite::sqlite3_column_count(self.raw.as_ptr()) };
        u64::try_from(count).expect("a number of columns is not negative")
    }

    /// The number of instructions that SQLite's virtual machine executed since the last call of
    /// this function.
    pub(crate) fn take_vm_steps(&self) -> u64 {
        // SAFETY: the statement is not finalised.
        let steps = unsafe {
            sqlite::sqlite3_stmt_status(self.raw.as_ptr(), sqlite::SQLITE_STMTSTATUS_VM_STEP, 1)
        };
        // SQLite's counter has 32 bits and wraps.
        steps.cast_unsigned().into()
    }

    /// Copy the values of the row that `step` has reached.
    pub(crate) fn row(&self) -> Vec<Value> {
        // SAFETY: the statement is not finalised.
        let column_count = unsafe { sqlite::sqlite3_column_count(self.raw.as_ptr()) };
        (0..column_count).map(|column| self.value(column)).collect()
    }

    fn value(&self, column: c_int) -> Value {
        let statement = self.raw.as_ptr();
        // SAFETY: the statement is at a row that has this column.
        unsafe {
            match sqlite::sqlite3_column_type(statement, column) {
                sqlite::SQLITE_INTEGER => {
                    Value::Integer(sqlite::sqlite3_column_int64(statement, column))
                }
                sqlite::SQLITE_FLOAT => {
                    Value::Real(sqlite::sqlite3_column_double(statement, column))
                }
                sqlite::SQLITE_TEXT => Value::Text(self.bytes(column)),
                sqlite::SQLITE_BLOB => Value::Blob(self.bytes(column)),
                _ => Value::Null,
            }
        }
    }

    fn bytes(&self, column: c_int) -> Vec<u8> {
        let statement = self.raw.as_ptr();
        // SAFETY: for a text or a blob SQLite keeps `size` bytes at `data` until the next call. It
        // is NULL when empty.
        unsafe {
            let data = sqlite::sqlite3_column_blob(statement, column).cast::<u8>();
            let size = length(sqlite::sqlite3_column_bytes(statement, column));
            if data.is_null() { Vec::new() } else { slice::from_raw_parts(data, size).to_vec() }
        }
    }
}

impl Drop for Statement<'_> {
    fn drop(&mut self) {
        // SAFETY: it is finalised once. The result code repeats a failure that `step` reported
        // before.
        unsafe { sqlite::sqlite3_finalize(self.raw.as_ptr()) };
    }
}

fn size(bytes: &[u8]) -> Result<c_int, Error> {
    c_int::try_from(bytes.len())
        .map_err(|_| Error::new(sqlite::SQLITE_TOOBIG, "the value is too long"))
}
