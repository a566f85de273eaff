//! The lab at its boundaries.

mod causes;
mod crash;
mod kernel;
mod trace;
