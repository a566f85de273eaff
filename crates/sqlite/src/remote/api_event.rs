//! What a program asks of SQLite, as the shim tells it: one request for each call, before it is
//! made. `shim/record.c` is the other side.

use strum::VariantArray;

use super::message::{Kind, Request};

/// What an event says. `shim/shim.h` has the same list, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, VariantArray)]
pub enum ApiEventKind {
    /// The beginning of a long text; the rest follows.
    Piece,
    /// How the call before it ended: its code, what it made, how much of its text it used.
    Result,
    /// Something that cannot be made again, and its name.
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
    /// Whether it is a call, and not something about one.
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

/// A call, or something about calls.
#[derive(Clone, Copy, Debug)]
pub struct ApiEvent<'a> {
    /// The process, and its thread.
    pub client: u32,
    pub thread: u32,
    pub kind: ApiEventKind,
    /// The connection or statement: a number that means something within the process only.
    pub subject: u64,
    /// Flags, a code, or the number of a parameter.
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
