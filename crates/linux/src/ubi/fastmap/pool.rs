//! Pools: the PEBs that may change while a fastmap is current. An attach scans only these.

use std::collections::VecDeque;

use super::super::wear::State;
use super::super::{Ubi, UbiError};
use super::Fastmap;
use super::format::POOL_MAX;

/// Smallest size of a pool, PEBs (`UBI_FM_MIN_POOL_SIZE`).
const POOL_MIN: usize = 8;
/// Size of a pool, in percent of all PEBs.
const POOL_PERCENT: usize = 5;
/// Wear levelling gets no PEBs if fewer than this many are free (`ubi_refill_pools`).
const FREE_MIN: usize = 5;
/// How often a fastmap is written to get a free PEB, before fastmaps are given up.
const ATTEMPTS_MAX: usize = 3;

/// A pool: PEBs that were free when the fastmap was written, and may have been used since.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Pool {
    /// Largest number of PEBs.
    pub size_max: usize,
    pub pebs: VecDeque<u32>,
}

impl Pool {
    /// Two empty pools for a device of `peb_count` PEBs: one for new data and one for wear
    /// levelling.
    pub(super) fn pair(peb_count: u32) -> [Self; 2] {
        let size = peb_count as usize / 100 * POOL_PERCENT;
        let size_max = size.clamp(POOL_MIN, POOL_MAX);
        [size_max, size_max / 2].map(|size_max| Self { size_max, pebs: VecDeque::new() })
    }

    fn is_full(&self) -> bool {
        self.pebs.len() >= self.size_max
    }
}

impl Ubi {
    /// Take a free PEB for data from the pool. `None` if fastmaps are not written.
    pub(in crate::ubi) fn take_pooled(&mut self) -> Result<Option<u32>, UbiError> {
        for _ in 0..ATTEMPTS_MAX {
            let Some(fastmap) = &mut self.fastmap else { return Ok(None) };
            if let Some(peb) = fastmap.pools[0].pebs.pop_front() {
                return Ok(Some(peb));
            }
            while self.wear.free_count() == 0 && self.erase_one()? {}
            self.update_fastmap()?;
        }
        self.abandon_fastmap()?;
        Ok(None)
    }

    /// Make the unused PEBs of the pools free, and also the one kept for the next anchor.
    pub(super) fn empty_pools(&mut self, fastmap: &mut Fastmap) {
        let pools = fastmap.pools.iter_mut().flat_map(|pool| pool.pebs.drain(..));
        for peb in pools.chain(fastmap.next_anchor.take()) {
            self.wear.set_state(peb, State::Free);
        }
    }

    /// Fill both pools in turns, as long as there are free PEBs.
    pub(super) fn fill_pools(&mut self, fastmap: &mut Fastmap) {
        let [data, levelling] = &mut fastmap.pools;
        loop {
            let before = self.wear.free_count();
            if !data.is_full() {
                data.pebs.extend(self.withdraw(self.wear.choose(self.threshold)));
            }
            if !levelling.is_full() && self.wear.free_count() >= FREE_MIN {
                levelling.pebs.extend(self.withdraw(self.wear.choose_worn(self.threshold)));
            }
            if self.wear.free_count() == before {
                break;
            }
        }
        fastmap.was_levelling_filled = !levelling.pebs.is_empty();
    }

    /// Take a PEB out of the free ones. Returns the same PEB.
    pub(super) fn withdraw(&mut self, peb: Option<u32>) -> Option<u32> {
        peb.inspect(|&peb| self.wear.set_state(peb, State::Away))
    }
}

#[cfg(test)]
mod tests {
    use super::Pool;

    #[test]
    fn pools_are_of_the_kernels_sizes() {
        let cases = [(65, [8, 4]), (400, [20, 10]), (1024, [50, 25]), (65_536, [256, 128])];
        for (pebs, sizes) in cases {
            assert_eq!(Pool::pair(pebs).map(|pool| pool.size_max), sizes, "{pebs} PEBs");
        }
    }
}
