//! Bytes that nobody wrote, for every reader of bytes.
//!
//! ```text
//! choices     a target's input, read as numbers; inputs drawn from a seed
//! text        texts and binary files that an input has edited
//! stack       the file systems and geometries of images, and how one is mounted and used
//! image       the bytes of a flash
//! sealed      structures with a checksum in an image, found, and sealed again after a change
//! grown       good images to begin with
//! damage      what an input does to an image
//! pram        the same of PRAMFS
//! ```
//!
//! A fuzzer knows nothing of checksums. So an input is no image but a list of choices: which image
//! to begin with, which of its structures to change, and how. After each change the checksum is
//! right again, so that what stands behind it is reached. The targets are in `tests/it`.
//!
//! Invariants:
//! 1. An input of any bytes means something, and the same input always the same.
//! 2. A target ends: an input is as long as it is, and each of its bytes is read once.

#![forbid(unsafe_code)]

pub mod choices;
pub mod damage;
pub mod grown;
pub mod image;
pub mod pram;
mod sealed;
pub mod stack;
pub mod text;
