//! The calls that programs make of SQLite, as values: one [`Call`] for each call of SQLite's
//! interface that reads or changes a database, in the order in which they were made.
//!
//! The log collects the calls while a program runs. [`Player`](crate::Player) repeats them.

mod bytes;
mod log;

use serde::{Deserialize, Serialize};

pub use bytes::Bytes;
pub use log::{About, CallLog};

/// A connection, counted from 1 in the order in which they were opened.
pub type ConnectionId = u32;
/// A statement, counted from 1 in the order in which they were compiled. 0 means that no statement
/// was compiled.
pub type CompiledId = u32;

/// A call of SQLite's interface. Functions of SQLite that do the same thing are the same call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "call", rename_all = "snake_case")]
pub enum Call {
    /// `sqlite3_open_v2`. A relative name refers to `folder`, the program's working directory.
    Open { connection: ConnectionId, folder: String, name: String, flags: i32, vfs: String },
    /// `sqlite3_close`, or `sqlite3_close_v2` if the version is 2.
    Close { connection: ConnectionId, version: i32 },
    /// `sqlite3_prepare_v3`: the text of one statement.
    Prepare { connection: ConnectionId, statement: CompiledId, flags: i32, sql: Bytes },
    /// `sqlite3_bind_…`.
    Bind { statement: CompiledId, parameter: i32, value: Bound },
    /// `sqlite3_clear_bindings`.
    Clear { statement: CompiledId },
    /// `sqlite3_step`.
    Step { statement: CompiledId },
    /// `sqlite3_reset`.
    Reset { statement: CompiledId },
    /// `sqlite3_finalize`.
    Finalize { statement: CompiledId },
    /// `sqlite3_exec`.
    Execute { connection: ConnectionId, sql: Bytes },
    /// `sqlite3_busy_timeout`.
    BusyTimeout { connection: ConnectionId, ms: i64 },
    /// `sqlite3_wal_checkpoint_v2`. An empty schema stands for all databases.
    Checkpoint { connection: ConnectionId, schema: String, mode: i32 },
    /// `sqlite3_wal_autocheckpoint`.
    AutoCheckpoint { connection: ConnectionId, pages: i64 },
    /// The process has ended. What it had open was not closed.
    End,
}

/// A value that is bound to a parameter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    Null,
    Integer(i64),
    /// The bits of a floating-point number.
    RealBits(u64),
    Text(Bytes),
    /// Text in UTF-16, in the byte order of the machine.
    Text16(Bytes),
    Blob(Bytes),
    /// A blob of zeros, by its size.
    Zeros(u64),
}

/// A recorded call, with its result and its effects.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The process, counted from 1 in the order of their first calls.
    pub process: u32,
    #[serde(flatten)]
    pub call: Call,
    /// How many times in a row it was made.
    #[serde(default = "once", skip_serializing_if = "is_once")]
    pub times: u32,
    /// SQLite's primary result code. 0 also stands for a row and for the end of the rows.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub code: i32,
    /// Time that the program computed before it, nanoseconds.
    #[serde(default, skip_serializing_if = "is_none")]
    pub idle_ns: u64,
    /// The changes that it made to files.
    #[serde(default, skip_serializing_if = "Changes::is_nothing")]
    pub changes: Changes,
}

/// The writes, truncations and syncs that a call made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changes {
    pub count: u32,
    /// A CRC-32 of kinds, files, offsets and lengths, in order.
    pub crc: u32,
}

impl Changes {
    /// Whether nothing was changed.
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes it so")]
    const fn is_nothing(&self) -> bool {
        self.count == 0
    }
}

const fn once() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes it so")]
const fn is_once(times: &u32) -> bool {
    *times == 1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes it so")]
const fn is_zero(code: &i32) -> bool {
    *code == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes it so")]
const fn is_none(ns: &u64) -> bool {
    *ns == 0
}

impl Entry {
    /// A call that was made once.
    pub const fn new(process: u32, call: Call) -> Self {
        let changes = Changes { count: 0, crc: 0 };
        Self { process, call, times: 1, code: 0, idle_ns: 0, changes }
    }
}
