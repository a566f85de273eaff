//! Counts of all events by kind.

use std::ops::AddAssign;

use flysch_chip::{Event, EventKind};
use serde::Serialize;

use super::operations::Operations;

/// Counts of events by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Operations of the devices, and the time they took.
    #[serde(flatten)]
    pub operations: Operations,
    /// Reads that the one-page buffer of the MTD layer served, without the chip.
    pub buffer_hits: u64,
    /// Marks that the workload set, for instance at each request.
    pub marks: u64,
}

impl Tally {
    pub fn of(events: &[Event]) -> Self {
        let mut tally = Self::default();
        for event in events {
            tally.add(event);
        }
        tally
    }

    /// Add one event to the counts.
    pub fn add(&mut self, event: &Event) {
        match event.kind {
            EventKind::BufferHit => self.buffer_hits += 1,
            EventKind::Mark => self.marks += 1,
            _ => self.operations.add(event),
        }
    }

    /// The number of events of all kinds.
    pub const fn event_count(&self) -> u64 {
        self.operations.count() + self.buffer_hits + self.marks
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, more: Self) {
        self.operations += more.operations;
        self.buffer_hits += more.buffer_hits;
        self.marks += more.marks;
    }
}
