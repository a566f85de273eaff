//! Byte-addressable non-volatile memory: PRAM, which overwrites, and NOR, which clears bits.
//!
//! Invariants:
//! 1. A write changes bytes in ascending order. If power is cut, the first bytes have changed and
//!    the rest have not.
//! 2. Each operation advances the clock by the time for the words it touches before it returns.
//! 3. While power is off no byte changes and no time passes.

mod array;
mod nor;
mod pieces;
mod pram;

pub use array::Traffic;
pub use nor::{Nor, NorFigures};
pub use pram::{Pram, PramFigures};
