//! The blocks of rows that there are, as a merge asks for them: once for each entry.
//!
//! 1. A block that is there is never told to be gone. Of those that are gone some are not told,
//!    where a device has more numbers than bits.

use flysch_nand::Nand;

use super::StoreConfig;
use crate::media::{Media, Use};

/// Numbers of a space that are told apart.
const NUMBERS: usize = 2048;

/// A bit for each number of the two spaces of rows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowBlocks {
    bits: [[u32; NUMBERS / 32]; 2],
    /// Bits of a pointer below the number of the page, the space's included.
    shift: u8,
    pages_per_block: u32,
    /// Whether entries name rows of this device at all.
    is_known: bool,
}

impl RowBlocks {
    /// The blocks of rows in the table. Where it has none, all of them count as there: a store that
    /// stands alone has pointers of its caller's.
    pub(crate) fn of<N: Nand>(media: &Media<'_, N>, config: &StoreConfig) -> Self {
        let (shift, pages_per_block) = (config.cell_bits() + 1, config.numbers.pages_per_block);
        let bits = [[0; NUMBERS / 32]; 2];
        let mut blocks = Self { bits, shift, pages_per_block, is_known: false };
        for block in 0..media.table.len() {
            let Use::Data(space, number) = media.table.at(block) else { continue };
            if space.holds_rows() {
                let number = number as usize % NUMBERS;
                blocks.bits[space as usize][number / 32] |= 1 << (number % 32);
                blocks.is_known = true;
            }
        }
        blocks
    }

    /// Whether the block that a pointer names may be there.
    pub(crate) const fn hold(&self, pointer: u32) -> bool {
        let space = (pointer >> (self.shift - 1) & 1) as usize;
        let number = ((pointer >> self.shift) / self.pages_per_block) as usize % NUMBERS;
        !self.is_known || self.bits[space][number / 32] >> (number % 32) & 1 != 0
    }
}
