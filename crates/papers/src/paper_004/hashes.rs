//! The three hash functions of Table 6, and triple hashing with them.
//!
//! Triple hashing computes k positions from three hash values (Dillinger and Manolios, SPIN 2003;
//! reference [13] of the paper): `h1 + i h2 + i (i - 1) / 2 h3` modulo the number of bits. A fourth
//! hash value chooses the bucket. The engine uses none of the three functions.

use flysch_indexes::pbfilter::Placement;

/// A hash function of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct HashFunction {
    /// Its name in the table.
    pub(super) name: &'static str,
    /// Computes a key's bucket and bits with this function.
    pub(super) placement: Placement,
}

pub(super) const FUNCTIONS: [HashFunction; 3] = [
    HashFunction {
        name: "Bob Jenkins",
        placement: Placement(|key, seed, bits, places| triple(lookup2, key, seed, bits, places)),
    },
    HashFunction {
        name: "Super-fast",
        placement: Placement(|key, seed, bits, places| triple(super_fast, key, seed, bits, places)),
    },
    HashFunction {
        name: "Arash Partow",
        placement: Placement(|key, seed, bits, places| triple(partow, key, seed, bits, places)),
    },
];

/// Calls of the hash function for each key.
pub(super) const CALLS: u32 = 4;

/// The values of the calls for one key. They differ in their seeds alone, so the processor of the
/// host computes them side by side.
type Values = [u32; CALLS as usize];

fn triple(
    hash: fn(&[u8], Values) -> Values,
    key: &[u8],
    seed: u32,
    bits: u32,
    places: &mut [u32],
) -> u32 {
    let seeds = [0, 1, 2, 3].map(|call: u32| seed.wrapping_add(call.wrapping_mul(0x9E37_79B9)));
    let [mut place, mut step, turn, bucket] = hash(key, seeds);
    for slot in places {
        *slot = place & (bits - 1);
        place = place.wrapping_add(step);
        step = step.wrapping_add(turn);
    }
    bucket
}

/// Bob Jenkins's lookup2 (Dr. Dobb's Journal, September 1997). Each twelve bytes are mixed as three
/// words. At the end, the remaining bytes and the length are mixed.
fn lookup2(key: &[u8], seeds: Values) -> Values {
    let golden = [0x9E37_79B9; CALLS as usize];
    let mut state = [golden, golden, seeds];
    let mut blocks = key.chunks_exact(12);
    for block in &mut blocks {
        add(&mut state, block);
        mix(&mut state);
    }
    // The lowest byte of the last word is reserved for the length.
    let mut last = [0; 12];
    for (number, &byte) in blocks.remainder().iter().enumerate() {
        last[number + usize::from(number >= 8)] = byte;
    }
    add(&mut state, &last);
    let len = u32::try_from(key.len()).unwrap_or(u32::MAX);
    state[2] = state[2].map(|value| value.wrapping_add(len));
    mix(&mut state);
    state[2]
}

fn add(state: &mut [Values; 3], block: &[u8]) {
    for (values, bytes) in state.iter_mut().zip(block.chunks_exact(4)) {
        let word = word_of(bytes);
        *values = values.map(|value| value.wrapping_add(word));
    }
}

/// For each word in turn, subtract the two others and mix in the word before it.
fn mix(state: &mut [Values; 3]) {
    let less = |own: u32, next: u32, before: u32| own.wrapping_sub(next).wrapping_sub(before);
    let [first, second, third] = state;
    for shifts in [[13, 8, 13], [12, 16, 5], [3, 10, 15]] {
        for (own, (next, before)) in first.iter_mut().zip(second.iter().zip(&*third)) {
            *own = less(*own, *next, *before) ^ before >> shifts[0];
        }
        for (own, (next, before)) in second.iter_mut().zip(third.iter().zip(&*first)) {
            *own = less(*own, *next, *before) ^ before << shifts[1];
        }
        for (own, (next, before)) in third.iter_mut().zip(first.iter().zip(&*second)) {
            *own = less(*own, *next, *before) ^ before >> shifts[2];
        }
    }
}

/// Paul Hsieh's `SuperFastHash` (2004). Each round takes two half words. At the end, all bits are
/// mixed once more.
fn super_fast(key: &[u8], seeds: Values) -> Values {
    let len = u32::try_from(key.len()).unwrap_or(u32::MAX);
    let mut values = seeds.map(|seed| len.wrapping_add(seed));
    let mut rounds = key.chunks_exact(4);
    for round in &mut rounds {
        let word = word_of(round);
        values = values.map(|value| {
            let hash = value.wrapping_add(word & 0xFFFF);
            let hash = hash << 16 ^ (word >> 16) << 11 ^ hash;
            hash.wrapping_add(hash >> 11)
        });
    }
    let rest = rounds.remainder();
    values.map(|value| {
        let mut hash = super_fast_rest(value, rest);
        for (left, right) in [(3, 5), (4, 17), (25, 6)] {
            hash ^= hash << left;
            hash = hash.wrapping_add(hash >> right);
        }
        hash
    })
}

/// Mix in the bytes after the last whole round.
fn super_fast_rest(value: u32, rest: &[u8]) -> u32 {
    let low = |byte: u8| i32::from(byte.cast_signed()).cast_unsigned();
    let mut hash = value;
    match *rest {
        [first, second, third] => {
            hash = hash.wrapping_add(u32::from(first) | u32::from(second) << 8);
            hash ^= hash << 16;
            hash ^= low(third) << 18;
            hash = hash.wrapping_add(hash >> 11);
        }
        [first, second] => {
            hash = hash.wrapping_add(u32::from(first) | u32::from(second) << 8);
            hash ^= hash << 11;
            hash = hash.wrapping_add(hash >> 17);
        }
        [only] => {
            hash = hash.wrapping_add(low(only));
            hash ^= hash << 10;
            hash = hash.wrapping_add(hash >> 1);
        }
        _ => assert!(rest.is_empty(), "three bytes are left at most"),
    }
    hash
}

/// Arash Partow's hash. Bytes at even and odd positions are mixed in by two different rules. The
/// original has no seed; here the seed changes the initial value.
fn partow(key: &[u8], seeds: Values) -> Values {
    let mut values = seeds.map(|seed| 0xAAAA_AAAA ^ seed);
    for (number, &byte) in key.iter().enumerate() {
        let byte = u32::from(byte);
        values = if number % 2 == 0 {
            values.map(|hash| hash ^ hash << 7 ^ byte.wrapping_mul(hash >> 3))
        } else {
            values.map(|hash| hash ^ !((hash << 11).wrapping_add(byte ^ hash >> 5)))
        };
    }
    values
}

fn word_of(bytes: &[u8]) -> u32 {
    bytes.iter().rev().fold(0, |word, &byte| word << 8 | u32::from(byte))
}
