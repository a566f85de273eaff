//! A Bloom filter in RAM over hashes. It may answer "maybe" for an absent hash, but never "no" for
//! a present one.

use flysch::store::places;

/// A Bloom filter. The caller provides the memory of its bits.
#[derive(Debug)]
pub struct Bloom<'ram> {
    bits: &'ram mut [u8],
}

/// Number of bits that are set for each hash. Three are best with 4 to 5 bits for each key.
const PROBES: u32 = 3;

impl<'ram> Bloom<'ram> {
    /// Make an empty filter. Without any bits it answers "maybe" to everything.
    pub fn new(bits: &'ram mut [u8]) -> Self {
        bits.fill(0);
        Self { bits }
    }

    pub fn clear(&mut self) {
        self.bits.fill(0);
    }

    pub fn insert(&mut self, hash: u32) {
        for bit in places(u64::from(hash), self.bit_count(), PROBES) {
            self.bits[bit / 8] |= 1 << (bit % 8);
        }
    }

    /// Whether the hash may have been added.
    pub fn may_contain(&self, hash: u32) -> bool {
        places(u64::from(hash), self.bit_count(), PROBES)
            .all(|bit| self.bits[bit / 8] & 1 << (bit % 8) != 0)
    }

    /// The filter's memory, to be used for something else. Clear it afterwards.
    pub(crate) fn memory(&mut self) -> &mut [u8] {
        self.bits
    }

    fn bit_count(&self) -> u64 {
        self.bits.len() as u64 * 8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_added_is_denied_and_little_else_is_affirmed() {
        let mut memory = [0; 1024];
        let mut bloom = Bloom::new(&mut memory);
        (0..1600).for_each(|hash| bloom.insert(hash * 7919));
        assert!((0..1600).all(|hash| bloom.may_contain(hash * 7919)));
        let wrong = (0..10_000).filter(|hash| bloom.may_contain(hash * 7919 + 1)).count();
        // With 5.12 bits for each key and three probes: (1 - e^(-3/5.12))^3 = 8.7 %.
        assert!((700..1050).contains(&wrong), "{wrong} of 10,000");
        assert!(Bloom::new(&mut []).may_contain(5));
    }
}
