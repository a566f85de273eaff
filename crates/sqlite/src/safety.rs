//! What a power cut leaves of acknowledged transactions, by the settings of a database.

use serde::Serialize;

use crate::settings::{JournalMode, Synchronous};

/// Which acknowledged transactions a power cut may lose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Safety {
    #[serde(rename = "loses_nothing")]
    Whole,
    /// The last transaction: a rollback journal that was deleted or emptied may be there again
    /// after the cut, and then SQLite rolls the transaction back.
    #[serde(rename = "loses_the_last")]
    WithoutLast,
    #[serde(rename = "loses_some")]
    WithoutSome,
    #[serde(rename = "loses_the_database")]
    Nothing,
}

impl Safety {
    /// What SQLite promises under this journal mode and `synchronous`, if `group` transactions are
    /// joined into one.
    pub const fn of(journal: JournalMode, synchronous: Synchronous, group: u32) -> Self {
        match (journal, synchronous) {
            (JournalMode::Memory | JournalMode::Off, _) | (_, Synchronous::Off) => Self::Nothing,
            (JournalMode::Wal, Synchronous::Normal) => Self::WithoutSome,
            _ if group > 1 => Self::WithoutSome,
            (JournalMode::Delete, Synchronous::Normal | Synchronous::Full)
            | (JournalMode::Truncate, Synchronous::Normal) => Self::WithoutLast,
            _ => Self::Whole,
        }
    }

    /// What SQLite promises in a database that answers these values to `PRAGMA journal_mode` and
    /// `PRAGMA synchronous`.
    pub fn answered(journal: &str, synchronous: &str) -> Self {
        let mode = journal.parse().ok().zip(Synchronous::numbered(synchronous));
        mode.map_or(Self::Nothing, |(journal, level)| Self::of(journal, level, 1))
    }

    /// The promise in words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Whole => "all that was acknowledged",
            Self::WithoutLast => "all but perhaps the last transaction",
            Self::WithoutSome => "all but the last transactions",
            Self::Nothing => "perhaps nothing",
        }
    }
}
