//! Units: the payload of one cell. It is the part of a run that a lookup reads.
//!
//! ```text
//! 0          2              3                     4
//! | count 2  | rice 6, dups | flags 3, delta 5    | first code 4 or 8 | entries … | zeros |
//! ```
//!
//! The upper bit of `count` says that the unit *spills*: an entry that belongs here did not fit,
//! and is in a later unit. An entry is
//!
//! ```text
//! [same code 1, if `dups`] | gap | pointer | one bit for each flag of the unit
//! ```
//!
//! 1. A gap, the distance to the code before, is Rice-coded with `rice` bits of remainder.
//!    [`QUOTIENT_MAX`] zeros stand for a whole code instead, so that every gap can be written.
//! 2. Where codes have many rows, a pointer with the same code as the entry before is a distance,
//!    Rice-coded with `delta` bits of remainder. As many zeros stand for a whole pointer instead.
//! 3. First codes ascend from unit to unit: an empty unit has the last code before it.

use super::entry::{Entry, FLAG_BITS, Shape};
use crate::bytes::array;
use crate::media::CELL_DATA;

/// Zeros after which a number stands in full.
const QUOTIENT_MAX: u32 = 20;
const SPILLS: u16 = 1 << 15;
const DUPS: u8 = 1 << 7;

/// How the entries of a unit are coded. The rest follows from the index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Coding {
    /// Remainder bits of a gap between codes.
    pub(crate) rice: u8,
    /// Remainder bits of a distance between pointers.
    pub(crate) delta: u8,
    /// Flags that occur: each entry has a bit for each of them.
    pub(crate) flags: u8,
    /// Whether codes repeat, so that each entry has a bit for that.
    pub(crate) has_dups: bool,
}

/// Bytes that hold any entry of an index as a whole, at whichever bit of the first byte it begins:
/// a gap and a pointer that stand in full, and all flags.
pub(crate) const fn entry_size_max(shape: Shape) -> usize {
    let numbers = shape.code_bits as usize + shape.pointer_bits as usize;
    (7 + 1 + QUOTIENT_MAX as usize + numbers + FLAG_BITS as usize).div_ceil(8)
}

/// What the header of a unit says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) count: u16,
    pub(crate) spills: bool,
    pub(crate) coding: Coding,
    pub(crate) first: u64,
}

/// Bytes of a unit's header.
pub(crate) const fn header_size(shape: Shape) -> usize {
    4 + shape.code_size()
}

impl Header {
    /// Read the header; None where its numbers are impossible.
    pub(crate) fn parse(unit: &[u8], shape: Shape) -> Option<Self> {
        let count = u16::from_le_bytes(array(&unit[..2]));
        let coding = Coding {
            rice: unit[2] & 63,
            delta: unit[3] >> FLAG_BITS,
            flags: unit[3] & 7,
            has_dups: unit[2] & DUPS != 0,
        };
        let mut first = [0; 8];
        first[..shape.code_size()].copy_from_slice(&unit[4..4 + shape.code_size()]);
        let first = u64::from_le_bytes(first);
        let header = Self { count: count & !SPILLS, spills: count & SPILLS != 0, coding, first };
        let is_sane = first <= shape.code_max() && usize::from(header.count) <= CELL_DATA * 8;
        is_sane.then_some(header)
    }

    fn emit(&self, unit: &mut [u8], shape: Shape) {
        let Coding { rice, delta, flags, has_dups } = self.coding;
        debug_assert!(rice < 64 && delta < 32 && flags < 8, "the fields hold the coding");
        let count = self.count | if self.spills { SPILLS } else { 0 };
        unit[..2].copy_from_slice(&count.to_le_bytes());
        unit[2] = rice | if has_dups { DUPS } else { 0 };
        unit[3] = delta << FLAG_BITS | flags;
        let size = shape.code_size();
        unit[4..4 + size].copy_from_slice(&self.first.to_le_bytes()[..size]);
    }
}

/// Make a unit of zeros one that spills.
pub(crate) fn spill(unit: &mut [u8]) {
    unit[..2].copy_from_slice(&SPILLS.to_le_bytes());
}

/// A unit that is being filled. Its bytes are zero at first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UnitWriter {
    header: Header,
    bit: usize,
    last: Entry,
}

impl UnitWriter {
    pub(crate) const fn new(coding: Coding, shape: Shape) -> Self {
        let header = Header { count: 0, spills: false, coding, first: 0 };
        let last = Entry { index: 0, code: 0, pointer: 0, flags: 0 };
        Self { header, bit: header_size(shape) * 8, last }
    }

