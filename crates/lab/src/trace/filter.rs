//! A part of a trace.

use std::ops::RangeInclusive;

use flysch_chip::{CauseId, Event, EventKind, TaskId, Trace};

use super::blocks::block_of;

/// Which events to keep: those that every given condition holds for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Earliest time.
    pub from_ns: Option<u64>,
    /// Latest time, included.
    pub until_ns: Option<u64>,
    /// These kinds alone; all where empty.
    pub kinds: Vec<EventKind>,
    /// This task alone.
    pub task: Option<String>,
    /// Only causes whose path contains this.
    pub cause: Option<String>,
    /// These blocks alone; marks, which are in no block, stay.
    pub blocks: Option<RangeInclusive<u32>>,
    /// At most so many events, the first ones.
    pub limit: Option<usize>,
}

impl Filter {
    /// Whether it keeps every event.
    pub fn is_all(&self) -> bool {
        *self == Self::default()
    }

    /// Keep the part of `trace` that the filter asks for.
    pub fn apply(&self, trace: &Trace) -> Trace {
        let tasks: Vec<bool> = trace
            .tasks
            .iter()
            .map(|name| self.task.as_ref().is_none_or(|wanted| name == wanted))
            .collect();
        let causes = self.causes(trace);
        let keeps = |event: &&Event| {
            let TaskId(task) = event.task;
            tasks[usize::from(task)]
                && causes[event.cause.0 as usize]
                && self.keeps_time(event.time_ns)
                && (self.kinds.is_empty() || self.kinds.contains(&event.kind))
                && self.keeps_block(block_of(&trace.geometry, event))
        };
        let limit = self.limit.unwrap_or(usize::MAX);
        let events = trace.events.iter().filter(keeps).take(limit).copied().collect();
        Trace { causes: trace.causes.clone(), tasks: trace.tasks.clone(), events, ..*trace }
    }

    fn keeps_time(&self, time_ns: u64) -> bool {
        self.from_ns.is_none_or(|from| time_ns >= from)
            && self.until_ns.is_none_or(|until| time_ns <= until)
    }

    fn keeps_block(&self, block: Option<u32>) -> bool {
        match (&self.blocks, block) {
            (Some(wanted), Some(block)) => wanted.contains(&block),
            _ => true,
        }
    }

    /// Which causes to keep, by number: each path is looked at once, not once an event.
    fn causes(&self, trace: &Trace) -> Vec<bool> {
        let ids = (0..).map(CauseId).take(trace.causes.len());
        let Some(wanted) = &self.cause else { return ids.map(|_| true).collect() };
        ids.map(|id| trace.causes.path(id).contains(wanted)).collect()
    }
}
