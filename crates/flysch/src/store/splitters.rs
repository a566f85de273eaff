//! Splitters: some of the codes with which groups of a packed level begin. They tell a lookup
//! between which fences to search, for keys hardly ever lie evenly between the least and the
//! greatest.
//!
//! ```text
//! group      0   1   2   3   4   5   6   7   8 …        last group 0 to 14: every group behind 0
//! splitters              1               2              15 to 29: every second, then every fourth
//! ```
//!
//! A splitter has 16 bits: a code's distance from the least one, rounded down to eleven binary
//! digits. The upper six bits tell where these stand, the lower ten are what follows the first.
//!
//! 1. Rounding keeps the order. So a code whose distance is rounded to more than a splitter begins
//!    in the splitter's group or behind it, and one that is rounded to less begins before it.
//! 2. How far apart they lie follows from their number and that of the groups. Where no power of
//!    two fits both, the run is searched without.
//! 3. They are left out, every second one at a time, where the table of runs has no room for them.

use super::bytes::{Parser, Writer};
use super::entry::Shape;
use super::run::{Run, Section};

/// Greatest number of splitters of a run.
const SPLITTERS_MAX: usize = 14;

/// Bits of a splitter behind the first digit.
const DIGITS: u32 = 10;

/// The groups among which a code's begin is sought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stretch {
    pub(super) low: u32,
    pub(super) high: u32,
    /// The group whose fence is read first.
    pub(super) guess: u32,
}

/// How many groups lie between two splitters of a run with this last group, where there is room
/// for all.
const fn stride_of(last: u32) -> u32 {
    (last / (SPLITTERS_MAX as u32 + 1) + 1).next_power_of_two()
}

/// A distance, rounded down to eleven binary digits.
const fn rounded(distance: u64) -> u16 {
    let place = (u64::BITS - DIGITS).saturating_sub(distance.leading_zeros());
    if place == 0 {
        return distance as u16;
    }
    let digits = distance >> (place - 1);
    (place << DIGITS) as u16 | (digits as u16 & ((1 << DIGITS) - 1))
}

/// The least distance that is rounded to this; None where none is.
const fn least_of(splitter: u16) -> Option<u64> {
    let (place, digits) = ((splitter >> DIGITS) as u32, (splitter & ((1 << DIGITS) - 1)) as u64);
    match place {
        0 => Some(digits),
        _ if place <= u64::BITS - DIGITS => Some((digits | 1 << DIGITS) << (place - 1)),
        _ => None,
    }
}

impl Run {
    /// Note with which code a group begins, as the groups are written one after the other. Where
    /// some were left out while the run was under way, it goes on without.
    pub(super) fn note_group(&mut self, group: u32, code: u64) {
        let Some(behind) = group.checked_sub(1) else { return };
        let Section { least, .. } = self.section(self.head.indexes);
        debug_assert!(least <= code, "the bounds of a section were known");
        let (before, stride) = (stride_of(behind), stride_of(group));
        self.splitters = self.splitters.filter(|&count| u32::from(count) == behind / before);
        if before < stride {
            self.thin_out();
        }
        if let Some(count) = self.splitters
            && group.is_multiple_of(stride)
        {
            self.set_splitter(usize::from(count), rounded(code - least));
            self.splitters = Some(count + 1);
        }
    }

    /// Leave out every second splitter, or the last.
    pub(super) fn thin_out(&mut self) {
        let count = usize::from(self.splitters.unwrap_or(0));
        for at in 0..count {
            let kept = if at < count / 2 { self.splitter(2 * at + 1) } else { 0 };
            self.set_splitter(at, kept);
        }
        self.splitters = (count > 1).then_some(count as u8 / 2);
    }

    /// Where to seek a code among the groups up to the last one; None where no splitters tell.
    pub(super) fn narrow(&self, code: u64, last: u32, shape: Shape) -> Option<Stretch> {
        let count = u32::from(self.splitters?);
        let mut stride = stride_of(last);
        while last / stride > count {
            stride *= 2;
        }
        if last / stride != count {
            return None;
        }
        let Section { least: lowest, greatest, .. } = self.section(self.head.indexes);
        let distance = rounded(code.saturating_sub(lowest));
        let passed = |is_passed: fn(&u16, &u16) -> bool| {
            let all = (0..count as usize).map(|at| self.splitter(at));
            all.take_while(|splitter| is_passed(splitter, &distance)).count() as u32
        };
        let (below, up_to) = (passed(u16::lt), passed(u16::le));
        let start = up_to * stride;
        let high = if up_to < count { start + stride - 1 } else { last };
        let code_of = |at: u32| lowest.checked_add(least_of(self.splitter(at as usize))?);
        let first = up_to.checked_sub(1).map_or(Some(lowest), code_of)?;
        let end = if up_to < count { code_of(up_to)? } else { greatest };
        let between = Section { least: first, greatest: end.max(first), ..Section::NONE };
        let guess = start + between.part(code, high + 1 - start, shape);
        Some(Stretch { low: below * stride, high, guess })
    }

