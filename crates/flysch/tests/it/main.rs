//! The engine on the simulated chip.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::cast_possible_truncation, reason = "test data are small")]

mod db;
mod model;
mod store_cursors;
mod store_defects;
mod store_faults;
mod store_model;
mod store_reads;

/// A number that the environment tells; None where it tells none.
fn told(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap())
}
