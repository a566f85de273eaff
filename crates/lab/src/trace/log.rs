//! A trace as rows: one for each event, with the names of causes and tasks.

use flysch_chip::{CauseId, Event, Trace};
use serde::Serialize;

/// An event for display and export. The fields are the columns of a CSV trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LogRow<'a> {
    /// Virtual time at which it began, nanoseconds.
    pub time_ns: u64,
    /// How long it took, nanoseconds.
    pub duration_ns: u32,
    /// Name of the kind of event.
    pub kind: &'static str,
    /// The number of the page, of the block for an erase, or of the mark.
    pub addr: u32,
    /// Bytes that were moved over the bus.
    pub bytes: u32,
    /// Name of the task that was running.
    pub task: &'a str,
    /// The scopes that were open, from the outermost on, joined by " > ".
    pub cause: &'a str,
}

/// The rows of a trace. The path of each cause is built only once, not for each row.
#[derive(Clone, Debug)]
pub struct Log<'a> {
    trace: &'a Trace,
    paths: Vec<String>,
}

impl<'a> Log<'a> {
    /// Prepare the rows of a trace.
    pub fn new(trace: &'a Trace) -> Self {
        let ids = (0..).map(CauseId).take(trace.causes.len());
        Self { trace, paths: ids.map(|id| trace.causes.path(id)).collect() }
    }

    /// The rows in order of time.
    pub fn rows(&self) -> impl Iterator<Item = LogRow<'_>> {
        self.trace.events.iter().map(|event| self.row(event))
    }

    fn row(&self, event: &Event) -> LogRow<'_> {
        LogRow {
            time_ns: event.time_ns,
            duration_ns: event.duration_ns,
            kind: event.kind.name(),
            addr: event.addr,
            bytes: event.bytes,
            task: &self.trace.tasks[usize::from(event.task.0)],
            cause: &self.paths[event.cause.0 as usize],
        }
    }
}
