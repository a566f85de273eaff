//! A database: it runs SQL statements, returns their rows and counts the work they took.

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

/// A connection to a database over a [`Vfs`]. It is neither `Send` nor `Sync`. Dropping it closes
/// it.
///
/// Databases opened over the same `Rc` lock each other out, as processes on one file system do.
pub struct Database {
    connection: Connection,
    /// `None` for a database in a file of the operating system.
    vfs: Option<Rc<dyn Vfs>>,
    name: String,
}

impl Database {
    /// Open the database `name`, and create it if it is missing.
    ///
    /// SQLite passes the name to `vfs` unchanged, and adds `-journal` and `-wal` for the names of
    /// the journal and the log. SQLite interprets some names itself: `:memory:` is a database in
    /// memory, an empty name is a database in a temporary file, and a name that begins with `file:`
    /// is parsed as a URI.
    ///
    /// # Errors
    /// The error of SQLite, for instance `SQLITE_CANTOPEN`. `SQLITE_MISUSE` for a name with a NUL
    /// byte, or when other code of the process used SQLite before this crate could configure it.
    /// Opening does not notice that a file is damaged: the first statement does.
    pub fn open(vfs: Rc<dyn Vfs>, name: &str) -> Result<Self, Error> {
        let registration = Registration::obtain(Rc::clone(&vfs))?;
        let connection = Connection::open(Some(registration), &terminated(name.as_bytes())?)?;
        Ok(Self { connection, vfs: Some(vfs), name: name.to_owned() })
    }

    /// Open a database in a file of the operating system, through SQLite's own VFS.
    ///
    /// # Errors
    /// The same errors as of [`open`](Self::open).
    pub fn open_file(path: &Path) -> Result<Self, Error> {
        library::set_up()?;
        let name = path.to_string_lossy().into_owned();
        let connection = Connection::open(None, &terminated(path.as_os_str().as_encoded_bytes())?)?;
        Ok(Self { connection, vfs: None, name })
    }

    /// The name that it was opened with: a path for a file of the operating system.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Run all statements of a text, as `sqlite3_exec` does, and count the work. Rows are
    /// discarded.
    ///
    /// # Errors
    /// The error of the first statement that fails. The statements before it have taken effect, the
    /// ones after it did not run. `SQLITE_MISUSE` for a text with a NUL byte.
    pub fn execute(&self, sql: impl AsRef<[u8]>) -> Result<Work, Error> {
        self.run(sql.as_ref(), |_| {})
    }

    /// Run all statements of a text and collect their rows.
    ///
    /// # Errors
    /// The same errors as of [`execute`](Self::execute).
    pub fn query(&self, sql: impl AsRef<[u8]>) -> Result<Vec<Vec<Value>>, Error> {
        let mut rows = Vec::new();
        self.run(sql.as_ref(), |statement| rows.push(statement.row()))?;
        Ok(rows)
    }

    /// Compile a statement that is to run many times. Each run gives a value to every `?` in it.
    ///
    /// # Errors
    /// The error of SQLite, or `SQLITE_MISUSE` for a text that is not exactly one statement.
    pub fn prepare(&self, sql: &str) -> Result<Prepared<'_>, Error> {
        let text = terminated(sql.as_bytes())?;
        let connection = &self.connection;
        let (statement, rest) = connection.run(|_| connection.prepare(&text))?;
        match statement {
            Some(statement) if rest.is_empty() => Ok(Prepared::new(statement)),
            _ => Err(Error::new(sqlite::SQLITE_MISUSE, "the text is not exactly one statement")),
        }
    }

    /// Copy the file of one database of the connection. `schema` is `main`, or the name that
    /// `ATTACH … AS` gave to another database. For a database in memory the copy is the file that
    /// it would have.
    ///
    /// # Errors
    /// `SQLITE_ERROR` if no database is attached under this name.
    pub fn image(&self, schema: &str) -> Result<Vec<u8>, Error> {
        let schema = terminated(schema.as_bytes())?;
        self.connection.run(|connection| connection.image(&schema))
    }

    /// Apply the settings that have a PRAGMA. `sector_size` and `powersafe_overwrite` have none:
    /// the [`Vfs`] answers them.
    ///
    /// # Errors
    /// The error of SQLite. `SQLITE_ERROR` with the reason when SQLite stays in another journal
    /// mode.
    pub fn configure(&self, settings: &Settings) -> Result<(), Error> {
        let Settings { page_size, cache_size, locking_mode, synchronous, .. } = settings;
        // The order matters. The first write to the database fixes the page size, and a write-ahead
        // log may need the exclusive lock.
        self.execute(format!(
            "PRAGMA page_size = {page_size}; PRAGMA cache_size = {cache_size};
             PRAGMA locking_mode = {locking_mode}; PRAGMA synchronous = {synchronous}"
        ))?;
        self.change_journal_mode(settings.journal_mode)
    }

    /// Close the database, and report an error if SQLite cannot.
    ///
    /// # Errors
    /// The error of SQLite. A failure of the `Vfs` during closing is not reported, because the
    /// database is closed all the same.
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
        let mut work = Work::default();
        self.connection.run(|connection| {
            let mut rest = text.as_c_str();
            while !rest.is_empty() {
                let (statement, tail) = connection.prepare(rest)?;
                if let Some(statement) = statement {
                    work += finish(statement, &mut on_row)?;
                }
                rest = tail;
            }
            work.pages = connection.take_pages();
            Ok(work)
        })
    }
}

fn finish(
    mut statement: Statement<'_>,
    on_row: &mut impl FnMut(&Statement<'_>),
) -> Result<Work, Error> {
    let mut work = Work { statements: 1, columns: statement.column_count(), ..Work::default() };
    while statement.step()? {
        work.rows += 1;
        on_row(&statement);
    }
    work.vm_steps = statement.take_vm_steps();
    Ok(work)
}

/// Append the NUL that ends a C string. SQLite reads up to the first NUL, so it would silently cut
/// off a text with a NUL inside.
fn terminated(text: &[u8]) -> Result<CString, Error> {
    CString::new(text).map_err(|_| Error::new(sqlite::SQLITE_MISUSE, "the text holds a NUL byte"))
}
