//! The lab at its boundaries.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod commits;
mod hybrid;
mod trace;