    pub(super) fn emit_splitters(&self, out: &mut Writer<'_>) {
        let Some(count) = self.splitters else { return };
        out.byte(count);
        for at in 0..usize::from(count) {
            out.copy(&self.splitter(at).to_le_bytes());
        }
    }

    /// Read the splitters of a run; None where there would be too many, or where they do not
    /// ascend.
    pub(super) fn parse_splitters(&mut self, bytes: &mut Parser<'_>) -> Option<()> {
        let count = bytes.byte().filter(|&count| usize::from(count) <= SPLITTERS_MAX)?;
        let mut before = 0;
        for at in 0..usize::from(count) {
            let splitter = u16::from_le_bytes([bytes.byte()?, bytes.byte()?]);
            least_of(splitter).filter(|_| splitter >= before)?;
            self.set_splitter(at, splitter);
            before = splitter;
        }
        self.splitters = Some(count);
        Some(())
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::vec::Vec;

    use super::*;

    #[test]
    fn rounding_keeps_the_order_and_is_within_a_thousandth() {
        let edges = (0..64).flat_map(|bit| {
            let power = 1_u64 << bit;
            [power - 1, power, power + 1, power | power >> 7, power | power >> 12]
        });
        let mut distances: Vec<u64> = edges.chain([u64::MAX - 1, u64::MAX]).collect();
        distances.sort_unstable();
        assert!(distances.windows(2).all(|pair| rounded(pair[0]) <= rounded(pair[1])));
        for distance in distances {
            let least = least_of(rounded(distance)).unwrap();
            assert!(least <= distance && distance - least <= distance / 1024, "{distance}");
            assert_eq!(rounded(least), rounded(distance));
        }
        assert_eq!(least_of(u16::MAX), None);
    }

    #[test]
    fn a_code_is_sought_where_it_begins() {
        let shape = Shape { code_bits: 64, pointer_bits: 20, is_unique: true };
        for last in [0, 1, 2, 13, 14, 15, 29, 30, 31, 240, 1000] {
            let mut run = Run::of_level(0, 1, 0);
            let least = 1 << 40;
            let first = |group: u32| least + u64::from(group).pow(4);
            let section = Section { least, greatest: first(last) + 9, ..Section::NONE };
            assert!(run.set_section(0, &section));
            run.splitters = Some(0);
            for group in 0..=last {
                run.note_group(group, first(group));
                let Stretch { low, high, guess } = run.narrow(first(group), group, shape).unwrap();
                assert!((low..=high).contains(&group) && guess <= high, "the last of {group}");
            }
            for group in 0..=last {
                let Stretch { low, high, guess } = run.narrow(first(group), last, shape).unwrap();
                assert!((low..=high).contains(&group), "{group} of {last}: {low} to {high}");
                assert!(high - low < 2 * stride_of(last), "{group} of {last}: {low} to {high}");
                assert!(guess <= high, "{group} of {last}");
                // A code that is a little less may be rounded alike, and begins before.
                let Stretch { low, high, .. } = run.narrow(first(group) - 1, last, shape).unwrap();
                assert!((low..=high).contains(&group.saturating_sub(1)), "before {group}");
            }
            assert_eq!(run.narrow(0, last, shape).unwrap().low, 0);
            assert_eq!(run.narrow(u64::MAX, last, shape).unwrap().high, last);
            run.thin_out();
            while run.splitters.is_some() {
                for group in 0..=last {
                    let Stretch { low, high, .. } = run.narrow(first(group), last, shape).unwrap();
                    assert!((low..=high).contains(&group), "{group} of {last}: {low} to {high}");
                }
                run.thin_out();
            }
        }
    }

    #[test]
    fn a_number_that_fits_no_stride_tells_nothing() {
        let shape = Shape { code_bits: 64, pointer_bits: 20, is_unique: true };
        let mut run = Run::of_level(0, 1, 0);
        for (count, last, tells) in [(5, 9, false), (4, 9, true), (5, 11, true), (0, 3, true)] {
            run.splitters = Some(count);
            assert_eq!(run.narrow(7, last, shape).is_some(), tells, "{count} of {last}");
        }
        run.splitters = Some(5);
        run.note_group(10, 1 << 30);
        assert_eq!(run.splitters, None, "nine would be there");
    }

    #[test]
    fn splitters_come_back_and_lies_are_refused() {
        let mut run = Run::of_level(0, 1, 0);
        run.splitters = Some(0);
        (0..25).for_each(|group| run.note_group(group, u64::from(group) << 20));
        let mut bytes = [0; 1 + 2 * SPLITTERS_MAX];
        let mut out = Writer::new(&mut bytes);
        run.emit_splitters(&mut out);
        let size = out.at;
        let parse = |bytes: &[u8]| {
            let mut read = Run::of_level(0, 1, 0);
            read.parse_splitters(&mut Parser { bytes }).map(|()| read)
        };
        let read = parse(&bytes[..size]).unwrap();
        assert_eq!(read, run);
        assert_eq!(parse(&bytes[..size - 1]), None, "a part is missing");
        bytes[1..3].fill(0xF0);
        assert_eq!(parse(&bytes[..size]), None, "the first is not the least");
        bytes[0] = 15;
        assert_eq!(parse(&bytes), None, "too many");
    }
}
