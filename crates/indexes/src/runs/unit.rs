//! A unit: the part of a run that one probe reads. Entries ascend within a unit and across units.
//!
//! ```text
//! 0                2        4            8
//! | count | spills | CRC-16 | first hash | pointer, anti | gap, pointer, anti | ... | zeros |
//! ```
//!
//! 1. Gaps between hashes have a Rice code: the quotient in unary, a one, and `rice` remainder
//!    bits.
//! 2. `spills` says that an entry that belongs to this unit did not fit, and is in a later unit.
//! 3. The first hash of a unit without entries is the last hash written before it, so that first
//!    hashes ascend.

use flysch::bytes::array;

use super::entry::Shape;
use crate::flash::crc16;

/// Bytes before the first entry.
pub(super) const HEADER_SIZE: usize = 8;
/// The most bytes that an entry touches, wherever in a byte it begins.
pub(super) const ENTRY_SIZE_MAX: usize = 20;
/// If the quotient is larger, a new unit begins instead.
const QUOTIENT_MAX: u32 = 48;
const SPILLS: u16 = 1 << 15;
/// The count of an erased unit.
const ERASED: u16 = 0xFFFF;

mod field {
    use core::ops::Range;

    pub(super) const COUNT: Range<usize> = 0..2;
    pub(super) const CRC: Range<usize> = 2..4;
    pub(super) const FIRST: Range<usize> = 4..8;
}

/// The content of a unit's header.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Header {
    pub(super) count: u16,
    pub(super) spills: bool,
    pub(super) first: u32,
}

impl Header {
    /// Parse the header. None if the unit was never programmed.
    pub(super) fn parse(unit: &[u8]) -> Option<Self> {
        let count = u16::from_le_bytes(array(&unit[field::COUNT]));
        let first = u32::from_le_bytes(array(&unit[field::FIRST]));
        let header = Self { count: count & !SPILLS, spills: count & SPILLS != 0, first };
        (count != ERASED).then_some(header)
    }

    /// Whether the checksum of a whole unit is right.
    pub(super) fn check(unit: &[u8]) -> bool {
        u16::from_le_bytes(array(&unit[field::CRC])) == crc16(&unit[field::FIRST.start..])
    }
}

/// A unit that is being filled. Its bytes must be zero at first.
#[derive(Clone, Copy, Debug)]
pub(super) struct UnitWriter {
    bit: usize,
    count: u16,
    hash: u32,
}

impl UnitWriter {
    pub(super) const fn new() -> Self {
        Self { bit: HEADER_SIZE * 8, count: 0, hash: 0 }
    }

    /// Add an entry. Returns false if it does not fit.
    pub(super) fn push(&mut self, unit: &mut [u8], shape: Shape, entry: u64) -> bool {
        let hash = shape.hash(entry);
        let tail = usize::from(shape.pointer_bits) + usize::from(shape.has_antis);
        let mut bits = tail;
        let mut quotient = 0;
        if self.count > 0 {
            let gap = hash - self.hash;
            quotient = gap >> shape.rice;
            bits += quotient.min(QUOTIENT_MAX) as usize + 1 + usize::from(shape.rice);
        }
        if self.bit + bits > unit.len() * 8 || quotient > QUOTIENT_MAX {
            return false;
        }
        if self.count == 0 {
            unit[field::FIRST].copy_from_slice(&hash.to_le_bytes());
        } else {
            let gap = u64::from(hash - self.hash);
            self.bit += quotient as usize;
            self.put(unit, 1, 1);
            self.put(unit, gap & ((1 << shape.rice) - 1), shape.rice);
        }
        self.put(unit, u64::from(shape.pointer(entry)), shape.pointer_bits);
        self.put(unit, entry & u64::from(shape.has_antis), u8::from(shape.has_antis));
        self.hash = hash;
        self.count += 1;
        true
    }

    /// Write the unit's header.
    pub(super) fn close(self, unit: &mut [u8], spills: bool, last_hash: u32) {
        let count = self.count | if spills { SPILLS } else { 0 };
        unit[field::COUNT].copy_from_slice(&count.to_le_bytes());
        if self.count == 0 {
            unit[field::FIRST].copy_from_slice(&last_hash.to_le_bytes());
        }
        let crc = crc16(&unit[field::FIRST.start..]);
        unit[field::CRC].copy_from_slice(&crc.to_le_bytes());
    }

