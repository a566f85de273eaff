//! The database: tables of typed rows that survive a power cut at any operation.
//!
//! ```text
//! insert ▸ record: tail ▸ a full page ▸ media     commit ▸ log: one record ▸ media
//! open   ▸ log: newest root, list, record ▸ tail, spans, heads ▸ record: rows since the mark
//! ```
//!
//! 1. One writer: a transaction borrows the database.
//! 2. Cursors borrow nothing between calls.
//! 3. The first program after an open makes certain what the open found.

mod call;
mod cascade;
mod check;
mod clock;
mod commit;
mod compact;
mod constraints;
mod criteria;
mod dead;
mod error;
mod find;
mod group;
mod index;
mod joins;
mod kept;
mod level;
mod list;
mod open;
mod past;
mod ram;
mod range;
mod reader;
mod repair;
mod replay;
mod ring;
mod savepoint;
mod scan;
mod seek;
mod session;
mod space;
mod spill;
mod stats;
mod view;
mod write;

pub use clock::Clock;
pub use commit::Durability;
pub use constraints::{Check, Constraints, ForeignKey, OnDelete, Preset};
pub use criteria::{Criterion, Matches};
pub use error::DbError;
pub use find::Find;
pub use joins::JoinColumn;
pub use list::{KeyList, ListedKey};
pub use open::{OpenReport, Options};
pub use ram::{DbRam, ram_needed};
pub use range::KeyRange;
pub use reader::Reader;
pub use repair::{Repair, Repaired};
pub use savepoint::{SAVEPOINTS_MAX, Savepoint};
pub use scan::{Direction, Scan};
pub use space::Budget;
pub use stats::Stats;
pub use view::{At, Snapshot};
pub use write::Transaction;

pub use crate::log::MountError;
pub use crate::record::Position;

use flysch_nand::Nand;

use crate::log::{Doubt, Log, NvLog};
use crate::media::{Media, Space};
use crate::record::{Cells, Records};
use crate::row::{HashKey, Schema};
use crate::store::Store;

/// The open transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct UnderWay {
    rows: u32,
    /// How many of its rows delete none.
    grown: u32,
    /// Blocks that were free when it began.
    free: u32,
    /// Whether entries of it were flushed.
    has_runs: bool,
    /// Whether a rollback to a savepoint failed half way: it is rolled back, and not committed.
    is_spoilt: bool,
}

/// A database on a chip. All of its RAM is the caller's.
#[derive(Debug)]
pub struct Db<'ram, 's, N> {
    media: Media<'ram, N>,
    log: Log<'s>,
    /// The `NvRam` that takes commits, if there is one.
    nvram: Option<NvLog<'ram>>,
    /// What the mount found and could not be sure of; None once the first write made it certain.
    doubt: Option<Doubt>,
    records: Records<'ram>,
    schema: &'s Schema<'s>,
    /// The number of the next commit.
    commit: u32,
    /// Whether a commit is in no record yet.
    is_lazy: bool,
    /// The transaction that was begun, and neither committed nor rolled back; None between
    /// transactions.
    under_way: Option<UnderWay>,
    /// Number of savepoints that were made since the open, modulo 2^16.
    savepoints: u16,
    /// The time of the next commit, in microseconds, unless a clock is asked: what the caller set.
    next_time: u64,
    /// The time of the last commit.
    time: u64,
    /// The caller's clock; None where the caller sets the time.
    clock: Option<&'s dyn Clock>,
    store: Store<'ram>,
    /// The key of this device's hashes.
    key: HashKey,
    compaction: compact::Compaction,
    /// What the reader sees: everything, or what a snapshot or an earlier commit had.
    view: view::View,
    /// The snapshots that are open.
    open_views: view::Held,
    levelling: level::Levelling,
    /// Which blocks ring tables give back.
    rings: ring::Rings,
    /// Whether the state changed without a program, so that a log record is due.
    is_log_due: bool,
    /// What rows have to obey, beside the schema.
    constraints: Constraints<'s>,
    /// The functions that enforce them; None until constraints are set.
    enforcer: Option<constraints::Enforcer<N>>,
    /// Appended rows for which no compaction was done yet.
    unpaid: u32,
    /// What the session had done when the last call began.
    begun: call::Begun,
    /// The cells of its page that the frame holds.
    held_cells: Option<Cells>,
    /// The last block whose summary tells of no void page, and the write number when it was read.
    sound_block: Option<(Space, u32, u64)>,
    /// How often the runs had changed when the last record was written.
    let_go_at: u32,
    /// The pages that a sort keeps.
    spilled: spill::Spilled,
    /// A page of RAM, for one operation at a time.
    frame: &'ram mut [u8],
    /// The page of rows that the frame holds; None where it holds something else.
    held: Option<scan::Held>,
    /// RAM for a cell, or for the state of a record while it is put together.
    scratch: &'ram mut [u8],
    report: OpenReport,
}

impl<'s, N: Nand> Db<'_, 's, N> {
    /// What the open found, and what it cost.
    pub const fn report(&self) -> &OpenReport {
        &self.report
    }

    /// The schema that the database was opened with.
    pub const fn schema(&self) -> &'s Schema<'s> {
        self.schema
    }

    /// The chip, for inspection.
    pub const fn nand(&self) -> &N {
        self.media.nand()
    }

    /// The chip, so that a test can arrange its next fault.
    pub const fn nand_mut(&mut self) -> &mut N {
        self.media.nand_mut()
    }

    /// Give the chip back. Transactions that were not committed are lost.
    pub fn into_nand(self) -> N {
        self.media.into_nand()
    }
}
