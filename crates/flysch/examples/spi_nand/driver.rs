//! A driver of the Winbond W25N01GV, a SPI NAND of 128 MiB with ECC on the die. It takes any
//! `SpiDevice`, and is what a board brings along for the engine.
//!
//! Instructions, registers and status bits are those of the data sheet of the W25N01GV. Chips of
//! other makers differ in the meaning of the ECC bits, and some in a plane bit of the column.

#![expect(clippy::big_endian_bytes, reason = "the bus takes the highest byte first")]

use embedded_hal::spi::{Operation, SpiDevice};
use flysch_nand::{
    BlockAddr, Ecc, EraseError, Geometry, Nand, PageAddr, PowerLost, ProgramError, ReadError,
};

/// What the chip looks like: what is known when the firmware is compiled.
pub(crate) const GEOMETRY: Geometry = Geometry {
    page_size: 2048,
    oob_size: 64,
    sectors_per_page: 4,
    partial_programs: 4,
    pages_per_block: 64,
    block_count: 1024,
    in_order: true,
};

/// Instructions, by their first byte.
pub(crate) mod instruction {
    pub(crate) const PROGRAM_LOAD: u8 = 0x02;
    pub(crate) const READ: u8 = 0x03;
    pub(crate) const WRITE_ENABLE: u8 = 0x06;
    pub(crate) const READ_REGISTER: u8 = 0x0F;
    pub(crate) const PROGRAM_EXECUTE: u8 = 0x10;
    pub(crate) const PAGE_READ: u8 = 0x13;
    pub(crate) const WRITE_REGISTER: u8 = 0x1F;
    pub(crate) const RANDOM_PROGRAM_LOAD: u8 = 0x84;
    pub(crate) const IDENTIFY: u8 = 0x9F;
    pub(crate) const BLOCK_ERASE: u8 = 0xD8;
}

/// The register that locks blocks. After power-up all of them are locked.
pub(crate) const PROTECTION: u8 = 0xA0;
/// The register that tells what became of the last operation.
pub(crate) const STATUS: u8 = 0xC0;
pub(crate) const BUSY: u8 = 1;
pub(crate) const ERASE_FAILED: u8 = 1 << 2;
pub(crate) const PROGRAM_FAILED: u8 = 1 << 3;
/// Two bits: 0 for no wrong bit, 1 for wrong bits that were corrected, else not corrected.
pub(crate) const ECC_SHIFT: u8 = 4;

/// The maker and the device.
pub(crate) const IDENTITY: [u8; 3] = [0xEF, 0xAA, 0x21];

/// The chip on a SPI bus.
#[derive(Debug)]
pub(crate) struct W25n01gv<S> {
    spi: S,
}

impl<S: SpiDevice> W25n01gv<S> {
    /// Take a chip, and unlock its blocks; None where the bus has another one.
    pub(crate) fn new(spi: S) -> Result<Option<Self>, S::Error> {
        let mut chip = Self { spi };
        let mut identity = [0; 3];
        chip.ask(&[instruction::IDENTIFY, 0], &mut identity)?;
        if identity != IDENTITY {
            return Ok(None);
        }
        chip.spi.write(&[instruction::WRITE_REGISTER, PROTECTION, 0])?;
        Ok(Some(chip))
    }

    fn ask(&mut self, question: &[u8], answer: &mut [u8]) -> Result<(), S::Error> {
        self.spi.transaction(&mut [Operation::Write(question), Operation::Read(answer)])
    }

    /// Begin an operation on a page, and wait until it is done. Gives the status.
    fn operate(&mut self, instruction: u8, page: PageAddr) -> Result<u8, S::Error> {
        let [_, high, middle, low] = page.0.to_be_bytes();
        self.spi.write(&[instruction, high, middle, low])?;
        loop {
            let mut status = [0];
            self.ask(&[instruction::READ_REGISTER, STATUS], &mut status)?;
            if status[0] & BUSY == 0 {
                return Ok(status[0]);
            }
        }
    }

