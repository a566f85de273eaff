//! A filter that keeps a part of a trace.

use std::ops::RangeInclusive;

use flysch_chip::{Blame, Cargo, CauseId, Event, EventKind, TaskId, Trace};

use super::blame::selected;
use super::blocks::block_of;

/// Selects events by conditions. All conditions must hold; one that is None or empty always does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// The earliest time to keep.
    pub from_ns: Option<u64>,
    /// The latest time to keep.
    pub until_ns: Option<u64>,
    /// The kinds to keep. If empty, all kinds are kept.
    pub kinds: Vec<EventKind>,
    /// The task whose events are kept.
    pub task: Option<String>,
    /// A text that the path of an event's cause must contain.
    pub cause: Option<String>,
    /// The blocks whose events are kept. Events that belong to no block are always kept.
    pub blocks: Option<RangeInclusive<u32>>,
    /// The most events to keep, counted from the first.
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

    /// For each cause, by its number, whether to keep it. Each path is tested once, not once for
    /// each event.
    fn causes(&self, trace: &Trace) -> Vec<bool> {
        let ids = (0..).map(CauseId).take(trace.causes.len());
        let Some(wanted) = &self.cause else { return ids.map(|_| true).collect() };
        ids.map(|id| trace.causes.path(id).contains(wanted)).collect()
    }
}
