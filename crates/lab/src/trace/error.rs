//! The errors of reading and writing traces.

use std::fmt;
use std::io;

use flysch_nand::GeometryError;

use super::format::FileFormat;

/// Why a trace cannot be read or written. It is printed as one line, without the name of the file.
#[derive(Debug)]
pub enum TraceError {
    /// The operating system reported an error.
    Io(io::Error),
    /// The bytes are in none of the known formats.
    Unknown,
    /// This format does not contain the chip's geometry, and the caller gave none.
    NoGeometry(FileFormat),
    /// The caller gave a geometry, which a file of this format has no use for.
    UnusedGeometry(FileFormat),
    /// The file holds counts for blocks, but events are needed.
    OnlyCounters,
    /// Something is wrong at one place of the file.
    At { place: Place, fault: Fault },
}

/// A place in a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Offset from the start of a binary file.
    Byte(usize),
    /// Line of a text file, counted from 1.
    Line(usize),
    /// Event of a trace in memory, counted from 0.
    Event(usize),
    /// A name or number of the trace in memory that is not part of an event.
    Head,
}

/// What is wrong at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The file has a version of the format that is not known here.
    Version(u16),
    Checksum,
    /// The bytes end too early.
    CutShort,
    /// More bytes follow after the end of the trace.
    Excess,
    /// A number is larger than it may be.
    Beyond {
        /// What the number counts.
        what: &'static str,
        value: u64,
        /// The largest value that is allowed.
        max: u64,
    },
    /// The geometry is impossible.
    Geometry(GeometryError),
    /// A name is too long, not UTF-8, or contains control characters.
    Name,
    /// The same cause is listed twice.
    CauseTwice,
    /// No kind of event has this number.
    Kind(u8),
    /// The event is earlier than the one before it.
    Backwards,
    /// The text is not a valid value of this column.
    Column(&'static str),
    /// The line does not have the form of its format, which is this.
    Shape(&'static str),
}

impl TraceError {
    /// The error that `fault` was found at `place`.
    pub(super) const fn at(place: Place, fault: Fault) -> Self {
        Self::At { place, fault }
    }
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::Unknown => {
                f.write_str("neither a flysch trace, a CSV trace nor a Flashmon log or counters")
            }
            Self::NoGeometry(format) => {
                write!(f, "a {format} does not tell the chip's geometry; ")?;
                f.write_str("give it, such as 2048+64x64x2048")
            }
            Self::UnusedGeometry(format) => {
                write!(f, "--geometry is for CSV traces and Flashmon logs, and this is a {format}")
            }
            Self::OnlyCounters => f.write_str("Flashmon counters hold sums by block, no events"),
            Self::At { place, fault } => write!(f, "{place}: {fault}"),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Byte(at) => write!(f, "byte {at}"),
            Self::Line(line) => write!(f, "line {line}"),
            Self::Event(at) => write!(f, "event {at}"),
            Self::Head => f.write_str("head of the trace"),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version(version) => write!(f, "version {version} of the format is not known"),
            Self::Checksum => f.write_str("the checksum is wrong: file damaged or cut short"),
            Self::CutShort => f.write_str("the file ends too early"),
            Self::Excess => f.write_str("bytes follow the last event"),
            Self::Beyond { what, value, max } => write!(f, "{what} {value} is beyond {max}"),
            Self::Geometry(error) => error.fmt(f),
            Self::Name => f.write_str("a name is over 255 bytes, or not plain UTF-8 text"),
            Self::CauseTwice => f.write_str("a cause is listed twice"),
            Self::Kind(number) => write!(f, "no kind of event has the number {number}"),
            Self::Backwards => f.write_str("the event is earlier than the one before it"),
            Self::Column(name) => write!(f, "no such value for {name}"),
            Self::Shape(wanted) => write!(f, "the line is not of the form {wanted}"),
        }
    }
}

impl std::error::Error for TraceError {}

impl From<io::Error> for TraceError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_is_one_line() {
        let at = |fault| TraceError::at(Place::Byte(7), fault);
        let errors = [
            (TraceError::Io(io::ErrorKind::NotFound.into()), "entity not found"),
            (TraceError::Unknown, "neither a flysch trace"),
            (TraceError::NoGeometry(FileFormat::FlashmonLog), "a Flashmon log does not tell"),
            (TraceError::UnusedGeometry(FileFormat::Binary), "--geometry is for CSV traces"),
            (TraceError::OnlyCounters, "Flashmon counters hold"),
            (
                TraceError::at(Place::Line(3), Fault::Column("addr")),
                "line 3: no such value for addr",
            ),
            (TraceError::at(Place::Event(0), Fault::Backwards), "event 0: the event is earlier"),
            (TraceError::at(Place::Head, Fault::Name), "head of the trace: a name is over"),
            (at(Fault::Version(9)), "byte 7: version 9 of"),
            (at(Fault::Checksum), "byte 7: the checksum"),
            (at(Fault::CutShort), "byte 7: the file ends"),
            (at(Fault::Excess), "byte 7: bytes follow"),
            (at(Fault::Beyond { what: "page", value: 9, max: 8 }), "byte 7: page 9 is beyond 8"),
            (at(Fault::Geometry(GeometryError::TooLarge)), "byte 7: impossible geometry"),
            (at(Fault::CauseTwice), "byte 7: a cause"),
            (at(Fault::Kind(7)), "byte 7: no kind"),
            (at(Fault::Shape("a;b")), "byte 7: the line is not of the form a;b"),
        ];
        for (error, wanted) in errors {
            let text = error.to_string();
            assert!(text.starts_with(wanted) && !text.contains('\n'), "{text}");
        }
    }
}
