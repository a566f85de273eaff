//! Bench: run one workload or many, measure the runs, and report their figures.
//!
//! A [`scenario`] describes one run in full. A [`site`] is where it runs, and a [`session`] is the
//! run while it is under way. `steps` holds one file for each workload: what it does in a session.
//! `carry_out` takes a scenario from start to end. [`measure`] turns the trace into the figures of
//! a [`run`]; `commits` charges the end of a transaction to its requests, and `earlier` counts the
//! events of long runs while they go on. A [`grid`] is many scenarios that run on all cores, and
//! `axes` is the table of the parameters that may be swept. [`life`] estimates how long the flash
//! lasts under a workload. [`throughput`] measures plain reads and writes; platforms are
//! calibrated by it.

mod axes;
mod carry_out;
mod commits;
mod earlier;
mod error;
pub mod grid;
mod kernel_options;
pub mod life;
pub mod measure;
mod parts;
pub mod run;
pub mod scenario;
pub mod session;
pub mod site;
pub(crate) mod sql;
mod steps;
pub mod throughput;

pub use error::RunError;
#[cfg(feature = "redb")]
pub(crate) use error::redb_error;
pub(crate) use error::{engine_error, sqlite_error};
