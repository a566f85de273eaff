//! Byte-addressable non-volatile memory: PRAM, which overwrites, and NOR, which clears bits.
//!
//! Invariants:
//! 1. A write changes bytes in ascending order; a power cut leaves a prefix.
//! 2. Each operation advances the clock by the words it touched, before it answers.
//! 3. While the power is off no byte changes and no time passes.

mod array;
mod nor;
mod pram;

pub use array::Traffic;
pub use nor::{Nor, NorFigures};
pub use pram::{Pram, PramFigures};
