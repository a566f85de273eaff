//! Fences: cells among the units of a packed level. A fence tells with which code each unit of its
//! group begins, so that a lookup finds the unit with one more read.
//!
//! ```text
//! unit … unit fence | unit … unit fence | unit … fence
//! fence   units | next | one bit for each unit, and for what is next, 8 | first codes … | next one
//! ```
//!
//! A *group* is as many units as a fence has room for, and the fence behind them. The last cell of
//! the run is a fence too. The bit of a unit says that it goes on with a code that began before it.
//! `next` is 0 where nothing follows the group, 1 where the first code of the next group is known,
//! 2 where it is not. First codes have as many bytes as in the header of a unit.
//!
//! 1. A fence of no units says nothing: the power was cut while its group was written.

use super::entry::Shape;
use crate::bytes::array;

/// Bytes of all first codes in a fence.
const CODES_SIZE: usize = 240;
/// Bytes in front of the first codes.
const FRONT: usize = 10;
/// Bytes of a fence.
pub(crate) const FENCE_SIZE: usize = FRONT + CODES_SIZE + 8;

/// Units of a full group.
const fn group_len(shape: Shape) -> u32 {
    (CODES_SIZE / shape.code_size()) as u32
}

/// The number of the group in which a unit or fence lies.
pub(crate) const fn group_of(unit: u32, shape: Shape) -> u32 {
    unit / (group_len(shape) + 1)
}

/// The first unit of a group.
pub(crate) const fn group_start(group: u32, shape: Shape) -> u32 {
    group * (group_len(shape) + 1)
}

/// The fence of a group in a run of `count` units and fences.
pub(crate) const fn fence_of(group: u32, count: u32, shape: Shape) -> u32 {
    let end = group_start(group + 1, shape);
    if end < count { end - 1 } else { count - 1 }
}

/// Whether the cell of this number is the fence of a full group.
pub(crate) const fn ends_group(unit: u32, shape: Shape) -> bool {
    unit % (group_len(shape) + 1) == group_len(shape)
}

/// What follows a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Behind {
    Nothing,
    Known(u64),
    Unknown,
}

/// The fence of the group that is being written. Its memory is the caller's.
#[derive(Debug)]
pub(crate) struct Fence<'ram> {
    bytes: &'ram mut [u8],
    /// The unit whose first code is noted next.
    next: u32,
}

impl<'ram> Fence<'ram> {
    pub(crate) const fn new(bytes: &'ram mut [u8]) -> Self {
        Self { bytes, next: u32::MAX }
    }

    /// Whether there is memory for a fence.
    pub(crate) const fn is_kept(&self) -> bool {
        !self.bytes.is_empty()
    }

    /// Note the first code of unit `unit`, and whether it goes on with a code of the unit before.
    pub(crate) fn note(&mut self, unit: u32, first: u64, goes_on: bool, shape: Shape) {
        let at = unit % (group_len(shape) + 1);
        debug_assert!(at < group_len(shape), "the fence of a full group is written");
        if at == 0 {
            self.bytes.fill(0);
        } else if self.next < unit || group_of(self.next, shape) != group_of(unit, shape) {
            // The first codes of this group that came before are not known any more.
            self.bytes.fill(0);
            return;
        } else if self.bytes[0] == 0 {
            return;
        }
        put(self.bytes, at, (first, goes_on), shape);
        self.bytes[0] = at as u8 + 1;
        self.next = unit + 1;
    }

    /// Write the fence of the group that ends before unit `unit`.
    pub(crate) fn emit(&mut self, unit: u32, behind: (Behind, u64), shape: Shape, out: &mut [u8]) {
        let count = unit % (group_len(shape) + 1);
        if self.next < unit || u32::from(self.bytes[0]) < count {
            return;
        }
        let (behind, floor) = behind;
        self.bytes[0] = count as u8;
        self.bytes[1] = match behind {
            Behind::Nothing => 0,
            Behind::Known(_) => 1,
            Behind::Unknown => 2,
        };
        if let Behind::Known(code) = behind {
            put(self.bytes, count, (code, code == floor), shape);
        }
        out[..FENCE_SIZE].copy_from_slice(self.bytes);
    }
}

fn put(bytes: &mut [u8], at: u32, (code, goes_on): (u64, bool), shape: Shape) {
    let (at, size) = (at as usize, shape.code_size());
    let bit = 1 << (at % 8);
    bytes[2 + at / 8] = bytes[2 + at / 8] & !bit | if goes_on { bit } else { 0 };
    let place = FRONT + at * size;
    bytes[place..place + size].copy_from_slice(&code.to_le_bytes()[..size]);
}

