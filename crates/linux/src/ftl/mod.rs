//! Flash translation layers: block devices on raw NAND, as in SD cards and eMMC.
//!
//! ```text
//! sectors.rs               requests in sectors become pages
//! page_map.rs victim.rs    any page anywhere: out-of-place writes, garbage collection
//! log_block.rs             a block per block, and a few log blocks that are merged (BAST)
//! scan.rs merges.rs        mount: which page is the newest
//! pool.rs                  blocks, free and used, their wear, and where each page is
//! media.rs tag.rs          pages with tags in OOB
//! ```
//!
//! Both write through: a write that returned is on flash, and a flush finds nothing to do. A page
//! carries its logical number and a sequence number, so that a mount needs nothing but a scan; no
//! checkpoint is kept, and no discard is offered. The controller's own time is not modelled, and
//! nothing is charged to the host here: what a request costs it stands in [`crate::card`].
//!
//! Invariants:
//! 1. Of the pages with one logical number the one with the highest sequence number counts.
//! 2. A block is erased right before it is opened, never when it comes free: so whatever a cut
//!    leaves of an erase lies in a block without a live page, and is erased again.
//! 3. A page that a power cut made unreadable is the last one programmed. The mount drops it, and
//!    the first program afterwards takes its place; until then the previous version is not erased.
//! 4. A page below the last one that is unreadable is lost, and says so: an older version is
//!    never given in its place.

mod log_block;
mod media;
mod merges;
mod mount;
mod options;
mod page_map;
mod pool;
mod scan;
mod sectors;
mod tag;
mod victim;

pub use mount::mount;
pub use options::{FtlError, FtlOptions, Mapping, Victim};
