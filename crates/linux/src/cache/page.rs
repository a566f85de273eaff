//! Pages of the cache, and the files they are of.

/// Bytes per page of the page cache (`PAGE_SIZE` of the kernels modelled).
pub const CACHE_PAGE_SIZE: usize = PAGE_SIZE as usize;
/// The same, where it takes part in sums of 32 bits.
pub(crate) const PAGE_SIZE: u32 = 4096;

/// An inode number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ino(pub u32);
