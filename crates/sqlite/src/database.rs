//! A database: statements in, work counted, rows out.

use std::ffi::CString;
use std::path::Path;
use std::rc::Rc;

use libsqlite3_sys as sqlite;

use crate::error::Error;
use crate::ffi::connection::Connection;
use crate::ffi::library;
use crate::ffi::registration::Registration;
use crate::ffi::statement::Statement;
use crate::prepared::Prepared;
use crate::settings::{JournalMode, Settings};
use crate::value::{Value, Work};
use crate::vfs::Vfs;

/// A connection to a database over a [`Vfs`]. Neither `Send` nor `Sync`; dropping it closes it.
///
/// Databases opened over the same `Rc` lock each other as processes on one file system do.
pub struct Database {
    connection: Connection,
    /// None on the file systems of the system.
    vfs: Option<Rc<dyn Vfs>>,
    name: String,
}

impl Database {
    /// Open the database `name`, creating it when it is missing.
    ///
    /// The name reaches `vfs` as it is, and so do those of its journal (`-journal`) and log (`-wal`). SQLite itself
    /// takes the names `:memory:` and the empty one for databases in memory and in a temporary file, and splits
    /// those that begin with `file:` as URIs.
    ///
    /// # Errors
    /// SQLite's, for instance `SQLITE_CANTOPEN`; `SQLITE_MISUSE` for a name with a NUL, or when other code of the
    /// process used SQLite before this crate could configure it. A damaged file is noticed by the first statement.
    pub fn open(vfs: Rc<dyn Vfs>, name: &str) -> Result<Self, Error> {
        let registration = Registration::obtain(Rc::clone(&vfs))?;
        let connection = Connection::open(Some(registration), &terminated(name.as_bytes())?)?;
        Ok(Self { connection, vfs: Some(vfs), name: name.to_owned() })
    }

    /// Open a database in a file of the system that this program runs on, through SQLite's own VFS.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_file(path: &Path) -> Result<Self, Error> {
        library::set_up()?;
        let name = path.to_string_lossy().into_owned();
        let connection = Connection::open(None, &terminated(path.as_os_str().as_encoded_bytes())?)?;
        Ok(Self { connection, vfs: None, name })
    }

    /// Run the statements of a text as `sqlite3_exec` does, and count the work. Rows are not kept.
    ///
    /// # Errors
    /// That of the first statement that fails: those before it have taken effect, those after it were not run.
    /// `SQLITE_MISUSE` for a text with a NUL.
    pub fn execute(&self, sql: impl AsRef<[u8]>) -> Result<Work, Error> {
        self.run(sql.as_ref(), |_| {})
    }

    /// Run the statements of a text and collect their rows.
    ///
    /// # Errors
    /// As [`execute`](Self::execute).
    pub fn query(&self, sql: impl AsRef<[u8]>) -> Result<Vec<Vec<Value>>, Error> {
        let mut rows = Vec::new();
        self.run(sql.as_ref(), |statement| rows.push(statement.row()))?;
        Ok(rows)
    }

    /// Compile a statement to be run many times, with a value for each `?` of it.
    ///
    /// # Errors
    /// SQLite's; `SQLITE_MISUSE` for a text that is not exactly one statement.
    pub fn prepare(&self, sql: &str) -> Result<Prepared<'_>, Error> {
        let text = terminated(sql.as_bytes())?;
        let connection = &self.connection;
        let (statement, rest) = connection.run(|_| connection.prepare(&text))?;
        match statement {
            Some(statement) if rest.is_empty() => Ok(Prepared::new(statement)),
            _ => Err(Error::new(sqlite::SQLITE_MISUSE, "the text is not exactly one statement")),
        }
    }

    /// Copy the file of an attached database: `main`, or what `ATTACH … AS` named it. Of a database
    /// in memory these are the bytes that a file of it would have.
    ///
    /// # Errors
    /// `SQLITE_ERROR` where nothing of this name is attached.
    pub fn image(&self, schema: &str) -> Result<Vec<u8>, Error> {
        let schema = terminated(schema.as_bytes())?;
        self.connection.run(|connection| connection.image(&schema))
    }

    /// Set what PRAGMAs can set. `sector_size` and `powersafe_overwrite` are the [`Vfs`]'s to answer.
    ///
    /// # Errors
    /// SQLite's, and `SQLITE_ERROR` when it keeps another journal mode, with the reason.
    pub fn configure(&self, settings: &Settings) -> Result<(), Error> {
        let Settings { page_size, cache_size, locking_mode, synchronous, .. } = settings;
        // The page size is fixed by the first write, and the write-ahead log may need the exclusive lock.
        self.execute(format!(
            "PRAGMA page_size = {page_size}; PRAGMA cache_size = {cache_size};
             PRAGMA locking_mode = {locking_mode}; PRAGMA synchronous = {synchronous}"
        ))?;
        self.change_journal_mode(settings.journal_mode)
    }

    /// Close the database.
    ///
    /// # Errors
    /// SQLite's. What the `Vfs` fails at while closing is not among them: a database closes regardless.
    pub fn close(self) -> Result<(), Error> {
        self.connection.close()
    }

    fn change_journal_mode(&self, wanted: JournalMode) -> Result<(), Error> {
        let rows = self.query(format!("PRAGMA journal_mode = {wanted}"))?;
        let Some([Value::Text(answer)]) = rows.first().map(Vec::as_slice) else {
            return Err(Error::new(sqlite::SQLITE_ERROR, "SQLite does not tell its journal mode"));
        };
        let answer = String::from_utf8_lossy(answer);
        if answer == wanted.to_string() {
            return Ok(());
        }
        let maps_shared =
            self.vfs.as_ref().is_none_or(|vfs| vfs.supports_shared_memory(&self.name));
        let lacks_memory = wanted == JournalMode::Wal && !maps_shared;
        let reason = if lacks_memory {
            "the file system cannot map shared memory"
        } else {
            "SQLite does not allow it for this database"
        };
        let message = format!("journal mode {wanted} refused, it stays {answer}: {reason}");
        Err(Error::new(sqlite::SQLITE_ERROR, message))
    }

    fn run(&self, sql: &[u8], mut on_row: impl FnMut(&Statement<'_>)) -> Result<Work, Error> {
        let text = terminated(sql)?;
        let mut work = Work { sql_bytes: sql.len() as u64, ..Work::default() };
        self.connection.run(|connection| {
            let mut rest = text.as_c_str();
            while !rest.is_empty() {
                let (statement, tail) = connection.prepare(rest)?;
                if let Some(statement) = statement {
                    work += finish(statement, &mut on_row)?;
                }
                rest = tail;
            }
            Ok(work)
        })
    }
}

fn finish(
    mut statement: Statement<'_>,
    on_row: &mut impl FnMut(&Statement<'_>),
) -> Result<Work, Error> {
    let mut work = Work { statements: 1, ..Work::default() };
    while statement.step()? {
        work.rows += 1;
        on_row(&statement);
    }
    work.vm_steps = statement.take_vm_steps();
    Ok(work)
}

/// SQLite reads up to a NUL, so a text with one inside would be cut short silently.
fn terminated(text: &[u8]) -> Result<CString, Error> {
    CString::new(text).map_err(|_| Error::new(sqlite::SQLITE_MISUSE, "the text holds a NUL byte"))
}
