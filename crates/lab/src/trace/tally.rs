//! Counts of what happened.

use std::ops::AddAssign;

use flysch_chip::{Event, EventKind};
use serde::Serialize;

use super::operations::Operations;

/// Events by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Operations of the devices, and the time they took.
    #[serde(flatten)]
    pub operations: Operations,
    /// Reads served by the MTD layer's one-page buffer.
    pub buffer_hits: u64,
    /// Marks of the experiment.
    pub marks: u64,
}

impl Tally {
    /// Count `events`.
    pub fn of(events: &[Event]) -> Self {
        let mut tally = Self::default();
        for event in events {
            tally.add(event);
        }
        tally
    }

    /// Count one more.
    pub fn add(&mut self, event: &Event) {
        match event.kind {
            EventKind::BufferHit => self.buffer_hits += 1,
            EventKind::Mark => self.marks += 1,
            _ => self.operations.add(event),
        }
    }

    /// All events, whatever their kind.
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
