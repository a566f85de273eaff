//! Entries: a code, a pointer and flags. An index decides how many bits each of them has.
//!
//! 1. An entry of a unique index replaces older entries of its code, unless one of the two is
//!    shared.
//! 2. A take-back cancels the entry of the same index, code and pointer, whatever its flags.
//! 3. Entries of one code stand newest first in a unique index, and by pointer in others.

use crate::row::APART_MAX;

/// The row's key shares its code with another key: the entry neither replaces others nor is
/// replaced.
pub const SHARED: u8 = 1;
/// The entry is a take-back: it cancels the entry with this very pointer.
pub const TAKE_BACK: u8 = 2;
/// The entry names a tombstone.
pub const TOMBSTONE: u8 = 4;
/// Number of flags.
pub(crate) const FLAG_BITS: u8 = 3;
/// Greatest number of indexes of a store.
pub const INDEX_MAX: usize = APART_MAX;

/// An entry of an index: it leads from a code to a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// Number of the index.
    pub index: u8,
    /// A hash of the key, or the key itself in an ordered index.
    pub code: u64,
    /// The position of the row.
    pub pointer: u32,
    /// A set of [`SHARED`], [`TAKE_BACK`] and [`TOMBSTONE`].
    pub flags: u8,
}

impl Entry {
    /// Whether all of these flags are set.
    pub const fn is(&self, flags: u8) -> bool {
        self.flags & flags == flags
    }

    /// Whether the entry names a row, or a tombstone, whose key shares its code with no other key.
    pub(crate) const fn is_sole(&self) -> bool {
        self.flags & (SHARED | TAKE_BACK) == 0
    }

    /// The take-back of an entry that was in the same memory: it keeps that entry's room, and is
    /// not flushed.
    pub(crate) const fn spent(self) -> Self {
        Self { flags: TAKE_BACK | TOMBSTONE, ..self }
    }

    pub(crate) fn is_spent(&self) -> bool {
        self.is(TAKE_BACK | TOMBSTONE)
    }
}

/// How many bits the entries of an index have, and how they are ordered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shape {
    /// Bits of a code: 64 in an ordered index.
    pub(crate) code_bits: u8,
    /// Bits of a pointer.
    pub(crate) pointer_bits: u8,
    /// Whether a code has at most one current row.
    pub(crate) is_unique: bool,
}

impl Shape {
    /// Whether codes are ordered keys, and no hashes.
    pub(crate) const fn is_ordered(self) -> bool {
        self.code_bits > 32
    }

    /// Bytes of a code in a unit's header.
    pub(crate) const fn code_size(self) -> usize {
        if self.is_ordered() { 8 } else { 4 }
    }

    pub(crate) const fn code_max(self) -> u64 {
        u64::MAX >> (64 - self.code_bits)
    }

    /// Whether code and pointer of an entry fit their bits.
    pub(crate) const fn takes(self, entry: &Entry) -> bool {
        entry.code <= self.code_max() && entry.pointer as u64 >> self.pointer_bits == 0
    }
}

/// What entries are sorted by in an index whose codes have many rows: code, then pointer.
pub(crate) const fn key(entry: &Entry) -> (u64, u32) {
    (entry.code, entry.pointer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_say_what_fits() {
        let shape = Shape { code_bits: 23, pointer_bits: 17, is_unique: true };
        assert_eq!(shape.code_max(), 0x7F_FFFF);
        assert!(shape.takes(&Entry { code: 0x7F_FFFF, pointer: 0x1_FFFF, ..Entry::default() }));
        assert!(!shape.takes(&Entry { code: 0x80_0000, ..Entry::default() }));
        assert!(!shape.takes(&Entry { pointer: 0x2_0000, ..Entry::default() }));
        let keys = Shape { code_bits: 64, ..shape };
        assert_eq!((keys.code_max(), keys.code_size()), (u64::MAX, 8));
    }
}
