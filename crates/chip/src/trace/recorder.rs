//! The recorder: where scopes are opened and events are kept.

use std::cell::RefCell;
use std::rc::Rc;

use flysch_nand::Geometry;

use super::cause::{CauseId, CauseTree};
use super::event::{Event, EventKind, TaskId, Trace};
use crate::Clock;

/// A handle on the recording of one simulation; clones share it.
#[derive(Clone, Debug)]
pub struct Recorder {
    clock: Clock,
    tape: Rc<RefCell<Tape>>,
}

#[derive(Debug)]
struct Tape {
    cause: CauseId,
    task: TaskId,
    causes: CauseTree,
    tasks: Vec<String>,
    events: Vec<Event>,
}

/// An open scope; it closes when dropped.
#[derive(Debug)]
#[must_use = "a scope closes when dropped"]
pub struct Scope {
    tape: Rc<RefCell<Tape>>,
    outer: CauseId,
}

/// A task that runs until this is dropped.
#[derive(Debug)]
#[must_use = "a task ends when dropped"]
pub struct TaskScope {
    tape: Rc<RefCell<Tape>>,
    outer: TaskId,
    outer_cause: CauseId,
}

impl Recorder {
    /// Begin a recording on `clock`, in a task named `task`.
    pub fn new(clock: Clock, task: &str) -> Self {
        let tape = Tape {
            cause: CauseId::ROOT,
            task: TaskId(0),
            causes: CauseTree::default(),
            tasks: vec![task.to_owned()],
            events: Vec::new(),
        };
        Self { clock, tape: Rc::new(RefCell::new(tape)) }
    }

    /// The clock that events are dated by.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Open a scope below the one now open.
    pub fn scope(&self, label: &'static str) -> Scope {
        let mut tape = self.tape.borrow_mut();
        let outer = tape.cause;
        tape.cause = tape.causes.child(outer, label);
        Scope { tape: Rc::clone(&self.tape), outer }
    }

    /// Let another task run: its scopes begin afresh, below none of the interrupted task's.
    pub fn task(&self, name: &str) -> TaskScope {
        let mut tape = self.tape.borrow_mut();
        let outer = tape.task;
        let outer_cause = std::mem::replace(&mut tape.cause, CauseId::ROOT);
        tape.task = tape.task_id(name);
        TaskScope { tape: Rc::clone(&self.tape), outer, outer_cause }
    }

    /// Record an operation that began at `began_ns` and ends now.
    ///
    /// # Panics
    /// Where it took more than 4 s, which no operation does.
    pub fn record(&self, kind: EventKind, addr: u32, bytes: u32, began_ns: u64) {
        let duration = self.clock.now_ns() - began_ns;
        let mut tape = self.tape.borrow_mut();
        let event = Event {
            time_ns: began_ns,
            duration_ns: u32::try_from(duration).expect("an operation takes under 4 s"),
            addr,
            bytes,
            cause: tape.cause,
            kind,
            task: tape.task,
        };
        tape.events.push(event);
    }

    /// Put a mark into the log.
    pub fn mark(&self, number: u32) {
        self.record(EventKind::Mark, number, 0, self.clock.now_ns());
    }

    /// Forget the events so far. Causes keep their numbers.
    pub fn reset(&self) {
        self.tape.borrow_mut().events.clear();
    }

    /// Count what was recorded since the last reset, without ending the recording.
    pub fn count(&self, kind: EventKind) -> u64 {
        self.tape.borrow().events.iter().filter(|event| event.kind == kind).count() as u64
    }

    /// Take the events recorded since the last reset, with the names they refer to.
    pub fn take(&self, geometry: Geometry) -> Trace {
        let mut tape = self.tape.borrow_mut();
        let events = std::mem::take(&mut tape.events);
        Trace { geometry, causes: tape.causes.clone(), tasks: tape.tasks.clone(), events }
    }
}

impl Tape {
    fn task_id(&mut self, name: &str) -> TaskId {
        let known = self.tasks.iter().position(|task| task == name);
        let place = known.unwrap_or_else(|| {
            self.tasks.push(name.to_owned());
            self.tasks.len() - 1
        });
        TaskId(u8::try_from(place).expect("fewer than 256 tasks"))
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        self.tape.borrow_mut().cause = self.outer;
    }
}

impl Drop for TaskScope {
    fn drop(&mut self) {
        let mut tape = self.tape.borrow_mut();
        tape.task = self.outer;
        tape.cause = self.outer_cause;
    }
}
