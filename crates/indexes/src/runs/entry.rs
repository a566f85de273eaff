//! Entries: hash, pointer and kind in a single number, by which they are ordered.
//!
//! `hash << (pointer_bits + 1) | pointer << 1 | anti`. An anti-entry cancels the entry with the
//! same hash and pointer. It is the next greater number, so a merge meets both together.

/// The format of a run's entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) hash_bits: u8,
    pub(super) pointer_bits: u8,
    /// Remainder bits of the Rice code.
    pub(super) rice: u8,
    /// Whether each entry has a bit that says if it is an anti-entry. Otherwise none is.
    pub(super) has_antis: bool,
}

impl Shape {
    pub(super) const fn entry(self, hash: u32, pointer: u32, is_anti: bool) -> u64 {
        (hash as u64) << (self.pointer_bits + 1) | (pointer as u64) << 1 | is_anti as u64
    }

    pub(super) const fn hash(self, entry: u64) -> u32 {
        (entry >> (self.pointer_bits + 1)) as u32
    }

    pub(super) const fn pointer(self, entry: u64) -> u32 {
        ((entry >> 1) & ((1 << self.pointer_bits) - 1)) as u32
    }

    /// The unit at which a search for a hash begins, in a run that was planned with `units` units.
    pub(super) const fn target(self, hash: u32, units: u32) -> u32 {
        ((hash as u64 * units as u64) >> self.hash_bits) as u32
    }
}

/// Whether an entry is an anti-entry.
pub(super) const fn is_anti(entry: u64) -> bool {
    entry & 1 == 1
}

/// The Rice parameter and the number of units for `count` entries, if units are filled to
/// `fill_percent`.
///
/// Gaps between hashes have a geometric distribution with mean `2^hash_bits / count`. The parameter
/// is chosen so that the quotient's mean is between 1.0 and 2.4, where the Rice code is within 3 %
/// of the entropy.
pub(super) fn plan(count: u32, shape: Shape, unit_size: u32, fill_percent: u32) -> (u8, u32) {
    let count = u64::from(count.max(1));
    let space = 1_u64 << shape.hash_bits;
    let rice = (space * 69 / 100 / count).max(1).ilog2() as u8;
    // The mean of the quotient is 1 / (e^x - 1) with x = 2^rice / mean gap. This is its series, in
    // 1/256ths.
    let step = (1_u64 << rice) * count;
    let quotient = (space * 256 / step + step * 256 / space / 12).saturating_sub(128);
    let fixed = u64::from(rice) + u64::from(shape.pointer_bits) + u64::from(shape.has_antis) + 1;
    let bits = count * (fixed * 256 + quotient) / 256;
    let room = u64::from(unit_size) * 8 - super::unit::HEADER_SIZE as u64 * 8;
    let units = (bits * 100).div_ceil(room * u64::from(fill_percent)).max(1);
    (rice, units as u32)
}
