//! The error of a database, with SQLite's symbolic name for its code.

use std::fmt;

use libsqlite3_sys as sqlite;

use crate::vfs::VfsError;

/// A failure that SQLite reported.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Error {
    /// SQLite's extended result code.
    pub code: i32,
    /// SQLite's message in English.
    pub message: String,
    /// The last failure of the `Vfs` since the call began. It is often the reason for the error,
    /// but need not be. None if the `Vfs` did not fail.
    pub cause: Option<VfsError>,
}

impl Error {
    pub(crate) fn new(code: i32, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), cause: None }
    }

    /// The primary result code, for instance `SQLITE_IOERR` (10) for `SQLITE_IOERR_READ` (266).
    pub fn primary_code(&self) -> i32 {
        self.code & 0xff
    }

    /// The symbolic name of the extended code if this crate knows it, else the name of the primary
    /// code.
    pub fn name(&self) -> &'static str {
        let find = |code| NAMES.iter().find(|(known, _)| *known == code).map(|(_, name)| *name);
        find(self.code).or_else(|| find(self.primary_code())).unwrap_or("unknown SQLite code")
    }

    /// Whether another connection holds a lock that prevents the call.
    pub fn is_busy(&self) -> bool {
        self.primary_code() == sqlite::SQLITE_BUSY
    }

    /// Whether the medium is full.
    pub fn is_full(&self) -> bool {
        self.primary_code() == sqlite::SQLITE_FULL
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}): {}", self.name(), self.code, self.message)?;
        self.cause.map_or(Ok(()), |cause| write!(f, "; the file system answered: {cause}"))
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.cause.as_ref().map(|cause| cause as _)
    }
}

/// Pair each constant of SQLite with its own name.
macro_rules! named {
    ($($name:ident)*) => { &[$((sqlite::$name, stringify!($name))),*] };
}

const NAMES: &[(i32, &str)] = named! {
    SQLITE_ERROR SQLITE_INTERNAL SQLITE_PERM SQLITE_ABORT SQLITE_BUSY SQLITE_LOCKED SQLITE_NOMEM SQLITE_READONLY
    SQLITE_INTERRUPT SQLITE_IOERR SQLITE_CORRUPT SQLITE_NOTFOUND SQLITE_FULL SQLITE_CANTOPEN SQLITE_PROTOCOL
    SQLITE_SCHEMA SQLITE_TOOBIG SQLITE_CONSTRAINT SQLITE_MISMATCH SQLITE_MISUSE SQLITE_NOLFS SQLITE_AUTH
    SQLITE_RANGE SQLITE_NOTADB
    SQLITE_BUSY_RECOVERY SQLITE_BUSY_SNAPSHOT
    SQLITE_CONSTRAINT_CHECK SQLITE_CONSTRAINT_NOTNULL SQLITE_CONSTRAINT_PRIMARYKEY SQLITE_CONSTRAINT_ROWID
    SQLITE_CONSTRAINT_UNIQUE
    SQLITE_IOERR_ACCESS SQLITE_IOERR_CLOSE SQLITE_IOERR_CORRUPTFS SQLITE_IOERR_DELETE SQLITE_IOERR_DELETE_NOENT
    SQLITE_IOERR_FSTAT SQLITE_IOERR_FSYNC SQLITE_IOERR_READ SQLITE_IOERR_SHMMAP SQLITE_IOERR_SHMOPEN
    SQLITE_IOERR_SHORT_READ SQLITE_IOERR_TRUNCATE SQLITE_IOERR_WRITE
    SQLITE_READONLY_CANTINIT SQLITE_READONLY_RECOVERY SQLITE_READONLY_ROLLBACK
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_one_line_with_name_code_and_cause() {
        let cases = [
            (sqlite::SQLITE_BUSY, None, "SQLITE_BUSY (5): text"),
            (
                sqlite::SQLITE_IOERR_WRITE,
                Some(VfsError::PowerLost),
                "SQLITE_IOERR_WRITE (778): text; the file system answered: power lost",
            ),
            (sqlite::SQLITE_IOERR | 99 << 8, None, "SQLITE_IOERR (25354): text"),
        ];
        for (code, cause, line) in cases {
            assert_eq!(Error { cause, ..Error::new(code, "text") }.to_string(), line);
        }
    }
}
