//! The keys of a run: distinct keys in one of seven distributions, and the same number of keys that
//! are never inserted.

use std::fmt;

use flysch_chip::Prng;
use flysch_names::named;
use strum::{IntoStaticStr, VariantArray};

use super::collide;
use super::zipf::Zipf;

/// How the keys of a run are distributed over all keys of their size, in the order of insertion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "kebab-case", const_into_str)]
pub enum KeyDistribution {
    /// Every key is equally likely.
    Random,
    /// Ascending numbers, without gaps.
    Ascending,
    /// Descending numbers, without gaps.
    Descending,
    /// Normally distributed around the middle of all keys. One standard deviation is a twelfth of
    /// the range.
    Normal,
    /// Bursts of [`BURST`] ascending numbers. Each burst begins at a random number.
    Bursty,
    /// The leading bits have a Zipf distribution, so most keys lie in a few narrow ranges. If keys
    /// have several rows, the numbers of rows have this distribution instead, and the keys are
    /// random.
    Zipf,
    /// Keys of 12 bytes that have one lookup3 hash under the seed 0.
    Colliding,
}

named!(KeyDistribution, "key distribution");

/// Number of keys in a burst.
pub const BURST: u32 = 64;

impl KeyDistribution {
    /// Whether keys come in runs of neighbouring values, except if all of them ascend.
    pub const fn is_in_stretches(self) -> bool {
        matches!(self, Self::Descending | Self::Bursty)
    }
}

/// Why such keys cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyError {
    /// Keys of this size are too short to be distinct.
    TooShort {
        /// Number of keys that were asked for.
        count: u32,
        size: usize,
        /// The smallest key size in bytes for which the keys are distinct.
        needed: usize,
    },
    /// Colliding keys can only be computed for another size. This size was asked for.
    Colliding(usize),
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooShort { count, size, needed } => write!(
                f,
                "keys of {size} bytes are too short to tell {count} keys from as many absent ones: \
                 {needed} would be enough"
            ),
            Self::Colliding(size) => {
                let needed = collide::KEY_SIZE;
                write!(f, "colliding keys have {needed} bytes, not {size}")
            }
        }
    }
}

impl std::error::Error for KeyError {}

/// The keys of a run, numbered in the order of insertion. A key's number is mapped to its first or
/// last eight bytes by a function that has an inverse, so no two keys are equal.
#[derive(Clone, Copy, Debug)]
pub struct Keys {
    distribution: KeyDistribution,
    size: usize,
    count: u32,
    seed: u64,
    /// The distribution of the leading bits of Zipf keys.
    stretches: Zipf,
}

impl Keys {
    /// `count` keys of `size` bytes, and as many keys that are never inserted.
    pub fn new(
        distribution: KeyDistribution,
        size: usize,
        count: u32,
        seed: u64,
    ) -> Result<Self, KeyError> {
        let bits = id_bits(distribution, count);
        let needed = bits.div_ceil(8) as usize;
        let led = value_bits(size).saturating_sub(bits);
        let stretches = Zipf::new(1 << led.min(STRETCH_BITS));
        if distribution == KeyDistribution::Colliding && size != collide::KEY_SIZE {
            return Err(KeyError::Colliding(size));
        }
        if size < needed {
            return Err(KeyError::TooShort { count, size, needed });
        }
        Ok(Self { distribution, size, count, seed, stretches })
    }

    pub const fn count(&self) -> u32 {
        self.count
    }

    /// Size of a key in bytes.
    pub const fn size(&self) -> usize {
        self.size
    }

    /// The key with this number, which must be below [`Keys::count`].
    pub fn present(&self, number: u32) -> Vec<u8> {
        debug_assert!(number < self.count, "key {number} of {}", self.count);
        self.key(number, false)
    }

    /// A key of the same distribution that is never inserted.
    pub fn absent(&self, number: u32) -> Vec<u8> {
        self.key(number, true)
    }

    fn key(&self, number: u32, is_absent: bool) -> Vec<u8> {
        let bits = value_bits(self.size);
        let mut key = vec![0; self.size];
        let id = u64::from(number) << 1 | u64::from(is_absent);
        let value = match self.distribution {
            KeyDistribution::Random => {
                Prng::new(self.seed ^ id).fill(&mut key);
                permute(id, bits, self.seed)
            }
            KeyDistribution::Ascending => id,
            KeyDistribution::Descending => 2 * u64::from(self.count) - 1 - id,
            KeyDistribution::Normal => self.lead(bits, id, |bits| {
                normal(self.seed ^ id).checked_shr(u64::BITS - bits).unwrap_or(0)
            }),
            KeyDistribution::Zipf => self.lead(bits, id, |bits| {
                let place = self.stretches.draw(&mut Prng::new(self.seed ^ id));
                u64::from(place) << bits.saturating_sub(STRETCH_BITS)
            }),
            KeyDistribution::Bursty => {
                let (burst, place) = (id / u64::from(2 * BURST), id % u64::from(2 * BURST));
                let span = (2 * BURST).ilog2();
                permute(burst, bits - span, self.seed) << span | place
            }
            KeyDistribution::Colliding => {
                let id = u32::try_from(id).expect("keys of a run are numbered by 31 bits");
                return collide::key(id).to_vec();
            }
        };
        // The most significant byte comes first, so that keys compare like their numbers.
        let mut value = value.to_le_bytes();
        value.reverse();
        let len = self.size.min(8);
        let place = match self.distribution {
            KeyDistribution::Random
            | KeyDistribution::Normal
            | KeyDistribution::Zipf
            | KeyDistribution::Colliding => 0,
            KeyDistribution::Ascending | KeyDistribution::Descending | KeyDistribution::Bursty => {
                self.size - len
            }
        };
        key[place..place + len].copy_from_slice(&value[8 - len..]);
        key
    }

