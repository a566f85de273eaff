//! What the events of a run came to that were counted and let go while it went on.
//!
//! A trace takes 32 bytes for each event, and what is known of its bytes comes on top. A run that
//! does not keep its trace counts it in parts, so that a long run takes no more memory than a short
//! one.
//!
//! Invariant: the figures of a run are sums over its events, so they do not depend on the parts.

use std::collections::BTreeMap;

use flysch_chip::{CauseId, EventKind, TaskId, Trace};

use crate::trace::{self, Operations, TableSums};

/// Sums over the earlier events of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Earlier {
    /// Operations by the task that ran and the innermost scope.
    pub(crate) by_runner: BTreeMap<(TaskId, CauseId), Operations>,
    /// Marks by the innermost scope.
    pub(crate) marks: BTreeMap<CauseId, u64>,
    pub(crate) buffer_hits: u64,
    /// Operations of each block of the chip. Empty if there were no events.
    pub(crate) by_block: Vec<Operations>,
    pub(crate) tables: TableSums,
}

impl Earlier {
    /// Count the events of a part of the trace.
    pub(crate) fn add(&mut self, part: &Trace) {
        for event in &part.events {
            match event.kind {
                EventKind::BufferHit => self.buffer_hits += 1,
                EventKind::Mark => *self.marks.entry(event.cause).or_default() += 1,
                _ => self.by_runner.entry((event.task, event.cause)).or_default().add(event),
            }
        }
        let by_block = trace::by_block(part);
        self.by_block.resize(by_block.len(), Operations::default());
        for (sum, tally) in self.by_block.iter_mut().zip(by_block) {
            *sum += tally.operations;
        }
        if !part.blame.is_empty() {
            self.tables.add(part);
        }
    }
}
