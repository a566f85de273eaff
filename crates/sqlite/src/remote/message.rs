//! Requests as bytes. They stay on one machine, so numbers have its byte order.
//!
//! ```text
//! kind       4 bytes   the kind: its index in [`KINDS`], from 1
//! size       4 bytes   size of the bytes that follow this header
//! file       4 bytes   number that the process gave the file
//! flags      4 bytes   flags, a lock level, or a count
//! offset     8 bytes   in a file; or a connection; or rows changed
//! number     8 bytes   a size, or the number of a statement
//! statement  8 bytes   the statement that runs, or 0
//! resumed    8 bytes   when the process took its last answer, nanoseconds of the monotonic clock
//! sent       8 bytes   when it made the request
//! answered   4 bytes   whether it waits for an answer; then 4 that are not used
//! ```
//!
//! `shim/shim.h` has the same list.

/// The size of a header, bytes.
pub(super) const HEAD_SIZE: usize = 64;

/// The kind of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Open,
    Close,
    Read,
    Write,
    Truncate,
    Sync,
    Size,
    Lock,
    Unlock,
    Reserved,
    Delete,
    Exists,
    Random,
    Sleep,
    ShmMap,
    ShmLock,
    ShmUnmap,
    Began,
    Ended,
    Call,
    Pass,
}

const KINDS: [Kind; 21] = [
    Kind::Open,
    Kind::Close,
    Kind::Read,
    Kind::Write,
    Kind::Truncate,
    Kind::Sync,
    Kind::Size,
    Kind::Lock,
    Kind::Unlock,
    Kind::Reserved,
    Kind::Delete,
    Kind::Exists,
    Kind::Random,
    Kind::Sleep,
    Kind::ShmMap,
    Kind::ShmLock,
    Kind::ShmUnmap,
    Kind::Began,
    Kind::Ended,
    Kind::Call,
    Kind::Pass,
];

/// A request, with the bytes that follow its header.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request<'a> {
    pub(super) kind: Kind,
    pub(super) file: u32,
    pub(super) flags: i32,
    pub(super) offset: i64,
    pub(super) number: i64,
    pub(super) statement: u64,
    pub(super) resumed_ns: u64,
    pub(super) sent_ns: u64,
    pub(super) is_answered: bool,
    pub(super) bytes: &'a [u8],
}

/// The number of bytes that follow a header. None if the header is not that of a request.
#[expect(clippy::host_endian_bytes, reason = "shared memory of one machine")]
pub(super) fn body_size(head: [u8; HEAD_SIZE]) -> Option<usize> {
    let word = |at: usize| u32::from_ne_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    (word(0) != 0).then(|| usize::try_from(word(4)).unwrap_or(usize::MAX))
}

impl<'a> Request<'a> {
    /// Parse a request. None if the bytes are invalid.
    pub(super) fn parse(head: [u8; HEAD_SIZE], bytes: &'a [u8]) -> Option<Self> {
        let short = |at: usize| head[at..at + 4].try_into().map(u32::from_ne_bytes).ok();
        let long = |at: usize| head[at..at + 8].try_into().map(u64::from_ne_bytes).ok();
        let place = usize::try_from(short(0)?).ok()?.checked_sub(1)?;
        Some(Self {
            kind: *KINDS.get(place)?,
            file: short(8)?,
            flags: short(12)?.cast_signed(),
            offset: long(16)?.cast_signed(),
            number: long(24)?.cast_signed(),
            statement: long(32)?,
            resumed_ns: long(40)?,
            sent_ns: long(48)?,
            is_answered: short(56)? != 0,
            bytes,
        })
    }
}
