//! A filter that keeps a part of a trace.

use std::ops::RangeInclusive;

use flysch_chip::{Blame, Cargo, CauseId, Event, EventKind, TaskId, Trace};

use super::blame::selected;
use super::blocks::block_of;

/// Which events to keep: those that meet all conditions. A condition that is absent is always met.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// The earliest time to keep.
    pub from_ns: Option<u64>,
    /// The latest time to keep.
    pub until_ns: Option<u64>,
    /// The kinds to keep. If empty, all kinds are kept.
    pub kinds: Vec<EventKind>,
    /// Keep only events of this task.
    pub task: Option<String>,
    /// Keep only events whose cause, written as a path, contains this text.
    pub cause: Option<String>,
    /// Keep only events of these blocks. Events that belong to no block are always kept.
    pub blocks: Option<RangeInclusive<u32>>,
    /// Keep at most this many events, beginning with the first.
    pub limit: Option<usize>,
}

impl Filter {
    /// Whether the filter keeps every event.
    pub fn is_all(&self) -> bool {
        *self == Self::default()
    }

    /// The part of `trace` that meets all conditions.
    pub fn apply(&self, trace: &Trace) -> Trace {
        let tasks: Vec<bool> = trace
            .tasks
            .iter()
            .map(|name| self.task.as_ref().is_none_or(|wanted| name == wanted))
            .collect();
        let causes = self.causes(trace);
        let keeps = |event: &Event| {
            let TaskId(task) = event.task;
            tasks[usize::from(task)]
                && causes[event.cause.0 as usize]
                && self.keeps_time(event.time_ns)
                && (self.kinds.is_empty() || self.kinds.contains(&event.kind))
                && self.keeps_block(block_of(&trace.geometry, event))
        };
        let limit = self.limit.unwrap_or(usize::MAX);
        let kept = trace.events.iter().enumerate().filter(|(_, event)| keeps(event)).take(limit);
        let (places, events): (Vec<usize>, Vec<Event>) = kept.map(|(at, it)| (at, *it)).unzip();
        let of = |cargo: &Cargo| selected(cargo, places.iter().copied());
        let blame = Blame {
            of_tables: of(&trace.blame.of_tables),
            of_statements: of(&trace.blame.of_statements),
            ..trace.blame.clone()
        };
        let (causes, tasks) = (trace.causes.clone(), trace.tasks.clone());
        let origin = trace.origin.clone();
        Trace { geometry: trace.geometry, causes, tasks, events, blame, origin }
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

    /// Whether to keep each cause, by its number. Each path is tested only once, not for each
    /// event.
    fn causes(&self, trace: &Trace) -> Vec<bool> {
        let ids = (0..).map(CauseId).take(trace.causes.len());
        let Some(wanted) = &self.cause else { return ids.map(|_| true).collect() };
        ids.map(|id| trace.causes.path(id).contains(wanted)).collect()
    }
}
