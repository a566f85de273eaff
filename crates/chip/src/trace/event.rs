//! Events, which record operations, and the trace that holds them.

use flysch_names::named;
use flysch_nand::Geometry;
use strum::{IntoStaticStr, VariantArray};

use super::blame::Blame;
use super::cause::{CauseId, CauseTree};

/// The kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, IntoStaticStr, VariantArray)]
#[repr(u8)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum EventKind {
    /// An array read of data bytes, with or without OOB. Address: page.
    Read = 0,
    /// An array read of OOB bytes alone. Address: page.
    ReadOob = 1,
    /// A program of data, with or without OOB. Address: page.
    Program = 2,
    /// A program of OOB bytes alone. Address: page.
    ProgramOob = 3,
    /// An erase of a block. Address: block.
    Erase = 4,
    /// A read from the one-page buffer of the MTD layer, without an array operation. Address: page.
    BufferHit = 5,
    /// A mark that the experiment sets. Address: any number, such as that of a request.
    Mark = 6,
    /// A read of byte-addressable memory. Address: byte.
    #[strum(serialize = "nvram_read")]
    NvRead = 7,
    /// A write to byte-addressable memory. Address: byte.
    #[strum(serialize = "nvram_write")]
    NvWrite = 8,
    /// An erase of a sector of byte-addressable memory, such as NOR. Address: byte.
    #[strum(serialize = "nvram_erase")]
    NvErase = 9,
}

named!(EventKind, "kind of event");

impl EventKind {
    /// What the address of such an event is a number of.
    pub const fn place(self) -> EventPlace {
        match self {
            Self::Read | Self::ReadOob | Self::Program | Self::ProgramOob | Self::BufferHit => {
                EventPlace::Page
            }
            Self::Erase => EventPlace::Block,
            Self::NvRead | Self::NvWrite | Self::NvErase => EventPlace::Byte,
            Self::Mark => EventPlace::Nowhere,
        }
    }

    /// Whether the event is an operation of a device: of the NAND array, or of byte-addressable
    /// memory.
    pub const fn is_operation(self) -> bool {
        !matches!(self, Self::BufferHit | Self::Mark)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventPlace {
    Page,
    Block,
    Byte,
    Nowhere,
}

/// The number of the task that ran during an event. It is an index into [`Trace::tasks`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TaskId(pub u8);

/// One operation of a device, or a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Virtual time at which the operation began, nanoseconds.
    pub time_ns: u64,
    /// Time that the operation took, nanoseconds.
    pub duration_ns: u32,
    /// Number of the page, block or byte, as [`EventKind::place`] says.
    pub addr: u32,
    /// Number of bytes moved over the bus, OOB bytes included.
    pub bytes: u32,
    /// The innermost scope that was open.
    pub cause: CauseId,
    pub kind: EventKind,
    /// The task that was running.
    pub task: TaskId,
}

/// A complete recording: the events in order of time, and the names that they refer to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// Geometry of the device on which the events happened.
    pub geometry: Geometry,
    /// The scopes that the events refer to.
    pub causes: CauseTree,
    /// Names of the tasks. A [`TaskId`] is an index into them.
    pub tasks: Vec<String>,
    pub events: Vec<Event>,
    /// The tables and statements that the events are for, as far as known.
    pub blame: Blame,
    /// The program and the command that made the trace, as a line of JSON. Empty if they are not
    /// known.
    pub origin: String,
}

impl Trace {
    /// A trace without events.
    #[must_use]
    pub fn empty(geometry: Geometry) -> Self {
        Self {
            geometry,
            causes: CauseTree::default(),
            tasks: Vec::new(),
            events: Vec::new(),
            blame: Blame::default(),
            origin: String::new(),
        }
    }

    pub fn count(&self, kind: EventKind) -> u64 {
        self.events.iter().filter(|event| event.kind == kind).count() as u64
    }
}
