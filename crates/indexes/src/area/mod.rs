//! Areas: append-only sequences of pages, made of blocks of which the oldest are let go first.
//!
//! A page's *logical* number counts from the area's birth and never returns; block `n` of an area
//! holds its pages `n * pages_per_block` and on. The table lists the blocks of all areas of a
//! structure, two bytes each, area by area, oldest first.
//!
//! 1. Pages are programmed in ascending order, so they are in order within each block too.
//! 2. A block is let go as a whole, when no page of it is needed; no page is copied to free one.
//! 3. Pages are copied only after a power cut or a failed program in the middle of a block:
//!    `Areas::relocate`.

mod moved;
pub(crate) mod restore;
mod table;

pub use table::Areas;

/// Where an area stands: what a commit record keeps of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    /// The area's first block that is still needed.
    pub head: u32,
    /// The page that is appended next.
    pub tail: u32,
}
