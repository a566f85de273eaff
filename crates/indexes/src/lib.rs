//! Index structures on raw NAND flash, each alone on a chip, with which the engine's own index
//! store is compared: `PBFilter` as published, hash-ordered runs with a log of their own, bitmap
//! indexes, zone maps.
//!
//! They lie on a layout of their own: [`flash`] is the only module that calls the chip, and knows
//! free blocks, bad blocks, and tags in the OOB area. [`area`] makes append-only sequences of pages
//! out of blocks. Every index is append-only on flash and leaves the last word to the record: a
//! pointer that it gives may belong to another key of the same hash, never is one missing.
//!
//! * [`pbfilter`]: Bloom-filter summaries of a key area, partitioned ever finer.
//! * [`runs`]: hash-ordered runs, merged level by level.
//! * [`bitmap`]: for attributes of few values, and for ranges of them.
//! * [`zone`]: least and greatest key of each page, for keys that ascend.
//!
//! [`criteria`]: a query of several criteria is a pipeline of these, and nothing is kept in
//! between. Nothing here allocates: RAM is given by the caller and counted to the byte.
#![no_std]
#![forbid(unsafe_code)]
#![warn(
    clippy::alloc_instead_of_core,
    clippy::float_arithmetic,
    clippy::large_stack_frames,
    clippy::std_instead_of_core
)]
#![expect(
    clippy::cast_possible_truncation,
    reason = "positions within a page, a block or a chip: geometries are checked when mounted"
)]

pub mod area;
pub mod bitmap;
pub mod bloom;
pub mod criteria;
mod error;
pub mod flash;
pub mod hash;
pub mod pbfilter;
pub mod runs;
pub mod zone;

pub use error::{ConfigError, IndexError};
