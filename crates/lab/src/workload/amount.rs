//! Amounts: what a rate of a workload counts, and how much of it an interval has.

use super::{Logger, Workload};

/// What a rate of a workload counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unit {
    /// Rows that are inserted, replaced or looked up.
    Rows,
    /// Calls on a file, or overwrites of it.
    Requests,
    Transactions,
    /// Mounts with the first transaction after them.
    Wakes,
    /// Statements of a program.
    Statements,
}

/// So many units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Amount {
    pub unit: Unit,
    pub count: u64,
}

impl Unit {
    /// Its name in the plural.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rows => "rows",
            Self::Requests => "requests",
            Self::Transactions => "transactions",
            Self::Wakes => "wakes",
            Self::Statements => "statements",
        }
    }
}

impl Workload {
    /// What an interval of so many requests amounts to.
    pub fn amount(self, requests: u32) -> Amount {
        let (unit, of_each) = match self {
            Self::Micro(_) | Self::Contacts(_) => (Unit::Rows, 1),
            Self::Logger(Logger { batch, .. }) => (Unit::Rows, batch),
            Self::Read(_) | Self::Overwrite => (Unit::Requests, 1),
            Self::Postmark(_) | Self::Tpcc(_) => (Unit::Transactions, 1),
            // The requests come before the interval, which has one mount.
            Self::Mount(_) => return Amount { unit: Unit::Wakes, count: 1 },
            Self::Program => (Unit::Statements, 1),
        };
        Amount { unit, count: u64::from(requests) * u64::from(of_each) }
    }
}
