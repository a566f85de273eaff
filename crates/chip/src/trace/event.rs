//! What is recorded of an operation, and a finished recording.

use flysch_nand::Geometry;

use super::cause::{CauseId, CauseTree};

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum EventKind {
    /// An array read that gave data bytes. Address: page.
    Read = 0,
    /// An array read of OOB bytes alone. Address: page.
    ReadOob = 1,
    /// A program of data (with or without OOB). Address: page.
    Program = 2,
    /// A program of OOB bytes alone. Address: page.
    ProgramOob = 3,
    /// A block erase. Address: block.
    Erase = 4,
    /// A read served by the MTD layer's one-page buffer: no array operation. Address: page.
    BufferHit = 5,
    /// A mark in the log, put by the experiment. Address: any number, such as the request's.
    Mark = 6,
    /// A read of byte-addressable memory beside the NAND. Address: byte.
    NvRead = 7,
    /// A write to byte-addressable memory. Address: byte.
    NvWrite = 8,
    /// An erase of a sector of byte-addressable memory that needs it. Address: byte.
    NvErase = 9,
}

impl EventKind {
    /// Every kind, in the order of its number.
    pub const ALL: [Self; 10] = [
        Self::Read,
        Self::ReadOob,
        Self::Program,
        Self::ProgramOob,
        Self::Erase,
        Self::BufferHit,
        Self::Mark,
        Self::NvRead,
        Self::NvWrite,
        Self::NvErase,
    ];

    /// Name in tables, CSV and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::ReadOob => "read_oob",
            Self::Program => "program",
            Self::ProgramOob => "program_oob",
            Self::Erase => "erase",
            Self::BufferHit => "buffer_hit",
            Self::Mark => "mark",
            Self::NvRead => "nvram_read",
            Self::NvWrite => "nvram_write",
            Self::NvErase => "nvram_erase",
        }
    }

    /// What the address counts.
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

    /// Whether a device worked: the array of the NAND, or byte-addressable memory.
    pub const fn is_operation(self) -> bool {
        !matches!(self, Self::BufferHit | Self::Mark)
    }
}

/// What the address of an event counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventPlace {
    /// Pages of the NAND.
    Page,
    /// Blocks of the NAND.
    Block,
    /// Bytes of the memory beside it.
    Byte,
    /// Nothing on a device.
    Nowhere,
}

/// The task that ran when an event happened: a place in [`Trace::tasks`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TaskId(pub u8);

/// One operation of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Virtual time at which it began, nanoseconds.
    pub time_ns: u64,
    /// How long it took, nanoseconds.
    pub duration_ns: u32,
    /// Page, block or byte, by [`EventKind::place`].
    pub addr: u32,
    /// Bytes moved over the bus, OOB included.
    pub bytes: u32,
    /// The innermost scope open at the time.
    pub cause: CauseId,
    /// What happened.
    pub kind: EventKind,
    /// The task that ran.
    pub task: TaskId,
}

/// A finished recording: events in order of time, and the names they refer to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// Shape of the device the events happened on.
    pub geometry: Geometry,
    /// The tree of causes.
    pub causes: CauseTree,
    /// Names of the tasks, by [`TaskId`].
    pub tasks: Vec<String>,
    /// The events.
    pub events: Vec<Event>,
}

impl Trace {
    /// Count the events of one kind.
    pub fn count(&self, kind: EventKind) -> u64 {
        self.events.iter().filter(|event| event.kind == kind).count() as u64
    }
}
