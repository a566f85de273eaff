//! Bench: one run of a workload or many, carried out, measured and told in figures.
//!
//! A [`scenario`] is one run, asked for in full; a [`site`] is where it is carried out, and a
//! [`session`] is it under way. [`measure`] goes from the trace to the figures of a [`run`]. A
//! [`grid`] is many scenarios on all cores. [`throughput`] measures plain reads and writes, as
//! platforms are calibrated by.

pub mod grid;
pub mod measure;
pub mod run;
pub mod scenario;
pub mod session;
pub mod site;
pub mod throughput;
