//! The index structures on the simulated chip.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::cast_possible_truncation, reason = "test data are small")]

mod bitmap;
mod criteria;
mod faults;
mod garbage;
mod pbfilter;
mod runs_costs;
mod runs_cuts;
mod runs_model;
mod world;
