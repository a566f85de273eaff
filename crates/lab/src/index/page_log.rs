//! A log of pages on the bare chip, as methods without a translation layer write it.
//!
//! 1. Pages are programmed in ascending order within a block; a block is erased when it is taken.
//! 2. A page has users; a block none of whose pages has any can be taken again. No page is copied.

use flysch::flash::FlashError;
use flysch_nand::{BlockAddr, EraseError, Geometry, Nand, PageAddr};

use super::bed::Device;

/// A log of pages.
pub(super) struct PageLog {
    device: Device,
    geometry: Geometry,
    /// Users of each page.
    users: Vec<u16>,
    /// Pages of each block that have users; none for a block that is given up.
    live: Vec<Option<u32>>,
    /// The block that takes pages, and its next page.
    open: Option<(u32, u32)>,
    live_count: u32,
}

impl PageLog {
    /// An empty log on a chip. Cost: an OOB read for each block.
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

    /// Pages that have users.
    pub(super) const fn live_count(&self) -> u32 {
        self.live_count
    }

    /// Bytes of RAM of the count of each page's users: a byte would do.
    pub(super) const fn table_size(&self) -> usize {
        self.users.len()
    }

    /// Append a page for so many users; give its number. Cost: a program; an erase for each block.
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

    /// Read a page: one read.
    pub(super) fn read(&mut self, page: u32, data: &mut [u8]) -> Result<(), FlashError> {
        self.device.read(PageAddr(page), 0, data)?;
        Ok(())
    }

    /// A page has a user less.
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

    /// Take no more pages from a block; what it holds can still be read.
    fn give_up(&mut self, block: u32) -> Result<(), FlashError> {
        self.live[block as usize] = None;
        self.open = None;
        Ok(self.device.mark_bad(BlockAddr(block))?)
    }
}
