//! Bloom filters of the recent runs. They lie one behind the other in one piece of memory.
//!
//! 1. The filter of a run begins where that of the run before it in the table ends.
//! 2. A run without a filter, or with one that is not complete, may hold anything.

/// Bits that a code sets. At 8 bits of filter for each code, 2.4 % of absent codes pass; at 5 bits
/// 9.2 %.
const PROBES: u32 = 4;

#[derive(Debug)]
pub(crate) struct Blooms<'ram> {
    bytes: &'ram mut [u8],
}

impl<'ram> Blooms<'ram> {
    pub(crate) fn new(bytes: &'ram mut [u8]) -> Self {
        Self { bytes }
    }

    /// Bytes for all filters.
    pub(crate) fn size(&self) -> usize {
        self.bytes.len()
    }

    /// Make an empty filter of `size` bytes at `at`. Filters there move up; the last one ended at
    /// `end`.
    pub(crate) fn insert(&mut self, at: usize, size: usize, end: usize) {
        assert!(at <= end, "filters follow each other");
        assert!(end + size <= self.bytes.len(), "there is room for the filter");
        self.bytes.copy_within(at..end, at + size);
        self.bytes[at..at + size].fill(0);
    }

    /// Remove the filter of `size` bytes at `at`. Filters behind it move down; the last one ends at
    /// `end`.
    pub(crate) fn remove(&mut self, at: usize, size: usize, end: usize) {
        assert!(at + size <= end, "a filter lies before the end of all");
        self.bytes.copy_within(at + size..end, at);
    }

    /// Add a code of an index to the filter of `size` bytes at `at`.
    pub(crate) fn add(&mut self, (at, size): (usize, usize), index: u8, code: u64) {
        for bit in places_of(index, code, size) {
            self.bytes[at + bit / 8] |= 1 << (bit % 8);
        }
    }

    /// Whether the code may have been added: never false for one that was.
    pub(crate) fn may_hold(&self, (at, size): (usize, usize), index: u8, code: u64) -> bool {
        places_of(index, code, size).all(|bit| self.bytes[at + bit / 8] & 1 << (bit % 8) != 0)
    }
}

/// The bits that a code of an index sets in a filter of `size` bytes.
fn places_of(index: u8, code: u64, size: usize) -> impl Iterator<Item = usize> {
    places(code ^ u64::from(index) << 56, size as u64 * 8, PROBES)
}

/// The `probes` bits that a code sets in a filter: enhanced double hashing in 32-bit arithmetic, of
/// which the top bits are taken. There are none in a filter without bits.
pub fn places(code: u64, bit_count: u64, probes: u32) -> impl Iterator<Item = usize> {
    let mixed = code.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mixed = (mixed ^ mixed >> 32).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let (mut at, mut step) = ((mixed >> 32) as u32, mixed as u32 | 1);
    let probes = if bit_count == 0 { 0 } else { probes };
    (0..probes).map(move |probe| {
        let bit = (u64::from(at) * bit_count) >> 32;
        at = at.wrapping_add(step);
        step = step.wrapping_add(probe + 1);
        bit as usize
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_added_is_denied_and_little_else_is_affirmed() {
        let mut memory = [0; 1300];
        let mut blooms = Blooms::new(&mut memory);
        blooms.insert(0, 200, 0);
        blooms.insert(0, 1000, 200);
        let filter = (0, 1000);
        (0..1000).for_each(|code| blooms.add(filter, 1, code * 7919));
        assert!((0..1000).all(|code| blooms.may_hold(filter, 1, code * 7919)));
        assert!(!blooms.may_hold((1000, 200), 1, 7919), "another run's filter");
        let wrong = (0..10_000).filter(|code| blooms.may_hold(filter, 0, code * 7919)).count();
        assert!((180..300).contains(&wrong), "{wrong} of 10,000");
        blooms.remove(0, 1000, 1200);
        assert!(blooms.may_hold((0, 0), 1, 5), "no filter affirms all");
    }
}
