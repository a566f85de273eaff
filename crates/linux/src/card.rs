//! The bus to a block device in a package of its own, an SD card or an eMMC. A request costs the
//! host time on the bus, beyond the time of the flash inside.
//!
//! A request consists of a command, its response, the bytes, and the command that stops the
//! transfer. The host sleeps meanwhile, so the clock advances but no CPU time is charged. The time
//! that the card's firmware computes is unknown and not charged: response times are a lower bound.

use flysch_chip::Clock;

use crate::block_device::{BlockDevice, BlockError};

/// The time that a request spends on the bus.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bus {
    /// Time of the commands and responses of one request, nanoseconds.
    pub command_ns: u64,
    /// Time to transfer one byte, picoseconds.
    pub transfer_ps_per_byte: u64,
}

/// A block device behind a bus.
pub struct Card {
    device: Box<dyn BlockDevice>,
    bus: Bus,
    clock: Clock,
}

impl Card {
    pub fn new(device: Box<dyn BlockDevice>, bus: Bus, clock: Clock) -> Self {
        Self { device, bus, clock }
    }

    fn charge(&self, bytes: usize) {
        let transfer_ps = bytes as u64 * self.bus.transfer_ps_per_byte;
        self.clock.advance(self.bus.command_ns + transfer_ps.div_ceil(1000));
    }
}

impl BlockDevice for Card {
    fn sector_size(&self) -> u32 {
        self.device.sector_size()
    }

    fn sector_count(&self) -> u32 {
        self.device.sector_count()
    }

    fn read(&mut self, first: u32, bytes: &mut [u8]) -> Result<(), BlockError> {
        self.charge(bytes.len());
        self.device.read(first, bytes)
    }

    fn write(&mut self, first: u32, bytes: &[u8]) -> Result<(), BlockError> {
        self.charge(bytes.len());
        self.device.write(first, bytes)
    }

    fn flush(&mut self) -> Result<(), BlockError> {
        self.device.flush()
    }

    fn copy(&self) -> Option<Box<dyn BlockDevice>> {
        let Self { device, bus, clock } = self;
        Some(Box::new(Self { device: device.copy()?, bus: *bus, clock: clock.clone() }))
    }
}
