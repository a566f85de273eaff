//! The bare chip and the NVRAM next to it, in the form in which the engine uses them.
//!
//! The engine does not open scopes. So the scope of a program is found from the header of the page,
//! which says what the page holds. Reads and erases keep the scope of the call that made them.

use flysch::media::{Header, Kind, Space};
use flysch_chip::Recorder;
use flysch_linux::cpu::Cpu;
use flysch_nand::{
    BlockAddr, Ecc, EraseError, Geometry, Nand, NvRam, NvRamError, PageAddr, PowerLost,
    ProgramError, ReadError, WriteRule,
};

use super::device::{Device, Memory};

/// A chip that records each program in the scope of what the page holds.
#[derive(Debug)]
pub struct BareChip {
    device: Device,
    recorder: Recorder,
    cpu: Cpu,
    /// Time that controller and driver add to a page read and to a page program, nanoseconds.
    overhead_ns: (u64, u64),
    /// The highest write number in the header of a page that was programmed so far.
    write: u64,
}

impl BareChip {
    /// The chip `device`. Each page read and each page programmed costs the CPU `overhead_ns`.
    pub const fn new(
        device: Device,
        recorder: Recorder,
        cpu: Cpu,
        overhead_ns: (u64, u64),
    ) -> Self {
        Self { device, recorder, cpu, overhead_ns, write: 0 }
    }
}

/// The scope of a page program, found from the page's header. Pages are written with ascending
/// write numbers. So a page whose number is below `write`, the highest so far, is a copy made by a
/// scrub. The upper two bits of the header's block number say which space the block is in.
fn label(page: &[u8], write: &mut u64) -> &'static str {
    let Ok(header) = Header::parse(page) else { return "unknown" };
    if header.write < *write {
        return "scrub";
    }
    *write = header.write;
    match header.kind {
        Kind::Anchor | Kind::Root | Kind::Confirm | Kind::Name => "root",
        Kind::Record | Kind::Table => "log",
        Kind::Rows | Kind::More | Kind::Summary => "record",
        Kind::Run if header.block >> 14 == Space::Old as u16 => "merge",
        Kind::Run => "run",
    }
}

impl Nand for BareChip {
    fn geometry(&self) -> Geometry {
        self.device.geometry()
    }

    fn read(&mut self, page: PageAddr, column: u32, bytes: &mut [u8]) -> Result<Ecc, ReadError> {
        self.cpu.charge_ps(self.overhead_ns.0 * 1000);
        self.device.read(page, column, bytes)
    }

    fn program(
        &mut self,
        page: PageAddr,
        column: u32,
        data: &[u8],
        oob: &[u8],
    ) -> Result<(), ProgramError> {
        let _scope = self.recorder.scope(label(data, &mut self.write));
        self.cpu.charge_ps(self.overhead_ns.1 * 1000);
        self.device.program(page, column, data, oob)
    }

    fn erase(&mut self, block: BlockAddr) -> Result<(), EraseError> {
        self.device.erase(block)
    }

    fn is_bad(&mut self, block: BlockAddr) -> Result<bool, PowerLost> {
        self.device.is_bad(block)
    }

    fn mark_bad(&mut self, block: BlockAddr) -> Result<(), PowerLost> {
        self.device.mark_bad(block)
    }
}

/// The first bytes of the NVRAM next to the chip, which hold the engine's commits.
#[derive(Debug)]
pub struct CommitMemory {
    memory: Memory,
    size: u32,
}

impl CommitMemory {
    /// The first `size` bytes of `memory`.
    pub fn new(memory: Memory, size: u32) -> Self {
        let size = size.min(memory.size());
        Self { memory, size }
    }
}

impl NvRam for CommitMemory {
    fn size(&self) -> u32 {
        self.size
    }

    fn write_rule(&self) -> WriteRule {
        self.memory.write_rule()
    }

    fn erase_size(&self) -> u32 {
        self.memory.erase_size()
    }

    fn read(&mut self, addr: u32, bytes: &mut [u8]) -> Result<(), NvRamError> {
        self.memory.read(addr, bytes)
    }

    fn write(&mut self, addr: u32, bytes: &[u8]) -> Result<(), NvRamError> {
        self.memory.write(addr, bytes)
    }

    fn erase(&mut self, addr: u32) -> Result<(), NvRamError> {
        self.memory.erase(addr)
    }
}
