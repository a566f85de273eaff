//! Areas: append-only sequences of pages, which consist of blocks. The oldest blocks are released
//! first.
//!
//! The *logical* number of a page is counted from the beginning of its area and is never used
//! again. Block `n` of an area holds its pages from `n * pages_per_block` on. The table lists the
//! blocks of all areas of a structure, two bytes each, area by area, oldest first.
//!
//! 1. Pages are programmed in ascending order, so they are in order within each block too.
//! 2. A block is released as a whole, when none of its pages is needed. No page is copied to free
//!    one.
//! 3. Pages are copied only after a power cut or a failed program in the middle of a block:
//!    `Areas::relocate`.

mod moved;
pub(crate) mod restore;
mod table;

pub use table::Areas;

/// The first block and the next page of an area, as a commit record stores them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    /// Number of the area's first block that is still needed.
    pub head: u32,
    /// Logical number of the page that is appended next.
    pub tail: u32,
}
