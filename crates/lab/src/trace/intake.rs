//! Builds traces from untrusted sources. Every trace that is read passes these checks.
//!
//! The limits ensure that a malicious file cannot make the program use more memory than a laptop
//! has.

use std::collections::BTreeMap;

use flysch_chip::{CauseId, Event, EventPlace, TaskId, Trace};
use flysch_nand::Geometry;

use super::error::{Fault, Place, TraceError};

/// The most blocks of a traced chip: 64 GiB in blocks of 64 KiB.
pub(super) const BLOCKS_MAX: u32 = 1 << 20;
/// The most causes, including the root.
pub(super) const CAUSES_MAX: usize = 1 << 14;
/// The most scopes that are open at the same time.
pub(super) const DEPTH_MAX: usize = 64;
/// The most tasks, because a [`TaskId`] has 8 bits.
pub(super) const TASKS_MAX: usize = 256;
/// The most bytes in a name.
pub(super) const NAME_MAX: usize = 255;
/// The latest time, nanoseconds. It ensures that the sum of a time and a duration does not
/// overflow.
const TIME_NS_MAX: u64 = i64::MAX as u64;

/// Separates the scopes in the path of a cause.
const SCOPE_SEPARATOR: &str = " > ";

/// A trace that is being built from an untrusted source.
#[derive(Debug)]
pub(super) struct Intake {
    trace: Trace,
    depths: Vec<usize>,
    known_causes: BTreeMap<String, CauseId>,
}

impl Intake {
    /// Begin an empty trace.
    pub(super) fn new(geometry: Geometry) -> Result<Self, Fault> {
        geometry.check().map_err(Fault::Geometry)?;
        within("block count", geometry.block_count.into(), BLOCKS_MAX.into())?;
        let trace = Trace::empty(geometry);
        Ok(Self { trace, depths: vec![0], known_causes: BTreeMap::new() })
    }

    /// The child of `parent` with this label. It is added if it is new.
    pub(super) fn child(&mut self, parent: CauseId, label: &str) -> Result<CauseId, Fault> {
        check_name(label)?;
        let depth = self.depths[parent.0 as usize] + 1;
        within("depth of causes", depth as u64, DEPTH_MAX as u64)?;
        let cause = self.trace.causes.child(parent, label);
        if cause.0 as usize == self.depths.len() {
            self.depths.push(depth);
        }
        within("number of causes", self.depths.len() as u64, CAUSES_MAX as u64)?;
        Ok(cause)
    }

    /// The cause with this path, in the form of [`CauseTree::path`]. New scopes are added.
    pub(super) fn cause(&mut self, path: &str) -> Result<CauseId, Fault> {
        if let Some(&cause) = self.known_causes.get(path) {
            return Ok(cause);
        }
        let mut cause = CauseId::ROOT;
        if path != self.trace.causes.label(CauseId::ROOT) {
            for label in path.split(SCOPE_SEPARATOR) {
                cause = self.child(cause, label)?;
            }
        }
        self.known_causes.insert(path.to_owned(), cause);
        Ok(cause)
    }

    /// The task with this name. It is added if it is new.
    pub(super) fn task(&mut self, name: &str) -> Result<TaskId, Fault> {
        if let Some(place) = self.trace.tasks.iter().position(|task| task == name) {
            return Ok(TaskId(u8::try_from(place).expect("at most 256 tasks are let in")));
        }
        self.add_task(name)
    }

    /// Add a task, even if one of this name exists.
    pub(super) fn add_task(&mut self, name: &str) -> Result<TaskId, Fault> {
        check_name(name)?;
        let place = self.trace.tasks.len();
        within("number of tasks", place as u64 + 1, TASKS_MAX as u64)?;
        self.trace.tasks.push(name.to_owned());
        Ok(TaskId(u8::try_from(place).expect("just checked")))
    }

    /// Check an event and append it to the trace.
    pub(super) fn push(&mut self, event: Event) -> Result<(), Fault> {
        let earlier_ns = self.trace.events.last().map_or(0, |last| last.time_ns);
        check_event(&self.trace, &event, earlier_ns)?;
        self.trace.events.push(event);
        Ok(())
    }

    /// The trace so far.
    pub(super) fn trace(&self) -> &Trace {
        &self.trace
    }

    /// Return the finished trace.
    pub(super) fn finish(self) -> Trace {
        self.trace
    }
}

/// Check a trace before it is saved, so that the file can be loaded again.
pub(super) fn check_trace(trace: &Trace) -> Result<(), TraceError> {
    check_head(trace).map_err(|fault| TraceError::at(Place::Head, fault))?;
    let mut earlier_ns = 0;
    for (number, event) in trace.events.iter().enumerate() {
        check_event(trace, event, earlier_ns)
            .map_err(|fault| TraceError::at(Place::Event(number), fault))?;
        earlier_ns = event.time_ns;
    }
    Ok(())
}

