//! The geometry of a chip, and arithmetic with pages, blocks and sectors.

use core::fmt;

use crate::{BlockAddr, PageAddr};

/// The sizes and the programming rules of a chip. They are values at run time and not constants, so
/// that one binary can drive different chips.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Number of data bytes in a page.
    pub page_size: u32,
    /// Number of out-of-band bytes in a page.
    pub oob_size: u32,
    /// Number of equal parts of a page that can be programmed alone. 1 if only whole pages can.
    pub sectors_per_page: u32,
    /// Number of programs that a page allows between two erases (NOP in data sheets). Programs of
    /// OOB bytes alone count too.
    pub partial_programs: u32,
    /// Number of pages in a block.
    pub pages_per_block: u32,
    /// Number of blocks on the chip, including bad ones.
    pub block_count: u32,
    /// Whether the pages of a block must be programmed in ascending order.
    pub in_order: bool,
}

/// Why a geometry is impossible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GeometryError {
    /// The field of this name is zero.
    Zero(&'static str),
    /// A page cannot be divided into this many equal sectors.
    Sectors {
        /// Number of data bytes in a page.
        page_size: u32,
        /// The number of sectors in the geometry.
        sectors_per_page: u32,
    },
    /// The page size, given here, is not a power of two.
    PageSize(u32),
    /// The chip has more pages than a 32-bit address can count, or more than 64 GiB.
    TooLarge,
}

impl fmt::Display for GeometryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Zero(field) => write!(f, "impossible geometry: {field} is 0"),
            Self::Sectors { page_size, sectors_per_page } => write!(
                f,
                "impossible geometry: a page of {page_size} bytes has no {sectors_per_page} equal sectors"
            ),
            Self::PageSize(size) => {
                write!(f, "impossible geometry: page size {size} is not a power of two")
            }
            Self::TooLarge => f.write_str("impossible geometry: more than 64 GiB"),
        }
    }
}

impl core::error::Error for GeometryError {}

impl Geometry {
    /// Check that a chip can have this geometry.
    ///
    /// # Errors
    /// The first thing found to be impossible.
    pub fn check(&self) -> Result<(), GeometryError> {
        let fields = [
            (self.page_size, "page_size"),
            (self.oob_size, "oob_size"),
            (self.sectors_per_page, "sectors_per_page"),
            (self.partial_programs, "partial_programs"),
            (self.pages_per_block, "pages_per_block"),
            (self.block_count, "block_count"),
        ];
        if let Some((_, field)) = fields.iter().find(|(value, _)| *value == 0) {
            return Err(GeometryError::Zero(field));
        }
        if !self.page_size.is_power_of_two() {
            return Err(GeometryError::PageSize(self.page_size));
        }
        if !self.page_size.is_multiple_of(self.sectors_per_page) {
            let Self { page_size, sectors_per_page, .. } = *self;
            return Err(GeometryError::Sectors { page_size, sectors_per_page });
        }
        let pages = u64::from(self.pages_per_block) * u64::from(self.block_count);
        let bytes = pages.checked_mul(u64::from(self.page_size));
        match bytes {
            Some(bytes) if bytes <= 1 << 36 && u32::try_from(pages).is_ok() => Ok(()),
            _ => Err(GeometryError::TooLarge),
        }
    }

    /// Number of data bytes in a sector.
    pub const fn sector_size(&self) -> u32 {
        self.page_size / self.sectors_per_page
    }

    /// Number of data bytes in a block.
    pub const fn block_size(&self) -> u32 {
        self.page_size * self.pages_per_block
    }

    /// Number of pages on the chip.
    pub const fn page_count(&self) -> u32 {
        self.pages_per_block * self.block_count
    }

    /// The block that holds `page`.
    pub const fn block_of(&self, page: PageAddr) -> BlockAddr {
        BlockAddr(page.0 / self.pages_per_block)
    }

    /// The number of `page` within its block, counted from 0.
    pub const fn page_in_block(&self, page: PageAddr) -> u32 {
        page.0 % self.pages_per_block
    }

    /// The first page of `block`.
    pub const fn first_page(&self, block: BlockAddr) -> PageAddr {
        PageAddr(block.0 * self.pages_per_block)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLC: Geometry = Geometry {
        page_size: 2048,
        oob_size: 64,
        sectors_per_page: 4,
        partial_programs: 4,
        pages_per_block: 64,
        block_count: 2048,
        in_order: false,
    };

    #[test]
    fn impossible_shapes_are_refused() {
        assert_eq!(SLC.check(), Ok(()));
        let cases = [
            (Geometry { page_size: 0, ..SLC }, GeometryError::Zero("page_size")),
            (Geometry { block_count: 0, ..SLC }, GeometryError::Zero("block_count")),
            (Geometry { page_size: 2000, ..SLC }, GeometryError::PageSize(2000)),
            (
                Geometry { sectors_per_page: 3, ..SLC },
                GeometryError::Sectors { page_size: 2048, sectors_per_page: 3 },
            ),
            (Geometry { block_count: 1 << 30, ..SLC }, GeometryError::TooLarge),
        ];
        for (geometry, error) in cases {
            assert_eq!(geometry.check(), Err(error));
        }
    }

    #[test]
    fn units_convert() {
        assert_eq!(SLC.block_of(PageAddr(130)), BlockAddr(2));
        assert_eq!(SLC.page_in_block(PageAddr(130)), 2);
        assert_eq!(SLC.first_page(BlockAddr(2)), PageAddr(128));
        assert_eq!(SLC.block_size(), 131_072);
    }
}
