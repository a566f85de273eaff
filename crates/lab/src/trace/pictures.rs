//! Traces in formats that other programs can draw.
//!
//! [`folded`] is the input of flame graphs: one line for each stack of scopes, with the time of its
//! operations. [`chrome`] is the Trace Event Format, which Perfetto opens: one track of operations
//! for each layer, and one track of statements.

use std::collections::BTreeMap;
use std::fmt::Write;

use flysch_chip::{CauseId, Event, TaskId, Trace};
use serde_json::{Value, json};

/// The stacks of scopes, outermost first and joined by semicolons, each with its time in
/// nanoseconds. The last frame of each is the kind of operation.
pub fn folded(trace: &Trace) -> Vec<u8> {
    let mut stacks: BTreeMap<String, u64> = BTreeMap::new();
    for event in trace.events.iter().filter(|event| event.kind.is_operation()) {
        let mut frames = Vec::new();
        if event.task != TaskId(0) {
            frames.push(task(trace, event));
        }
        frames.extend(scopes(trace, event.cause));
        frames.push(event.kind.name());
        let frames: Vec<String> = frames.iter().map(|frame| frame.replace(';', ",")).collect();
        *stacks.entry(frames.join(";")).or_default() += u64::from(event.duration_ns);
    }
    let mut text = String::new();
    for (stack, ns) in stacks {
        writeln!(text, "{stack} {ns}").expect("a string takes what is written");
    }
    text.into_bytes()
}

/// The trace in the Trace Event Format. Times are in microseconds.
///
/// # Panics
/// Never: the values are plain JSON.
pub fn chrome(trace: &Trace) -> Vec<u8> {
    let mut layers: Vec<&str> = vec!["statements"];
    let mut events = statements(trace);
    for (place, event) in trace.events.iter().enumerate() {
        if !event.kind.is_operation() {
            continue;
        }
        let layer = trace.causes.label(event.cause);
        let known = layers.iter().position(|known| *known == layer);
        let lane = known.unwrap_or_else(|| {
            layers.push(layer);
            layers.len() - 1
        });
        let cause = trace.causes.path(event.cause);
        let args = json!({ "address": event.addr, "cause": cause, "for": tables(trace, place) });
        let begin_ns = event.time_ns;
        let end_ns = begin_ns + u64::from(event.duration_ns);
        events.push(slice(event.kind.name(), lane, (begin_ns, end_ns), &args));
    }
    let named = layers.iter().enumerate().map(|(lane, layer)| {
        let args = json!({ "name": layer });
        json!({ "ph": "M", "name": "thread_name", "pid": 1, "tid": lane, "args": args })
    });
    events.extend(named);
    let document = json!({ "displayTimeUnit": "ms", "traceEvents": events });
    let mut bytes = serde_json::to_vec(&document).expect("plain JSON");
    bytes.push(b'\n');
    bytes
}

/// One slice for each sequence of operations of the same statement or task.
fn statements(trace: &Trace) -> Vec<Value> {
    let mut slices: Vec<(&str, u64, u64)> = Vec::new();
    for event in trace.events.iter().filter(|event| event.kind.is_operation()) {
        let name = match event.task {
            TaskId(0) => trace.causes.label(trace.causes.outermost(event.cause)),
            _ => task(trace, event),
        };
        let end_ns = event.time_ns + u64::from(event.duration_ns);
        match slices.last_mut() {
            Some((last, _, until)) if *last == name => *until = end_ns.max(*until),
            _ => slices.push((name, event.time_ns, end_ns)),
        }
    }
    let slices = slices.into_iter();
    slices.map(|(name, begin, end)| slice(name, 0, (begin, end), &json!({}))).collect()
}

#[expect(clippy::cast_precision_loss, reason = "microseconds for people")]
fn slice(name: &str, lane: usize, (begin_ns, end_ns): (u64, u64), args: &Value) -> Value {
    let (begin, length) = (begin_ns as f64 / 1e3, (end_ns - begin_ns) as f64 / 1e3);
    json!({ "ph": "X", "name": name, "pid": 1, "tid": lane, "ts": begin, "dur": length, "args": args })
}

/// The names of the tables that the event at `place` is for.
fn tables(trace: &Trace, place: usize) -> Vec<&str> {
    let shares = trace.blame.of_tables.of(place).iter();
    let names = shares.filter_map(|(table, _)| trace.blame.tables.get(table.0 as usize));
    names.map(|it| if it.name.is_empty() { it.kind.as_str() } else { it.name.as_str() }).collect()
}

fn task<'a>(trace: &'a Trace, event: &Event) -> &'a str {
    trace.tasks.get(usize::from(event.task.0)).map_or("other", String::as_str)
}

/// The labels of the scopes around an event, outermost first.
fn scopes(trace: &Trace, cause: CauseId) -> Vec<&str> {
    let mut labels = Vec::new();
    let mut at = cause;
    while at != CauseId::ROOT {
        labels.push(trace.causes.label(at));
        at = trace.causes.parent(at);
    }
    labels.reverse();
    labels
}
