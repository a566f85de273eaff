//! The binary trace file.
//!
//! ```text
//! magic       8 bytes  "FLYSCHTR"
//! version     2 bytes  2, 3 or 4, little-endian
//! origin               only in version 4
//!             name     program and command, a line of JSON
//!             number   whether blame follows the events, 0 or 1
//! geometry    numbers  page_size oob_size sectors_per_page partial_programs
//!                      pages_per_block block_count in_order (0 or 1)
//! causes      number   how many, without the root
//!   each      number   parent: 0 is the root, n the n-th listed
//!             name     label
//! tasks       number   how many
//!   each      name
//! events      number   how many
//!   each      1 byte   bits 0-2 and, as the highest, bit 7: kind; bit 3: task, bit 4: cause equal
//!                      to those of the event before; bit 5: duration, bit 6: bytes equal to those
//!                      of the last event of the same kind
//!             number   time since the event before
//!             number   address, as zigzag difference from the last event of the same kind
//!             numbers  duration, bytes, cause, task: each only if its bit is not set
//! blame                in version 3, and in version 4 if it says so: origins of the events
//! checksum    4 bytes  CRC-32 (IEEE 802.3) of all bytes before, little-endian
//! ```
//!
//! A number is an LEB128 varint. A name is its length as a number, then UTF-8 bytes. For the first
//! event of the trace, or of its kind, all values of the event before count as zero.
//!
//! Version 3 is written where the tables and statements of events are known; `file_blame` has the
//! layout of that part. Version 4 is written where the program and the command are known. Version 1
//! can be read too. It has only the first seven kinds, and its bit 7 is never set.

use std::fs;
use std::path::Path;

use flysch_chip::{CauseId, Event, EventKind, TaskId, Trace};
use flysch_nand::Geometry;

use super::error::{Fault, Place, TraceError};
use super::file_blame;
use super::intake::{CAUSES_MAX, Intake, NAME_MAX, TASKS_MAX, check_trace, within};
use super::persist::write_atomic;
use super::varint;

/// The first bytes of every trace file.
pub const MAGIC: &[u8; 8] = b"FLYSCHTR";

/// The version that is written by default.
const VERSION: u16 = 2;
const VERSION_BLAME: u16 = 3;
const VERSION_ORIGIN: u16 = 4;
const VERSION_MIN: u16 = 1;
const BODY_AT: usize = 10;
/// The longest origin, bytes. There is no real limit: no more is read than the file has.
const ORIGIN_MAX: u64 = u32::MAX as u64;
const CHECKSUM_SIZE: usize = 4;
/// Least size of an event: head byte, time and address.
const EVENT_SIZE_MIN: usize = 3;

const KIND_LOW_BITS: u8 = 0b111;
const SAME_TASK: u8 = 1 << 3;
const SAME_CAUSE: u8 = 1 << 4;
const SAME_DURATION: u8 = 1 << 5;
const SAME_BYTES: u8 = 1 << 6;
const KIND_HIGH_BIT: u8 = 1 << 7;

/// Save a trace completely or not at all. An existing file is only replaced if `overwrite` is set.
pub fn save(trace: &Trace, path: &Path, overwrite: bool) -> Result<(), TraceError> {
    Ok(write_atomic(path, &encode(trace)?, overwrite)?)
}

/// Load a trace from a binary trace file.
pub fn load(path: &Path) -> Result<Trace, TraceError> {
    decode(&fs::read(path)?)
}

/// Encode a trace as the bytes of a trace file. Fails for traces that [`decode`] would refuse.
pub fn encode(trace: &Trace) -> Result<Vec<u8>, TraceError> {
    check_trace(trace)?;
    let mut bytes = MAGIC.to_vec();
    let has_origin = !trace.origin.is_empty();
    let has_blame = !trace.blame.is_empty();
    let version = match (has_origin, has_blame) {
        (true, _) => VERSION_ORIGIN,
        (false, true) => VERSION_BLAME,
        (false, false) => VERSION,
    };
    bytes.extend(version.to_le_bytes());
    if has_origin {
        put_name(&mut bytes, &trace.origin);
        varint::put(&mut bytes, has_blame.into());
    }
    put_geometry(&mut bytes, &trace.geometry);
    varint::put(&mut bytes, trace.causes.len() as u64 - 1);
    for id in (0..).map(CauseId).take(trace.causes.len()).skip(1) {
        varint::put(&mut bytes, trace.causes.parent(id).0.into());
        put_name(&mut bytes, trace.causes.label(id));
    }
    varint::put(&mut bytes, trace.tasks.len() as u64);
    for task in &trace.tasks {
        put_name(&mut bytes, task);
    }
    varint::put(&mut bytes, trace.events.len() as u64);
    let mut before = Before::default();
    for event in &trace.events {
        put_event(&mut bytes, event, &before);
        before.remember(event);
    }
    if has_blame {
        file_blame::put(&mut bytes, &trace.blame, trace.events.len());
    }
    bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
    Ok(bytes)
}

