//! Tests of the papers' experiments through their public interface.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod tpcc;
