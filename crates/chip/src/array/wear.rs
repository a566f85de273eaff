//! Wear: how evenly the blocks of a chip have been erased.

use flysch_nand::BlockAddr;

use super::Chip;

/// A summary of the erase counts of a chip's good blocks, and the number of its bad blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Wear {
    /// Erases of the least erased good block.
    pub erase_count_min: u32,
    /// Mean number of erases of the good blocks.
    pub erase_count_mean: f64,
    /// Erases of the most erased good block.
    pub erase_count_max: u32,
    /// Number of blocks that are marked bad.
    pub bad_block_count: u32,
}

impl Chip {
    /// The blocks that are marked bad.
    pub fn bad_blocks(&self) -> impl Iterator<Item = BlockAddr> {
        let blocks = (0..).map(BlockAddr).zip(&self.blocks);
        blocks.filter(|(_, block)| block.is_bad()).map(|(addr, _)| addr)
    }

    /// The wear of the chip. If there is no good block, all erase counts are 0.
    pub fn wear(&self) -> Wear {
        let mut wear = Wear { erase_count_min: u32::MAX, ..Wear::default() };
        let mut good_count = 0_u32;
        let mut sum = 0.0;
        for block in &self.blocks {
            if block.is_bad() {
                wear.bad_block_count += 1;
                continue;
            }
            let erase_count = block.erase_count();
            good_count += 1;
            sum += f64::from(erase_count);
            wear.erase_count_min = wear.erase_count_min.min(erase_count);
            wear.erase_count_max = wear.erase_count_max.max(erase_count);
        }
        if good_count == 0 {
            return Wear { erase_count_min: 0, ..wear };
        }
        Wear { erase_count_mean: sum / f64::from(good_count), ..wear }
    }
}