    /// Append an entry, which must not come before the last one; false where it does not fit.
    pub(crate) fn push(&mut self, unit: &mut [u8], shape: Shape, entry: &Entry) -> bool {
        let Coding { rice, delta, flags, has_dups } = self.header.coding;
        debug_assert!(entry.flags & !flags == 0, "flags were announced");
        debug_assert!(self.header.count == 0 || entry.code >= self.last.code, "codes ascend");
        let before = self.bit;
        let room = unit.len() * 8;
        let mut bits = Bits { bytes: unit, bit: &mut self.bit, room };
        let is_first = self.header.count == 0;
        let is_same = !is_first && entry.code == self.last.code;
        if !is_first && has_dups {
            bits.put(u64::from(is_same), 1);
        }
        if !is_first && (!has_dups || !is_same) {
            bits.put_rice(entry.code - self.last.code, rice, (entry.code, shape.code_bits));
        }
        let pointer = u64::from(entry.pointer);
        if has_dups && is_same && !shape.is_unique {
            debug_assert!(entry.pointer >= self.last.pointer, "pointers of a code ascend");
            let gap = u64::from(entry.pointer - self.last.pointer);
            bits.put_rice(gap, delta, (pointer, shape.pointer_bits));
        } else {
            bits.put(pointer, shape.pointer_bits);
        }
        for flag in each(flags) {
            bits.put(u64::from(entry.flags & flag != 0), 1);
        }
        if self.bit > room {
            self.bit = before;
            erase_from(unit, before);
            return false;
        }
        if is_first {
            self.header.first = entry.code;
        }
        self.last = *entry;
        self.header.count += 1;
        true
    }

    /// Write the unit's header. `floor` is the last code before the unit.
    pub(crate) fn close(mut self, unit: &mut [u8], shape: Shape, spills: bool, floor: u64) {
        self.header.spills = spills;
        if self.header.count == 0 {
            self.header.first = floor;
        }
        debug_assert!(self.header.first >= floor, "first codes ascend");
        self.header.emit(unit, shape);
    }
}

/// The flags of a set, one by one.
fn each(mask: u8) -> impl Iterator<Item = u8> {
    (0..FLAG_BITS).map(|bit| 1 << bit).filter(move |flag| mask & flag != 0)
}

fn erase_from(unit: &mut [u8], bit: usize) {
    if let Some((first, rest)) = unit[bit / 8..].split_first_mut() {
        *first &= (1_u16 << (bit % 8)).wrapping_sub(1) as u8;
        rest.fill(0);
    }
}

/// Bits that are written. Those beyond the room are counted only.
struct Bits<'a> {
    bytes: &'a mut [u8],
    bit: &'a mut usize,
    room: usize,
}

impl Bits<'_> {
    fn put(&mut self, value: u64, width: u8) {
        let mut place = *self.bit / 8;
        let mut shifted = u128::from(value) << (*self.bit % 8);
        while shifted != 0 && place * 8 < self.room {
            self.bytes[place] |= shifted as u8;
            shifted >>= 8;
            place += 1;
        }
        *self.bit += usize::from(width);
    }

    fn put_rice(&mut self, value: u64, rice: u8, (whole, width): (u64, u8)) {
        let quotient = value >> rice;
        if quotient >= u64::from(QUOTIENT_MAX) {
            *self.bit += QUOTIENT_MAX as usize;
            return self.put(whole, width);
        }
        *self.bit += quotient as usize;
        self.put(1, 1);
        self.put(value & ((1 << rice) - 1), rice);
    }
}

/// Error: the bits are no entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

/// Reads the entries of a unit one by one, from windows of its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UnitReader {
    code: u64,
    pointer: u32,
    bit: u16,
    left: u16,
    coding: Coding,
    flags: u8,
    started: bool,
}

impl UnitReader {
    /// A reader of nothing.
    pub(crate) const NONE: Self = Self {
        code: 0,
        pointer: 0,
        bit: 0,
        left: 0,
        coding: Coding { rice: 0, delta: 0, flags: 0, has_dups: false },
        flags: 0,
        started: false,
    };

    pub(crate) const fn new(header: &Header, shape: Shape) -> Self {
        Self {
            code: header.first,
            pointer: 0,
            bit: header_size(shape) as u16 * 8,
            left: header.count,
            coding: header.coding,
            flags: 0,
            started: false,
        }
    }

    /// The byte of the unit in which the next entry begins.
    pub(crate) const fn byte(&self) -> usize {
        self.bit as usize / 8
    }

    /// Whether the unit has no more entries.
    pub(crate) const fn is_done(&self) -> bool {
        self.left == 0
    }

    /// The entry that was read last.
    pub(crate) const fn entry(&self, index: u8) -> Entry {
        Entry { index, code: self.code, pointer: self.pointer, flags: self.flags }
    }

    /// Go to the next entry. `window` holds the bytes of the unit from `base` on, or a part of
    /// them.
    pub(crate) fn advance(
        &mut self,
        window: &[u8],
        base: usize,
        shape: Shape,
    ) -> Result<(), Malformed> {
        debug_assert!(self.left > 0 && self.byte() >= base, "an entry is within the window");
        let mut ahead = Ahead { bytes: window, bit: usize::from(self.bit) - base * 8 };
        let Coding { rice, delta, flags, has_dups } = self.coding;
        let is_same = self.started && has_dups && ahead.take(1) == 1;
        if self.started && !is_same {
            let (value, is_whole) = ahead.take_rice(rice, shape.code_bits);
            let code = if is_whole { Some(value) } else { self.code.checked_add(value) };
            let code = code.filter(|code| (self.code..=shape.code_max()).contains(code));
            self.code = code.ok_or(Malformed)?;
        }
        if is_same && !shape.is_unique {
            let (value, is_whole) = ahead.take_rice(delta, shape.pointer_bits);
            let base = if is_whole { 0 } else { u64::from(self.pointer) };
            let pointer = base.checked_add(value).filter(|at| at >> shape.pointer_bits == 0);
            self.pointer = pointer.ok_or(Malformed)? as u32;
        } else {
            self.pointer = ahead.take(shape.pointer_bits) as u32;
        }
        self.flags = 0;
        for flag in each(flags) {
            self.flags |= if ahead.take(1) == 1 { flag } else { 0 };
        }
        if ahead.bit > window.len() * 8 {
            return Err(Malformed);
        }
        self.bit = (ahead.bit + base * 8) as u16;
        self.left -= 1;
        self.started = true;
        Ok(())
    }
}

