//! The flags and hints that SQLite passes with its calls, and the properties that a file claims to
//! have.

use libsqlite3_sys as sqlite;

/// How to open a file: SQLite's `SQLITE_OPEN_*` bits.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct OpenFlags(pub(crate) i32);

/// The bits that give the role of a file. Exactly one of them is set.
const KINDS: i32 = sqlite::SQLITE_OPEN_MAIN_DB
    | sqlite::SQLITE_OPEN_MAIN_JOURNAL
    | sqlite::SQLITE_OPEN_WAL
    | sqlite::SQLITE_OPEN_TEMP_DB
    | sqlite::SQLITE_OPEN_TRANSIENT_DB
    | sqlite::SQLITE_OPEN_TEMP_JOURNAL
    | sqlite::SQLITE_OPEN_SUBJOURNAL
    | sqlite::SQLITE_OPEN_SUPER_JOURNAL;

impl OpenFlags {
    /// The flags that another process passed. None if they do not hold exactly one kind of file.
    pub(crate) fn parse(bits: i32) -> Option<Self> {
        ((bits & KINDS).count_ones() == 1).then_some(Self(bits))
    }

    /// The role of the file.
    ///
    /// # Panics
    /// If the flags hold no kind. The flags that SQLite passes hold exactly one.
    pub fn kind(self) -> FileKind {
        let kinds = [
            (sqlite::SQLITE_OPEN_MAIN_DB, FileKind::Database),
            (sqlite::SQLITE_OPEN_MAIN_JOURNAL, FileKind::Journal),
            (sqlite::SQLITE_OPEN_WAL, FileKind::Wal),
            (sqlite::SQLITE_OPEN_TEMP_DB, FileKind::TemporaryDatabase),
            (sqlite::SQLITE_OPEN_TRANSIENT_DB, FileKind::TransientDatabase),
            (sqlite::SQLITE_OPEN_TEMP_JOURNAL, FileKind::TemporaryJournal),
            (sqlite::SQLITE_OPEN_SUBJOURNAL, FileKind::StatementJournal),
            (sqlite::SQLITE_OPEN_SUPER_JOURNAL, FileKind::SuperJournal),
        ];
        let found = kinds.into_iter().find(|(bit, _)| self.has(*bit));
        found.expect("SQLite names the kind of every file it opens").1
    }

    /// Whether SQLite wants a missing file to be created.
    pub fn may_create(self) -> bool {
        self.has(sqlite::SQLITE_OPEN_CREATE)
    }

    /// Whether the open must fail if the file exists.
    pub fn is_exclusive(self) -> bool {
        self.has(sqlite::SQLITE_OPEN_EXCLUSIVE)
    }

    /// Whether the file is opened for reading only.
    pub fn is_read_only(self) -> bool {
        self.has(sqlite::SQLITE_OPEN_READONLY)
    }

    /// Whether the file must be deleted when it is closed.
    pub fn is_deleted_on_close(self) -> bool {
        self.has(sqlite::SQLITE_OPEN_DELETEONCLOSE)
    }

    fn has(self, bit: i32) -> bool {
        self.0 & bit != 0
    }
}

/// The role of a file.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum FileKind {
    /// The main database file.
    Database,
    /// The rollback journal of the database.
    Journal,
    /// The write-ahead log of the database.
    Wal,
    /// The database of `TEMP` tables.
    TemporaryDatabase,
    /// The file of a sorter or of an automatic index.
    TransientDatabase,
    /// The rollback journal of a temporary database.
    TemporaryJournal,
    /// The journal of one statement, which undoes the statement without the rest of its
    /// transaction.
    StatementJournal,
    /// The journal that ties together a transaction over several databases.
    SuperJournal,
}

/// The kind of sync that SQLite asks for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct SyncFlags {
    /// Whether `PRAGMA fullfsync` asks for a barrier that is stronger than fsync.
    pub full: bool,
    /// Whether only the data must become durable, not the length of the file (fdatasync).
    pub data_only: bool,
}

/// What SQLite is about to do with a database file. SQLite announces it through `xFileControl`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Hint {
    /// The file will grow to this many bytes.
    Size(u64),
    /// The file should grow in chunks of this many bytes.
    ChunkSize(u32),
    /// All of the file will be overwritten (`VACUUM`).
    Overwrite,
    /// A sync follows, or would follow if `synchronous` were not off.
    Sync,
    /// The transaction is committed. Only the locks are still held.
    CommitPhaseTwo,
    /// SQLite is about to copy the write-ahead log into the database.
    CheckpointStart,
    /// SQLite has copied the write-ahead log into the database.
    CheckpointDone,
}

/// The properties that a file claims to have: SQLite's `SQLITE_IOCAP_*` bits. Batch-atomic writes
/// are not supported.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Characteristics(pub(crate) i32);

impl Characteristics {
    /// The file claims none of these properties.
    pub const NONE: Self = Self(0);
    /// A write of any size is atomic.
    pub const ATOMIC: Self = Self(sqlite::SQLITE_IOCAP_ATOMIC);
    /// Aligned writes of 512 bytes are atomic.
    pub const ATOMIC_512: Self = Self(sqlite::SQLITE_IOCAP_ATOMIC512);
    /// Aligned writes of 4096 bytes are atomic.
    pub const ATOMIC_4K: Self = Self(sqlite::SQLITE_IOCAP_ATOMIC4K);
    /// A file grows only after the data that extends it was written.
    pub const SAFE_APPEND: Self = Self(sqlite::SQLITE_IOCAP_SAFE_APPEND);
    /// Writes become durable in the order in which they were made.
    pub const SEQUENTIAL: Self = Self(sqlite::SQLITE_IOCAP_SEQUENTIAL);
    /// An open file cannot be deleted.
    pub const UNDELETABLE_WHEN_OPEN: Self = Self(sqlite::SQLITE_IOCAP_UNDELETABLE_WHEN_OPEN);
    /// A power cut during a write damages no byte outside the range of the write.
    pub const POWERSAFE_OVERWRITE: Self = Self(sqlite::SQLITE_IOCAP_POWERSAFE_OVERWRITE);

    /// Combine two sets of properties.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}
