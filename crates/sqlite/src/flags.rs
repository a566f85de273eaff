//! What SQLite says beside the bytes: how to open, how to sync, what it is about to do; and what a file promises.

use libsqlite3_sys as sqlite;

/// How to open a file: SQLite's `SQLITE_OPEN_*` bits.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct OpenFlags(pub(crate) i32);

impl OpenFlags {
    /// Tell what the file is for.
    ///
    /// # Panics
    /// Never for the flags that SQLite passes: they hold exactly one kind.
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

    /// Tell whether a missing file is to be created.
    pub fn may_create(self) -> bool {
        self.has(sqlite::SQLITE_OPEN_CREATE)
    }

    /// Tell whether the file must not exist yet.
    pub fn is_exclusive(self) -> bool {
        self.has(sqlite::SQLITE_OPEN_EXCLUSIVE)
    }

    /// Tell whether the file is only read.
    pub fn is_read_only(self) -> bool {
        self.has(sqlite::SQLITE_OPEN_READONLY)
    }

    /// Tell whether the file is to be removed when it is closed.
    pub fn is_deleted_on_close(self) -> bool {
        self.has(sqlite::SQLITE_OPEN_DELETEONCLOSE)
    }

    fn has(self, bit: i32) -> bool {
        self.0 & bit != 0
    }
}

/// What a file is for.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum FileKind {
    /// The database itself.
    Database,
    /// Its rollback journal.
    Journal,
    /// Its write-ahead log.
    Wal,
    /// The database of `TEMP` tables.
    TemporaryDatabase,
    /// A sorter or an automatic index.
    TransientDatabase,
    /// The rollback journal of a temporary database.
    TemporaryJournal,
    /// The journal of a statement within a transaction.
    StatementJournal,
    /// The journal that ties together a transaction over several databases.
    SuperJournal,
}

/// How to sync.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct SyncFlags {
    /// Whether `PRAGMA fullfsync` asks for a barrier stronger than fsync.
    pub full: bool,
    /// Whether the length of the file need not become durable (fdatasync).
    pub data_only: bool,
}

/// What SQLite is about to do to a database file, told through `xFileControl`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Hint {
    /// The file will grow to this many bytes.
    Size(u64),
    /// The file should grow in chunks of this many bytes.
    ChunkSize(u32),
    /// The whole file will be overwritten (`VACUUM`).
    Overwrite,
    /// A sync follows, or would follow if `synchronous` were not off.
    Sync,
    /// The transaction is committed but for releasing the locks.
    CommitPhaseTwo,
    /// The write-ahead log is about to be copied into the database.
    CheckpointStart,
    /// The write-ahead log was copied.
    CheckpointDone,
}

/// What a file promises: SQLite's `SQLITE_IOCAP_*` bits. Batch-atomic writes are not offered.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Characteristics(pub(crate) i32);

impl Characteristics {
    /// No promise.
    pub const NONE: Self = Self(0);
    /// Any write is atomic.
    pub const ATOMIC: Self = Self(sqlite::SQLITE_IOCAP_ATOMIC);
    /// Aligned writes of 512 bytes are atomic.
    pub const ATOMIC_512: Self = Self(sqlite::SQLITE_IOCAP_ATOMIC512);
    /// Aligned writes of 4096 bytes are atomic.
    pub const ATOMIC_4K: Self = Self(sqlite::SQLITE_IOCAP_ATOMIC4K);
    /// A file grows only after the data that extends it was written.
    pub const SAFE_APPEND: Self = Self(sqlite::SQLITE_IOCAP_SAFE_APPEND);
    /// Writes become durable in the order they were made.
    pub const SEQUENTIAL: Self = Self(sqlite::SQLITE_IOCAP_SEQUENTIAL);
    /// An open file cannot be deleted.
    pub const UNDELETABLE_WHEN_OPEN: Self = Self(sqlite::SQLITE_IOCAP_UNDELETABLE_WHEN_OPEN);
    /// A power cut during a write damages no byte outside its range.
    pub const POWERSAFE_OVERWRITE: Self = Self(sqlite::SQLITE_IOCAP_POWERSAFE_OVERWRITE);

    /// Join two sets of promises.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}
