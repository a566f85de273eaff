//! The head of a row: its length, its table, its kind and its commit.
//!
//! ```text
//! | body length varint, 1–4 | head u8 | commit delta zig-zag varint, 1–10 | …
//!                             bit 0–3  table
//!                             bit 4–5  kind: 0 row, 1 tombstone, 2 moved row, 3 reserved
//!                             bit 6    shared
//!                             bit 7    reserved, 0
//! ```
//!
//! 1. The body length counts the bytes behind it. Zero says that no row begins there.
//! 2. The commit delta is the row's commit less that of the page in which the row begins.
//! 3. What is reserved is refused by name: a newer version wrote it.

use super::varint::{self, Varint, unzigzag, zigzag};
use super::{RowError, TABLES_MAX};

/// Greatest number of bytes of a body: its length then takes four bytes.
pub const BODY_LEN_MAX: u32 = (1 << 28) - 1;

/// Greatest number of bytes that the body length takes.
pub const LEN_SIZE_MAX: usize = 4;

const _: () = assert!(BODY_LEN_MAX >> (7 * LEN_SIZE_MAX) == 0, "the longest length fits");

/// Greatest number of bytes of body length, head and commit delta together.
pub(crate) const HEAD_SIZE_MAX: usize = LEN_SIZE_MAX + 1 + varint::VARINT_MAX;

mod bits {
    pub(super) const TABLE: u8 = 0x0F;
    pub(super) const KIND_SHIFT: u8 = 4;
    pub(super) const KIND: u8 = 3;
    pub(super) const SHARED: u8 = 1 << 6;
    pub(super) const RESERVED: u8 = 1 << 7;
}

const _: () = assert!(TABLES_MAX == bits::TABLE as usize + 1, "the head names every table");

/// What kind of row this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowKind {
    /// A row as it was inserted or updated.
    Row,
    /// A tombstone: it has the key of a row that was deleted.
    Tombstone,
    /// A row that compaction copied from another block.
    Moved,
}

/// What the head tells about a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowHead {
    /// The table's number: at most 15.
    pub table: u8,
    /// What the row is.
    pub kind: RowKind,
    /// Whether the row's key met another key of the same hash when it was inserted. Updates and
    /// moves keep the mark.
    pub is_shared: bool,
}

impl RowHead {
    fn parse(byte: u8) -> Result<Self, RowError> {
        if byte & bits::RESERVED != 0 {
            return Err(RowError::ReservedBit);
        }
        let kind = match (byte >> bits::KIND_SHIFT) & bits::KIND {
            0 => RowKind::Row,
            1 => RowKind::Tombstone,
            2 => RowKind::Moved,
            _ => return Err(RowError::ReservedKind),
        };
        Ok(Self { table: byte & bits::TABLE, kind, is_shared: byte & bits::SHARED != 0 })
    }

    fn emit(self) -> u8 {
        assert!(self.table <= bits::TABLE, "a schema has at most 16 tables");
        let kind = match self.kind {
            RowKind::Row => 0,
            RowKind::Tombstone => 1,
            RowKind::Moved => 2,
        };
        let shared = if self.is_shared { bits::SHARED } else { 0 };
        self.table | kind << bits::KIND_SHIFT | shared
    }
}

/// The bytes of a whole row, length and all, from its first 1 to 4 bytes.
///
/// Errors: [`RowError::Incomplete`] where more bytes are needed to tell, [`RowError::Empty`] where
/// no row begins.
pub fn row_len(bytes: &[u8]) -> Result<usize, RowError> {
    let (len, size) = match parse_number(bytes) {
        Err(RowError::Incomplete) if bytes.len() >= LEN_SIZE_MAX => return Err(RowError::TooLong),
        number => number?,
    };
    if len > u64::from(BODY_LEN_MAX) {
        return Err(RowError::TooLong);
    }
    if len == 0 {
        return Err(RowError::Empty);
    }
    debug_assert!(size <= LEN_SIZE_MAX, "a length within the limit is that short");
    Ok(size + len as usize)
}

/// The bytes in front of a row's null bits: body length, head and commit delta.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Prefix {
    pub(super) head: RowHead,
    pub(super) commit_delta: i64,
}

impl Prefix {
    /// Read the prefix of a row that `bytes` hold as a whole. Returns it with its own length and
    /// that of the row.
    pub(super) fn parse(bytes: &[u8]) -> Result<(Self, usize, usize), RowError> {
        let row_len = row_len(bytes)?;
        let row = bytes.get(..row_len).ok_or(RowError::Incomplete)?;
        Self::parse_front(row)
    }

