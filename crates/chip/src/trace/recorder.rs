//! The recorder: it holds the open scopes and collects the events.

use std::cell::RefCell;
use std::rc::Rc;

use flysch_nand::Geometry;
use strum::VariantArray;

use super::blame::Blame;
use super::cargo::{Cargo, Ledger, Origin};
use super::cause::{CauseId, CauseTree};
use super::event::{Event, EventKind, TaskId, Trace};
use crate::Clock;

/// A handle on the recording of one simulation. Clones share the same recording.
#[derive(Clone, Debug)]
pub struct Recorder {
    clock: Clock,
    recording: Rc<RefCell<Recording>>,
}

/// A recording as it was at a moment.
#[derive(Clone, Debug)]
pub struct RecordingMark(Recording);

#[derive(Clone, Debug)]
struct Recording {
    cause: CauseId,
    task: TaskId,
    causes: CauseTree,
    tasks: Vec<String>,
    events: Vec<Event>,
    ledger: Option<Ledger>,
    /// How many events of each kind were taken in parts since the last reset.
    taken: [u64; EventKind::VARIANTS.len()],
    is_paused: bool,
}

/// An open scope. It is closed on drop.
#[derive(Debug)]
#[must_use = "a scope closes when dropped"]
pub struct Scope {
    recording: Rc<RefCell<Recording>>,
    outer: CauseId,
}

/// While this value exists, programs of the chip write the content of an address of the file
/// system.
#[derive(Debug)]
#[must_use = "a shipment ends when dropped"]
pub struct Shipment {
    recording: Rc<RefCell<Recording>>,
    outer: Option<u64>,
}

/// While this value exists, bytes with one origin are written.
#[derive(Debug)]
#[must_use = "the write ends when dropped"]
pub struct Writing {
    recording: Rc<RefCell<Recording>>,
    outer: Option<Origin>,
}

/// A running task. On drop, the interrupted task continues.
#[derive(Debug)]
#[must_use = "a task ends when dropped"]
pub struct TaskScope {
    recording: Rc<RefCell<Recording>>,
    outer: TaskId,
    outer_cause: CauseId,
}

impl Recorder {
    /// Begin a recording with times from `clock`. Events belong to the task `task` until another
    /// one runs.
    pub fn new(clock: Clock, task: &str) -> Self {
        let recording = Recording {
            cause: CauseId::ROOT,
            task: TaskId(0),
            causes: CauseTree::default(),
            tasks: vec![task.to_owned()],
            events: Vec::new(),
            ledger: None,
            taken: [0; EventKind::VARIANTS.len()],
            is_paused: false,
        };
        Self { clock, recording: Rc::new(RefCell::new(recording)) }
    }

    /// The recording as it is now. No shipment or write is under way.
    pub fn keep(&self) -> RecordingMark {
        RecordingMark(self.recording.borrow().clone())
    }

    /// Take the recording back to a mark of it. The scopes that are open are those that were open
    /// then.
    pub fn take_back(&self, mark: &RecordingMark) {
        self.recording.borrow_mut().clone_from(&mark.0);
    }

    /// The clock that gives events their times.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Open a scope inside the innermost one.
    pub fn scope(&self, label: &str) -> Scope {
        let mut recording = self.recording.borrow_mut();
        let outer = recording.cause;
        recording.cause = recording.causes.child(outer, label);
        Scope { recording: Rc::clone(&self.recording), outer }
    }

    /// Run another task. Its scopes begin at the root, not inside those of the interrupted task.
    pub fn task(&self, name: &str) -> TaskScope {
        let mut recording = self.recording.borrow_mut();
        let outer = recording.task;
        let outer_cause = std::mem::replace(&mut recording.cause, CauseId::ROOT);
        recording.task = recording.task_id(name);
        TaskScope { recording: Rc::clone(&self.recording), outer, outer_cause }
    }

    /// From now on, follow bytes from files to the pages of a chip of this geometry.
    pub fn follow_bytes(&self, geometry: Geometry) {
        self.recording.borrow_mut().ledger = Some(Ledger::new(geometry));
    }

    /// Note the origin of a part of a file in the file system `fs`.
    pub fn own(&self, fs: &'static str, ino: u32, (offset, len): (u64, u64), origin: Origin) {
        if let Some(ledger) = &mut self.recording.borrow_mut().ledger {
            ledger.own((ino, fs), offset, len, origin);
        }
    }

    /// Note that the file system `fs` stores a part of a file in `size` bytes at an address of its
    /// own.
    pub fn store(&self, fs: &'static str, ino: u32, part: (u64, u64), (at, size): (u64, u64)) {
        if let Some(ledger) = &mut self.recording.borrow_mut().ledger {
            ledger.store((ino, fs), part, at, size);
        }
    }

    /// Note that an address of the file system holds its own metadata.
    pub fn store_own(&self, (at, size): (u64, u64)) {
        if let Some(ledger) = &mut self.recording.borrow_mut().ledger {
            ledger.clear(at, size);
        }
    }

    /// Note that the next pages that are programmed hold the content of this address in the file
    /// system.
    pub fn ship(&self, at: u64) -> Shipment {
        let ledger = &mut self.recording.borrow_mut().ledger;
        let outer = ledger.as_mut().and_then(|ledger| ledger.ship(Some(at)));
        Shipment { recording: Rc::clone(&self.recording), outer }
    }

