//! A disk with a volatile cache. A power cut loses each sector in it, or writes it, at random.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use flysch_chip::Prng;
use flysch_linux::block_device::{BlockDevice, BlockError};

const SECTOR: usize = 512;

/// A handle on a disk. Clones share the same disk.
#[derive(Clone)]
pub(crate) struct Disk(Rc<RefCell<State>>);

struct State {
    sectors: Vec<Vec<u8>>,
    cache: BTreeMap<usize, Vec<u8>>,
    prng: Prng,
    /// Number of writes and flushes until power is cut, if it will be.
    left: Option<u64>,
    is_on: bool,
}

impl Disk {
    pub(crate) fn new(blocks: u32) -> Self {
        Self::holding(vec![vec![0; SECTOR]; blocks as usize * 8])
    }

    pub(crate) fn holding(sectors: Vec<Vec<u8>>) -> Self {
        let (cache, prng) = (BTreeMap::new(), Prng::new(1));
        Self(Rc::new(RefCell::new(State { sectors, cache, prng, left: None, is_on: true })))
    }

    pub(crate) fn arm(&self, cut_at: Option<u64>) {
        let mut state = self.0.borrow_mut();
        state.left = cut_at;
        state.is_on = true;
    }

    pub(crate) fn image(&self) -> Vec<Vec<u8>> {
        self.0.borrow().sectors.clone()
    }
}

impl State {
    /// Begin an operation. Power may be cut before it.
    fn draw(&mut self) -> Result<(), BlockError> {
        if let Some(left) = &mut self.left {
            if *left == 0 {
                self.is_on = false;
                self.left = None;
                self.lose_cache();
            } else {
                *left -= 1;
            }
        }
        if self.is_on { Ok(()) } else { Err(BlockError::PowerLost) }
    }

    fn lose_cache(&mut self) {
        for (sector, bytes) in std::mem::take(&mut self.cache) {
            if self.prng.below(2) == 0 {
                self.sectors[sector] = bytes;
            }
        }
    }
}

impl BlockDevice for Disk {
    fn sector_size(&self) -> u32 {
        u32::try_from(SECTOR).unwrap()
    }

    fn sector_count(&self) -> u32 {
        u32::try_from(self.0.borrow().sectors.len()).unwrap()
    }

    fn read(&mut self, first: u32, bytes: &mut [u8]) -> Result<(), BlockError> {
        let state = self.0.borrow();
        if !state.is_on {
            return Err(BlockError::PowerLost);
        }
        for (sector, part) in (first as usize..).zip(bytes.chunks_mut(SECTOR)) {
            part.copy_from_slice(state.cache.get(&sector).unwrap_or(&state.sectors[sector]));
        }
        Ok(())
    }

    fn write(&mut self, first: u32, bytes: &[u8]) -> Result<(), BlockError> {
        let mut state = self.0.borrow_mut();
        let sectors = (first as usize..).zip(bytes.chunks(SECTOR));
        // The write under way when power is cut is in the cache already.
        state.cache.extend(sectors.map(|(sector, part)| (sector, part.to_vec())));
        state.draw()
    }

    fn flush(&mut self) -> Result<(), BlockError> {
        let mut state = self.0.borrow_mut();
        state.draw()?;
        let cache = std::mem::take(&mut state.cache);
        for (sector, bytes) in cache {
            state.sectors[sector] = bytes;
        }
        Ok(())
    }
}
