//! The raw NAND layer: it turns requests in bytes into array operations on pages.

use flysch_chip::{EventKind, Recorder, Shared};
use flysch_nand::{
    BlockAddr, Ecc, EraseError, Geometry, Nand, PageAddr, PowerLost, ProgramError, ReadError,
};

use super::{MtdError, ReadQuality};
use crate::cpu::{Cpu, Unit};

/// Where error correction is computed, which decides how part of a page is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EccMode {
    /// In the controller. A read of part of a page fetches the whole page into the page buffer.
    Hardware,
    /// In software, on chips with large pages (`NAND_SUBPAGE_READ`). A read of part of a page
    /// fetches only the ECC steps it needs, and empties the page buffer.
    Software {
        /// Data bytes per ECC step (256 for the kernel's Hamming code).
        step_size: u32,
    },
}

/// The raw NAND layer of one chip. A clone has the same chip below, and a page buffer of its own.
#[derive(Clone)]
pub struct RawNand {
    device: Shared<Box<dyn Nand>>,
    geometry: Geometry,
    recorder: Recorder,
    cpu: Cpu,
    ecc: EccMode,
    /// CPU time that the driver spends on the controller for each page read and for each page
    /// programmed, nanoseconds.
    overhead_ns: (u64, u64),
    bad_blocks: Vec<bool>,
    buffered: Option<PageAddr>,
    /// Data and OOB bytes of the page named by `buffered`.
    page: Vec<u8>,
    /// Data and OOB bytes of a page that is read as a whole and does not go into the page buffer.
    whole: Vec<u8>,
}

impl RawNand {
    /// Take over `device` and look for its bad blocks, with one OOB read per block.
    ///
    /// `overhead_ns` is the time that controller and driver add to each page read and to each page
    /// program, nanoseconds.
    pub fn attach(
        mut device: Box<dyn Nand>,
        recorder: Recorder,
        cpu: Cpu,
        ecc: EccMode,
        overhead_ns: (u64, u64),
    ) -> Result<Self, MtdError> {
        let geometry = device.geometry();
        let scope = recorder.scope("bad_block_scan");
        let scan = (0..geometry.block_count).map(|block| device.is_bad(BlockAddr(block)));
        let bad_blocks = scan.collect::<Result<_, _>>().map_err(|PowerLost| MtdError::PowerLost)?;
        drop(scope);
        let page = vec![0xFF; (geometry.page_size + geometry.oob_size) as usize];
        let whole = page.clone();
        let buffered = None;
        Ok(Self {
            device: Shared::new(device),
            geometry,
            recorder,
            cpu,
            ecc,
            overhead_ns,
            bad_blocks,
            buffered,
            page,
            whole,
        })
    }

    pub const fn geometry(&self) -> Geometry {
        self.geometry
    }

    /// Whether the bad-block table lists `block`.
    pub fn is_bad(&self, block: BlockAddr) -> bool {
        self.bad_blocks[block.0 as usize]
    }

    /// Read `bytes` of `page` from column `column` on. They lie within the page's data.
    pub(super) fn read(
        &mut self,
        page: PageAddr,
        column: u32,
        bytes: &mut [u8],
    ) -> Result<ReadQuality, MtdError> {
        let range = column as usize..column as usize + bytes.len();
        if self.buffered == Some(page) {
            let now = self.recorder.clock().now_ns();
            let len = u32::try_from(bytes.len()).expect("within a page");
            self.recorder.record(EventKind::BufferHit, page.0, len, now);
            self.cpu.copy(bytes.len());
            bytes.copy_from_slice(&self.page[range]);
            return Ok(ReadQuality::Clean);
        }
        self.cpu.charge_ps(self.overhead_ns.0 * 1000);
        if bytes.len() == self.geometry.page_size as usize {
            let outcome = self.device.borrow_mut().read(page, 0, &mut self.whole);
            bytes.copy_from_slice(&self.whole[range]);
            return quality(outcome);
        }
        let outcome = match self.ecc {
            EccMode::Software { step_size } => {
                self.buffered = None;
                let (from, to) = steps(column, bytes.len(), step_size);
                self.device.borrow_mut().read(
                    page,
                    from,
                    &mut self.page[from as usize..to as usize],
                )
            }
            EccMode::Hardware => {
                let outcome = self.device.borrow_mut().read(page, 0, &mut self.page);
                self.buffered = outcome.is_ok().then_some(page);
                outcome
            }
        };
        self.cpu.copy(bytes.len());
        bytes.copy_from_slice(&self.page[range]);
        quality(outcome)
    }

