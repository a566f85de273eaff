//! NOR flash for engines that need it: bytes of the translation layer of `flysch-linux`.
//!
//! NOR flash programs a few bytes at a time, in any order. A page of NAND is programmed whole and
//! once. So between the two stands a flash translation layer, as on a card, and each write of some
//! bytes writes their sectors again.
//!
//! 1. A write only clears bits, as on NOR flash. It is durable when it returns.
//! 2. A sector that was never written reads as erased: bytes are kept inverted on the layer, whose
//!    sectors read as zeros before.

use std::fmt;

use flysch_chip::{Clock, Recorder};
use flysch_linux::block_device::{BlockDevice, BlockError};
use flysch_linux::ftl::{self, FtlError, FtlOptions, Mapping, Victim};

use crate::flash::{BLOCKS, Device};

const SECTOR: usize = 512;

/// NOR flash. Addresses count bytes from its beginning.
pub(crate) struct Nor {
    disk: Box<dyn BlockDevice>,
}

impl fmt::Debug for Nor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NOR flash on a translation layer")
    }
}

impl Nor {
    /// The translation layer of a device.
    pub(crate) fn mount(device: &Device, clock: &Clock) -> Result<Self, FtlError> {
        let options = FtlOptions {
            first_block: 0,
            block_count: BLOCKS,
            spare_blocks: BLOCKS / 8,
            sector_size: SECTOR as u32,
            wear_gap: 8,
            mapping: Mapping::Page { victim: Victim::Greedy },
        };
        let recorder = Recorder::new(clock.clone(), "peer");
        let disk = ftl::mount(Box::new(device.clone()), recorder, options, &[])?;
        Ok(Self { disk })
    }

    /// Read bytes.
    pub(crate) fn read(&mut self, address: usize, bytes: &mut [u8]) -> Result<(), BlockError> {
        let (first, sectors, skipped) = self.sectors(address, bytes.len())?;
        let len = bytes.len();
        bytes.copy_from_slice(&sectors[skipped..skipped + len]);
        debug_assert!(first as usize * SECTOR <= address, "the sectors hold the bytes");
        Ok(())
    }

    /// Clear the bits that `bytes` have cleared.
    pub(crate) fn write(&mut self, address: usize, bytes: &[u8]) -> Result<(), BlockError> {
        let (first, mut sectors, skipped) = self.sectors(address, bytes.len())?;
        for (there, byte) in sectors[skipped..].iter_mut().zip(bytes) {
            *there &= byte;
        }
        self.put(first, sectors)?;
        self.sync()
    }

    /// Overwrite bytes, as a file would be. They are durable after [`Nor::sync`].
    pub(crate) fn overwrite(&mut self, address: usize, bytes: &[u8]) -> Result<(), BlockError> {
        let (first, mut sectors, skipped) = self.sectors(address, bytes.len())?;
        sectors[skipped..skipped + bytes.len()].copy_from_slice(bytes);
        self.put(first, sectors)
    }

    /// Set all bits of whole sectors.
    pub(crate) fn erase(&mut self, address: usize, len: usize) -> Result<(), BlockError> {
        debug_assert!(address.is_multiple_of(SECTOR) && len.is_multiple_of(SECTOR), "sectors");
        self.put((address / SECTOR) as u32, vec![0xFF; len])?;
        self.sync()
    }

    /// Make all writes durable.
    pub(crate) fn sync(&mut self) -> Result<(), BlockError> {
        self.disk.flush()
    }

    /// The sectors that hold so many bytes: the first one, their content, and where in it the bytes
    /// begin.
    fn sectors(&mut self, address: usize, len: usize) -> Result<(u32, Vec<u8>, usize), BlockError> {
        let first = address / SECTOR;
        let count = (address + len).div_ceil(SECTOR) - first;
        let mut content = vec![0; count * SECTOR];
        self.disk.read(first as u32, &mut content)?;
        invert(&mut content);
        Ok((first as u32, content, address % SECTOR))
    }

    fn put(&mut self, first: u32, mut content: Vec<u8>) -> Result<(), BlockError> {
        invert(&mut content);
        self.disk.write(first, &content)
    }
}

fn invert(bytes: &mut [u8]) {
    for byte in bytes {
        *byte = !*byte;
    }
}