    /// Note that what is written now has this origin. Byte-addressable memory takes it over at
    /// once.
    pub fn write(&self, origin: Origin) -> Writing {
        let ledger = &mut self.recording.borrow_mut().ledger;
        let outer = ledger.as_mut().and_then(|ledger| ledger.write(Some(origin)));
        Writing { recording: Rc::clone(&self.recording), outer }
    }

    /// Take the cargo of the events since the last reset. Call this before the events are taken.
    pub fn take_cargo(&self) -> Cargo {
        let ledger = &mut self.recording.borrow_mut().ledger;
        ledger.as_mut().map(|ledger| std::mem::take(&mut ledger.cargo)).unwrap_or_default()
    }

    /// While paused, events are not kept. Bytes are followed all the same.
    pub fn pause(&self, is_paused: bool) {
        self.recording.borrow_mut().is_paused = is_paused;
    }

    /// Record an operation that began at `began_ns` and ends at this moment.
    ///
    /// # Panics
    /// If it took more than 4 s, which no operation does.
    pub fn record(&self, kind: EventKind, addr: u32, bytes: u32, began_ns: u64) {
        let duration = self.clock.now_ns() - began_ns;
        let mut recording = self.recording.borrow_mut();
        let Recording { events, ledger, is_paused, .. } = &mut *recording;
        if let Some(ledger) = ledger {
            ledger.record(kind, addr);
            if *is_paused {
                ledger.cargo.truncate(events.len());
            }
        }
        if *is_paused {
            return;
        }
        let event = Event {
            time_ns: began_ns,
            duration_ns: u32::try_from(duration).expect("an operation takes under 4 s"),
            addr,
            bytes,
            cause: recording.cause,
            kind,
            task: recording.task,
        };
        recording.events.push(event);
    }

    /// Record a mark with this number.
    pub fn mark(&self, number: u32) {
        self.record(EventKind::Mark, number, 0, self.clock.now_ns());
    }

    /// Discard all events. Causes keep their numbers.
    pub fn reset(&self) {
        self.cut(0);
        self.recording.borrow_mut().taken = Default::default();
    }

    /// Number of events since the last reset.
    pub fn len(&self) -> usize {
        self.recording.borrow().events.len()
    }

    /// Whether there was no event since the last reset.
    pub fn is_empty(&self) -> bool {
        self.recording.borrow().events.is_empty()
    }

    /// Discard the events from number `len` on, such as those of preparations.
    pub fn cut(&self, len: usize) {
        let mut recording = self.recording.borrow_mut();
        recording.events.truncate(len);
        if let Some(ledger) = &mut recording.ledger {
            ledger.cargo.truncate(len);
        }
    }

    /// Number of events of a kind since the last reset. The recording goes on.
    pub fn count(&self, kind: EventKind) -> u64 {
        let recording = self.recording.borrow();
        let here = recording.events.iter().filter(|event| event.kind == kind).count();
        recording.taken[kind as usize] + here as u64
    }

    /// Take those events since the last reset of whose cargo `is_wanted` is true, in their order.
    /// The others stay. The recording goes on, and its counts include what was taken.
    pub fn take_part(
        &self,
        geometry: Geometry,
        is_wanted: impl Fn(&[(Origin, u32)]) -> bool,
    ) -> (Trace, Cargo) {
        let cargo = self.take_cargo();
        let mut part = (self.take(geometry), Cargo::default());
        let mut recording = self.recording.borrow_mut();
        let mut wanted = Vec::with_capacity(part.0.events.len());
        for (place, event) in part.0.events.drain(..).enumerate() {
            let shares = cargo.of(place);
            if is_wanted(shares) {
                recording.taken[event.kind as usize] += 1;
                wanted.push(event);
                part.1.push(shares.iter().copied());
            } else {
                recording.events.push(event);
                if let Some(ledger) = &mut recording.ledger {
                    ledger.cargo.push(shares.iter().copied());
                }
            }
        }
        part.0.events = wanted;
        part
    }

    /// Take the events since the last reset, with the names that they refer to.
    pub fn take(&self, geometry: Geometry) -> Trace {
        let mut recording = self.recording.borrow_mut();
        let events = std::mem::take(&mut recording.events);
        if let Some(ledger) = &mut recording.ledger {
            ledger.cargo = Cargo::default();
        }
        Trace {
            geometry,
            causes: recording.causes.clone(),
            tasks: recording.tasks.clone(),
            events,
            blame: Blame::default(),
            origin: String::new(),
        }
    }
}

impl Recording {
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
        self.recording.borrow_mut().cause = self.outer;
    }
}

impl Drop for Shipment {
    fn drop(&mut self) {
        if let Some(ledger) = &mut self.recording.borrow_mut().ledger {
            ledger.ship(self.outer);
        }
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        if let Some(ledger) = &mut self.recording.borrow_mut().ledger {
            ledger.write(self.outer);
        }
    }
}

impl Drop for TaskScope {
    fn drop(&mut self) {
        let mut recording = self.recording.borrow_mut();
        recording.task = self.outer;
        recording.cause = self.outer_cause;
    }
}
