//! Validation: compares the simulator with the kernel, cell by cell.
//!
//! [`plan`] lists the cells of two grids, and [`draw`] those of what users run. [`cell`](mod@cell)
//! holds both counts of a cell and their errors. [`recorded`] reads counts that were measured on
//! the kernel before. [`verdict`] compares the distribution of the errors with the bands, and
//! [`page`] shows all of it.

pub mod cell;
pub mod draw;
pub mod page;
pub mod plan;
pub mod recorded;
pub mod verdict;
