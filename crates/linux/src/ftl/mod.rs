//! Flash translation layers: block devices on raw NAND, as in SD cards and eMMC.
//!
//! ```text
//! sectors.rs               requests in sectors become requests for pages
//! page_map.rs victim.rs    page mapping: out-of-place writes and garbage collection
//! log_block.rs             block mapping with a few log blocks that are merged (BAST)
//! scan.rs merges.rs        mount: which version of each page is the newest
//! pool.rs                  free and used blocks, their wear, and where each page is
//! media.rs tag.rs          pages with tags in OOB
//! ```
//!
//! Both mappings write through: a write that has returned is on flash, and a flush has nothing to
//! do. A page carries its logical number and a sequence number, so that a mount only needs to scan
//! the pages. There is no checkpoint and no discard. The computing time of the controller is not
//! modelled, and the host is not charged here: [`crate::card`] charges what a request costs the
//! host.
//!
//! Invariants:
//! 1. Of the pages with the same logical number, the one with the highest sequence number is valid.
//! 2. A block is erased right before it is opened, not when it becomes free. A block whose erase
//!    was cut therefore holds no valid page, and is erased again.
//! 3. A page that a power cut made unreadable is the one programmed last. The mount drops it, and
//!    the first program after the mount writes its previous version again. Until then the previous
//!    version is not erased.
//! 4. If any other page is unreadable, reading it gives an error. An older version never takes its
//!    place.

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
pub use tag::has_tag;
