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

mod cascade;
mod clock;
mod commit;
mod compact;
mod constraints;
mod error;
mod find;
mod index;
mod kept;
mod level;
mod open;
mod past;
mod ram;
mod range;
mod reader;
mod replay;
mod ring;
mod savepoint;
mod scan;
mod seek;
mod space;
mod stats;
mod view;
mod write;

pub use clock::Clock;
pub use commit::Durability;
pub use constraints::{Check, Constraints, ForeignKey, OnDelete, Preset};
pub use error::DbError;
pub use find::Find;
pub use open::{OpenReport, Options};
pub use range::KeyRange;
pub use reader::Reader;
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
use crate::media::Media;
use crate::record::{Cells, Records};
use crate::row::{HashKey, Schema};
use crate::store::Store;

/// A transaction under way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct UnderWay {
    rows: u32,
    /// Whether entries of it are in runs.
    has_runs: bool,
}

/// A database on a chip.
#[derive(Debug)]
pub struct Db<'ram, 's, N> {
    media: Media<'ram, N>,
    log: Log,
    /// Memory beside the chip that takes commits.
    beside: Option<NvLog<'ram>>,
    /// What is not certain of the log that the open found, until the first write makes it so.
    doubt: Option<Doubt>,
    records: Records<'ram>,
    schema: &'s Schema<'s>,
    /// The number of the next commit.
    commit: u32,
    /// Whether something is committed that no record has.
    is_lazy: bool,
    /// The transaction that was begun, and neither committed nor rolled back.
    under_way: Option<UnderWay>,
    /// The time of the last commit.
    time: u64,
    /// Who tells the time; the caller does where there is none.
    clock: Option<&'s dyn Clock>,
    store: Store<'ram>,
    /// What keys the hashes of this device.
    key: HashKey,
    compaction: compact::Compaction,
    /// What the reader sees.
    view: view::View,
    /// The snapshots that are open.
    open_views: view::Held,
    levelling: level::Levelling,
    /// What the rings give back.
    rings: ring::Rings,
    /// Whether the state changed in a way that no program tells: the log has to have it.
    is_log_due: bool,
    /// What rows have to obey, beside the schema.
    constraints: Constraints<'s>,
    /// What obeys them, once there are any.
    enforcer: Option<constraints::Enforcer<N>>,
    /// Rows that were appended, and not paid for by compaction.
    unpaid: u32,
    /// Programs of the device's life when the last transaction began.
    begun_at: u64,
    /// Erases of the session when the transaction under way began.
    erased_at: u32,
    /// The cells of rows that the frame holds.
    held_cells: Option<Cells>,
    /// The changes of the runs that the last record knows.
    let_go_at: u32,
    /// A page, lent to whoever needs one.
    frame: &'ram mut [u8],
    /// The page whose rows the frame holds.
    held: Option<scan::Held>,
    /// A cell, or the state of a record while it is put together.
    scratch: &'ram mut [u8],
    report: OpenReport,
}

impl<'s, N: Nand> Db<'_, 's, N> {
    /// What the open found and did.
    pub const fn report(&self) -> &OpenReport {
        &self.report
    }

    /// The schema that the database was opened with.
    pub const fn schema(&self) -> &'s Schema<'s> {
        self.schema
    }

    /// The chip, to look at it.
    pub const fn nand(&self) -> &N {
        self.media.nand()
    }

    /// The chip, to arrange its next fault.
    pub const fn nand_mut(&mut self) -> &mut N {
        self.media.nand_mut()
    }

    /// Give the chip back. What was not committed is lost.
    pub fn into_nand(self) -> N {
        self.media.into_nand()
    }
}