    /// Read the data of a page, and its OOB bytes from `at` on, straight into the caller's buffers.
    pub(super) fn read_whole(
        &mut self,
        page: PageAddr,
        data: &mut [u8],
        at: u32,
        oob: &mut [u8],
    ) -> Result<ReadQuality, MtdError> {
        assert_eq!(data.len(), self.geometry.page_size as usize, "a whole page");
        self.cpu.charge_ps(self.overhead_ns.0 * 1000);
        let outcome = self.device.borrow_mut().read(page, 0, &mut self.whole);
        data.copy_from_slice(&self.whole[..data.len()]);
        let from = data.len() + at as usize;
        oob.copy_from_slice(&self.whole[from..from + oob.len()]);
        quality(outcome)
    }

    /// Read OOB bytes of `page` from `at` on, without its data.
    pub(super) fn read_oob(
        &mut self,
        page: PageAddr,
        at: u32,
        bytes: &mut [u8],
    ) -> Result<ReadQuality, MtdError> {
        quality(self.device.borrow_mut().read(page, self.geometry.page_size + at, bytes))
    }

    /// Program data of a page from column `column` on, and the OOB bytes `oob` if there are any.
    pub(super) fn program(
        &mut self,
        page: PageAddr,
        column: u32,
        data: &[u8],
        oob: &[u8],
    ) -> Result<(), MtdError> {
        // The kernel uses the page buffer to fill up part of a page with ones.
        let is_part = !data.is_empty() && data.len() < self.geometry.page_size as usize;
        if self.buffered == Some(page) || is_part {
            self.buffered = None;
        }
        if !data.is_empty() {
            self.cpu.charge_ps(self.overhead_ns.1 * 1000);
        }
        self.device.borrow_mut().program(page, column, data, oob).map_err(|error| match error {
            ProgramError::Failed(page) => MtdError::ProgramFailed(self.geometry.block_of(page)),
            ProgramError::PowerLost => MtdError::PowerLost,
        })
    }

    pub(super) fn erase(&mut self, block: BlockAddr) -> Result<(), MtdError> {
        if self.buffered.is_some_and(|page| self.geometry.block_of(page) == block) {
            self.buffered = None;
        }
        self.device.borrow_mut().erase(block).map_err(|error| match error {
            EraseError::Failed(block) => MtdError::EraseFailed(block),
            EraseError::PowerLost => MtdError::PowerLost,
        })
    }

    pub(super) fn mark_bad(&mut self, block: BlockAddr) -> Result<(), MtdError> {
        self.bad_blocks[block.0 as usize] = true;
        self.device.borrow_mut().mark_bad(block).map_err(|PowerLost| MtdError::PowerLost)
    }

    pub(super) const fn cpu(&self) -> &Cpu {
        &self.cpu
    }

    /// Charge the CPU time of one request. The time to move whole pages between chip and caller is
    /// part of the controller's overhead. Bytes that go through the page buffer are copied once
    /// more, and that is charged where it happens.
    pub(super) fn charge_request(&self) {
        self.cpu.charge(Unit::MtdRequest, 1);
    }
}

/// The column range of the ECC steps that cover `len` bytes at `column`.
fn steps(column: u32, len: usize, step_size: u32) -> (u32, u32) {
    let end = column + u32::try_from(len).expect("within a page");
    (column - column % step_size, end.next_multiple_of(step_size))
}

fn quality(outcome: Result<Ecc, ReadError>) -> Result<ReadQuality, MtdError> {
    match outcome {
        Ok(Ecc::Clean) => Ok(ReadQuality::Clean),
        Ok(Ecc::Corrected(_)) => Ok(ReadQuality::Corrected),
        Err(ReadError::Uncorrectable(page)) => Ok(ReadQuality::Damaged(page)),
        Err(ReadError::PowerLost) => Err(MtdError::PowerLost),
    }
}