/// Decode a trace from the bytes of a trace file.
pub fn decode(bytes: &[u8]) -> Result<Trace, TraceError> {
    let (version, body_end) = check_frame(bytes)?;
    let kinds = if version == VERSION_MIN { &EventKind::ALL[..7] } else { EventKind::ALL };
    let has_blame = version == VERSION_BLAME;
    let mut parser = Parser { bytes: &bytes[..body_end], at: BODY_AT, kinds, has_blame };
    let origin = if version == VERSION_ORIGIN { parser.origin() } else { Ok(String::new()) };
    let trace = origin.and_then(|origin| Ok(Trace { origin, ..parser.trace()? }));
    trace.map_err(|fault| TraceError::at(Place::Byte(parser.at), fault))
}

/// Check magic, version and checksum. Returns the version and the end of the checked bytes.
fn check_frame(bytes: &[u8]) -> Result<(u16, usize), TraceError> {
    if !bytes.starts_with(MAGIC) {
        return Err(TraceError::Unknown);
    }
    let cut_short = TraceError::at(Place::Byte(bytes.len()), Fault::CutShort);
    let Some(&[low, high]) = bytes.get(MAGIC.len()..BODY_AT) else { return Err(cut_short) };
    let version = u16::from_le_bytes([low, high]);
    if !(VERSION_MIN..=VERSION_ORIGIN).contains(&version) {
        return Err(TraceError::at(Place::Byte(MAGIC.len()), Fault::Version(version)));
    }
    let Some((body, checksum)) = bytes[BODY_AT..].split_last_chunk::<CHECKSUM_SIZE>() else {
        return Err(cut_short);
    };
    let body_end = BODY_AT + body.len();
    if crc32fast::hash(&bytes[..body_end]) != u32::from_le_bytes(*checksum) {
        return Err(TraceError::at(Place::Byte(body_end), Fault::Checksum));
    }
    Ok((version, body_end))
}

/// The events that the next event is encoded relative to.
#[derive(Default)]
struct Before {
    event: Option<Event>,
    of_kind: [Option<Event>; EventKind::ALL.len()],
}

const NOTHING: Event = Event {
    time_ns: 0,
    duration_ns: 0,
    addr: 0,
    bytes: 0,
    cause: CauseId::ROOT,
    kind: EventKind::Read,
    task: TaskId(0),
};

impl Before {
    fn event(&self) -> Event {
        self.event.unwrap_or(NOTHING)
    }

    fn of_kind(&self, kind: EventKind) -> Event {
        self.of_kind[kind as usize].unwrap_or(NOTHING)
    }

    fn remember(&mut self, event: &Event) {
        self.event = Some(*event);
        self.of_kind[event.kind as usize] = Some(*event);
    }
}

fn put_geometry(bytes: &mut Vec<u8>, geometry: &Geometry) {
    let numbers = [
        geometry.page_size,
        geometry.oob_size,
        geometry.sectors_per_page,
        geometry.partial_programs,
        geometry.pages_per_block,
        geometry.block_count,
        u32::from(geometry.in_order),
    ];
    for number in numbers {
        varint::put(bytes, number.into());
    }
}

pub(super) fn put_name(bytes: &mut Vec<u8>, name: &str) {
    varint::put(bytes, name.len() as u64);
    bytes.extend(name.as_bytes());
}

fn put_event(bytes: &mut Vec<u8>, event: &Event, before: &Before) {
    let (last, of_kind) = (before.event(), before.of_kind(event.kind));
    let fields = [
        (SAME_DURATION, event.duration_ns, of_kind.duration_ns),
        (SAME_BYTES, event.bytes, of_kind.bytes),
        (SAME_CAUSE, event.cause.0, last.cause.0),
        (SAME_TASK, event.task.0.into(), last.task.0.into()),
    ];
    let same = fields.iter().filter(|(_, value, old)| value == old).map(|(bit, ..)| bit);
    let kind = event.kind as u8;
    let high = if kind > KIND_LOW_BITS { KIND_HIGH_BIT } else { 0 };
    bytes.push(same.fold(kind & KIND_LOW_BITS | high, |head, bit| head | bit));
    varint::put(bytes, event.time_ns - last.time_ns);
    varint::put(bytes, varint::zigzag(i64::from(event.addr) - i64::from(of_kind.addr)));
    for (_, value, _) in fields.iter().filter(|(_, value, old)| value != old) {
        varint::put(bytes, (*value).into());
    }
}

/// Parses the body of a trace file. Invariant: `at` is within the bytes; after a fault, it is where
/// the faulty value begins.
pub(super) struct Parser<'a> {
    bytes: &'a [u8],
    at: usize,
    /// The kinds of events that this version of the format has.
    kinds: &'static [EventKind],
    /// Whether blame follows the events: the tables and statements that they are for.
    has_blame: bool,
}

