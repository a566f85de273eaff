//! The recorder: it keeps the open scopes and the events.

use std::cell::RefCell;
use std::rc::Rc;

use flysch_nand::Geometry;

use super::cause::{CauseId, CauseTree};
use super::event::{Event, EventKind, TaskId, Trace};
use crate::Clock;

/// A handle on the recording of one simulation. Clones share the same recording.
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

/// An open scope. It is closed when this value is dropped.
#[derive(Debug)]
#[must_use = "a scope closes when dropped"]
pub struct Scope {
    tape: Rc<RefCell<Tape>>,
    outer: CauseId,
}

/// A running task. It ends when this value is dropped.
#[derive(Debug)]
#[must_use = "a task ends when dropped"]
pub struct TaskScope {
    tape: Rc<RefCell<Tape>>,
    outer: TaskId,
    outer_cause: CauseId,
}

impl Recorder {
    /// Begin a recording with the times of `clock`. Events belong to the task `task` at first.
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

    /// The clock that gives events their times.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Open a scope within the one that is innermost.
    pub fn scope(&self, label: &str) -> Scope {
        let mut tape = self.tape.borrow_mut();
        let outer = tape.cause;
        tape.cause = tape.causes.child(outer, label);
        Scope { tape: Rc::clone(&self.tape), outer }
    }

    /// Let another task run. Its scopes begin at the root, not within those of the interrupted
    /// task.
    pub fn task(&self, name: &str) -> TaskScope {
        let mut tape = self.tape.borrow_mut();
        let outer = tape.task;
        let outer_cause = std::mem::replace(&mut tape.cause, CauseId::ROOT);
        tape.task = tape.task_id(name);
        TaskScope { tape: Rc::clone(&self.tape), outer, outer_cause }
    }

    /// Record an operation that began at `began_ns` and ends at this moment.
    ///
    /// # Panics
    /// If it took more than 4 s, which no operation does.
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

    /// Record a mark with this number.
    pub fn mark(&self, number: u32) {
        self.record(EventKind::Mark, number, 0, self.clock.now_ns());
    }

    /// Forget all events. Causes keep their numbers.
    pub fn reset(&self) {
        self.tape.borrow_mut().events.clear();
    }

    /// Number of events since the last reset.
    pub fn len(&self) -> usize {
        self.tape.borrow().events.len()
    }

    /// Whether there was no event since the last reset.
    pub fn is_empty(&self) -> bool {
        self.tape.borrow().events.is_empty()
    }

    /// Forget the events from the one at place `len` on, such as those of preparations.
    pub fn cut(&self, len: usize) {
        self.tape.borrow_mut().events.truncate(len);
    }

    /// Number of events of a kind since the last reset. The recording goes on.
    pub fn count(&self, kind: EventKind) -> u64 {
        self.tape.borrow().events.iter().filter(|event| event.kind == kind).count() as u64
    }

    /// Take the events since the last reset, with the names that they refer to.
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
