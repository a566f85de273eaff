//! The chip that an index stands on, and the recording of what it is asked.

use std::sync::Arc;

use flysch_chip::{Chip, Clock, Part, Recorder, Tracer};

/// A part, a clock and a recorder: what every device of one run shares.
#[derive(Clone, Debug)]
pub struct Bed {
    /// The chip's data sheet.
    pub part: Arc<Part>,
    /// Where its operations are recorded, with the clock they move on.
    pub recorder: Recorder,
    /// Seed of what is random about the chip.
    pub seed: u64,
}

/// The chip as every method sees it.
pub type Device = Tracer<Chip>;

impl Bed {
    /// A bed of a factory-new chip of so many blocks at least: a larger array of the same part where
    /// the part's own does not hold the index.
    pub fn new(part: &Part, block_count: u32, seed: u64) -> Self {
        let mut part = part.clone();
        part.geometry.block_count = part.geometry.block_count.max(block_count);
        let recorder = Recorder::new(Clock::new(), "index");
        Self { part: Arc::new(part), recorder, seed }
    }

    /// The chip, new.
    pub fn device(&self) -> Device {
        let chip = Chip::new(Arc::clone(&self.part), self.recorder.clock().clone(), self.seed);
        Tracer::new(chip, self.recorder.clone())
    }
}
