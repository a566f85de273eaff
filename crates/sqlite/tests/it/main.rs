//! Tests of SQLite over a `Vfs` in memory, which fails, loses power and loses what was not synced.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod content;
mod determinism;
mod faults;
mod locking;
mod medium;
mod modes;
mod statements;
