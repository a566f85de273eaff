//! A W25N01GV that is not there: it understands the instructions that the driver sends, and keeps
//! its pages in the simulated chip of the lab.

#![expect(clippy::big_endian_bytes, reason = "the bus takes the highest byte first")]

use std::convert::Infallible;
use std::sync::Arc;

use embedded_hal::spi::{ErrorType, Operation, SpiDevice};
use flysch_chip::{Chip, Clock, FaultInjector, Part, PartError};
use flysch_nand::{BlockAddr, Ecc, Nand, PageAddr, ProgramError};

use crate::driver::{
    ECC_SHIFT, ERASE_FAILED, GEOMETRY, IDENTITY, PROGRAM_FAILED, PROTECTION, STATUS, instruction,
};

/// Bytes of a page and of its OOB.
const REGISTER_SIZE: usize = (GEOMETRY.page_size + GEOMETRY.oob_size) as usize;

/// The chip, as the bus sees it.
#[derive(Debug)]
pub(crate) struct Model {
    pub(crate) array: FaultInjector,
    register: [u8; REGISTER_SIZE],
    /// Where data was loaded into the register, and how much; and how much of the OOB.
    data: (u16, usize),
    oob: usize,
    status: u8,
    is_locked: bool,
    is_enabled: bool,
}

impl Model {
    pub(crate) fn new() -> Result<Self, PartError> {
        let chip = Chip::new(Arc::new(Part::named("w25n01gv")?), Clock::new(), 1);
        Ok(Self {
            array: FaultInjector::new(chip),
            register: [0xFF; REGISTER_SIZE],
            data: (0, 0),
            oob: 0,
            status: 0,
            is_locked: true,
            is_enabled: false,
        })
    }

    fn load(&mut self, column: u16, bytes: &[u8]) {
        self.register[usize::from(column)..][..bytes.len()].copy_from_slice(bytes);
        if u32::from(column) >= GEOMETRY.page_size {
            self.oob = bytes.len();
        } else {
            self.data = (column, bytes.len());
        }
    }

    fn read(&mut self, page: PageAddr) {
        self.status = match self.array.read(page, 0, &mut self.register) {
            Ok(Ecc::Clean) => 0,
            Ok(Ecc::Corrected(_)) => 1 << ECC_SHIFT,
            Err(_) => 2 << ECC_SHIFT,
        };
    }

    fn program(&mut self, page: PageAddr) {
        let ((column, len), size) = (self.data, GEOMETRY.page_size as usize);
        let (data, oob) = self.register.split_at(size);
        let data = &data[usize::from(column)..][..len];
        let done = self.array.program(page, column.into(), data, &oob[..self.oob]);
        self.status = if matches!(done, Err(ProgramError::Failed(_))) { PROGRAM_FAILED } else { 0 };
    }

    /// Do what an instruction asks, once all its bytes are there.
    fn obey(&mut self, sent: &[u8]) {
        let Some((&instruction, rest)) = sent.split_first() else { return };
        let number = |bytes: &[u8]| bytes.iter().fold(0, |sum, byte| sum << 8 | u32::from(*byte));
        let column = |bytes: &[u8]| u16::from_be_bytes([bytes[0], bytes[1]]);
        let is_allowed = self.is_enabled && !self.is_locked;
        match instruction {
            instruction::WRITE_ENABLE => self.is_enabled = true,
            instruction::WRITE_REGISTER if rest[0] == PROTECTION => self.is_locked = rest[1] != 0,
            instruction::PAGE_READ => self.read(PageAddr(number(rest))),
            instruction::PROGRAM_LOAD => {
                self.register.fill(0xFF);
                (self.data, self.oob) = ((0, 0), 0);
                self.load(column(rest), &rest[2..]);
            }
            instruction::RANDOM_PROGRAM_LOAD => self.load(column(rest), &rest[2..]),
            instruction::PROGRAM_EXECUTE if is_allowed => {
                self.program(PageAddr(number(rest)));
                self.is_enabled = false;
            }
            instruction::BLOCK_ERASE if is_allowed => {
                let block = BlockAddr(number(rest) / GEOMETRY.pages_per_block);
                self.status = if self.array.erase(block).is_err() { ERASE_FAILED } else { 0 };
                self.is_enabled = false;
            }
            instruction::PROGRAM_EXECUTE => self.status = PROGRAM_FAILED,
            instruction::BLOCK_ERASE => self.status = ERASE_FAILED,
            // These ask, and were answered.
            instruction::IDENTIFY | instruction::READ_REGISTER | instruction::READ => {}
            other => panic!("the driver sent {other:#04x}"),
        }
    }

    fn answer(&self, sent: &[u8], answer: &mut [u8]) {
        match *sent {
            [instruction::IDENTIFY, ..] => answer.copy_from_slice(&IDENTITY[..answer.len()]),
            [instruction::READ_REGISTER, STATUS] => answer.fill(self.status),
            [instruction::READ, high, low, _] => {
                let column = usize::from(u16::from_be_bytes([high, low]));
                answer.copy_from_slice(&self.register[column..column + answer.len()]);
            }
            _ => answer.fill(0xFF),
        }
    }
}

impl ErrorType for Model {
    type Error = Infallible;
}

impl SpiDevice for Model {
    fn transaction(&mut self, operations: &mut [Operation<'_, u8>]) -> Result<(), Infallible> {
        let mut sent = Vec::new();
        for operation in operations {
            match operation {
                Operation::Write(bytes) => sent.extend_from_slice(bytes),
                Operation::Read(bytes) => self.answer(&sent, bytes),
                Operation::Transfer(..) | Operation::TransferInPlace(_) | Operation::DelayNs(_) => {
                }
            }
        }
        self.obey(&sent);
        Ok(())
    }
}
