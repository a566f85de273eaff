//! A log of pages on the bare chip, for methods that use no translation layer.
//!
//! 1. Pages of a block are programmed in ascending order. A block is erased when the log takes it.
//! 2. A page has a number of users. Once no page of a block has users, the block can be taken
//!    again. No page is ever copied.

use flysch_indexes::flash::FlashError;
use flysch_nand::{BlockAddr, EraseError, Geometry, Nand, PageAddr};

use super::chip_setup::Device;

pub(super) struct PageLog {
    device: Device,
    geometry: Geometry,
    /// Number of users of each page.
    users: Vec<u16>,
    /// Number of pages with users in each block. None for a block that is bad or has failed.
    live: Vec<Option<u32>>,
    /// The block that new pages go to, and the next page in it.
    open: Option<(u32, u32)>,
    live_count: u32,
}

impl PageLog {
    /// An empty log on a chip. Cost: one OOB read for each block, to find bad ones.
    pub(super) fn new(mut device: Device) -> Result<Self, FlashError> {
        let geometry = device.geometry();
        let mut live = Vec::new();
        for block in 0..geometry.block_count {
            live.push(if device.is_bad(BlockAddr(block))? { None } else { Some(0) });
        }
        let users = vec![0; (geometry.block_count * geometry.pages_per_block) as usize];
        Ok(Self { device, geometry, users, live, open: None, live_count: 0 })
    }

    pub(super) const fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// Number of pages that have users.
    pub(super) const fn live_count(&self) -> u32 {
        self.live_count
    }

    /// RAM that the users of all pages need, in bytes. One byte for each page would be enough.
    pub(super) const fn table_size(&self) -> usize {
        self.users.len()
    }

    /// Append a page with this many users and return its number. Cost: one program, and one erase
    /// for each block.
    pub(super) fn append(&mut self, data: &[u8], users: u16) -> Result<u32, FlashError> {
        loop {
            let (block, place) = match self.open {
                Some(open) => open,
                None => (self.take()?, 0),
            };
            let page = block * self.geometry.pages_per_block + place;
            let next = place + 1;
            self.open = (next < self.geometry.pages_per_block).then_some((block, next));
            match self.device.program(PageAddr(page), 0, data, &[]).map_err(FlashError::from) {
                Ok(()) => {
                    self.users[page as usize] = users;
                    self.live[block as usize] = self.live[block as usize].map(|live| live + 1);
                    self.live_count += 1;
                    return Ok(page);
                }
                Err(FlashError::ProgramFailed(_)) => self.give_up(block)?,
                Err(error) => return Err(error),
            }
        }
    }

    /// Read a page. Cost: one read.
    pub(super) fn read(&mut self, page: u32, data: &mut [u8]) -> Result<(), FlashError> {
        self.device.read(PageAddr(page), 0, data)?;
        Ok(())
    }

    /// Remove one user from a page.
    pub(super) fn release(&mut self, page: u32) {
        let users = &mut self.users[page as usize];
        *users -= 1;
        if *users == 0 {
            let block = (page / self.geometry.pages_per_block) as usize;
            self.live[block] = self.live[block].map(|live| live - 1);
            self.live_count -= 1;
        }
    }

    fn take(&mut self) -> Result<u32, FlashError> {
        for block in 0..self.geometry.block_count {
            if self.live[block as usize] != Some(0) {
                continue;
            }
            match self.device.erase(BlockAddr(block)) {
                Ok(()) => return Ok(block),
                Err(EraseError::Failed(_)) => self.give_up(block)?,
                Err(EraseError::PowerLost) => return Err(FlashError::PowerLost),
            }
        }
        Err(FlashError::Full)
    }

    /// Stop using a block for new pages. What it holds can still be read.
    fn give_up(&mut self, block: u32) -> Result<(), FlashError> {
        self.live[block as usize] = None;
        self.open = None;
        Ok(self.device.mark_bad(BlockAddr(block))?)
    }
}
