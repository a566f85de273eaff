//! Reading and writing the numbers of the store's state: bytes and varints, one behind the other.

use crate::row::varint::{self, Varint};

pub(crate) struct Writer<'a> {
    bytes: &'a mut [u8],
    pub(crate) at: usize,
}

impl<'a> Writer<'a> {
    pub(crate) const fn new(bytes: &'a mut [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    pub(crate) fn byte(&mut self, byte: u8) {
        self.bytes[self.at] = byte;
        self.at += 1;
    }

    pub(crate) fn number(&mut self, value: u64) {
        self.at += varint::emit(value, &mut self.bytes[self.at..]);
    }

    pub(crate) fn word(&mut self, value: u32) {
        self.number(u64::from(value));
    }

    pub(crate) fn copy(&mut self, bytes: &[u8]) {
        self.bytes[self.at..self.at + bytes.len()].copy_from_slice(bytes);
        self.at += bytes.len();
    }
}

/// Bytes that are read as numbers; None where they end too early or a number is too long.
pub(crate) struct Parser<'a> {
    pub(crate) bytes: &'a [u8],
}

impl Parser<'_> {
    pub(crate) fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(*first)
    }

    pub(crate) fn number(&mut self) -> Option<u64> {
        match varint::parse(self.bytes) {
            Varint::Whole(value, len) => {
                self.bytes = &self.bytes[len..];
                Some(value)
            }
            Varint::Cut | Varint::Invalid => None,
        }
    }

    pub(crate) fn word(&mut self) -> Option<u32> {
        self.number().and_then(|value| u32::try_from(value).ok())
    }
}
