//! The lab at its boundaries.

mod trace;
