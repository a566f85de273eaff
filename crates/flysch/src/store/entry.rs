//! Entries: a code, a pointer and flags; and how wide each index keeps them.
//!
//! 1. An entry of a unique index replaces older entries of its code, unless one of them is shared.
//! 2. A take-back ends the entry of the same index, code and pointer, whatever its flags.
//! 3. Entries of one code follow each other newest first where keys are unique, else by pointer.

/// Another key has the same code: the entry replaces none and is replaced by none.
pub const SHARED: u8 = 1;
/// The entry with this very pointer is taken back.
pub const TAKE_BACK: u8 = 2;
/// The row that the entry names is a tombstone.
pub const TOMBSTONE: u8 = 4;
/// Bits of the flags.
pub(crate) const FLAG_BITS: u8 = 3;
/// Indexes of a store, at most.
pub const INDEX_MAX: usize = 8;

/// What finds a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// Number of the index.
    pub index: u8,
    /// A hash of the key, or the key itself in an ordered index.
    pub code: u64,
    /// The position of the row.
    pub pointer: u32,
    /// [`SHARED`], [`TAKE_BACK`], [`TOMBSTONE`].
    pub flags: u8,
}

impl Entry {
    /// Whether all of these flags are set.
    pub const fn is(&self, flags: u8) -> bool {
        self.flags & flags == flags
    }

    /// Whether the entry names a row of a key that has its code alone.
    pub(crate) const fn is_sole(&self) -> bool {
        self.flags & (SHARED | TAKE_BACK) == 0
    }
}

/// How an index keeps its entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shape {
    /// Bits of a code; 64 for keys.
    pub(crate) code_bits: u8,
    /// Bits of a pointer.
    pub(crate) pointer_bits: u8,
    /// Whether a code has one live row.
    pub(crate) is_unique: bool,
}

impl Shape {
    /// Whether codes are keys.
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

    /// Whether an entry fits.
    pub(crate) const fn takes(self, entry: &Entry) -> bool {
        entry.code <= self.code_max() && entry.pointer as u64 >> self.pointer_bits == 0
    }
}

/// The order of entries in an index whose codes have many rows: by code, then by pointer.
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
