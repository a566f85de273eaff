//! Engines of others on the simulated chip: what a record costs them, and what they lose at cuts.
//!
//! ```text
//! flash    the chip, which counts and can be cut
//! nor      NOR flash on a translation layer, for engines that need it
//! store    the calls that all engines can do
//! engines  the engines by name, one file each
//! costs    a workload, counted          cuts    values put until the power goes
//! ```

#![expect(
    clippy::cast_possible_truncation,
    reason = "addresses and counts of a simulated chip of 8 MB are small"
)]

pub mod costs;
pub mod cuts;
pub mod engines;
pub mod flash;
mod nor;
pub mod store;
