//! The summary of a trace in a few numbers.

use std::collections::BTreeSet;

use flysch_chip::{Event, EventKind, TaskId, Trace};
use serde::Serialize;

use super::blocks::block_of;
use super::causes::other_events;
use super::shape::shape_text;
use super::tally::Tally;

/// The most important numbers of a trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// Geometry of the chip, such as `2048+64x64x2048`: page size + OOB bytes x pages per block x
    /// blocks.
    pub geometry: String,
    /// The program and the command that made the trace, as a line of JSON. Empty if they are not
    /// known.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub origin: String,
    pub events: u64,
    /// Time of the first event, nanoseconds.
    pub begin_ns: u64,
    /// The latest time at which an event ended, nanoseconds.
    pub end_ns: u64,
    /// Time that the devices were busy, nanoseconds.
    pub busy_ns: u64,
    /// Number of blocks with at least one event.
    pub blocks: u64,
    /// Number of erases of the block that was erased most.
    pub block_erases_max: u64,
    /// Number of events outside every scope. Each is a bug of the stack.
    pub other_events: u64,
    /// One row for each kind of event that occurs.
    pub kinds: Vec<KindRow>,
    /// One row for each task that ran.
    pub tasks: Vec<TaskRow>,
}

/// The events of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct KindRow {
    /// Name of the kind of event.
    pub kind: &'static str,
    pub events: u64,
    /// Bytes that were moved over the bus.
    pub bytes: u64,
    /// Time that they took, nanoseconds.
    pub time_ns: u64,
    /// Time of the shortest event, nanoseconds.
    pub min_ns: u32,
    /// Time of the longest event, nanoseconds.
    pub max_ns: u32,
    /// Number of blocks that they touched.
    pub blocks: u64,
}

/// The events of one task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TaskRow {
    /// Name of the task.
    pub task: String,
    /// The counts of its events.
    #[serde(flatten)]
    pub tally: Tally,
}

/// Summarise a trace. All numbers are zero if it has no events.
pub fn summary(trace: &Trace) -> Summary {
    let tally = Tally::of(&trace.events);
    let ends = trace.events.iter().map(|event| event.time_ns + u64::from(event.duration_ns));
    let blocks: BTreeSet<u32> = touched(trace, &trace.events).collect();
    let mut erases = vec![0; trace.geometry.block_count as usize];
    for event in trace.events.iter().filter(|event| event.kind == EventKind::Erase) {
        erases[event.addr as usize] += 1;
    }
    Summary {
        geometry: shape_text(&trace.geometry),
        origin: trace.origin.clone(),
        events: tally.event_count(),
        begin_ns: trace.events.first().map_or(0, |event| event.time_ns),
        end_ns: ends.max().unwrap_or(0),
        busy_ns: tally.operations.flash_ns,
        blocks: blocks.len() as u64,
        block_erases_max: erases.into_iter().max().unwrap_or(0),
        other_events: other_events(trace),
        kinds: EventKind::ALL.iter().filter_map(|&kind| kind_row(trace, kind)).collect(),
        tasks: task_rows(trace),
    }
}

fn kind_row(trace: &Trace, kind: EventKind) -> Option<KindRow> {
    let events = || trace.events.iter().filter(|event| event.kind == kind);
    let durations = || events().map(|event| event.duration_ns);
    let blocks: BTreeSet<u32> = touched(trace, events()).collect();
    Some(KindRow {
        kind: kind.name(),
        events: trace.count(kind),
        bytes: events().map(|event| u64::from(event.bytes)).sum(),
        time_ns: durations().map(u64::from).sum(),
        min_ns: durations().min()?,
        max_ns: durations().max()?,
        blocks: blocks.len() as u64,
    })
}

fn task_rows(trace: &Trace) -> Vec<TaskRow> {
    let mut tallies = vec![Tally::default(); trace.tasks.len()];
    for event in &trace.events {
        let TaskId(task) = event.task;
        tallies[usize::from(task)].add(event);
    }
    let named = trace.tasks.iter().zip(tallies).filter(|(_, tally)| tally.event_count() > 0);
    named.map(|(task, tally)| TaskRow { task: task.clone(), tally }).collect()
}

fn touched<'a>(
    trace: &Trace,
    events: impl IntoIterator<Item = &'a Event>,
) -> impl Iterator<Item = u32> {
    events.into_iter().filter_map(|event| block_of(&trace.geometry, event))
}
