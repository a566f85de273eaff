//! TPC-C on SQLite, as Park et al. (`DBT-2`) measure journals on PRAM with it.

use std::collections::BTreeMap;

use flysch_sqlite::Settings;

use crate::tpcc::{Files, Pace, Scale};

/// TPC-C.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tpcc {
    /// Size of the database.
    pub scale: Scale,
    /// Terminals.
    pub terminals: u32,
    /// When they ask.
    pub pace: Pace,
    /// Share of New-Orders that roll back, percent.
    pub rollback_percent: u32,
    /// Files of the database.
    pub files: Files,
}

impl Tpcc {
    /// One warehouse of the specification's size, one terminal that does not stop to think.
    pub const DEFAULT: Self = Self {
        scale: Scale { warehouses: 1, divisor: 1 },
        terminals: 1,
        pace: Pace::None,
        rollback_percent: 1,
        files: Files::One,
    };

    pub(super) fn parameters(self) -> BTreeMap<&'static str, String> {
        let think_times = match self.pace {
            Pace::None => "off",
            Pace::Specified => "on",
        };
        let files = match self.files {
            Files::One => "1",
            Files::Two => "2",
        };
        BTreeMap::from([
            ("warehouses", self.scale.warehouses.to_string()),
            ("scale-divisor", self.scale.divisor.to_string()),
            ("terminals", self.terminals.to_string()),
            ("think-times", think_times.to_owned()),
            ("rollback-percent", self.rollback_percent.to_string()),
            ("database-files", files.to_owned()),
        ])
    }

    /// Bytes that a run needs on the file system: half as much again as the database, which leaves
    /// the collector of any file system room, and what new orders add.
    pub(super) fn room(self, settings: &Settings, transactions: u32) -> u64 {
        let database = self.scale.bytes(settings.page_size);
        database + database / 2 + u64::from(transactions) * BYTES_PER_TRANSACTION
    }
}

/// Bytes that a transaction of the mix adds to the database, rounded up: half of them enter an
/// order of ten lines.
const BYTES_PER_TRANSACTION: u64 = 1024;
