//! Keys of twelve bytes, or as many as asked for: random, ordinal, normal.

use flysch_chip::Prng;

/// How keys are distributed (section 7.3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Distribution {
    /// Every byte is drawn.
    Random,
    /// Numbers in ascending order.
    Ordinal,
    /// Numbers around 2^47, with a standard deviation of 2^43, as sums of twelve drawn ones.
    Normal,
}

impl Distribution {
    pub(super) const ALL: [(&'static str, Self); 3] =
        [("random", Self::Random), ("ordinal", Self::Ordinal), ("normal", Self::Normal)];

    /// The key of this number. Numbers are stored as the token's processor has them, low byte
    /// first; bytes beyond them are zero.
    pub(super) fn key(self, seed: u64, number: u32, size: usize) -> Vec<u8> {
        let mut key = vec![0; size];
        let mut prng = Prng::new(seed << 32 ^ u64::from(number) ^ 0x5DEE_CE66_D1CE_4E5B);
        let value = match self {
            Self::Random => {
                prng.fill(&mut key);
                return key;
            }
            Self::Ordinal => u64::from(number),
            Self::Normal => {
                // A sum of twelve numbers below 2^43 has that deviation, and six times it as mean.
                let sum: u64 = (0..12).map(|_| prng.below(1 << 43)).sum();
                sum + (1 << 47) - (6 << 43)
            }
        };
        let bytes = value.to_le_bytes();
        let len = size.min(bytes.len());
        key[..len].copy_from_slice(&bytes[..len]);
        key
    }
}
