//! SQLite in other processes, on a [`Vfs`] of this one.
//!
//! A program of the user's brings its own SQLite. A thin shim is loaded into it ([`SHIM`], written
//! in C), which makes each file-system call of that SQLite a request to this process. The
//! [`Server`] answers them. So one simulated machine serves several processes and connections, and
//! outlives them all.
//!
//! ```text
//! server    waits for programs and requests; knows how long the programs worked between them
//! client    one process: its open files, and the answers to its requests
//! failures  changes that failed and had no answer
//! locking   locks, what is told with them, and leases
//! message   a request as bytes
//! api_event the calls of SQLite that a program makes, as its shim reports them
//! channel   the file through which requests and answers go, and the socket to sleep in
//! regions   the WAL's shared memory, as files that the programs map
//! folder    the private folder with the shim, the socket and these files
//! ```
//!
//! Invariants:
//! 1. What a program sends is only data. A request that makes no sense is answered with an error.
//! 2. Locks and open files of a process that ends, in whatever way, end with it.

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

/// The shared library that a program is to preload.
pub const SHIM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/shim.so"));

/// A statement of a process. 0 stands for none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StatementId {
    /// The process, counted from 1 in the order in which they came.
    pub client: u32,
    /// The number that the process gave the statement.
    pub number: u64,
}

#[derive(Clone, Copy, Debug)]
pub struct Began<'a> {
    pub id: StatementId,
    /// The connection, a number that means something within the process only.
    pub connection: u64,
    /// Whether a transaction was open before.
    pub in_transaction: bool,
    /// The text without the values of its parameters. A long text is cut.
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

/// The machine that programs use, and what it learns of them.
pub trait Machine {
    /// The file system of the machine.
    fn vfs(&self) -> &dyn Vfs;

    /// Whether programs may change this many bytes of files and cannot fail.
    fn has_room(&self, bytes: u64) -> bool;

    /// The programs worked for `ns` nanoseconds since the last request.
    fn elapsed(&self, ns: u64);

    /// A call on the file system begins. `statement` has number 0 if none runs.
    fn enter(&self, statement: StatementId);

    /// The call has ended.
    fn leave(&self);

    fn began(&self, began: &Began<'_>);

    /// A statement has ended.
    fn ended(&self, ended: &Ended);

    /// A program tells what it asks of SQLite.
    fn note_api_event(&self, event: &ApiEvent<'_>);

    /// The time passes that a program took for itself when it was recorded.
    fn pass(&self, ns: u64);

    /// A process has gone.
    fn gone(&self, client: u32);
}
