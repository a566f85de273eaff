//! Traces: load, save, convert, filter, summarise and draw them.
//!
//! A [`Trace`](flysch_chip::Trace) comes from a simulation, or from a file through [`load_any`]. A
//! file may have the binary format of [`file`](mod@file), CSV, or one of the two text formats of
//! Flashmon, the kernel module that the papers used ([`flashmon`]). The analyses are pure functions
//! from a trace to small values that can be serialised.
//!
//! Invariants:
//! 1. Any bytes may be loaded. If they are not a valid trace, a [`TraceError`] says what is wrong
//!    and where.
//! 2. A loaded trace is valid: events are in order of time, addresses are on the chip, causes and
//!    tasks are known. The analyses rely on it.
//! 3. The sums over causes, over blocks and over kinds equal those of the trace.
//! 4. The same trace gives the same bytes of files, tables and drawings.

mod blame;
mod blocks;
mod causes;
mod error;
mod explain;
pub mod file;
mod file_blame;
mod filter;
pub mod flashmon;
mod format;
mod headline;
mod input;
mod intake;
mod log;
mod missed;
mod operations;
mod persist;
mod pictures;
pub mod plot;
mod rows;
mod shape;
mod staying;
mod summary;
mod tally;
mod varint;

pub use flysch_nand::Geometry;

pub use blame::{StatementRow, TableRow, by_statement, by_table};
pub(crate) use blame::{TableSums, by_statement_after, by_table_after};
pub use blocks::{BlockRow, block_rows, by_block};
pub use causes::{CauseNode, Causes, causes, other_events};
pub use error::{Fault, Place, TraceError};
pub use explain::{Explanation, explanations, explanations_of};
pub use file::{load, save};
pub use filter::Filter;
pub use format::FileFormat;
pub use headline::headline;
pub use input::{Input, load_any, parse_any};
pub use log::{Log, LogRow};
pub use missed::{Blindness, MissedRow, Module, missed};
pub use operations::Operations;
pub use persist::{check_place, write_atomic};
pub use pictures::{chrome, folded};
pub use rows::{parse_csv, write_csv, write_json};
pub use shape::{ShapeError, parse_shape, shape_text};
pub use summary::{KindRow, Summary, TaskRow, summary};
pub use tally::Tally;
