//! Published index structures on raw NAND flash, each alone on a chip. The engine's own index store
//! is compared with them: `PBFilter`, hash-ordered runs with a log of their own, bitmap indexes,
//! and zone maps.
//!
//! They have a layout of their own. [`flash`] is the only module that calls the chip; it handles
//! free blocks, bad blocks, and tags in the OOB area. [`area`] makes append-only sequences of pages
//! out of blocks. Every index is append-only on flash. A pointer that it returns may belong to
//! another key with the same hash, so the caller must check the record. But no pointer is ever
//! missing.
//!
//! * [`pbfilter`]: Bloom-filter summaries of a key area, partitioned ever finer.
//! * [`runs`]: hash-ordered runs, merged level by level.
//! * [`bitmap`]: for attributes of few values, and for ranges of them.
//! * [`zone`]: least and greatest key of each page, for keys that ascend.
//!
//! [`criteria`] executes a query with several criteria as a pipeline of these, without intermediate
//! results. Nothing here allocates: the caller provides the RAM, which is counted to the byte.
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
