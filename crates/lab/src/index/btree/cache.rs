//! A cache of a fixed number of nodes. To make room, the least recently used node is written back.

use flysch_indexes::flash::FlashError;
use flysch_linux::block_device::BlockDevice;

use super::super::error::MethodError;

struct Frame {
    page: u32,
    bytes: Vec<u8>,
    is_dirty: bool,
    used: u64,
}

/// A cache of nodes in front of a block device.
pub(super) struct NodeCache {
    device: Box<dyn BlockDevice>,
    frames: Vec<Frame>,
    capacity: usize,
    page_size: usize,
    /// Size of the device in pages. The first `page_count` of them hold nodes.
    page_limit: u32,
    page_count: u32,
    clock: u64,
}

impl NodeCache {
    pub(super) fn new(
        device: Box<dyn BlockDevice>,
        capacity: usize,
        page_size: usize,
        page_limit: u32,
    ) -> Self {
        let frames = Vec::with_capacity(capacity);
        Self { device, frames, capacity, page_size, page_limit, page_count: 0, clock: 0 }
    }

    pub(super) const fn page_count(&self) -> u32 {
        self.page_count
    }

    pub(super) const fn ram_size(&self) -> usize {
        self.capacity * self.page_size
    }

    /// Allocate a page for a new node. It stays in RAM until it is evicted.
    pub(super) fn add(&mut self) -> Result<u32, MethodError> {
        if self.page_count == self.page_limit {
            return Err(FlashError::Full.into());
        }
        let page = self.page_count;
        self.page_count += 1;
        let bytes = vec![0; self.page_size];
        self.admit(Frame { page, bytes, is_dirty: true, used: 0 })?;
        Ok(page)
    }

    /// Read the bytes of a node.
    pub(super) fn fetch(&mut self, page: u32) -> Result<&[u8], MethodError> {
        let place = self.load(page)?;
        Ok(&self.frames[place].bytes)
    }

    /// The bytes of a node for changing them. The node is marked dirty.
    pub(super) fn change(&mut self, page: u32) -> Result<&mut [u8], MethodError> {
        let place = self.load(page)?;
        let frame = &mut self.frames[place];
        frame.is_dirty = true;
        Ok(&mut frame.bytes)
    }

    fn load(&mut self, page: u32) -> Result<usize, MethodError> {
        let known = self.frames.iter().position(|frame| frame.page == page);
        let place = if let Some(place) = known {
            place
        } else {
            let mut bytes = vec![0; self.page_size];
            self.device.read(self.sector(page), &mut bytes)?;
            self.admit(Frame { page, bytes, is_dirty: false, used: 0 })?
        };
        self.clock += 1;
        self.frames[place].used = self.clock;
        Ok(place)
    }

    fn admit(&mut self, frame: Frame) -> Result<usize, MethodError> {
        if self.frames.len() == self.capacity {
            let oldest = (0..self.capacity).min_by_key(|&place| self.frames[place].used);
            let out = self.frames.swap_remove(oldest.expect("a cache holds some nodes"));
            if out.is_dirty {
                self.device.write(self.sector(out.page), &out.bytes)?;
            }
        }
        self.clock += 1;
        self.frames.push(Frame { used: self.clock, ..frame });
        Ok(self.frames.len() - 1)
    }

    fn sector(&self, page: u32) -> u32 {
        let per_page = self.page_size / self.device.sector_size() as usize;
        page * u32::try_from(per_page).expect("a page has few sectors")
    }
}
