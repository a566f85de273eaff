//! The lab at its boundaries.

mod crash;
mod kernel;
mod trace;
