//! Tests of the lab through its public interface.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod age;
mod beginnings;
mod bits;
mod causes;
mod crash;
mod engine;
mod full;
mod indexes;
mod kernel;
mod mounted;
mod parts;
mod power;
#[cfg(feature = "redb")]
mod redb;
mod trace;
mod wear;
