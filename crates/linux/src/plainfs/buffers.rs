//! Metadata blocks in memory, and the requests to the device below.

use std::collections::{BTreeMap, BTreeSet};

use flysch_chip::Recorder;

use super::{PAGE_SIZE, Page};
use crate::block_device::{BlockDevice, BlockError};
use crate::cpu::{Cpu, Unit};
use crate::filesystem::CACHE_PAGE_SIZE;

/// The metadata blocks in memory. All requests to the device go through here.
pub(super) struct Buffers {
    device: Box<dyn BlockDevice>,
    cpu: Cpu,
    recorder: Recorder,
    pages: BTreeMap<u32, Box<Page>>,
    /// Blocks changed by the running transaction.
    pub(super) dirty: BTreeSet<u32>,
    /// Blocks whose last committed content is only in the journal.
    pub(super) logged: BTreeSet<u32>,
}

impl Buffers {
    pub(super) fn new(device: Box<dyn BlockDevice>, cpu: Cpu, recorder: Recorder) -> Self {
        let (pages, dirty, logged) = (BTreeMap::new(), BTreeSet::new(), BTreeSet::new());
        Self { device, cpu, recorder, pages, dirty, logged }
    }

    /// The blocks as they are now, on a copy of the device. `None` if it cannot be copied.
    pub(super) fn copy(&self) -> Option<Self> {
        let Self { device, cpu, recorder, pages, dirty, logged } = self;
        let (device, cpu, recorder) = (device.copy()?, cpu.clone(), recorder.clone());
        let (pages, dirty, logged) = (pages.clone(), dirty.clone(), logged.clone());
        Some(Self { device, cpu, recorder, pages, dirty, logged })
    }

    /// Number of blocks of the device.
    pub(super) fn device_blocks(&self) -> u32 {
        self.device.sector_count() / self.sectors()
    }

    /// A metadata block, which is read if it is not in memory.
    pub(super) fn page(&mut self, block: u32) -> Result<&Page, BlockError> {
        if !self.pages.contains_key(&block) {
            let mut page = Box::new([0; CACHE_PAGE_SIZE]);
            self.read(block, &mut page)?;
            self.pages.insert(block, page);
        }
        Ok(&self.pages[&block])
    }

    /// A metadata block that the running transaction changes.
    pub(super) fn page_mut(&mut self, block: u32) -> Result<&mut Page, BlockError> {
        self.page(block)?;
        self.dirty.insert(block);
        Ok(self.pages.get_mut(&block).expect("just read"))
    }

    /// Make a block a metadata block of zeros, as part of the running transaction.
    pub(super) fn blank(&mut self, block: u32) {
        self.pages.insert(block, Box::new([0; CACHE_PAGE_SIZE]));
        self.dirty.insert(block);
    }

    /// Forget a block, because it does not hold metadata any more.
    pub(super) fn forget(&mut self, block: u32) {
        self.pages.remove(&block);
        self.dirty.remove(&block);
        self.logged.remove(&block);
    }

    /// Drop the blocks that can be read again from their places.
    pub(super) fn drop_clean(&mut self) {
        let Self { pages, dirty, logged, .. } = self;
        pages.retain(|block, _| dirty.contains(block) || logged.contains(block));
    }

    /// Read a block straight from the device.
    pub(super) fn read(&mut self, block: u32, page: &mut Page) -> Result<(), BlockError> {
        self.cpu.charge(Unit::BlockRequest, 1);
        self.device.read(block * self.sectors(), page)
    }

    /// Write a metadata block, or one of the journal, straight to the device.
    pub(super) fn write(&mut self, block: u32, page: &Page) -> Result<(), BlockError> {
        self.recorder.store_own(place(block));
        self.write_block(block, page)
    }

    /// Write a page of a file straight to the device.
    pub(super) fn write_data(
        &mut self,
        (ino, index): (u32, u32),
        block: u32,
        page: &Page,
    ) -> Result<(), BlockError> {
        self.recorder.store("plainfs", ino, place(index), place(block));
        self.write_block(block, page)
    }

    fn write_block(&mut self, block: u32, page: &Page) -> Result<(), BlockError> {
        self.cpu.charge(Unit::BlockRequest, 1);
        self.device.write(block * self.sectors(), page)
    }

    pub(super) fn flush(&mut self) -> Result<(), BlockError> {
        self.device.flush()
    }

    fn sectors(&self) -> u32 {
        PAGE_SIZE / self.device.sector_size()
    }
}

/// The byte range of a block on the device, or of a page in its file: begin and length.
const fn place(number: u32) -> (u64, u64) {
    (number as u64 * CACHE_PAGE_SIZE as u64, CACHE_PAGE_SIZE as u64)
}
