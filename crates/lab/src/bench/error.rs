//! The error of a run that has no result.

use flysch::db::DbError;
use flysch_linux::filesystem::FsError;

use crate::machine::StackError;
use crate::machine::age::AgeError;

/// Why a run has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunError {
    /// The stack could not be built.
    Mount(StackError),
    /// The device could not be brought into the aged state that the scenario asks for.
    Age(AgeError),
    /// A call to SQLite failed.
    Sqlite {
        /// The statement or step during which it failed.
        during: String,
        /// The error message of SQLite.
        message: String,
    },
    /// A call to redb failed.
    Redb {
        /// The call during which it failed.
        during: String,
        /// The error message of redb.
        message: String,
    },
    /// The engine on the bare chip failed.
    Engine {
        /// The call during which it failed.
        during: String,
        error: DbError,
    },
    /// The log that is to keep its newest readings does not fit.
    Ring {
        /// How many readings it is to keep.
        keep: u32,
        /// Blocks of the partition.
        blocks: u32,
    },
    /// The engine finds no blocks that take its first programs.
    Worn {
        /// Blocks that are marked bad so far.
        bad: u32,
        /// Blocks of the partition.
        blocks: u32,
    },
    /// The kernel of a real machine failed, or a program that works for the lab there.
    Kernel {
        /// The step during which it failed.
        during: String,
        /// The message of the kernel or program.
        message: String,
    },
    /// The file system failed outside SQLite.
    FileSystem(FsError),
    /// The data is wrong after the requests. The text says how.
    Broken(String),
}

impl std::fmt::Display for RunError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Mount(error) => write!(f, "cannot mount: {error}"),
            Self::Age(error) => write!(f, "cannot age the device so: {error}"),
            Self::Sqlite { during, message }
            | Self::Redb { during, message }
            | Self::Kernel { during, message } => write!(f, "at {during}: {message}"),
            Self::Engine { during, error: error @ DbError::RamTooSmall { .. } } => {
                write!(f, "at {during}: {error}; --ram gives the engine more")
            }
            Self::Engine { during, error } => write!(f, "at {during}: {error}"),
            Self::Ring { keep, blocks } => write!(
                f,
                "--keep {keep}: {blocks} blocks have no space for so many readings and their \
                 indexes; --partition-blocks gives the log more"
            ),
            Self::Worn { bad, blocks } => write!(
                f,
                "at making the database: the blocks are worn out, and {bad} of {blocks} are marked \
                 bad so far; --aged-erases wears them"
            ),
            Self::FileSystem(error) => write!(f, "file system: {error}"),
            Self::Broken(what) => f.write_str(what),
        }
    }
}

impl std::error::Error for RunError {}

impl RunError {
    /// The engine is redb, and this program was built without it.
    pub(super) fn no_redb() -> Self {
        let message = "this build has no redb; `cargo build --features redb` adds it";
        Self::Redb { during: "the start".to_owned(), message: message.to_owned() }
    }
}

impl From<StackError> for RunError {
    fn from(error: StackError) -> Self {
        Self::Mount(error)
    }
}

impl From<FsError> for RunError {
    fn from(error: FsError) -> Self {
        Self::FileSystem(error)
    }
}

/// An error of SQLite, with the step during which it happened.
pub(crate) fn sqlite_error(during: String) -> impl FnOnce(flysch_sqlite::Error) -> RunError {
    move |error| RunError::Sqlite { during, message: error.to_string() }
}

/// Makes the error of a call of the engine. `during` names the call.
pub(crate) fn engine_error(during: &str) -> impl Fn(DbError) -> RunError {
    move |error| RunError::Engine { during: during.to_owned(), error }
}

/// Makes the error of a call of redb. `during` names the call.
#[cfg(feature = "redb")]
pub(crate) fn redb_error<E: std::fmt::Display>(during: &str) -> impl FnOnce(E) -> RunError {
    move |error| RunError::Redb { during: during.to_owned(), message: error.to_string() }
}
