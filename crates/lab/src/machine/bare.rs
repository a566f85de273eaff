//! The bare chip, and the memory beside it, as the engine sees them.
//!
//! The engine knows no tracer, so the cause of a program is read from the page that it programs:
//! the header says what the page holds. Reads and erases belong to the call that made them.

use flysch::media::{Header, Kind, Space};
use flysch_chip::Recorder;
use flysch_linux::cpu::Cpu;
use flysch_nand::{
    BlockAddr, Ecc, EraseError, Geometry, Nand, NvRam, NvRamError, PageAddr, PowerLost,
    ProgramError, ReadError, WriteRule,
};

use super::device::{Device, Memory};

/// A chip whose programs bear their causes.
#[derive(Debug)]
pub struct BareChip {
    device: Device,
    recorder: Recorder,
    cpu: Cpu,
    /// Time that controller and driver add to each page read and to each page programmed.
    overhead_ns: (u64, u64),
    /// The greatest write number of a page that was programmed.
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

/// What a page is programmed for: the scope of the program. The upper two bits of a block's entry
/// are its space. Write numbers ascend, so that a page with an older one is a copy. `write` is the
/// greatest one so far.
fn label(page: &[u8], write: &mut u64) -> &'static str {
    let Ok(header) = Header::parse(page) else { return "unknown" };
    if header.write < *write {
        return "scrub";
    }
    *write = header.write;
    match header.kind {
        Kind::Root | Kind::Confirm | Kind::Name => "root",
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

/// The first bytes of the memory beside the chip, which take the engine's commits.
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
