//! The real Linux kernel, compared with the simulator.
//!
//! [`live`] traces the flash operations of a machine. [`site`] runs a scenario of the lab on the
//! machine that this program runs on. [`vm`] makes a virtual machine with Debian's kernel, and
//! [`validate`] compares its counts with those of the simulator.

#![forbid(unsafe_code)]

pub mod live;
pub mod site;
pub mod validate;
pub mod vm;
