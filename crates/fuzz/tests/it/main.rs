//! The targets: each reader of bytes with inputs that nobody wrote.
//!
//! A target runs its corpus (`__fuzz__`, as bolero lays it out) and some inputs that follow from
//! seeds, so that a test says the same each time. By hand, bolero draws others for as long as is
//! wished, and `cargo bolero` does so guided by coverage: docs/TESTING.md.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod images;
mod readers;
mod seeds;
