//! The memory below. Each byte that moves is an access of the device, which counts it and takes
//! time for it.

use flysch_chip::Shared;
use flysch_nand::{NvRam, NvRamError};

use super::format::{RECORD_SIZE, TABLE_ADDR};

/// Clones share the device.
#[derive(Clone)]
pub(super) struct Memory {
    device: Shared<Box<dyn NvRam>>,
}

/// Address of an inode.
pub(super) const fn inode_addr(ino: u32) -> u32 {
    TABLE_ADDR + (ino - 1) * RECORD_SIZE
}

impl Memory {
    pub(super) fn new(device: Box<dyn NvRam>) -> Self {
        Self { device: Shared::new(device) }
    }

    pub(super) fn size(&self) -> u32 {
        self.device.borrow().size()
    }

    pub(super) fn read<const N: usize>(&mut self, addr: u32) -> Result<[u8; N], NvRamError> {
        let mut bytes = [0; N];
        self.device.borrow_mut().read(addr, &mut bytes)?;
        Ok(bytes)
    }

    pub(super) fn read_into(&mut self, addr: u32, bytes: &mut [u8]) -> Result<(), NvRamError> {
        self.device.borrow_mut().read(addr, bytes)
    }

    pub(super) fn write(&mut self, addr: u32, bytes: &[u8]) -> Result<(), NvRamError> {
        self.device.borrow_mut().write(addr, bytes)
    }
}
