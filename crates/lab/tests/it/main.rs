//! The lab at its boundaries.

mod kernel;
mod trace;
