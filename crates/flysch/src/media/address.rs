//! Logical addresses: a page is named by its space and its number there, whatever physical block
//! holds it.

use core::fmt;

/// A group of logical blocks. They get ascending numbers as they are taken, which wrap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Space {
    /// New rows, as transactions append them.
    Hot,
    /// Rows moved by compaction.
    Cold,
    /// Runs that will be merged soon.
    Young,
    /// Runs that stay.
    Old,
    /// Rows of the first ring table.
    RingA,
    /// Rows of the second ring table.
    RingB,
}

impl Space {
    /// Every space, in the order of its code on flash.
    pub const ALL: [Self; 6] =
        [Self::Hot, Self::Cold, Self::Young, Self::Old, Self::RingA, Self::RingB];

    /// The spaces of ring tables, in their order.
    pub const RINGS: [Self; 2] = [Self::RingA, Self::RingB];

    /// The space with this code on flash; None where there is none.
    pub(crate) const fn of_code(code: u8) -> Option<Self> {
        match code {
            0 => Some(Self::Hot),
            1 => Some(Self::Cold),
            2 => Some(Self::Young),
            3 => Some(Self::Old),
            4 => Some(Self::RingA),
            5 => Some(Self::RingB),
            _ => None,
        }
    }

    /// Whether the space holds rows; the others hold runs.
    pub const fn holds_rows(self) -> bool {
        self.is_compacted() || self.is_ring()
    }

    /// Whether compaction moves rows out of its blocks.
    pub const fn is_compacted(self) -> bool {
        matches!(self, Self::Hot | Self::Cold)
    }

    /// Whether it holds the rows of a ring table.
    pub const fn is_ring(self) -> bool {
        matches!(self, Self::RingA | Self::RingB)
    }

    /// The place of the space among those that hold rows.
    pub(crate) const fn stream(self) -> usize {
        debug_assert!(self.holds_rows(), "runs are in no stream of rows");
        match self {
            Self::Hot | Self::Young | Self::Old => 0,
            Self::Cold => 1,
            Self::RingA => 2,
            Self::RingB => 3,
        }
    }
}

/// A page of a space. Its number is that of its block times the pages of a block, plus its place in
/// the block.
///
/// Numbers wrap at [`Numbers::page_count`]. Which of two pages is older follows from their
/// distances to the head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// The space that the block belongs to.
    pub space: Space,
    /// The page's number within the space.
    pub number: u32,
}

impl fmt::Display for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "page {} of {:?}", self.number, self.space)
    }
}

/// The numbers of blocks and pages in a space, and how they wrap.
///
/// A space has at least twice as many block numbers as the chip has blocks. So of two pages that
/// exist, the distance to the head tells the older one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numbers {
    /// Bits of a block number.
    pub block_bits: u8,
    /// Pages of a block.
    pub pages_per_block: u32,
}

impl Numbers {
    /// The numbers for a chip, or a partition of it, with `block_count` blocks.
    pub const fn new(block_count: u32, pages_per_block: u32) -> Self {
        debug_assert!(block_count > 0 && pages_per_block > 0, "a space has pages");
        let bits = (block_count * 2 - 1).ilog2() + 1;
        debug_assert!(bits <= 16, "a block number fits an entry of the table");
        Self { block_bits: bits as u8, pages_per_block }
    }

    /// Number of different block numbers in a space.
    pub const fn block_count(self) -> u32 {
        1 << self.block_bits
    }

    /// Number of different page numbers in a space.
    pub const fn page_count(self) -> u32 {
        self.pages_per_block << self.block_bits
    }

    /// The number of the page that lies `count` pages further.
    pub const fn advance(self, page: u32, count: u32) -> u32 {
        (page + count) % self.page_count()
    }

    /// How many pages further than `from` page `to` lies.
    pub const fn distance(self, from: u32, to: u32) -> u32 {
        (to + self.page_count() - from) % self.page_count()
    }

    /// The block of a page.
    pub const fn block_of(self, page: u32) -> u32 {
        page / self.pages_per_block
    }

    /// The place of a page in its block.
    pub const fn page_in_block(self, page: u32) -> u32 {
        page % self.pages_per_block
    }

    /// The last page of a block.
    pub const fn last_page(self, block: u32) -> u32 {
        debug_assert!(block < self.block_count(), "the block is one of the space");
        block * self.pages_per_block + self.pages_per_block - 1
    }

    /// The first page of the block behind that of `page`.
    pub const fn next_block(self, page: u32) -> u32 {
        debug_assert!(page < self.page_count(), "the page is one of the space");
        let next = (self.block_of(page) + 1) % self.block_count();
        next * self.pages_per_block
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_wrap() {
        let numbers = Numbers::new(24, 8);
        assert_eq!((numbers.block_bits, numbers.page_count()), (6, 512));
        assert_eq!(numbers.advance(510, 3), 1);
        assert_eq!(numbers.distance(510, 1), 3);
        assert_eq!(numbers.next_block(511), 0);
        assert_eq!(Numbers::new(1024, 64).block_bits, 11);
        assert_eq!(Numbers::new(8192, 64).block_bits, 14);
    }
}
