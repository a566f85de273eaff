//! Events by which a shim reports the calls that its program makes of SQLite: one request for each
//! call, before it is made. `shim/record.c` is the other side.

use strum::VariantArray;

use super::message::{Kind, Request};

/// The kind of an event. `shim/shim.h` has the same list, in the same order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, VariantArray)]
pub enum ApiEventKind {
    /// The first part of a long text. The rest follows.
    Piece,
    /// The result of the previous call: its code, the connection or statement that it made, and how
    /// much of its text it used.
    Result,
    /// Something that a replay cannot repeat, with its name.
    Note,
    Version,
    Source,
    Option,
    Pragma,
    Open,
    Close,
    Prepare,
    Prepare16,
    Step,
    Reset,
    Finalize,
    Clear,
    Execute,
    BusyTimeout,
    Checkpoint,
    AutoCheckpoint,
    BindNull,
    BindInteger,
    BindReal,
    BindText,
    BindText16,
    BindBlob,
    BindZeros,
}

impl ApiEventKind {
    /// Whether the event is a call, and not information about one.
    pub const fn is_call(self) -> bool {
        !matches!(
            self,
            Self::Piece
                | Self::Result
                | Self::Note
                | Self::Version
                | Self::Source
                | Self::Option
                | Self::Pragma
        )
    }
}

/// A call, or information about calls.
#[derive(Clone, Copy, Debug)]
pub struct ApiEvent<'a> {
    /// The number of the process.
    pub client: u32,
    pub thread: u32,
    pub kind: ApiEventKind,
    /// The number of the connection or statement. It is unique only within the process.
    pub subject: u64,
    /// Flags, a result code, or the number of a parameter.
    pub flags: i32,
    pub number: i64,
    pub bytes: &'a [u8],
}

impl<'a> ApiEvent<'a> {
    pub(super) fn parse(client: u32, request: &Request<'a>) -> Option<Self> {
        assert!(request.kind == Kind::Call, "another request tells nothing");
        let place = (request.file & 0xFF).checked_sub(1)?;
        Some(Self {
            client,
            thread: request.file >> 8,
            kind: *ApiEventKind::VARIANTS.get(usize::try_from(place).ok()?)?,
            subject: request.offset.cast_unsigned(),
            flags: request.flags,
            number: request.number,
            bytes: request.bytes,
        })
    }
}
