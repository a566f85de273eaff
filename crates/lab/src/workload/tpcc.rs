//! TPC-C on SQLite. Park et al. used DBT-2, an implementation of it, to measure journals on PRAM.

use std::collections::BTreeMap;

use flysch_sqlite::Settings;

use crate::parameter::Parameter;
use crate::tpcc::{Files, Pace, Scale};

/// TPC-C with its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tpcc {
    /// Size of the database.
    pub scale: Scale,
    pub terminals: u32,
    /// Whether terminals pause between requests.
    pub pace: Pace,
    /// Percentage of New-Orders that roll back.
    pub rollback_percent: u32,
    /// How many files the database has.
    pub files: Files,
}

impl Tpcc {
    /// The names of its figures.
    pub(crate) const FIGURES: [&str; 5] = [
        "new_orders_per_minute",
        "new_orders",
        "new_orders_rolled_back",
        "response_ns_mean",
        "service_ns_mean",
    ];

    /// One warehouse of full size, and one terminal that does not pause.
    pub const DEFAULT: Self = Self {
        scale: Scale { warehouses: 1, divisor: 1 },
        terminals: 1,
        pace: Pace::None,
        rollback_percent: 1,
        files: Files::One,
    };

    pub(super) fn parameters(self) -> BTreeMap<&'static str, Parameter> {
        let think_times = match self.pace {
            Pace::None => false,
            Pace::Specified => true,
        };
        let files = match self.files {
            Files::One => 1_u32,
            Files::Two => 2,
        };
        BTreeMap::from([
            ("warehouses", self.scale.warehouses.into()),
            ("scale-divisor", self.scale.divisor.into()),
            ("terminals", self.terminals.into()),
            ("think-times", think_times.into()),
            ("rollback-percent", self.rollback_percent.into()),
            ("database-files", files.into()),
        ])
    }

    /// Bytes that a run needs on the file system: one and a half times the size of the database, so
    /// that any file system's garbage collector has room, plus what new orders add.
    pub(super) fn room(self, settings: &Settings, transactions: u32) -> u64 {
        let database = self.scale.bytes(settings.page_size);
        database + database / 2 + u64::from(transactions) * BYTES_PER_TRANSACTION
    }
}

/// Bytes that a transaction adds to the database on average, rounded up: half of the transactions
/// add an order of ten lines.
const BYTES_PER_TRANSACTION: u64 = 1024;
