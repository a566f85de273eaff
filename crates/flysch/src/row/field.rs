//! The bytes of one column.
//!
//! ```text
//! bool            | u8: 0 or 1 |
//! integer, time   | zig-zag varint, 1–10 |
//! real            | bits, 8, little-endian |
//! text, blob      | length varint, 1–4 | bytes |
//! null            nothing: its null bit is set
//! ```
//!
//! A value has one form, so that a row read and written again has the same bytes.

use super::varint::{self, VARINT_MAX, Varint, unzigzag, zigzag};
use super::{ColumnType, Real, RowError, Value};
use crate::bytes::array;

const REAL_SIZE: usize = 8;

/// Bytes that a value takes on flash.
pub(super) fn len(value: &Value<'_>) -> u64 {
    match *value {
        Value::Null => 0,
        Value::Bool(_) => 1,
        Value::Real(_) => REAL_SIZE as u64,
        Value::Integer(number) | Value::Time(number) => varint::len(zigzag(number)) as u64,
        Value::Text(text) => len_of_bytes(text.as_bytes()),
        Value::Blob(blob) => len_of_bytes(blob),
    }
}

/// Write a value's length, or the whole value where it is no text or blob. Returns the number of
/// bytes written, and the value's own bytes that follow them.
pub(super) fn emit<'v>(value: &Value<'v>, into: &mut [u8]) -> (usize, &'v [u8]) {
    assert!(into.len() >= VARINT_MAX, "there is room for any number");
    let (written, rest) = match *value {
        Value::Null => (0, &[][..]),
        Value::Bool(bit) => {
            into[0] = u8::from(bit);
            (1, &[][..])
        }
        Value::Real(real) => {
            into[..REAL_SIZE].copy_from_slice(&real.bits.to_le_bytes());
            (REAL_SIZE, &[][..])
        }
        Value::Integer(number) | Value::Time(number) => {
            (varint::emit(zigzag(number), into), &[][..])
        }
        Value::Text(text) => (varint::emit(text.len() as u64, into), text.as_bytes()),
        Value::Blob(blob) => (varint::emit(blob.len() as u64, into), blob),
    };
    debug_assert!((written + rest.len()) as u64 == len(value), "the value has its measured size");
    debug_assert!(written <= VARINT_MAX, "no more than there is room for");
    (written, rest)
}

/// Number of bytes of the value at the start of `bytes`. Whether text is UTF-8 is not checked.
pub(super) fn size(column_type: ColumnType, column: u8, bytes: &[u8]) -> Result<usize, RowError> {
    let size = match column_type {
        ColumnType::Bool => 1,
        ColumnType::Real => REAL_SIZE,
        ColumnType::Integer | ColumnType::Time => parse_number(column, bytes)?.1,
        ColumnType::Text | ColumnType::Blob => {
            let (len, size) = parse_number(column, bytes)?;
            let len = usize::try_from(len).ok();
            len.and_then(|len| len.checked_add(size)).ok_or(RowError::Overrun(column))?
        }
    };
    debug_assert!(size > 0, "only null takes no byte");
    if size > bytes.len() { Err(RowError::Overrun(column)) } else { Ok(size) }
}

/// The value in `bytes`, which has the length that [`size`] computed.
pub(super) fn parse(
    column_type: ColumnType,
    column: u8,
    bytes: &[u8],
) -> Result<Value<'_>, RowError> {
    debug_assert!(size(column_type, column, bytes) == Ok(bytes.len()), "the bytes were measured");
    let value = match column_type {
        ColumnType::Bool => match bytes[0] {
            0 => Value::Bool(false),
            1 => Value::Bool(true),
            _ => return Err(RowError::Invalid(column)),
        },
        ColumnType::Real => Value::Real(Real { bits: u64::from_le_bytes(array(bytes)) }),
        ColumnType::Integer => Value::Integer(unzigzag(parse_number(column, bytes)?.0)),
        ColumnType::Time => Value::Time(unzigzag(parse_number(column, bytes)?.0)),
        ColumnType::Blob => Value::Blob(&bytes[parse_number(column, bytes)?.1..]),
        ColumnType::Text => {
            let text = core::str::from_utf8(&bytes[parse_number(column, bytes)?.1..]);
            Value::Text(text.ok().ok_or(RowError::Invalid(column))?)
        }
    };
    debug_assert!(len(&value) == bytes.len() as u64, "a value has one form");
    Ok(value)
}

fn len_of_bytes(bytes: &[u8]) -> u64 {
    varint::len(bytes.len() as u64) as u64 + bytes.len() as u64
}

fn parse_number(column: u8, bytes: &[u8]) -> Result<(u64, usize), RowError> {
    match varint::parse(bytes) {
        Varint::Whole(value, size) => Ok((value, size)),
        Varint::Cut => Err(RowError::Overrun(column)),
        Varint::Invalid => Err(RowError::Invalid(column)),
    }
}