fn check_head(trace: &Trace) -> Result<(), Fault> {
    let mut copy = Intake::new(trace.geometry)?;
    for id in 1..trace.causes.len() {
        let id = CauseId(u32::try_from(id).map_err(|_| Fault::CutShort)?);
        copy.child(trace.causes.parent(id), trace.causes.label(id))?;
    }
    trace.tasks.iter().try_for_each(|task| copy.add_task(task).map(|_| ()))
}

fn check_event(trace: &Trace, event: &Event, earlier_ns: u64) -> Result<(), Fault> {
    let Geometry { block_count, .. } = trace.geometry;
    let (what, count) = match event.kind.place() {
        EventPlace::Nowhere => ("mark", u64::from(u32::MAX) + 1),
        EventPlace::Byte => ("byte", u64::from(u32::MAX) + 1),
        EventPlace::Block => ("block", block_count.into()),
        EventPlace::Page => ("page", trace.geometry.page_count().into()),
    };
    within(what, event.addr.into(), count - 1)?;
    within("time", event.time_ns, TIME_NS_MAX)?;
    within("cause", event.cause.0.into(), trace.causes.len() as u64 - 1)?;
    if usize::from(event.task.0) >= trace.tasks.len() {
        return Err(Fault::Column("task"));
    }
    if event.time_ns < earlier_ns {
        return Err(Fault::Backwards);
    }
    Ok(())
}

/// Check the name of a task or a cause.
fn check_name(name: &str) -> Result<(), Fault> {
    if name.len() > NAME_MAX || name.chars().any(char::is_control) {
        return Err(Fault::Name);
    }
    Ok(())
}

/// Check that a number is at most `max`. `what` names it in the error.
pub(super) fn within(what: &'static str, value: u64, max: u64) -> Result<(), Fault> {
    if value > max {
        return Err(Fault::Beyond { what, value, max });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use flysch_chip::EventKind;

    use super::*;
    use crate::trace::parse_shape;

    fn event(kind: EventKind, addr: u32, time_ns: u64) -> Event {
        let (cause, task) = (CauseId::ROOT, TaskId(0));
        Event { time_ns, duration_ns: 0, addr, bytes: 0, cause, kind, task }
    }

    #[test]
    fn unsound_events_stay_outside() {
        let mut intake = Intake::new(parse_shape("512+16x32x4").unwrap()).unwrap();
        intake.add_task("t").unwrap();
        intake.push(event(EventKind::Read, 127, 5)).unwrap();
        let sound = event(EventKind::Erase, 3, 5);
        let page = Fault::Beyond { what: "page", value: 128, max: 127 };
        let block = Fault::Beyond { what: "block", value: 4, max: 3 };
        let cause = Fault::Beyond { what: "cause", value: 1, max: 0 };
        let time = Fault::Beyond { what: "time", value: u64::MAX, max: TIME_NS_MAX };
        let cases = [
            (event(EventKind::Read, 128, 5), page),
            (event(EventKind::Erase, 4, 5), block),
            (event(EventKind::Read, 0, 4), Fault::Backwards),
            (Event { time_ns: u64::MAX, ..sound }, time),
            (Event { cause: CauseId(1), ..sound }, cause),
            (Event { task: TaskId(1), ..sound }, Fault::Column("task")),
        ];
        for (unsound, fault) in cases {
            assert_eq!(intake.push(unsound), Err(fault));
        }
        assert_eq!(intake.push(event(EventKind::Mark, u32::MAX, 5)), Ok(()));
        assert_eq!(intake.push(sound), Ok(()));
    }

    #[test]
    fn names_have_limits() {
        let mut intake = Intake::new(parse_shape("512+16x32x4").unwrap()).unwrap();
        assert_eq!(intake.task("two\nlines"), Err(Fault::Name));
        assert_eq!(intake.task(&"n".repeat(256)), Err(Fault::Name));
        let deep = vec!["scope"; DEPTH_MAX + 1].join(SCOPE_SEPARATOR);
        let too_deep = Fault::Beyond { what: "depth of causes", value: 65, max: 64 };
        assert_eq!(intake.cause(&deep), Err(too_deep));
        assert_eq!(intake.cause("other"), Ok(CauseId::ROOT));
        let cause = intake.cause("insert > write").unwrap();
        assert_eq!(intake.trace().causes.path(cause), "insert > write");
        for number in 0..256 {
            intake.task(&format!("task {number}")).unwrap();
        }
        let too_many = Fault::Beyond { what: "number of tasks", value: 257, max: 256 };
        assert_eq!(intake.task("one more"), Err(too_many));
    }
}
