//! A device of which someone watches, or bends, every operation.

use flysch_nand::{
    BlockAddr, Ecc, EraseError, Geometry, Nand, PageAddr, PowerLost, ProgramError, ReadError,
};

/// What happens beside the operations of a device. Each does nothing unless it is told to.
pub trait Hooks {
    /// A read is over, and `bytes` are what it is about to give.
    fn after_read(&mut self, page: PageAddr, bytes: &mut [u8]) {
        let _ = (page, bytes);
    }

    /// A program is about to begin. Whether it does: one that does not is reported as done.
    fn before_program(&mut self, page: PageAddr, data: &[u8], oob: &[u8]) -> bool {
        let _ = (page, data, oob);
        true
    }

    /// An erase is about to begin.
    fn before_erase(&mut self, block: BlockAddr) {
        let _ = block;
    }
}

/// A device with hooks.
#[derive(Debug)]
pub struct Hooked<N, H> {
    /// The device.
    pub device: N,
    /// What happens beside its operations.
    pub hooks: H,
}

impl<N: Nand, H: Hooks> Nand for Hooked<N, H> {
    fn geometry(&self) -> Geometry {
        self.device.geometry()
    }

    fn read(&mut self, page: PageAddr, column: u32, bytes: &mut [u8]) -> Result<Ecc, ReadError> {
        let outcome = self.device.read(page, column, bytes);
        self.hooks.after_read(page, bytes);
        outcome
    }

    fn program(
        &mut self,
        page: PageAddr,
        column: u32,
        data: &[u8],
        oob: &[u8],
    ) -> Result<(), ProgramError> {
        if !self.hooks.before_program(page, data, oob) {
            return Ok(());
        }
        self.device.program(page, column, data, oob)
    }

    fn erase(&mut self, block: BlockAddr) -> Result<(), EraseError> {
        self.hooks.before_erase(block);
        self.device.erase(block)
    }

    fn is_bad(&mut self, block: BlockAddr) -> Result<bool, PowerLost> {
        self.device.is_bad(block)
    }

    fn mark_bad(&mut self, block: BlockAddr) -> Result<(), PowerLost> {
        self.device.mark_bad(block)
    }
}
