//! A device whose operations can be watched or changed.

use flysch_nand::{
    BlockAddr, Ecc, EraseError, Geometry, Nand, PageAddr, PowerLost, ProgramError, ReadError,
};

/// Functions that are called at the operations of a device. By default each does nothing.
pub trait Hooks {
    /// Called after a read. `bytes` are what the read will return; the hook may change them.
    fn after_read(&mut self, page: PageAddr, bytes: &mut [u8]) {
        let _ = (page, bytes);
    }

    /// Called before a program. If it returns false, nothing is programmed but the program returns
    /// `Ok`.
    fn before_program(&mut self, page: PageAddr, data: &[u8], oob: &[u8]) -> bool {
        let _ = (page, data, oob);
        true
    }

    /// Called before an erase.
    fn before_erase(&mut self, block: BlockAddr) {
        let _ = block;
    }
}

/// Hooks that count reads, programs and erases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts(pub [u64; 3]);

impl Hooks for Counts {
    fn after_read(&mut self, _: PageAddr, _: &mut [u8]) {
        self.0[0] += 1;
    }

    fn before_program(&mut self, _: PageAddr, _: &[u8], _: &[u8]) -> bool {
        self.0[1] += 1;
        true
    }

    fn before_erase(&mut self, _: BlockAddr) {
        self.0[2] += 1;
    }
}

#[derive(Debug)]
pub struct Hooked<N, H> {
    pub device: N,
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
