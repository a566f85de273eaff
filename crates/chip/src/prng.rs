//! Pseudo-random numbers. They are the project's own, so that results do not change with a
//! dependency.

/// The splitmix64 generator (Steele, Lea, Flood: Fast splittable pseudorandom number generators,
/// OOPSLA 2014). A number needs one chain of multiplications and shifts, and any seed can be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prng(u64);

/// What each number adds to the state.
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

impl Prng {
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    #[inline]
    pub const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Go on as if `count` numbers had been drawn.
    #[must_use]
    pub const fn after(self, count: u64) -> Self {
        Self(self.0.wrapping_add(STEP.wrapping_mul(count)))
    }

    /// Draw a number below `bound`.
    ///
    /// # Panics
    /// If `bound` is 0.
    #[inline]
    pub const fn below(&mut self, bound: u64) -> u64 {
        assert!(bound > 0, "no number is below zero");
        // Multiply-shift reduction. Its bias of bound / 2^64 is far below what can be measured.
        ((self.next() as u128 * bound as u128) >> 64) as u64
    }

    /// Put things into random order (Fisher and Yates).
    ///
    /// # Panics
    /// Never: what is drawn is below a length.
    pub fn shuffle<T>(&mut self, things: &mut [T]) {
        for last in (1..things.len()).rev() {
            let drawn = self.below(last as u64 + 1);
            things.swap(last, usize::try_from(drawn).expect("below a length"));
        }
    }

    pub fn fill(&mut self, bytes: &mut [u8]) {
        let (whole, rest) = bytes.as_chunks_mut::<8>();
        for chunk in whole {
            *chunk = self.next().to_le_bytes();
        }
        if !rest.is_empty() {
            rest.copy_from_slice(&self.next().to_le_bytes()[..rest.len()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_sequence_comes_out() {
        let mut prng = Prng::new(1_234_567);
        // Reference values of the public-domain splitmix64.c for this seed.
        assert_eq!(prng.next(), 6_457_827_717_110_365_317);
        assert_eq!(prng.next(), 3_203_168_211_198_807_973);
        assert_eq!(Prng::new(1_234_567).after(2), prng);
    }

    #[test]
    fn draws_stay_below_their_bound() {
        let mut prng = Prng::new(7);
        let mut seen = [0_u32; 5];
        for _ in 0..5_000 {
            seen[usize::try_from(prng.below(5)).unwrap()] += 1;
        }
        assert!(seen.iter().all(|&count| (850..1150).contains(&count)), "{seen:?}");
    }
}
