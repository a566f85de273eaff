//! The lab at its boundaries.

mod commits;
mod hybrid;
mod trace;
