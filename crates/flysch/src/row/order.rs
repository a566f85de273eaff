//! Keys as bytes that order as the keys do. Ordered indexes over several columns use the first
//! eight of them as a code, and the ends of a range are compared by them.
//!
//! ```text
//! null            00 00 of text and blobs, else 00
//! bool            01 false, 02 true
//! real            01, then Real::order, 8, the highest first
//! integer, time   from 0    40–BF            below 128
//!                           C0–EF | 1 byte   below 12,416
//!                           F0–F7 | 2 bytes  below 536,704
//!                           F4 + n | n bytes, 4 to 8, the highest first
//!                 below 0   the same of -1 - value, each bit turned, in 01–3F
//! text, blob      its bytes, 00 as 00 FF; then 00 01
//! ```
//!
//! 1. Keys compare as their bytes do. No key's bytes begin with those of another key of the same
//!    columns, so two keys whose bytes fit a code have one code only if they are equal.

use core::cmp::Ordering;

use super::{ColumnType, Value};

/// Greatest number of bytes of the end of a range that are kept and compared.
pub(crate) const END_SIZE: usize = 64;

/// Upper limits of numbers from zero on that take one byte, two, three.
const ONE: u64 = 0x80;
const TWO: u64 = ONE + 0x3000;
const THREE: u64 = TWO + 0x8_0000;
/// The same limits for numbers below zero, each as the bitwise complement.
const ONE_LESS: u64 = 0x20;
const TWO_LESS: u64 = ONE_LESS + 0x1800;

/// Give the ordered bytes of a value of this type to `sink`.
pub(crate) fn emit(kind: ColumnType, value: &Value<'_>, sink: &mut dyn FnMut(u8)) {
    match *value {
        Value::Null => {
            sink(0);
            if matches!(kind, ColumnType::Text | ColumnType::Blob) {
                sink(0);
            }
        }
        Value::Bool(bit) => sink(1 + u8::from(bit)),
        Value::Real(real) => {
            sink(1);
            emit_high(real.order(), 8, 0, sink);
        }
        Value::Integer(number) | Value::Time(number) => match u64::try_from(number) {
            Ok(number) => emit_positive(number, sink),
            Err(_) => emit_negative(!number.cast_unsigned(), sink),
        },
        Value::Text(text) => emit_bytes(text.as_bytes(), sink),
        Value::Blob(blob) => emit_bytes(blob, sink),
    }
}

fn emit_positive(number: u64, sink: &mut dyn FnMut(u8)) {
    match number {
        0..ONE => sink(0x40 + number as u8),
        ONE..TWO => {
            let rest = number - ONE;
            sink(0xC0 + (rest >> 8) as u8);
            sink(rest as u8);
        }
        TWO..THREE => {
            let rest = number - TWO;
            sink(0xF0 + (rest >> 16) as u8);
            emit_high(rest & 0xFFFF, 2, 0, sink);
        }
        THREE.. => {
            let size = size_of(number).max(4);
            sink(0xF4 + size);
            emit_high(number, size, 0, sink);
        }
    }
}

/// Give the bytes of a number below zero, of which `number` is the bitwise complement.
fn emit_negative(number: u64, sink: &mut dyn FnMut(u8)) {
    match number {
        0..ONE_LESS => sink(0x3F - number as u8),
        ONE_LESS..TWO_LESS => {
            let rest = number - ONE_LESS;
            sink(0x1F - (rest >> 8) as u8);
            sink(!(rest as u8));
        }
        TWO_LESS.. => {
            let size = size_of(number);
            sink(0x09 - size);
            emit_high(number, size, 0xFF, sink);
        }
    }
}

/// Bytes that a number needs without leading zeros.
const fn size_of(number: u64) -> u8 {
    (u64::BITS - number.leading_zeros()).div_ceil(8) as u8
}

/// Give the `size` lower bytes of a number to `sink`, the highest first, the bits of `turned`
/// inverted.
fn emit_high(number: u64, size: u8, turned: u8, sink: &mut dyn FnMut(u8)) {
    (0..size).rev().for_each(|place| sink((number >> (8 * place)) as u8 ^ turned));
}

fn emit_bytes(bytes: &[u8], sink: &mut dyn FnMut(u8)) {
    for &byte in bytes {
        sink(byte);
        if byte == 0 {
            sink(0xFF);
        }
    }
    sink(0);
    sink(1);
}

/// The first eight bytes of a key, being collected as its code.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Front {
    code: u64,
    size: u8,
}

impl Front {
    pub(crate) const fn push(&mut self, byte: u8) {
        if self.size < 8 {
            self.size += 1;
            self.code |= (byte as u64) << (64 - 8 * self.size as u32);
        }
    }

    /// The least code of a key that begins with these bytes.
    pub(crate) const fn least(self) -> u64 {
        self.code
    }

    /// The greatest code of a key that begins with these bytes.
    pub(crate) const fn greatest(self) -> u64 {
        if self.size == 8 { self.code } else { self.code | u64::MAX >> (8 * self.size as u32) }
    }
}

