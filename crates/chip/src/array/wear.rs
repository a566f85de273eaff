//! Wear: how evenly a chip's blocks were erased.

use super::Chip;

/// Erase counts over the good blocks of a chip, and how many are bad.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Wear {
    /// Erases of the least erased block.
    pub erase_count_min: u32,
    /// Erases per block.
    pub erase_count_mean: f64,
    /// Erases of the most erased block.
    pub erase_count_max: u32,
    /// Blocks marked bad.
    pub bad_block_count: u32,
}

impl Chip {
    /// Sum the wear up. Without a good block all erase counts are 0.
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
