//! The blocks of rows that there are, as a merge asks for them: once for each entry.
//!
//! 1. A block that is there is never told to be gone. Of those that are gone some are not told,
//!    where a device has more numbers than bits.

use flysch_nand::Nand;

use super::StoreConfig;
use crate::media::{Media, Use};

/// Numbers that are told apart, of all spaces of rows together.
const NUMBERS: usize = 4096;

/// A bit for each number of the spaces of rows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowBlocks {
    bits: [u32; NUMBERS / 32],
    /// Bits of a pointer that are those of its space.
    space_bits: u8,
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
        let (space_bits, pages_per_block) =
            (config.layout.space_bits, config.numbers.pages_per_block);
        let (bits, shift) = ([0; NUMBERS / 32], config.cell_bits() + space_bits);
        let mut blocks = Self { bits, space_bits, shift, pages_per_block, is_known: false };
        for block in 0..media.table.len() {
            let Use::Data(space, number) = media.table.at(block) else { continue };
            if space.holds_rows() {
                let at = blocks.place(space.stream(), number);
                blocks.bits[at / 32] |= 1 << (at % 32);
                blocks.is_known = true;
            }
        }
        blocks
    }

    /// Whether the block that a pointer names may be there.
    pub(crate) const fn hold(&self, pointer: u32) -> bool {
        let spaces = (1 << self.space_bits) - 1;
        let stream = (pointer >> (self.shift - self.space_bits) & spaces) as usize;
        let at = self.place(stream, (pointer >> self.shift) / self.pages_per_block);
        !self.is_known || self.bits[at / 32] >> (at % 32) & 1 != 0
    }

    /// The bit of a block: those of a space stand together.
    const fn place(&self, stream: usize, number: u32) -> usize {
        let each = NUMBERS >> self.space_bits;
        stream * each + number as usize % each
    }
}