    /// A value of `bits` bits. Its low bits are the key's number, which makes it unique. The
    /// remaining leading bits are drawn by `leading`, which is called with their number.
    fn lead(&self, bits: u32, id: u64, leading: impl FnOnce(u32) -> u64) -> u64 {
        let low = id_bits(self.distribution, self.count);
        leading(bits - low).checked_shl(low).unwrap_or(0) | id
    }
}

/// Logarithm to base 2 of the number of ranges that Zipf keys lie in.
const STRETCH_BITS: u32 = 10;

/// How many bits of a key of `size` bytes depend on its number.
fn value_bits(size: usize) -> u32 {
    8 * u32::try_from(size.min(8)).expect("at most 8")
}

/// Number of bits that are needed to number the keys of a run and the absent ones.
const fn id_bits(distribution: KeyDistribution, count: u32) -> u32 {
    let numbers = match distribution {
        KeyDistribution::Bursty => count.next_multiple_of(BURST),
        KeyDistribution::Random
        | KeyDistribution::Ascending
        | KeyDistribution::Descending
        | KeyDistribution::Normal
        | KeyDistribution::Zipf
        | KeyDistribution::Colliding => count,
    };
    u64::BITS - (2 * numbers as u64 - 1).leading_zeros()
}

/// A permutation of the numbers with this many bits. Each of its steps has an inverse.
pub(super) fn permute(value: u64, bits: u32, seed: u64) -> u64 {
    let mask = u64::MAX >> (64 - bits);
    let mut prng = Prng::new(seed);
    let mut value = value & mask;
    for _ in 0..3 {
        value ^= value >> bits.div_ceil(2);
        value = value.wrapping_mul(prng.next() | 1).wrapping_add(prng.next()) & mask;
    }
    value ^ value >> bits.div_ceil(2)
}

/// A normally distributed number of 64 bits: the mean of twelve uniformly distributed ones.
fn normal(seed: u64) -> u64 {
    let mut prng = Prng::new(seed);
    (0..12).map(|_| prng.next() / 12).sum()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_two_keys_are_equal() {
        for &distribution in KeyDistribution::ALL {
            let is_colliding = distribution == KeyDistribution::Colliding;
            for size in if is_colliding { vec![12] } else { vec![2, 3, 8, 12, 30] } {
                let keys = Keys::new(distribution, size, 20_000, 7).unwrap();
                let all =
                    (0..20_000).flat_map(|number| [keys.present(number), keys.absent(number)]);
                let distinct: BTreeSet<Vec<u8>> = all.collect();
                assert_eq!(distinct.len(), 40_000, "{distribution:?}, {size} bytes");
                assert!(distinct.iter().all(|key| key.len() == size));
            }
        }
    }

    #[test]
    fn distributions_are_what_they_say() {
        let leading = |distribution| {
            let keys = Keys::new(distribution, 12, 10_000, 7).unwrap();
            (0..10_000).map(move |number| f64::from(keys.present(number)[0])).collect::<Vec<_>>()
        };
        let spread = |values: &[f64]| {
            let mean = values.iter().sum::<f64>() / 1e4;
            (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / 1e4).sqrt()
        };
        assert!((spread(&leading(KeyDistribution::Random)) - 256.0 / 12_f64.sqrt()).abs() < 2.0);
        assert!((spread(&leading(KeyDistribution::Normal)) - 256.0 / 12.0).abs() < 1.0);
        let keys = Keys::new(KeyDistribution::Ascending, 12, 10_000, 7).unwrap();
        assert!((1..10_000).all(|number| keys.present(number - 1) < keys.present(number)));
        let keys = Keys::new(KeyDistribution::Descending, 12, 10_000, 7).unwrap();
        assert!((1..10_000).all(|number| keys.present(number - 1) > keys.present(number)));
        let leading = leading(KeyDistribution::Zipf);
        let first = leading.iter().filter(|byte| **byte < 1.0).count();
        assert!((1700..2900).contains(&first), "{first} keys lie in the first of 256 parts");
        let keys = Keys::new(KeyDistribution::Bursty, 12, 10_000, 7).unwrap();
        let breaks = (1..10_000).filter(|&number| {
            let value = |number| {
                keys.present(number)
                    .iter()
                    .fold(0_u128, |value, &byte| value << 8 | u128::from(byte))
            };
            value(number).wrapping_sub(value(number - 1)) != 2
        });
        assert_eq!(breaks.count(), 10_000 / BURST as usize);
    }

    #[test]
    fn too_short_keys_are_refused() {
        let outcome = Keys::new(KeyDistribution::Ascending, 2, 40_000, 7);
        assert_eq!(outcome.unwrap_err(), KeyError::TooShort { count: 40_000, size: 2, needed: 3 });
    }
}
