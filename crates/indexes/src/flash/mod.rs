//! Flash: the only module that calls the chip. It handles free and bad blocks, tags, and erasing in
//! advance.
//!
//! 1. A block is erased when it is taken, not when it is released. So the result of an interrupted
//!    erase is never relied on, and a released block can be read until it is taken again.
//! 2. At a mount every good block is free. Then each structure claims its own blocks.
//! 3. Each page's first program carries a [`Tag`].

mod crc;
mod error;
mod tag;

pub(crate) use crc::crc16;
pub use error::FlashError;
pub use tag::{TAG_SIZE, Tag};

use flysch::bytes::crc32;
use flysch_nand::{BlockAddr, Geometry, Nand, PageAddr};

/// A chip with the table of its free blocks.
#[derive(Debug)]
pub struct Flash<'ram, N> {
    nand: N,
    geometry: Geometry,
    /// A bit for each block that is in use or bad.
    taken: &'ram mut [u8],
    /// Where the search for a free block continues. The search goes round, so that blocks wear
    /// evenly.
    next: u32,
    /// A block that was erased in advance.
    ready: Option<BlockAddr>,
}

impl<'ram, N: Nand> Flash<'ram, N> {
    /// Bytes of RAM that the table of blocks needs.
    pub const fn ram_size(geometry: &Geometry) -> usize {
        geometry.block_count.div_ceil(8) as usize
    }

    /// Read all bad-block marks. Cost: one OOB read for each block.
    ///
    /// # Panics
    /// If `ram` is shorter than [`Flash::ram_size`].
    pub fn mount(mut nand: N, ram: &'ram mut [u8]) -> Result<Self, FlashError> {
        let geometry = nand.geometry();
        assert!(ram.len() >= Self::ram_size(&geometry), "the table of blocks does not fit");
        ram.fill(0);
        for block in 0..geometry.block_count {
            if nand.is_bad(BlockAddr(block))? {
                ram[block as usize / 8] |= 1 << (block % 8);
            }
        }
        Ok(Self { nand, geometry, taken: ram, next: 0, ready: None })
    }

    pub const fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// The chip, for inspection.
    pub const fn nand(&self) -> &N {
        &self.nand
    }

    /// The chip, for arming its next fault.
    pub const fn nand_mut(&mut self) -> &mut N {
        &mut self.nand
    }

    /// Return the chip.
    pub fn into_nand(self) -> N {
        self.nand
    }

    /// Number of free blocks.
    pub fn free_count(&self) -> u32 {
        let blocks = 0..self.geometry.block_count;
        let free = blocks.filter(|&block| !self.is_taken(BlockAddr(block))).count() as u32;
        free + u32::from(self.ready.is_some())
    }

    /// Whether a block is in use, bad, or erased in advance.
    pub fn is_taken(&self, block: BlockAddr) -> bool {
        self.taken[block.0 as usize / 8] & 1 << (block.0 % 8) != 0
    }

    /// Mark a block as used that a structure found at a mount.
    pub(crate) fn claim(&mut self, block: BlockAddr) {
        assert!(!self.is_taken(block), "{block} belongs to two areas");
        self.mark(block, true);
        if self.next <= block.0 {
            self.next = block.0 + 1;
        }
    }

    /// Erase a free block, so that its content is not found again.
    pub(crate) fn wipe(&mut self, block: BlockAddr) -> Result<(), FlashError> {
        if error::is_erased(self.nand.erase(block))? { Ok(()) } else { self.retire(block) }
    }

    /// Release a block. Its pages do not change until it is taken again.
    pub(crate) fn release(&mut self, block: BlockAddr) {
        debug_assert!(self.is_taken(block), "{block} is let go twice");
        self.mark(block, false);
    }

    /// Whether a block was erased in advance.
    pub const fn is_ready(&self) -> bool {
        self.ready.is_some()
    }

    /// Erase a block in advance. Cost: one erase, and one more for each erase that fails.
    pub fn prepare(&mut self) -> Result<(), FlashError> {
        if self.ready.is_none() {
            self.ready = Some(self.erase_next()?);
        }
        Ok(())
    }

    /// Take an erased block. Cost: nothing after [`Flash::prepare`], otherwise one erase.
    pub(crate) fn take(&mut self) -> Result<BlockAddr, FlashError> {
        match self.ready.take() {
            Some(block) => Ok(block),
            None => self.erase_next(),
        }
    }

    /// Never use a block again.
    pub(crate) fn retire(&mut self, block: BlockAddr) -> Result<(), FlashError> {
        self.mark(block, true);
        Ok(self.nand.mark_bad(block)?)
    }

    /// Read a part of a page. Cost: one array read.
    pub fn read(&mut self, page: PageAddr, column: u32, out: &mut [u8]) -> Result<(), FlashError> {
        self.nand.read(page, column, out)?;
        Ok(())
    }

    /// Read the tag of a page. None if the page has no valid tag. Cost: one OOB read.
    pub(crate) fn tag(&mut self, page: PageAddr) -> Result<Option<Tag>, FlashError> {
        let mut bytes = [0; TAG_SIZE];
        match self.read(page, self.geometry.page_size, &mut bytes) {
            Ok(()) => Ok(Tag::parse(&bytes)),
            Err(FlashError::Uncorrectable(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Program `data` at the start of a page, with its tag. Cost: one array program.
    pub(crate) fn program(
        &mut self,
        page: PageAddr,
        data: &[u8],
        tag: Tag,
    ) -> Result<(), FlashError> {
        let tag = Tag { data_crc: crc32(0, data), ..tag };
        Ok(self.nand.program(page, 0, data, &tag.emit())?)
    }

    /// Program later sectors of a page, which has its tag already. Cost: one array program.
    pub(crate) fn program_part(
        &mut self,
        page: PageAddr,
        column: u32,
        data: &[u8],
    ) -> Result<(), FlashError> {
        Ok(self.nand.program(page, column, data, &[])?)
    }

    fn erase_next(&mut self) -> Result<BlockAddr, FlashError> {
        for _ in 0..self.geometry.block_count {
            let block = BlockAddr(self.next % self.geometry.block_count);
            self.next = block.0 + 1;
            if self.is_taken(block) {
                continue;
            }
            if error::is_erased(self.nand.erase(block))? {
                self.mark(block, true);
                return Ok(block);
            }
            self.retire(block)?;
        }
        Err(FlashError::Full)
    }

    fn mark(&mut self, block: BlockAddr, taken: bool) {
        let bit = 1 << (block.0 % 8);
        let byte = &mut self.taken[block.0 as usize / 8];
        *byte = if taken { *byte | bit } else { *byte & !bit };
    }
}
