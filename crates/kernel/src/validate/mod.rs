//! Validation: the simulator beside the kernel, cell by cell.
//!
//! [`plan`] says which cells and how to run them on both; [`cell`](mod@cell) is one of them with both
//! counts and their errors; [`recorded`] gives the kernel's counts of an earlier time; [`verdict`] sets the errors' distribution against the bands; [`page`] shows
//! all of it.

pub mod cell;
pub mod page;
pub mod plan;
pub mod recorded;
pub mod verdict;
