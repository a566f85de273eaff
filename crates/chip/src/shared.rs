//! A device with several owners: the storage stack uses it, and the lab may inspect it between
//! operations.

use std::cell::{Ref, RefCell, RefMut};
use std::rc::Rc;

use flysch_nand::{
    BlockAddr, Ecc, EraseError, Geometry, Nand, NvRam, NvRamError, PageAddr, PowerLost,
    ProgramError, ReadError, WriteRule,
};

/// A handle on a device. Clones share the same device.
#[derive(Debug, Default)]
pub struct Shared<N>(Rc<RefCell<N>>);

impl<N> Clone for Shared<N> {
    fn clone(&self) -> Self {
        Self(Rc::clone(&self.0))
    }
}

impl<N> Shared<N> {
    pub fn new(device: N) -> Self {
        Self(Rc::new(RefCell::new(device)))
    }

    /// The device, for inspection between two operations.
    pub fn borrow(&self) -> Ref<'_, N> {
        self.0.borrow()
    }

    /// The device, for changes between two operations.
    pub fn borrow_mut(&self) -> RefMut<'_, N> {
        self.0.borrow_mut()
    }
}

impl<N: Nand> Nand for Shared<N> {
    fn geometry(&self) -> Geometry {
        self.borrow().geometry()
    }

    fn read(&mut self, page: PageAddr, column: u32, bytes: &mut [u8]) -> Result<Ecc, ReadError> {
        self.borrow_mut().read(page, column, bytes)
    }

    fn program(
        &mut self,
        page: PageAddr,
        column: u32,
        data: &[u8],
        oob: &[u8],
    ) -> Result<(), ProgramError> {
        self.borrow_mut().program(page, column, data, oob)
    }

    fn erase(&mut self, block: BlockAddr) -> Result<(), EraseError> {
        self.borrow_mut().erase(block)
    }

    fn is_bad(&mut self, block: BlockAddr) -> Result<bool, PowerLost> {
        self.borrow_mut().is_bad(block)
    }

    fn mark_bad(&mut self, block: BlockAddr) -> Result<(), PowerLost> {
        self.borrow_mut().mark_bad(block)
    }
}

impl<N: NvRam> NvRam for Shared<N> {
    fn size(&self) -> u32 {
        self.borrow().size()
    }

    fn write_rule(&self) -> WriteRule {
        self.borrow().write_rule()
    }

    fn erase_size(&self) -> u32 {
        self.borrow().erase_size()
    }

    fn read(&mut self, addr: u32, bytes: &mut [u8]) -> Result<(), NvRamError> {
        self.borrow_mut().read(addr, bytes)
    }

    fn write(&mut self, addr: u32, bytes: &[u8]) -> Result<(), NvRamError> {
        self.borrow_mut().write(addr, bytes)
    }

    fn erase(&mut self, addr: u32) -> Result<(), NvRamError> {
        self.borrow_mut().erase(addr)
    }
}
