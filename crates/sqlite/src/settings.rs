//! The settings of a database, and the names of their values.

use flysch_names::named;
use serde::{Deserialize, Serialize};
use strum::{Display, IntoStaticStr, VariantArray};

/// The settings of a database, and the properties of the medium that SQLite is given.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Bytes per database page. It has no effect once the database exists.
    pub page_size: u32,
    /// Size of the page cache: pages when positive, KiB when negative.
    pub cache_size: i32,
    /// How SQLite makes a transaction atomic.
    pub journal_mode: JournalMode,
    /// When SQLite syncs its files.
    pub synchronous: Synchronous,
    /// Whether locks are kept between transactions.
    pub locking_mode: LockingMode,
    /// The sector size in bytes that [`File::sector_size`](crate::File::sector_size) should return.
    /// No PRAGMA sets it: the `Vfs` must obey it.
    pub sector_size: u32,
    /// Whether [`File::characteristics`](crate::File::characteristics) should include
    /// [`POWERSAFE_OVERWRITE`](crate::Characteristics::POWERSAFE_OVERWRITE). No PRAGMA sets it: the
    /// `Vfs` must obey it.
    pub powersafe_overwrite: bool,
    /// The number of bytes up to which a statement journal, or the journal of a temporary database,
    /// stays in memory. Beyond it the journal becomes a file; 0 makes it a file from the start. The
    /// `Vfs` must obey it, with a [`SpillFile`](crate::SpillFile).
    pub statement_spill: u32,
}

impl Settings {
    /// Bytes of the page cache.
    pub fn cache_bytes(&self) -> usize {
        let unit = if self.cache_size < 0 { 1024 } else { self.page_size as usize };
        self.cache_size.unsigned_abs() as usize * unit
    }
}

/// How a transaction is made atomic (`PRAGMA journal_mode`).
#[derive(
    Clone,
    Copy,
    Debug,
    Deserialize,
    Eq,
    Ord,
    PartialEq,
    PartialOrd,
    Serialize,
    Display,
    IntoStaticStr,
    VariantArray,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase", const_into_str)]
pub enum JournalMode {
    /// SQLite deletes the rollback journal at commit.
    Delete,
    /// SQLite truncates the rollback journal at commit.
    Truncate,
    /// SQLite overwrites the header of the rollback journal with zeros at commit.
    Persist,
    /// New versions of pages go to a write-ahead log.
    Wal,
    /// The rollback journal is in memory, so a power cut may damage the database.
    Memory,
    /// There is no journal, so a transaction cannot be rolled back.
    Off,
}

named!(JournalMode, "journal mode");

/// When SQLite syncs its files (`PRAGMA synchronous`).
#[derive(
    Clone,
    Copy,
    Debug,
    Deserialize,
    Eq,
    Ord,
    PartialEq,
    PartialOrd,
    Serialize,
    Display,
    IntoStaticStr,
    VariantArray,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase", const_into_str)]
pub enum Synchronous {
    /// SQLite never syncs, so a power cut may damage the database.
    Off,
    /// SQLite syncs only at the most critical moments.
    Normal,
    /// SQLite also syncs before every change of the database file.
    Full,
    /// Like `Full`. SQLite also syncs the directory after it deleted a journal.
    Extra,
}

named!(Synchronous, "synchronous level");

impl Synchronous {
    /// The setting that has this number in SQLite. None if there is none.
    pub fn numbered(number: &str) -> Option<Self> {
        match number {
            "0" => Some(Self::Off),
            "1" => Some(Self::Normal),
            "2" => Some(Self::Full),
            "3" => Some(Self::Extra),
            _ => None,
        }
    }
}

/// How long a connection keeps its locks (`PRAGMA locking_mode`).
#[derive(
    Clone,
    Copy,
    Debug,
    Deserialize,
    Eq,
    Ord,
    PartialEq,
    PartialOrd,
    Serialize,
    Display,
    IntoStaticStr,
    VariantArray,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase", const_into_str)]
pub enum LockingMode {
    /// Locks are released at the end of every transaction.
    Normal,
    /// Locks are kept. A write-ahead log then needs no shared memory.
    Exclusive,
}

named!(LockingMode, "locking mode");