    fn put(&mut self, unit: &mut [u8], value: u64, width: u8) {
        let mut place = self.bit / 8;
        let mut shifted = u128::from(value) << (self.bit % 8);
        while shifted != 0 {
            unit[place] |= shifted as u8;
            shifted >>= 8;
            place += 1;
        }
        self.bit += usize::from(width);
    }
}

/// The error for bits that are not an entry.
#[derive(Clone, Copy, Debug)]
pub(super) struct Malformed;

/// Reads the entries of a unit one by one, from windows of its bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct UnitReader {
    bit: u32,
    hash: u32,
    left: u16,
    started: bool,
}

impl UnitReader {
    pub(super) const fn new(header: Header) -> Self {
        let bit = HEADER_SIZE as u32 * 8;
        Self { bit, hash: header.first, left: header.count, started: false }
    }

    /// The offset of the byte in which the next entry begins.
    pub(super) const fn byte(&self) -> usize {
        self.bit as usize / 8
    }

    pub(super) const fn is_done(&self) -> bool {
        self.left == 0
    }

    /// The next entry. `window` holds the bytes of the unit from `base` on, as far as the entry
    /// needs.
    pub(super) fn next(
        &mut self,
        window: &[u8],
        base: usize,
        shape: Shape,
    ) -> Result<u64, Malformed> {
        debug_assert!(self.left > 0 && self.byte() >= base, "an entry is within the window");
        let mut bit = self.bit as usize - base * 8;
        if self.started {
            let ahead = bits(window, bit, 57);
            let quotient = ahead.trailing_zeros();
            if quotient > QUOTIENT_MAX {
                return Err(Malformed);
            }
            bit += quotient as usize + 1;
            let gap = u64::from(quotient) << shape.rice | bits(window, bit, shape.rice);
            bit += usize::from(shape.rice);
            let hash = u64::from(self.hash) + gap;
            self.hash = u32::try_from(hash).map_err(|_| Malformed)?;
        }
        let pointer = bits(window, bit, shape.pointer_bits);
        bit += usize::from(shape.pointer_bits);
        let anti = bits(window, bit, u8::from(shape.has_antis));
        bit += usize::from(shape.has_antis);
        if bit > window.len() * 8 || u64::from(self.hash) >> shape.hash_bits != 0 {
            return Err(Malformed);
        }
        self.bit = (bit + base * 8) as u32;
        self.left -= 1;
        self.started = true;
        Ok(shape.entry(self.hash, pointer as u32, anti != 0))
    }
}

/// Read up to 57 bits, beginning at `bit`. Bits after the end are zeros.
fn bits(bytes: &[u8], bit: usize, width: u8) -> u64 {
    let start = (bit / 8).min(bytes.len());
    let end = (start + 8).min(bytes.len());
    let mut word = [0; 8];
    word[..end - start].copy_from_slice(&bytes[start..end]);
    (u64::from_le_bytes(word) >> (bit % 8)) & ((1 << width) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_come_back_in_windows_of_any_size() {
        let shape = Shape { hash_bits: 28, pointer_bits: 19, rice: 9, has_antis: true };
        let mut unit = [0; 512];
        let mut writer = UnitWriter::new();
        let entry = |n: u32| shape.entry(n * n * 17, n * 1009, n.is_multiple_of(5));
        let count = (0..500).take_while(|&n| writer.push(&mut unit, shape, entry(n))).count();
        writer.close(&mut unit, true, 0);
        assert!(count > 90, "{count}");
        assert!(Header::check(&unit));
        let header = Header::parse(&unit).unwrap();
        assert!(header.spills);
        for window in [ENTRY_SIZE_MAX, 64, 512] {
            let mut reader = UnitReader::new(header);
            for n in 0..count as u32 {
                let base = reader.byte();
                let end = (base + window).min(unit.len());
                let read = reader.next(&unit[base..end], base, shape).unwrap();
                assert_eq!(read, entry(n), "entry {n}, window {window}");
            }
            assert!(reader.is_done());
        }
    }
}
