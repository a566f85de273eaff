//! Which blocks of rows there are. A merge asks for each entry, so the answer has to be quick.
//!
//! 1. A block that exists is never said to be gone. One that is gone may be said to exist, where
//!    the device has more block numbers than there are bits here.

use flysch_nand::Nand;

use super::StoreConfig;
use crate::media::{Media, Use};

/// Number of block numbers that have a bit of their own, of all row spaces together.
const NUMBERS: usize = 4096;

/// A bit for each block number of the row spaces.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowBlocks {
    bits: [u32; NUMBERS / 32],
    /// Bits of a pointer that tell the space.
    space_bits: u8,
    /// Bits of a pointer that stand below the number of the page.
    shift: u8,
    pages_per_block: u32,
    /// Whether pointers are positions of rows on this device.
    is_known: bool,
}

impl RowBlocks {
    /// Take the blocks of rows from the block table. Where it has none, all blocks count as
    /// existing, for the pointers of a store that stands alone are its caller's.
    #[inline(never)]
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

    /// Whether the block that a pointer names may exist. False is certain.
    pub(crate) const fn hold(&self, pointer: u32) -> bool {
        let spaces = (1 << self.space_bits) - 1;
        let stream = (pointer >> (self.shift - self.space_bits) & spaces) as usize;
        let at = self.place(stream, (pointer >> self.shift) / self.pages_per_block);
        !self.is_known || self.bits[at / 32] >> (at % 32) & 1 != 0
    }

    /// The number of a block's bit. Bits of one space stand together.
    const fn place(&self, stream: usize, number: u32) -> usize {
        let each = NUMBERS >> self.space_bits;
        stream * each + number as usize % each
    }
}
