//! Keys of any size: random, ordinal or normally distributed.

use flysch_chip::Prng;

/// How keys are distributed (section 7.3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Distribution {
    /// Every byte is random.
    Random,
    /// Numbers in ascending order.
    Ordinal,
    /// Numbers around 2^47 with a standard deviation of 2^43. Each is a sum of twelve random
    /// numbers.
    Normal,
}

impl Distribution {
    pub(super) const ALL: [(&'static str, Self); 3] =
        [("random", Self::Random), ("ordinal", Self::Ordinal), ("normal", Self::Normal)];

    /// The key with this number. Numbers are stored with the lowest byte first, as on the token's
    /// processor. The remaining bytes are zero.
    pub(super) fn key<const SIZE: usize>(self, seed: u64, number: u32) -> [u8; SIZE] {
        let mut key = [0; SIZE];
        self.fill(seed, number, &mut key);
        key
    }

    /// Put the key with this number into `key`, which is all zeros.
    pub(super) fn fill(self, seed: u64, number: u32, key: &mut [u8]) {
        let mut prng = Prng::new(seed << 32 ^ u64::from(number) ^ 0x5DEE_CE66_D1CE_4E5B);
        let value = match self {
            Self::Random => {
                prng.fill(key);
                return;
            }
            Self::Ordinal => u64::from(number),
            Self::Normal => {
                // A sum of twelve numbers below 2^43 has this deviation, and a mean of six times
                // 2^43.
                let sum: u64 = (0..12).map(|_| prng.below(1 << 43)).sum();
                sum + (1 << 47) - (6 << 43)
            }
        };
        let bytes = value.to_le_bytes();
        let len = key.len().min(bytes.len());
        key[..len].copy_from_slice(&bytes[..len]);
    }
}
