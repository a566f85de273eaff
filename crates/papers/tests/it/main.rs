//! The papers' experiments at their boundaries.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod tpcc;