/// One end of a range: a key, or the first columns of one, as ordered bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct End {
    bytes: [u8; END_SIZE],
    size: u8,
}

impl End {
    /// An end without any column.
    pub(crate) const EMPTY: Self = Self { bytes: [0; END_SIZE], size: 0 };

    /// The end that these values make; None where they take more than [`END_SIZE`] bytes.
    pub(crate) fn new<'v>(values: impl Iterator<Item = (ColumnType, Value<'v>)>) -> Option<Self> {
        let end = Self::front(values);
        end.is_whole().then_some(end)
    }

    /// The first [`END_SIZE`] bytes of these values. Where there are more, the size says one more
    /// than that.
    pub(crate) fn front<'v>(values: impl Iterator<Item = (ColumnType, Value<'v>)>) -> Self {
        let mut end = Self::EMPTY;
        values.for_each(|(kind, value)| end.add(kind, &value));
        end
    }

    /// Go on with the ordered bytes of the next column's value.
    pub(crate) fn add(&mut self, kind: ColumnType, value: &Value<'_>) {
        emit(kind, value, &mut |byte| {
            if let Some(place) = self.bytes.get_mut(usize::from(self.size)) {
                *place = byte;
            }
            self.size = (self.size + 1).min(END_SIZE as u8 + 1);
        });
    }

    /// The bytes that are kept.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len().min(END_SIZE)]
    }

    /// Whether all bytes of the values are kept.
    pub(crate) fn is_whole(&self) -> bool {
        self.len() <= END_SIZE
    }

    /// Number of bytes of the end.
    pub(crate) fn len(&self) -> usize {
        usize::from(self.size)
    }

    /// How a key compares with this end. A key that begins with the end is equal to it.
    pub(crate) fn compare<'v>(
        &self,
        values: impl Iterator<Item = (ColumnType, Value<'v>)>,
    ) -> Ordering {
        let end = &self.bytes[..usize::from(self.size)];
        let (mut at, mut ordering) = (0, Ordering::Equal);
        for (kind, value) in values {
            emit(kind, &value, &mut |byte| {
                if let Some(other) = end.get(at).filter(|_| ordering.is_eq()) {
                    ordering = byte.cmp(other);
                }
                at += 1;
            });
            if ordering.is_ne() || at >= end.len() {
                break;
            }
        }
        ordering
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::vec::Vec;

    use super::*;

    fn bytes(kind: ColumnType, value: &Value<'_>) -> Vec<u8> {
        let mut bytes = Vec::new();
        emit(kind, value, &mut |byte| bytes.push(byte));
        bytes
    }

    #[test]
    fn numbers_order_as_their_bytes_do_and_none_begins_with_another() {
        let edges = [
            0,
            1,
            31,
            32,
            127,
            128,
            6175,
            6176,
            12_415,
            12_416,
            65_535,
            536_703,
            536_704,
            1 << 24,
            1 << 31,
            1 << 32,
            1 << 40,
            1 << 55,
            1 << 56,
            i64::MAX - 1,
            i64::MAX,
        ];
        let mut numbers: Vec<i64> = edges.into_iter().flat_map(|edge| [edge, !edge]).collect();
        numbers.sort_unstable();
        for pair in numbers.windows(2) {
            let [one, other] = [pair[0], pair[1]]
                .map(|number| bytes(ColumnType::Integer, &Value::Integer(number)));
            assert!(one < other, "{pair:?}: {one:x?} and {other:x?}");
            assert!(!other.starts_with(&one), "{pair:?}");
            assert!(one[0] > 0, "{pair:?}: null comes before");
        }
    }

    #[test]
    fn texts_order_as_their_bytes_do_and_null_comes_first() {
        let texts = ["", "\0", "\0\0", "\0a", "\u{1}", "a", "a\0", "a\0b", "aa", "b"];
        let mut before = bytes(ColumnType::Text, &Value::Null);
        for text in texts {
            let next = bytes(ColumnType::Text, &Value::Text(text));
            assert!(before < next && !next.starts_with(&before), "{text:?}");
            before = next;
        }
    }

    #[test]
    fn an_end_compares_with_the_first_columns_of_a_key() {
        let key = |one, text| {
            [(ColumnType::Integer, Value::Integer(one)), (ColumnType::Text, Value::Text(text))]
        };
        let end = End::new(key(7, "").into_iter().take(1)).unwrap();
        assert_eq!(end.compare(key(7, "any").into_iter()), Ordering::Equal);
        assert_eq!(end.compare(key(6, "zz").into_iter()), Ordering::Less);
        let end = End::new(key(7, "m").into_iter()).unwrap();
        assert_eq!(end.compare(key(7, "mm").into_iter()), Ordering::Greater);
        assert_eq!(end.compare(key(7, "m").into_iter()), Ordering::Equal);
        let long = "x".repeat(END_SIZE);
        assert_eq!(End::new(key(1, &long).into_iter()), None);
    }
}
