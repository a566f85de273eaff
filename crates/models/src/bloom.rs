//! The false-positive rate of a Bloom filter: section 4.1 and Table 1.

/// (1 - e^(-k/d))^k of section 4.1: the probability of a false positive. `bits_per_key` is d (or
/// m/n in the table), `hash_count` is k.
pub fn false_positive_rate(bits_per_key: f64, hash_count: u32) -> f64 {
    let k = f64::from(hash_count);
    (1.0 - (-k / bits_per_key).exp()).powf(k)
}

/// The probability of a false positive if each key is first hashed to one of `buckets` parts of the
/// filter (section 4.4, which gives no formula). The number of keys in a bucket is random. The mean
/// rate over their binomial distribution is higher than the rate for the mean number.
pub fn bucketed_rate(filter_bits: u32, keys: u32, buckets: u32, hash_count: u32) -> f64 {
    let bits = f64::from(filter_bits) / f64::from(buckets);
    let share = 1.0 / f64::from(buckets);
    let (n, k) = (f64::from(keys), f64::from(hash_count));
    // Begin with the probability of an empty bucket, then go from each number of keys to the next.
    let mut chance = (1.0 - share).powf(n);
    let mut rate = 0.0;
    for held in (0..=keys).map(f64::from) {
        rate += chance * (1.0 - (1.0 - 1.0 / bits).powf(k * held)).powf(k);
        chance *= (n - held) / (held + 1.0) * share / (1.0 - share);
    }
    rate
}
