//! A Bloom filter in RAM over hashes: may say "maybe" for an absent one, never "no" for a present.

/// The filter's bits; their memory is the caller's.
#[derive(Debug)]
pub struct Bloom<'ram> {
    bits: &'ram mut [u8],
}

/// Bits set for a hash. Three are best at 4 to 5 bits a key.
const PROBES: u32 = 3;

impl<'ram> Bloom<'ram> {
    /// Make an empty filter. Without any bits it answers "maybe" to everything.
    pub fn new(bits: &'ram mut [u8]) -> Self {
        bits.fill(0);
        Self { bits }
    }

    /// Forget everything.
    pub fn clear(&mut self) {
        self.bits.fill(0);
    }

    /// Add a hash.
    pub fn insert(&mut self, hash: u32) {
        for bit in places(hash, self.bit_count()) {
            self.bits[bit / 8] |= 1 << (bit % 8);
        }
    }

    /// Whether the hash may have been added.
    pub fn may_contain(&self, hash: u32) -> bool {
        places(hash, self.bit_count()).all(|bit| self.bits[bit / 8] & 1 << (bit % 8) != 0)
    }

    /// The filter's memory, for another use; clear it afterwards.
    pub(crate) fn memory(&mut self) -> &mut [u8] {
        self.bits
    }

    fn bit_count(&self) -> u64 {
        self.bits.len() as u64 * 8
    }
}

/// Enhanced double hashing in 32-bit arithmetic, of which the top bits are taken.
fn places(hash: u32, bit_count: u64) -> impl Iterator<Item = usize> {
    let mixed = (u64::from(hash) + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mixed = (mixed ^ mixed >> 32).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let (mut at, mut step) = ((mixed >> 32) as u32, mixed as u32 | 1);
    let probes = if bit_count == 0 { 0 } else { PROBES };
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
        let mut memory = [0; 1024];
        let mut bloom = Bloom::new(&mut memory);
        (0..1600).for_each(|hash| bloom.insert(hash * 7919));
        assert!((0..1600).all(|hash| bloom.may_contain(hash * 7919)));
        let wrong = (0..10_000).filter(|hash| bloom.may_contain(hash * 7919 + 1)).count();
        // 5.12 bits a key and three probes: (1 - e^(-3/5.12))^3 = 8.7 %.
        assert!((700..1050).contains(&wrong), "{wrong} of 10,000");
        assert!(Bloom::new(&mut []).may_contain(5));
    }
}
