//! Which bits of a filter a key sets: all in the bucket that the key hashes to.

use super::config::{BUCKETS, PbConfig};
use crate::index::hash::hash64;

/// Independent seeds of the three calls that give all positions.
const SEEDS: [u32; 3] = [0, 0x9747_B28C, 0x0123_4567];

/// The positions of a key's bits, slices of three hashes.
pub(super) fn positions(
    key: &[u8],
    config: &PbConfig,
    filter_bits: u32,
) -> impl Iterator<Item = u32> + Clone {
    let bucket_bits = filter_bits / BUCKETS;
    let width = bucket_bits.ilog2();
    let hashes = SEEDS.map(|seed| hash64(key, config.seed ^ seed));
    let bucket = hashes[0] as u32 % BUCKETS;
    let per_hash = 62 / width;
    (0..u32::from(config.hash_count)).map(move |number| {
        let hash = hashes[(number / per_hash) as usize % SEEDS.len()] >> 2;
        let slice = (hash >> (number % per_hash * width)) as u32 & (bucket_bits - 1);
        bucket * bucket_bits + slice
    })
}
