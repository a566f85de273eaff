//! The bits of a filter that a key sets. All are in the bucket that the key hashes to.

use core::ptr::fn_addr_eq;

use super::config::{BUCKETS, PbConfig};
use crate::hash::hash64;

/// Chooses the bits of a key. The function gets the key, a seed and the number of bits in a bucket,
/// which is a power of two. It fills the slice with bit numbers below that. The remainder of the
/// number that it returns is the bucket.
#[derive(Clone, Copy, Debug)]
pub struct Placement(pub fn(&[u8], u32, u32, &mut [u32]) -> u32);

impl Placement {
    /// The bits are slices of three hashes, which is as good as independent hashes, see [`hash64`].
    pub const SLICES: Self = Self(slices);
}

impl PartialEq for Placement {
    fn eq(&self, other: &Self) -> bool {
        fn_addr_eq(self.0, other.0)
    }
}

impl Eq for Placement {}

/// The most bits that a key may set.
pub(super) const PLACES_MAX: usize = 16;

/// The bits that a key sets in a filter, in ascending order.
pub(super) fn ascending_positions(
    key: &[u8],
    config: &PbConfig,
    filter_bits: u32,
) -> impl Iterator<Item = u32> + Clone + use<> {
    let (mut places, mut count) = ([0; PLACES_MAX], 0);
    for place in positions(key, config, filter_bits) {
        places[count] = place;
        count += 1;
    }
    places[..count].sort_unstable();
    places.into_iter().take(count)
}

/// The bits that a key sets in a filter.
pub(super) fn positions(
    key: &[u8],
    config: &PbConfig,
    filter_bits: u32,
) -> impl Iterator<Item = u32> + Clone + use<> {
    let bucket_bits = filter_bits / BUCKETS;
    let count = usize::from(config.hash_count);
    let mut places = [0; PLACES_MAX];
    let Placement(place) = config.placement;
    let bucket = place(key, config.seed, bucket_bits, &mut places[..count]) % BUCKETS;
    places.into_iter().take(count).map(move |place| bucket * bucket_bits + place % bucket_bits)
}

/// Independent seeds of the three calls that give all positions.
const SEEDS: [u32; 3] = [0, 0x9747_B28C, 0x0123_4567];

fn slices(key: &[u8], seed: u32, bucket_bits: u32, places: &mut [u32]) -> u32 {
    let width = bucket_bits.ilog2();
    let hashes = SEEDS.map(|own| hash64(key, seed ^ own));
    let per_hash = 62 / width;
    for (number, place) in (0..).zip(places) {
        let hash = hashes[(number / per_hash) as usize % SEEDS.len()] >> 2;
        *place = (hash >> (number % per_hash * width)) as u32 & (bucket_bits - 1);
    }
    hashes[0] as u32
}