    /// Read the prefix of a row of which `bytes` hold only the beginning.
    pub(super) fn parse_front(bytes: &[u8]) -> Result<(Self, usize, usize), RowError> {
        let row_len = row_len(bytes)?;
        let row = &bytes[..row_len.min(bytes.len())];
        let (_, at) = parse_number(row)?;
        let head = RowHead::parse(*row.get(at).ok_or(RowError::Number)?)?;
        let (delta, size) = match varint::parse(&row[at + 1..]) {
            Varint::Whole(delta, size) => (delta, size),
            Varint::Cut | Varint::Invalid => return Err(RowError::Number),
        };
        let end = at + 1 + size;
        debug_assert!(end <= HEAD_SIZE_MAX, "the head has its greatest size");
        debug_assert!(end <= row_len, "the prefix ends within the row");
        Ok((Self { head, commit_delta: unzigzag(delta) }, end, row_len))
    }

    /// Write the prefix of a row whose null bits and columns take `content_len` bytes. Returns the
    /// bytes written; None where the row is too long.
    pub(super) fn emit(self, content_len: u64, into: &mut [u8]) -> Option<usize> {
        let delta = zigzag(self.commit_delta);
        let body_len = content_len.checked_add(1 + varint::len(delta) as u64)?;
        if body_len > u64::from(BODY_LEN_MAX) {
            return None;
        }
        let at = varint::emit(body_len, into);
        debug_assert!(at <= LEN_SIZE_MAX, "a length within the limit is that short");
        into[at] = self.head.emit();
        let end = at + 1 + varint::emit(delta, &mut into[at + 1..]);
        debug_assert!(end <= HEAD_SIZE_MAX, "the head has its greatest size");
        debug_assert!(
            RowHead::parse(into[at]) == Ok(self.head),
            "what was written is what will be read"
        );
        Some(end)
    }
}

/// A row's prefix, rewritten for another page: its bytes, their number, and how many the old one
/// had.
pub(crate) struct Rebased {
    pub(crate) bytes: [u8; HEAD_SIZE_MAX],
    pub(crate) len: usize,
    pub(crate) old_len: usize,
}

/// The commit number of the row that begins with these bytes, on a page of commit `page_commit`.
pub(crate) fn commit_of(front: &[u8], page_commit: u32) -> Result<u64, RowError> {
    let (prefix, _, _) = Prefix::parse_front(front)?;
    Ok(u64::from(page_commit).wrapping_add_signed(prefix.commit_delta))
}

/// Rewrite the prefix of the row that begins with these bytes, for a move from a page of commit
/// `from` to one of commit `to`.
pub(crate) fn rebase(front: &[u8], from: u32, to: u32) -> Result<Rebased, RowError> {
    let (prefix, old_len, row_len) = Prefix::parse_front(front)?;
    let commit = u64::from(from).wrapping_add_signed(prefix.commit_delta);
    let commit_delta = commit.wrapping_sub(u64::from(to)).cast_signed();
    let mut bytes = [0; HEAD_SIZE_MAX];
    let prefix = Prefix { commit_delta, ..prefix };
    let len = prefix.emit((row_len - old_len) as u64, &mut bytes).ok_or(RowError::TooLong)?;
    Ok(Rebased { bytes, len, old_len })
}

fn parse_number(bytes: &[u8]) -> Result<(u64, usize), RowError> {
    match varint::parse(bytes) {
        Varint::Whole(value, size) => Ok((value, size)),
        Varint::Cut => Err(RowError::Incomplete),
        Varint::Invalid => Err(RowError::Number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_head_has_one_byte_and_the_reserved_ones_are_refused() {
        for byte in 0..=u8::MAX {
            let expected = match byte {
                0x80.. => Err(RowError::ReservedBit),
                _ if byte >> 4 & 3 == 3 => Err(RowError::ReservedKind),
                _ => Ok(byte),
            };
            assert_eq!(RowHead::parse(byte).map(RowHead::emit), expected, "{byte:#x}");
        }
    }

    #[test]
    fn the_length_tells_how_much_to_gather() {
        let cases: [(&[u8], _); 7] = [
            (&[], Err(RowError::Incomplete)),
            (&[0, 9], Err(RowError::Empty)),
            (&[5], Ok(6)),
            (&[0x80], Err(RowError::Incomplete)),
            (&[0xFF, 0xFF, 0xFF, 0x7F], Ok(4 + BODY_LEN_MAX as usize)),
            (&[0x80, 0x80, 0x80, 0x80, 1], Err(RowError::TooLong)),
            (&[0xFF; 4], Err(RowError::TooLong)),
        ];
        for (bytes, expected) in cases {
            assert_eq!(row_len(bytes), expected, "{bytes:x?}");
        }
    }
}