/// Bits that are read. Behind the end there are zeros.
struct Ahead<'a> {
    bytes: &'a [u8],
    bit: usize,
}

impl Ahead<'_> {
    fn take(&mut self, width: u8) -> u64 {
        let start = (self.bit / 8).min(self.bytes.len());
        let end = (start + 9).min(self.bytes.len());
        let mut word = [0; 16];
        word[..end - start].copy_from_slice(&self.bytes[start..end]);
        let value = u128::from_le_bytes(word) >> (self.bit % 8);
        self.bit += usize::from(width);
        (value & ((1 << width) - 1)) as u64
    }

    /// A Rice-coded number, and whether it was written in full.
    fn take_rice(&mut self, rice: u8, width: u8) -> (u64, bool) {
        let start = self.bit;
        let ahead = self.take(QUOTIENT_MAX as u8);
        if ahead == 0 {
            return (self.take(width), true);
        }
        let quotient = ahead.trailing_zeros();
        self.bit = start + quotient as usize + 1;
        let shifted = u64::from(quotient).checked_shl(u32::from(rice)).unwrap_or(u64::MAX);
        (shifted | self.take(rice), false)
    }
}

#[cfg(test)]
mod tests {
    use super::super::entry::{SHARED, TAKE_BACK};
    use super::*;

    fn check(shape: Shape, coding: Coding, entries: &[Entry]) -> usize {
        let mut unit = [0; 506];
        let mut writer = UnitWriter::new(coding, shape);
        let mut count = 0;
        while count < entries.len() && writer.push(&mut unit, shape, &entries[count]) {
            count += 1;
        }
        writer.close(&mut unit, shape, true, 0);
        let header = Header::parse(&unit, shape).unwrap();
        assert!(header.spills);
        for window in [entry_size_max(shape), 64, 506] {
            let mut reader = UnitReader::new(&header, shape);
            for wanted in &entries[..count] {
                let base = reader.byte();
                let end = (base + window).min(unit.len());
                assert_eq!(reader.advance(&unit[base..end], base, shape), Ok(()));
                assert_eq!(reader.entry(wanted.index), *wanted);
            }
            assert!(reader.is_done());
        }
        count
    }

    #[test]
    fn entries_come_back_in_windows_of_any_size() {
        let shape = Shape { code_bits: 28, pointer_bits: 19, is_unique: true };
        let coding = Coding { rice: 9, flags: SHARED | TAKE_BACK, ..Coding::default() };
        let entry = |n: u64| Entry {
            index: 3,
            code: n * n * 17 + (n / 50) * 1_000_000,
            pointer: n as u32 * 1009,
            flags: n as u8 % 4,
        };
        let entries: [Entry; 500] = core::array::from_fn(|n| entry(n as u64));
        assert!(check(shape, coding, &entries) > 90);
    }

    #[test]
    fn many_rows_of_a_code_take_little_and_long_gaps_close_no_unit() {
        let shape = Shape { code_bits: 64, pointer_bits: 20, is_unique: false };
        let coding = Coding { rice: 3, delta: 5, has_dups: true, ..Coding::default() };
        let entry = |n: u64| Entry {
            code: (n / 100) * (u64::MAX / 9),
            pointer: (n % 100) as u32 * 40 + if n % 100 > 50 { 900_000 } else { 0 },
            ..Entry::default()
        };
        let entries: [Entry; 900] = core::array::from_fn(|n| entry(n as u64));
        assert!(check(shape, coding, &entries) > 350);
    }

    #[test]
    fn bits_that_make_no_entry_are_refused() {
        let shape = Shape { code_bits: 24, pointer_bits: 16, is_unique: true };
        let mut unit = [0; 506];
        unit[..4].copy_from_slice(&[9, 0, 20, 0]);
        unit[4..8].copy_from_slice(&0xFF_FFFF_u32.to_le_bytes());
        unit[10..].fill(0xFF);
        let header = Header::parse(&unit, shape).unwrap();
        let mut reader = UnitReader::new(&header, shape);
        assert_eq!(reader.advance(&unit[8..], 8, shape), Ok(()));
        assert_eq!(reader.advance(&unit[8..], 8, shape), Err(Malformed));
        unit[7] = 1;
        assert_eq!(Header::parse(&unit, shape), None);
    }
}
