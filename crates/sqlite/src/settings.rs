//! What may be set on a database, and how it is spelled.

use serde::{Deserialize, Serialize};

use crate::names::{Named, spelled};

/// The settings of a database and of the medium SQLite believes to be on.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Bytes per database page; of no effect once the database exists.
    pub page_size: u32,
    /// Size of the page cache: pages when positive, KiB when negative.
    pub cache_size: i32,
    /// How a transaction is made atomic.
    pub journal_mode: JournalMode,
    /// When SQLite syncs.
    pub synchronous: Synchronous,
    /// Whether locks are kept between transactions.
    pub locking_mode: LockingMode,
    /// What [`File::sector_size`](crate::File::sector_size) should answer. Up to the `Vfs`: no PRAGMA sets it.
    pub sector_size: u32,
    /// Whether [`File::characteristics`](crate::File::characteristics) should hold
    /// [`POWERSAFE_OVERWRITE`](crate::Characteristics::POWERSAFE_OVERWRITE). Up to the `Vfs` too.
    pub powersafe_overwrite: bool,
    /// Bytes that a statement journal, or that of a temporary database, may have before it is a file; 0: it
    /// always is. Up to the `Vfs`: [`SpillFile`](crate::SpillFile).
    pub statement_spill: u32,
}

/// `PRAGMA journal_mode`.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(try_from = "String", into = "String")]
pub enum JournalMode {
    /// The rollback journal is deleted at commit.
    Delete,
    /// The rollback journal is truncated at commit.
    Truncate,
    /// The header of the rollback journal is zeroed at commit.
    Persist,
    /// A write-ahead log.
    Wal,
    /// The rollback journal is in memory: a power cut may damage the database.
    Memory,
    /// No journal: no rollback either.
    Off,
}

impl Named for JournalMode {
    const WHAT: &'static str = "journal mode";
    const NAMES: &'static [(Self, &'static str)] = &[
        (Self::Delete, "delete"),
        (Self::Truncate, "truncate"),
        (Self::Persist, "persist"),
        (Self::Wal, "wal"),
        (Self::Memory, "memory"),
        (Self::Off, "off"),
    ];
}

/// `PRAGMA synchronous`.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(try_from = "String", into = "String")]
pub enum Synchronous {
    /// Never.
    Off,
    /// At the critical moments only.
    Normal,
    /// Before every change of the database.
    Full,
    /// As `Full`, and the directory after a journal was deleted.
    Extra,
}

impl Named for Synchronous {
    const WHAT: &'static str = "synchronous level";
    const NAMES: &'static [(Self, &'static str)] = &[
        (Self::Off, "off"),
        (Self::Normal, "normal"),
        (Self::Full, "full"),
        (Self::Extra, "extra"),
    ];
}

/// `PRAGMA locking_mode`.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(try_from = "String", into = "String")]
pub enum LockingMode {
    /// Locks are released at the end of every transaction.
    Normal,
    /// Locks are kept. Allows a write-ahead log without shared memory.
    Exclusive,
}

impl Named for LockingMode {
    const WHAT: &'static str = "locking mode";
    const NAMES: &'static [(Self, &'static str)] =
        &[(Self::Normal, "normal"), (Self::Exclusive, "exclusive")];
}

spelled!(JournalMode, Synchronous, LockingMode);
