//! Fuzz targets: hostile bytes for every part of the workspace that parses bytes.
//!
//! ```text
//! choices     a target's input, read as numbers; inputs drawn from a seed
//! text        texts and binary files that an input has edited
//! stack       the file systems and geometries of images, and how one is mounted and used
//! image       the bytes of a flash
//! sealed      structures with a checksum: finding them, and correcting the checksum after a change
//! grown       good images to begin with
//! damage      damaging an image as an input says
//! seen        what an input has shown, to choose a corpus by
//! pram        the same for PRAMFS
//! ```
//!
//! A fuzzer does not know checksums, so random changes of an image would mostly be rejected by
//! them. So an input is not an image but a list of choices: which image to start from, which of its
//! structures to change, and how. After each change the checksum is corrected, so that the code
//! behind the check is reached. The targets are in `tests/it`.
//!
//! Invariants:
//! 1. Every sequence of bytes is a valid input. The same input always has the same effect.
//! 2. A target ends, because each byte of its input is read once.

#![forbid(unsafe_code)]

pub mod choices;
pub mod damage;
pub mod grown;
pub mod image;
pub mod pram;
mod sealed;
pub mod seen;
pub mod stack;
pub mod text;
