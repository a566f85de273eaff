//! Metadata blocks in memory, over the device.

use std::collections::{BTreeMap, BTreeSet};

use super::{PAGE_SIZE, Page};
use crate::block_device::{BlockDevice, BlockError};
use crate::cpu::{Cpu, Work};
use crate::filesystem::CACHE_PAGE_SIZE;

/// The buffers, and the only way to the device.
pub(super) struct Buffers {
    device: Box<dyn BlockDevice>,
    cpu: Cpu,
    pages: BTreeMap<u32, Box<Page>>,
    /// Blocks changed in the running transaction.
    pub(super) dirty: BTreeSet<u32>,
    /// Blocks whose last commit is in the journal alone.
    pub(super) logged: BTreeSet<u32>,
}

impl Buffers {
    pub(super) fn new(device: Box<dyn BlockDevice>, cpu: Cpu) -> Self {
        let (pages, dirty, logged) = (BTreeMap::new(), BTreeSet::new(), BTreeSet::new());
        Self { device, cpu, pages, dirty, logged }
    }

    /// Blocks of the device.
    pub(super) fn device_blocks(&self) -> u32 {
        self.device.sector_count() / self.sectors()
    }

    /// Look at a metadata block.
    pub(super) fn page(&mut self, block: u32) -> Result<&Page, BlockError> {
        if !self.pages.contains_key(&block) {
            let mut page = Box::new([0; CACHE_PAGE_SIZE]);
            self.read(block, &mut page)?;
            self.pages.insert(block, page);
        }
        Ok(&self.pages[&block])
    }

    /// Change a metadata block, in the running transaction.
    pub(super) fn page_mut(&mut self, block: u32) -> Result<&mut Page, BlockError> {
        self.page(block)?;
        self.dirty.insert(block);
        Ok(self.pages.get_mut(&block).expect("just read"))
    }

    /// Make a block a metadata block of zeros, in the running transaction.
    pub(super) fn blank(&mut self, block: u32) {
        self.pages.insert(block, Box::new([0; CACHE_PAGE_SIZE]));
        self.dirty.insert(block);
    }

    /// A metadata block is one no more.
    pub(super) fn forget(&mut self, block: u32) {
        self.pages.remove(&block);
        self.dirty.remove(&block);
        self.logged.remove(&block);
    }

    /// Let the blocks go that can be read again.
    pub(super) fn drop_clean(&mut self) {
        let Self { pages, dirty, logged, .. } = self;
        pages.retain(|block, _| dirty.contains(block) || logged.contains(block));
    }

    /// Read a block past the buffers.
    pub(super) fn read(&mut self, block: u32, page: &mut Page) -> Result<(), BlockError> {
        self.cpu.charge(Work::BlockRequest);
        self.device.read(block * self.sectors(), page)
    }

    /// Write a block past the buffers.
    pub(super) fn write(&mut self, block: u32, page: &Page) -> Result<(), BlockError> {
        self.cpu.charge(Work::BlockRequest);
        self.device.write(block * self.sectors(), page)
    }

    pub(super) fn flush(&mut self) -> Result<(), BlockError> {
        self.device.flush()
    }

    fn sectors(&self) -> u32 {
        PAGE_SIZE / self.device.sector_size()
    }
}
