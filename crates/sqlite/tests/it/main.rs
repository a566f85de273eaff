//! The behaviour of SQLite over a `Vfs` in memory that fails, loses power and forgets what was not synced.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod content;
mod determinism;
mod faults;
mod locking;
mod medium;
mod modes;
mod statements;
