//! SQLite in other processes, on a [`Vfs`] of this one.
//!
//! A program of the user brings its own SQLite. A small shim is loaded into the program ([`SHIM`],
//! written in C). It turns each file-system call of that SQLite into a request to this process, and
//! the [`Server`] answers it. So one simulated machine serves several processes and connections,
//! and continues to exist after they end.
//!
//! ```text
//! server    waits for programs and requests; measures how long programs computed between them
//! client    one process: its open files, and the execution of its requests
//! failures  failures of changes that had no answer
//! locking   locks, the facts that are sent with them, and leases
//! message   a request as bytes
//! api_event the calls of SQLite that a program makes, as its shim reports them
//! channel   the file through which requests and answers go, and the socket to wait on
//! regions   the WAL's shared memory, as files that the programs map
//! folder    the private folder with the shim, the socket and these files
//! ```
//!
//! Invariants:
//! 1. What a program sends is only data. An invalid request is answered with an error.
//! 2. When a process ends, in whatever way, its locks are released and its files are closed.

mod api_event;
mod channel;
mod client;
mod failures;
mod folder;
mod locking;
mod message;
mod regions;
mod server;

pub use api_event::{ApiEvent, ApiEventKind};
pub use channel::Terms;
pub use folder::Folder;
pub use server::{Server, Waits};

use crate::vfs::Vfs;

/// The shared library that programs must preload.
pub const SHIM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/shim.so"));

/// A statement of a process. Number 0 means no statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StatementId {
    /// The process, counted from 1 in the order in which they connected.
    pub client: u32,
    /// The number that the process gave the statement.
    pub number: u64,
}

#[derive(Clone, Copy, Debug)]
pub struct Began<'a> {
    pub id: StatementId,
    /// The number of the connection. It is unique only within the process.
    pub connection: u64,
    /// Whether a transaction was open before.
    pub in_transaction: bool,
    /// The text of the statement, with parameters instead of values. A long text is cut.
    pub text: &'a [u8],
}

/// A statement has ended.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    pub id: StatementId,
    /// Rows that it inserted, changed or deleted.
    pub changes: u64,
    /// Whether a transaction is open now.
    pub in_transaction: bool,
}

/// The machine that programs use. It is told what they do.
pub trait Machine {
    /// The file system of the machine.
    fn vfs(&self) -> &dyn Vfs;

    /// Whether programs may change this many bytes of files without any failure.
    fn has_room(&self, bytes: u64) -> bool;

    /// The programs computed for `ns` nanoseconds since the last request.
    fn elapsed(&self, ns: u64);

    /// A call on the file system begins. `statement` has number 0 if none runs.
    fn enter(&self, statement: StatementId);

    /// The call has ended.
    fn leave(&self);

    fn began(&self, began: &Began<'_>);

    /// A statement has ended.
    fn ended(&self, ended: &Ended);

    /// A program reports a call of SQLite.
    fn note_api_event(&self, event: &ApiEvent<'_>);

    /// Let time pass that a program computed when it was recorded.
    fn pass(&self, ns: u64);

    /// A process has ended.
    fn gone(&self, client: u32);
}
