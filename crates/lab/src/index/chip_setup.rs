//! The chip that an index is stored on, and the recorder of its operations.

use std::sync::Arc;

use flysch_chip::{Chip, Clock, Part, Recorder, Tracer};

use super::error::MethodError;

/// What all devices of one run have in common: part, clock and recorder.
#[derive(Clone, Debug)]
pub struct ChipSetup {
    /// The data sheet of the chip.
    pub part: Arc<Part>,
    /// The recorder of the chip's operations. It holds the clock that they advance.
    pub recorder: Recorder,
    /// Seed of the chip's random behaviour.
    pub seed: u64,
}

/// The chip as an index method uses it.
pub type Device = Tracer<Chip>;

impl ChipSetup {
    /// A new chip with at least `block_count` blocks. If the part has fewer, a larger array of the
    /// same kind is assumed, so that the index fits.
    ///
    /// # Errors
    /// No chip has so many blocks.
    pub fn new(part: &Part, block_count: u32, seed: u64) -> Result<Self, MethodError> {
        let mut part = part.clone();
        let blocks = part.geometry.block_count.max(block_count);
        part.geometry.block_count = blocks;
        part.geometry.check().map_err(|_| MethodError::TooManyBlocks { blocks })?;
        let recorder = Recorder::new(Clock::new(), "index");
        Ok(Self { part: Arc::new(part), recorder, seed })
    }

    /// A factory-new chip. Its operations are recorded.
    pub fn device(&self) -> Device {
        let chip = Chip::new(Arc::clone(&self.part), self.recorder.clock().clone(), self.seed);
        Tracer::new(chip, self.recorder.clone())
    }
}
