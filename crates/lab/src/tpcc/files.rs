//! The files of a TPC-C database: they are loaded in memory, stored as a whole, and then opened.
//!
//! Loading the database on the device would write each page many times, which is not part of the
//! run. So the rows are loaded into a database in memory, and its file is copied to the device, as
//! a factory would do it.

use flysch_linux::filesystem::FsError;
use flysch_sqlite::{Database, Settings};

use super::error::TpccError;
use super::load::load;
use super::loaded::{self, Rows};
use super::scale::Scale;

/// The file of the database. With two files, all tables but those of orders.
const MAIN: &str = "tpcc.db";
/// The second file, which holds the tables of orders if there are two files.
const ORDERS: &str = "orders.db";
/// Bytes that are written at once when a file is stored.
const PIECE: usize = 64 << 10;

/// How many files a database has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Files {
    /// One file for all tables.
    One,
    /// A second file for the orders. A transaction that changes both files needs a super-journal.
    Two,
}

/// A database file in memory, ready to be stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    pub name: &'static str,
    pub bytes: Vec<u8>,
}

impl Files {
    /// The name of the schema (attached database) that holds the tables of orders.
    const fn orders_schema(self) -> &'static str {
        match self {
            Self::One => "main",
            Self::Two => "orders",
        }
    }

    /// The SQL that attaches the second file. Empty if there is one file.
    fn attach(self, orders: &str) -> String {
        match self {
            Self::One => String::new(),
            Self::Two => format!("ATTACH '{orders}' AS orders"),
        }
    }

    /// Load a new database in memory and return its files. `now_ms`, milliseconds since 1970, is
    /// the time in its rows. What was loaded before is copied.
    ///
    /// # Errors
    /// Fails if SQLite fails.
    pub fn load(
        self,
        database: &Database,
        now_ms: i64,
        settings: &Settings,
        scale: Scale,
        seed: u64,
    ) -> Result<Vec<Image>, TpccError> {
        let rows = Rows { files: self, page_size: settings.page_size, scale, seed };
        if let Some(images) = loaded::recall(rows, now_ms) {
            return Ok(images);
        }
        let images = rows.load(database, now_ms)?;
        loaded::keep(rows, now_ms, &images);
        Ok(images)
    }

    /// Open a stored database. `open` opens the file with a given name.
    ///
    /// # Errors
    /// Fails if SQLite cannot open or configure the database.
    pub fn open(
        self,
        open: impl Fn(&str) -> Result<Database, flysch_sqlite::Error>,
        settings: &Settings,
    ) -> Result<Database, TpccError> {
        let database = open(MAIN).map_err(sqlite("open"))?;
        if self == Self::Two {
            let Settings { cache_size, synchronous, .. } = settings;
            let folder = database.name().strip_suffix(MAIN).unwrap_or_default();
            let text = format!(
                "{}; PRAGMA orders.cache_size = {cache_size};
                 PRAGMA orders.synchronous = {synchronous}",
                self.attach(&format!("{folder}{ORDERS}").replace('\'', "''"))
            );
            database.execute(text).map_err(sqlite("ATTACH"))?;
        }
        database.configure(settings).map_err(sqlite("PRAGMA"))?;
        Ok(database)
    }
}

impl Rows {
    /// Load the rows into a database in memory, with this time in them, and return its files.
    pub(super) fn load(self, database: &Database, now_ms: i64) -> Result<Vec<Image>, TpccError> {
        let Self { files, page_size, scale, seed } = self;
        let text = format!("PRAGMA page_size = {page_size}; ") + &files.attach(":memory:");
        database.execute(text).map_err(sqlite("ATTACH"))?;
        if files == Files::Two {
            let text = format!("PRAGMA orders.page_size = {page_size}");
            database.execute(text).map_err(sqlite("PRAGMA page_size"))?;
        }
        load(database, files.orders_schema(), scale, seed, now_ms)?;
        let image = |(name, schema)| {
            let bytes = database.image(schema).map_err(sqlite("serialize"))?;
            Ok(Image { name, bytes })
        };
        let files: &[_] = match files {
            Files::One => &[(MAIN, "main")],
            Files::Two => &[(MAIN, "main"), (ORDERS, "orders")],
        };
        files.iter().copied().map(image).collect()
    }
}

impl Image {
    /// Store the file and make it durable.
    ///
    /// # Errors
    /// Fails if the file system fails, for instance because it is full.
    pub fn store(&self, linux: &mut dyn crate::machine::files::Files) -> Result<(), FsError> {
        let fd = linux.open(self.name, true)?;
        let mut offset = 0;
        for piece in self.bytes.chunks(PIECE) {
            linux.write(fd, offset, piece)?;
            offset += piece.len() as u64;
        }
        linux.fsync(fd)?;
        linux.close(fd)
    }
}

fn sqlite(statement: &'static str) -> impl Fn(flysch_sqlite::Error) -> TpccError {
    move |error| TpccError::Sqlite { statement, error }
}
