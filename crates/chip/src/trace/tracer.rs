//! The tracer: a device that passes each operation to another device and records it.

use flysch_nand::{
    BlockAddr, Ecc, EraseError, Geometry, Nand, NvRam, NvRamError, PageAddr, PowerLost,
    ProgramError, ReadError, WriteRule,
};

use super::event::EventKind;
use super::recorder::Recorder;

/// A device that records every operation of the device inside, which is NAND or byte-addressable
/// memory. Failed operations are recorded too, because the device was busy.
#[derive(Clone, Debug)]
pub struct Tracer<N> {
    device: N,
    recorder: Recorder,
}

impl<N> Tracer<N> {
    pub const fn new(device: N, recorder: Recorder) -> Self {
        Self { device, recorder }
    }

    pub const fn device(&self) -> &N {
        &self.device
    }

    /// The device inside, for arming its faults.
    pub const fn device_mut(&mut self) -> &mut N {
        &mut self.device
    }

    pub fn into_device(self) -> N {
        self.device
    }

    /// Run one operation and record it, unless power was off before it began.
    fn traced<T>(
        &mut self,
        kind: EventKind,
        addr: u32,
        bytes: usize,
        operate: impl FnOnce(&mut N) -> T,
    ) -> T {
        let began_ns = self.recorder.clock().now_ns();
        let outcome = operate(&mut self.device);
        // Each operation takes time, so no time passes only if nothing was begun.
        if self.recorder.clock().now_ns() > began_ns {
            let bytes = u32::try_from(bytes).expect("a request is below 4 GiB");
            self.recorder.record(kind, addr, bytes, began_ns);
        }
        outcome
    }
}

impl<N: Nand> Nand for Tracer<N> {
    fn geometry(&self) -> Geometry {
        self.device.geometry()
    }

    fn read(&mut self, page: PageAddr, column: u32, bytes: &mut [u8]) -> Result<Ecc, ReadError> {
        let oob_only = column >= self.geometry().page_size;
        let kind = if oob_only { EventKind::ReadOob } else { EventKind::Read };
        self.traced(kind, page.0, bytes.len(), |device| device.read(page, column, bytes))
    }

    fn program(
        &mut self,
        page: PageAddr,
        column: u32,
        data: &[u8],
        oob: &[u8],
    ) -> Result<(), ProgramError> {
        let kind = if data.is_empty() { EventKind::ProgramOob } else { EventKind::Program };
        let bytes = data.len() + oob.len();
        self.traced(kind, page.0, bytes, |device| device.program(page, column, data, oob))
    }

    fn erase(&mut self, block: BlockAddr) -> Result<(), EraseError> {
        self.traced(EventKind::Erase, block.0, 0, |device| device.erase(block))
    }

    fn is_bad(&mut self, block: BlockAddr) -> Result<bool, PowerLost> {
        let page = self.geometry().first_page(block);
        self.traced(EventKind::ReadOob, page.0, 1, |device| device.is_bad(block))
    }

    fn mark_bad(&mut self, block: BlockAddr) -> Result<(), PowerLost> {
        let page = self.geometry().first_page(block);
        self.traced(EventKind::ProgramOob, page.0, 1, |device| device.mark_bad(block))
    }
}

impl<N: NvRam> NvRam for Tracer<N> {
    fn size(&self) -> u32 {
        self.device.size()
    }

    fn write_rule(&self) -> WriteRule {
        self.device.write_rule()
    }

    fn erase_size(&self) -> u32 {
        self.device.erase_size()
    }

    fn read(&mut self, addr: u32, bytes: &mut [u8]) -> Result<(), NvRamError> {
        self.traced(EventKind::NvRead, addr, bytes.len(), |device| device.read(addr, bytes))
    }

    fn write(&mut self, addr: u32, bytes: &[u8]) -> Result<(), NvRamError> {
        self.traced(EventKind::NvWrite, addr, bytes.len(), |device| device.write(addr, bytes))
    }

    fn erase(&mut self, addr: u32) -> Result<(), NvRamError> {
        let len = self.device.erase_size() as usize;
        self.traced(EventKind::NvErase, addr, len, |device| device.erase(addr))
    }
}
