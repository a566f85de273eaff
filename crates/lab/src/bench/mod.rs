//! Bench: one run of a workload or many, carried out, measured and told in figures.
//!
//! A [`scenario`] is one run, asked for in full; a [`site`] is where it is carried out, and a
//! [`session`] is it under way. `steps` holds what each workload does in a session, a file each,
//! and `carry_out` takes a scenario from first to last. [`measure`] goes from the trace to the
//! figures of a [`run`]. A [`grid`] is many scenarios on all cores; `axes`
//! is the table of what may be swept. [`throughput`] measures plain
//! reads and writes, as platforms are calibrated by.

mod axes;
mod carry_out;
mod choices;
mod error;
pub mod grid;
pub mod measure;
pub mod run;
pub mod scenario;
pub mod session;
pub mod site;
mod steps;
pub mod throughput;

pub use error::RunError;
pub(crate) use error::{engine_error, sqlite_error};
