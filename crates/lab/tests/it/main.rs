//! The lab at its boundaries.

mod hybrid;
mod trace;
