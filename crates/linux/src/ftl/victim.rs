//! The choice of the block that garbage collection empties.

use super::options::Victim;
use super::pool::{Block, Pool, State};

impl Victim {
    /// The block to empty. It must be used and have a page that is not live.
    pub(super) fn choose(self, pool: &Pool) -> Option<u32> {
        let pages = pool.media.pages_per_block();
        let is_worth = |block: &Block| block.state == State::Used && block.live_count < pages;
        let blocks = (0..).zip(&pool.blocks).filter(|(_, block)| is_worth(block));
        let found = match self {
            Self::Greedy => blocks.min_by_key(|(_, block)| block.live_count),
            Self::CostBenefit => {
                blocks.max_by_key(|(_, block)| benefit(block, pages, pool.next_sequence))
            }
        };
        found.map(|(block, _)| block)
    }
}

/// (1 - u) age / 2u in fixed point. The age is counted in programs of the device.
fn benefit(block: &Block, pages: u32, now: u64) -> u128 {
    let age = u128::from(now.saturating_sub(block.sequence));
    let gained = u128::from(pages - block.live_count);
    if block.live_count == 0 {
        return u128::MAX;
    }
    ((gained * age) << 16) / (2 * u128::from(block.live_count))
}