    fn enable(&mut self) -> Result<(), S::Error> {
        self.spi.write(&[instruction::WRITE_ENABLE])
    }

    /// Put bytes into the chip's page register.
    fn load(&mut self, instruction: u8, column: u32, bytes: &[u8]) -> Result<(), S::Error> {
        let [_, _, high, low] = column.to_be_bytes();
        let front = [instruction, high, low];
        self.spi.transaction(&mut [Operation::Write(&front), Operation::Write(bytes)])
    }

    fn read_page(&mut self, page: PageAddr, column: u32, out: &mut [u8]) -> Result<u8, S::Error> {
        let status = self.operate(instruction::PAGE_READ, page)?;
        let [_, _, high, low] = column.to_be_bytes();
        self.ask(&[instruction::READ, high, low, 0], out)?;
        Ok(status)
    }

    fn program_page(
        &mut self,
        page: PageAddr,
        column: u32,
        data: &[u8],
        oob: &[u8],
    ) -> Result<u8, S::Error> {
        self.enable()?;
        // The first load sets the rest of the register to 0xFF, which leaves cells as they are.
        self.load(instruction::PROGRAM_LOAD, column, data)?;
        if !oob.is_empty() {
            self.load(instruction::RANDOM_PROGRAM_LOAD, GEOMETRY.page_size, oob)?;
        }
        self.operate(instruction::PROGRAM_EXECUTE, page)
    }

    fn erase_block(&mut self, block: BlockAddr) -> Result<u8, S::Error> {
        self.enable()?;
        self.operate(instruction::BLOCK_ERASE, first_page(block))
    }
}

/// A bus that fails leaves nothing known of the operation. The engine stops as at a power cut, and
/// the next open finds out.
impl<S: SpiDevice> Nand for W25n01gv<S> {
    fn geometry(&self) -> Geometry {
        GEOMETRY
    }

    fn read(&mut self, page: PageAddr, column: u32, bytes: &mut [u8]) -> Result<Ecc, ReadError> {
        let status = self.read_page(page, column, bytes).map_err(|_| ReadError::PowerLost)?;
        match status >> ECC_SHIFT & 3 {
            0 => Ok(Ecc::Clean),
            // How many bits it were is not told.
            1 => Ok(Ecc::Corrected(1)),
            _ => Err(ReadError::Uncorrectable(page)),
        }
    }

    fn program(
        &mut self,
        page: PageAddr,
        column: u32,
        data: &[u8],
        oob: &[u8],
    ) -> Result<(), ProgramError> {
        let status = self.program_page(page, column, data, oob);
        let status = status.map_err(|_| ProgramError::PowerLost)?;
        if status & PROGRAM_FAILED == 0 { Ok(()) } else { Err(ProgramError::Failed(page)) }
    }

    fn erase(&mut self, block: BlockAddr) -> Result<(), EraseError> {
        let status = self.erase_block(block).map_err(|_| EraseError::PowerLost)?;
        if status & ERASE_FAILED == 0 { Ok(()) } else { Err(EraseError::Failed(block)) }
    }

    fn is_bad(&mut self, block: BlockAddr) -> Result<bool, PowerLost> {
        let mut mark = [0xFF];
        let read = self.read_page(first_page(block), GEOMETRY.page_size, &mut mark);
        read.map(|_| mark[0] != 0xFF).map_err(|_| PowerLost)
    }

    fn mark_bad(&mut self, block: BlockAddr) -> Result<(), PowerLost> {
        // A block that is going bad may say that it failed. The mark has a chance all the same.
        let marked = self.program_page(first_page(block), 0, &[], &[0]);
        marked.map(|_| ()).map_err(|_| PowerLost)
    }
}

const fn first_page(block: BlockAddr) -> PageAddr {
    PageAddr(block.0 * GEOMETRY.pages_per_block)
}