/// Where a code begins, as far as a fence tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// In this unit of the group.
    Unit(u32),
    /// In an earlier group, or at the end of it.
    Before,
    /// In a later group.
    Behind,
    /// In a later group, or at the end of this one.
    Ahead,
    /// Not known: the fence is empty.
    Blank,
}

/// The code with which a unit of the group begins, or what is next.
fn first_code(fence: &[u8], at: u32, shape: Shape) -> u64 {
    let mut bytes = [0; 8];
    let place = FRONT + at as usize * shape.code_size();
    bytes[..shape.code_size()].copy_from_slice(&fence[place..place + shape.code_size()]);
    u64::from_le_bytes(array(&bytes))
}

/// Between which codes, without these, [`find`] gives this unit; and between which some unit of the
/// group. None where the fence does not know what is next.
pub(crate) fn about(fence: &[u8], at: u32, shape: Shape) -> Option<[(u64, u64); 2]> {
    let (count, first) = (u32::from(fence[0]), |at| first_code(fence, at, shape));
    debug_assert!(at < count && count <= group_len(shape), "the fence told the unit");
    let behind = match fence[1] {
        0 => u64::MAX,
        1 => first(count),
        _ => return None,
    };
    let next = if at + 1 == count { behind } else { first(at + 1) };
    Some([(first(at), next), (first(0), behind)])
}

/// The unit of its group in which a code begins, or would begin if it were there.
pub(crate) fn find(fence: &[u8], code: u64, is_first: bool, shape: Shape) -> Option<Found> {
    let count = u32::from(fence[0]);
    if count > group_len(shape) || fence[1] > 2 {
        return None;
    }
    if count == 0 {
        return Some(Found::Blank);
    }
    let first = |at: u32| first_code(fence, at, shape);
    let goes_on = |at: u32| fence[2 + at as usize / 8] >> (at % 8) & 1 == 1;
    let begins = |at: u32| first(at) == code && !goes_on(at);
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low.midpoint(high);
        if first(middle) < code {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if low < count {
        return Some(match low.checked_sub(1) {
            _ if begins(low) => Found::Unit(low),
            Some(before) => Found::Unit(before),
            None if is_first => Found::Unit(0),
            None => Found::Before,
        });
    }
    let is_behind = first(count) < code || begins(count);
    Some(match fence[1] {
        1 if is_behind => Found::Behind,
        2 => Found::Ahead,
        _ => Found::Unit(count - 1),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_found_in_the_unit_where_it_begins() {
        let shape = Shape { code_bits: 64, pointer_bits: 20, is_unique: false };
        let mut memory = [0; FENCE_SIZE];
        let mut fence = Fence::new(&mut memory);
        for (unit, first, goes_on) in [(0, 5, false), (1, 9, false), (2, 9, true), (3, 12, true)] {
            fence.note(unit, first, goes_on, shape);
        }
        let mut cell = [0; 486];
        fence.emit(4, (Behind::Known(20), 19), shape, &mut cell);
        let at = |code, is_first| find(&cell, code, is_first, shape).unwrap();
        let found = [4, 5, 7, 9, 12, 13, 20, 21].map(|code| at(code, false));
        let unit = Found::Unit;
        assert_eq!(found[0], Found::Before);
        assert_eq!(found[1..6], [unit(0), unit(0), unit(1), unit(2), unit(3)]);
        assert_eq!(found[6..], [Found::Behind, Found::Behind]);
        assert_eq!(at(4, true), unit(0));
    }

    #[test]
    fn a_group_of_which_a_part_is_lost_says_nothing() {
        let shape = Shape { code_bits: 20, pointer_bits: 20, is_unique: true };
        let mut memory = [0; FENCE_SIZE];
        let mut fence = Fence::new(&mut memory);
        fence.note(7, 5, false, shape);
        fence.note(8, 6, false, shape);
        let mut cell = [0; 486];
        fence.emit(9, (Behind::Nothing, 8), shape, &mut cell);
        assert_eq!(find(&cell, 5, true, shape), Some(Found::Blank));
        assert_eq!((fence_of(0, 30, shape), fence_of(0, 100, shape)), (29, 60));
        assert!(ends_group(60, shape) && group_of(61, shape) == 1);
    }
}
