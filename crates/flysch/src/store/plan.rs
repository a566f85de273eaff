//! How many units a section needs, and with how many remainder bits its gaps are coded.

use super::entry::Shape;
use super::run::Section;
use super::unit::{Coding, header_size};

/// Per cent of a unit that merged runs are planned to fill. At 92 few units spill; found by
/// measuring.
const FILL_PERCENT: u64 = 92;
/// Per cent of a unit that flushed runs are planned to fill: their entries are known exactly.
const FLUSH_FILL_PERCENT: u64 = 97;

/// Remainder bits of the first unit of ordered codes, whose gaps are not known. Later units learn
/// from it.
const RICE_OF_KEYS: u8 = 32;

/// What is known of a section before it is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Estimate {
    pub(crate) entries: u32,
    /// Number of different codes.
    pub(crate) distinct: u32,
    /// Flags that may occur.
    pub(crate) flags: u8,
    /// Whether these numbers are exact, as they are for the memory table.
    pub(crate) is_exact: bool,
    /// Least and greatest code; none lies outside.
    pub(crate) least: u64,
    pub(crate) greatest: u64,
    /// Whether ordered codes lie about evenly between the least and the greatest.
    pub(crate) is_even: bool,
}

impl Estimate {
    /// Whether so many entries repeat a code that a bit in each entry saves space.
    const fn has_dups(&self) -> bool {
        self.distinct as u64 * 20 < self.entries as u64 * 19
    }

    /// Whether the unit of a code does not follow from the code: codes lie unevenly, or have many
    /// rows.
    pub(crate) const fn is_packed(&self, shape: Shape) -> bool {
        shape.is_ordered() && !self.is_even || self.entries as u64 > self.distinct as u64 * 4
    }

    /// The number of possible codes, in units of 2^shift.
    fn space(&self, shape: Shape) -> (u64, u8) {
        if !shape.is_ordered() {
            return (1 << shape.code_bits, 0);
        }
        let width = self.greatest.saturating_sub(self.least);
        let shift = SPACE_BITS.saturating_sub(width.leading_zeros() as u8);
        ((width >> shift) + 1, shift)
    }

    /// How the first unit is coded.
    pub(crate) fn coding(&self, shape: Shape) -> Coding {
        let distinct = u64::from(self.distinct.max(1));
        let rice = if self.is_packed(shape) && shape.is_ordered() {
            RICE_OF_KEYS
        } else {
            let (space, shift) = self.space(shape);
            (space * 69 / 100 / distinct).max(1).ilog2() as u8 + shift
        };
        let has_dups = !shape.is_unique && self.has_dups();
        Coding { rice, delta: shape.pointer_bits / 2, flags: self.flags, has_dups }
    }

    /// Number of units to plan; 0 for a packed section. `cell` is the least payload of a cell.
    pub(crate) fn planned(&self, shape: Shape, cell: usize) -> u32 {
        if self.entries == 0 || self.is_packed(shape) {
            return 0;
        }
        let fill = if self.is_exact { FLUSH_FILL_PERCENT } else { FILL_PERCENT };
        let room = (cell - header_size(shape)) as u64 * 8;
        (self.bits(shape) * 100).div_ceil(room * fill).max(1) as u32
    }

    /// Bits that all entries of a hashed section take.
    fn bits(&self, shape: Shape) -> u64 {
        let Coding { rice, has_dups, .. } = self.coding(shape);
        let (entries, distinct) = (u64::from(self.entries), u64::from(self.distinct.max(1)));
        let (space, shift) = self.space(shape);
        // The quotient's mean is 1 / (e^x - 1) with x = 2^rice / mean gap; its series in 1/256ths.
        let step = distinct << rice.saturating_sub(shift);
        let quotient = (space * 256 / step + step * 256 / space / 12).saturating_sub(128);
        let gap = u64::from(rice) * 256 + 256 + quotient;
        let rest = u64::from(shape.pointer_bits)
            + u64::from(self.flags.count_ones())
            + u64::from(has_dups);
        (distinct.min(entries) * gap + entries * rest * 256) / 256
    }
}

/// Whether ascending codes lie so evenly that their unit can follow from them: none of eight equal
/// parts has more codes than chance puts there.
pub(crate) fn are_even(codes: impl Iterator<Item = u64>, estimate: &Estimate) -> bool {
    let Estimate { least, greatest, .. } = *estimate;
    let bounds = Section { least, greatest, ..Section::default() };
    let shape = Shape { code_bits: 64, ..Shape::default() };
    let mut parts = [0; PARTS];
    codes.for_each(|code| parts[bounds.part(code, PARTS as u32, shape) as usize] += 1);
    let mean = estimate.entries / PARTS as u32;
    let most = mean + mean / 8 + 3 * mean.isqrt() + 1;
    parts.iter().all(|count| *count <= most)
}

/// Whether these sections are even each, and together too: nowhere do so many entries come together
/// that they overfill a unit.
pub(crate) fn meet_evenly(
    sections: impl Iterator<Item = Section> + Clone,
    estimate: &Estimate,
) -> bool {
    let all = estimate.greatest - estimate.least;
    let shift = SPACE_BITS.saturating_sub(all.leading_zeros() as u8);
    let width = |from: u64, to: u64| ((to - from) >> shift) + 1;
    let all = (all >> shift) + 1;
    // A section with few entries does no harm wherever they lie.
    let many = sections.filter(|section| section.entries > estimate.entries / 64 + 2);
    many.clone().all(|section| {
        let there = many.clone().filter(|other| other.spans(section.least));
        let end = there.clone().map(|other| other.greatest).min().unwrap_or(section.greatest);
        let stretch = width(section.least, end);
        let share = |other: Section| {
            u64::from(other.entries - 1) * stretch / width(other.least, other.greatest)
        };
        let planned = u64::from(estimate.entries) * stretch / all * 107 / 100;
        section.is_even && there.map(share).sum::<u64>() <= planned + EXCESS_MAX
    })
}

/// Greatest number of entries that may come together beyond the planned ones: half of what a unit
/// holds.
const EXCESS_MAX: u64 = 40;
/// Parts of which the numbers of codes are compared.
const PARTS: usize = 8;
/// Leading zeros of a width that can be multiplied by a number of entries.
const SPACE_BITS: u8 = 32;

/// Remainder bits for numbers whose binary logarithms add up to `logs`. For geometric numbers the
/// mean logarithm is 0.83 below the logarithm of the mean, and the best remainder 0.53 below it.
pub(crate) const fn rice_of(logs: u32, count: u32) -> Option<u8> {
    if count < 4 {
        return None;
    }
    let rice = (logs * 10 + count * 3) / (count * 10);
    Some(if rice > 62 { 62 } else { rice as u8 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_million_hashes_take_what_they_took_when_measured() {
        let shape = Shape { code_bits: 26, pointer_bits: 20, is_unique: true };
        let million = Estimate { entries: 1_000_000, distinct: 1_000_000, ..Estimate::default() };
        assert_eq!(million.coding(shape).rice, 5);
        // 27.8 bits an entry, a unit has 3,808 and is filled to 92 per cent.
        assert_eq!(million.planned(shape, 486), 7855);
        let fewer = Estimate { distinct: 1000, ..million };
        assert_eq!(fewer.planned(shape, 486), 0);
        assert!(fewer.coding(Shape { is_unique: false, ..shape }).has_dups);
    }
}
