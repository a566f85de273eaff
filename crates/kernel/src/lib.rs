//! The real Linux kernel, and the simulator beside it.
//!
//! [`live`] traces what a machine does to its flash, and [`site`] carries a scenario of the
//! laboratory out on the machine that this program runs on. [`vm`] makes such a machine of Debian's
//! kernel, and [`validate`] compares its counts with those of the simulator.

#![forbid(unsafe_code)]

pub mod live;
pub mod site;
pub mod validate;
pub mod vm;
