//! How often a Bloom filter is wrong: section 4.1 and Table 1.

/// (1 - e^(-k/d))^k of section 4.1: the chance that a filter with `bits_per_key` (d, or m/n) and
/// `hash_count` (k) says yes to a key that it has not seen.
pub fn false_positive_rate(bits_per_key: f64, hash_count: u32) -> f64 {
    let k = f64::from(hash_count);
    (1.0 - (-k / bits_per_key).exp()).powf(k)
}

/// The same for a filter split into `buckets` that each key is first hashed to (section 4.4, which
/// gives no formula). The keys of a bucket are then as many as chance will have it, and the mean
/// over their binomial distribution is worse than the rate at the mean.
pub fn bucketed_rate(filter_bits: u32, keys: u32, buckets: u32, hash_count: u32) -> f64 {
    let bits = f64::from(filter_bits) / f64::from(buckets);
    let share = 1.0 / f64::from(buckets);
    let (n, k) = (f64::from(keys), f64::from(hash_count));
    // The chance of an empty bucket, then from one number of keys to the next.
    let mut chance = (1.0 - share).powf(n);
    let mut rate = 0.0;
    for held in (0..=keys).map(f64::from) {
        rate += chance * (1.0 - (1.0 - 1.0 / bits).powf(k * held)).powf(k);
        chance *= (n - held) / (held + 1.0) * share / (1.0 - share);
    }
    rate
}