impl<'a> Parser<'a> {
    fn trace(&mut self) -> Result<Trace, Fault> {
        let mut intake = Intake::new(self.geometry()?)?;
        let cause_count = self.number("number of causes", CAUSES_MAX as u64 - 1)?;
        for known in 0..cause_count {
            let parent = self.number("parent of a cause", known.into())?;
            let cause = intake.child(CauseId(parent), self.name()?)?;
            if cause.0 != known + 1 {
                return Err(Fault::CauseTwice);
            }
        }
        for _ in 0..self.number("number of tasks", TASKS_MAX as u64)? {
            intake.add_task(self.name()?)?;
        }
        let room = (self.bytes.len() - self.at) / EVENT_SIZE_MIN;
        let mut before = Before::default();
        for _ in 0..self.number("number of events", room as u64)? {
            let began = self.at;
            let event = self.event(&before)?;
            intake.push(event).inspect_err(|_| self.at = began)?;
            before.remember(&event);
        }
        let mut trace = intake.finish();
        if self.has_blame {
            trace.blame = file_blame::parse(self, trace.events.len())?;
        }
        if self.at == self.bytes.len() { Ok(trace) } else { Err(Fault::Excess) }
    }

    /// Read the program and command that made the trace, and note whether blame follows the events.
    fn origin(&mut self) -> Result<String, Fault> {
        let origin = self.text(ORIGIN_MAX)?.to_owned();
        self.has_blame = self.number("whether blame follows", 1)? == 1;
        Ok(origin)
    }

    fn geometry(&mut self) -> Result<Geometry, Fault> {
        let mut next = || self.number("geometry", u32::MAX.into());
        Ok(Geometry {
            page_size: next()?,
            oob_size: next()?,
            sectors_per_page: next()?,
            partial_programs: next()?,
            pages_per_block: next()?,
            block_count: next()?,
            in_order: self.number("in_order", 1)? == 1,
        })
    }

    fn event(&mut self, before: &Before) -> Result<Event, Fault> {
        let &head = self.bytes.get(self.at).ok_or(Fault::CutShort)?;
        let high = if head & KIND_HIGH_BIT == 0 { 0 } else { KIND_LOW_BITS + 1 };
        let number = head & KIND_LOW_BITS | high;
        let kind = *self.kinds.get(usize::from(number)).ok_or(Fault::Kind(number))?;
        self.at += 1;
        let (last, of_kind) = (before.event(), before.of_kind(kind));
        let elapsed_ns = self.long_number()?;
        let moved = varint::unzigzag(self.long_number()?);
        let addr = i64::from(of_kind.addr).checked_add(moved);
        let mut unless = |bit, what, old: u32, max: u32| {
            if head & bit == 0 { self.number(what, max.into()) } else { Ok(old) }
        };
        Ok(Event {
            time_ns: last.time_ns.checked_add(elapsed_ns).ok_or(Fault::Column("time"))?,
            addr: addr.and_then(|addr| addr.try_into().ok()).ok_or(Fault::Column("addr"))?,
            kind,
            duration_ns: unless(SAME_DURATION, "duration", of_kind.duration_ns, u32::MAX)?,
            bytes: unless(SAME_BYTES, "bytes", of_kind.bytes, u32::MAX)?,
            cause: CauseId(unless(SAME_CAUSE, "cause", last.cause.0, u32::MAX)?),
            task: {
                let task = unless(SAME_TASK, "task", last.task.0.into(), u8::MAX.into())?;
                TaskId(u8::try_from(task).map_err(|_| Fault::Column("task"))?)
            },
        })
    }

    pub(super) fn name(&mut self) -> Result<&'a str, Fault> {
        self.text(NAME_MAX as u64)
    }

    fn text(&mut self, size_max: u64) -> Result<&'a str, Fault> {
        let began = self.at;
        let size = self.number("length of a name", size_max)? as usize;
        let bytes = self.bytes.get(self.at..self.at + size).ok_or(Fault::CutShort)?;
        let Ok(name) = str::from_utf8(bytes) else {
            self.at = began;
            return Err(Fault::Name);
        };
        self.at += size;
        Ok(name)
    }

    pub(super) fn number(&mut self, what: &'static str, max: u64) -> Result<u32, Fault> {
        let began = self.at;
        let value = self.long_number()?;
        within(what, value, max).inspect_err(|_| self.at = began)?;
        u32::try_from(value).map_err(|_| Fault::Beyond { what, value, max: u32::MAX.into() })
    }

    pub(super) fn long_number(&mut self) -> Result<u64, Fault> {
        let (value, size) = varint::parse(&self.bytes[self.at..])?;
        self.at += size;
        Ok(value)
    }
}
