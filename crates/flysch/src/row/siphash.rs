//! SipHash-1-3, a hash for keys that an attacker may choose (Aumasson, Bernstein: A fast
//! short-input PRF, 2012). Its key of 128 bits is made of a seed of 64.
//!
//! Nobody who knows neither the seed nor the chip's content can make keys collide. lookup3
//! (`index::hash`) does not offer that: its seed has 32 bits, and for keys of 12 bytes its last mix
//! is a bijection. So whoever knows the seed can write down keys of equal hash, and 10,000 of them
//! make a lookup of one cost 5,000 reads.
//!
//! 1. A message may be added in pieces: how it is cut does not change the hash.
//! 2. There is no default seed: the caller has to choose one.

use crate::bytes::array;

/// The secret key of all hashes of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HashKey {
    words: [u64; 2],
}

impl HashKey {
    /// The key that belongs to a seed: word `n` is the SipHash-1-3, under a key of zeros, of the
    /// seed's 8 bytes and the byte `n`. It is as hard to guess as the seed, which the caller draws
    /// at random for each device. Cost: two hashes of 9 bytes.
    pub fn from_seed(seed: u64) -> Self {
        Self { words: [word_of(seed, 0), word_of(seed, 1)] }
    }

    /// Begin the hash of a new message.
    pub fn start(self) -> SipHash {
        SipHash::new(self.words)
    }
}

fn word_of(seed: u64, number: u8) -> u64 {
    let mut hash = SipHash::new([0; 2]);
    hash.write(&seed.to_le_bytes());
    hash.write(&[number]);
    hash.finish()
}

/// A hash being computed. RAM: 48 bytes.
#[derive(Clone, Debug)]
pub struct SipHash {
    state: [u64; 4],
    /// Bytes that do not fill a word yet, the first one lowest.
    tail: u64,
    /// Number of bytes so far. The hash takes it modulo 256.
    len: usize,
}

/// Bytes that the state takes in at once.
const WORD: usize = 8;
const _: () = assert!(size_of::<SipHash>() == 48, "as documented");

impl SipHash {
    /// The constants are "somepseudorandomlygeneratedbytes", as published.
    fn new([low, high]: [u64; 2]) -> Self {
        let state = [
            low ^ 0x736F_6D65_7073_6575,
            high ^ 0x646F_7261_6E64_6F6D,
            low ^ 0x6C79_6765_6E65_7261,
            high ^ 0x7465_6462_7974_6573,
        ];
        Self { state, tail: 0, len: 0 }
    }

    /// Add bytes. Cost: one round for each 8 of them.
    pub fn write(&mut self, bytes: &[u8]) {
        let gap = (WORD - self.len % WORD) % WORD;
        let (first, rest) = bytes.split_at(gap.min(bytes.len()));
        self.push_all(first);
        let words = rest.chunks_exact(WORD);
        let last = words.remainder();
        for word in words {
            debug_assert!(self.len.is_multiple_of(WORD), "whole words follow whole words");
            debug_assert!(self.tail == 0, "no byte waits");
            self.absorb(u64::from_le_bytes(array(word)));
            self.len = self.len.wrapping_add(WORD);
        }
        self.push_all(last);
    }

    /// The hash of all bytes that were added. Cost: four rounds.
    pub fn finish(mut self) -> u64 {
        debug_assert!(self.tail >> (8 * (self.len % WORD)) == 0, "the tail has what is left over");
        self.absorb((self.len as u64) << 56 | self.tail);
        self.state[2] ^= 0xFF;
        (0..3).for_each(|_| self.round());
        self.state.iter().fold(0, |hash, word| hash ^ word)
    }

    fn push_all(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.push(byte);
        }
    }

    fn push(&mut self, byte: u8) {
        let place = self.len % WORD;
        debug_assert!(self.tail >> (8 * place) == 0, "the bytes ahead are not set");
        self.tail |= u64::from(byte) << (8 * place);
        self.len = self.len.wrapping_add(1);
        if place == WORD - 1 {
            let word = self.tail;
            self.tail = 0;
            self.absorb(word);
        }
    }

    fn absorb(&mut self, word: u64) {
        self.state[3] ^= word;
        self.round();
        self.state[0] ^= word;
    }

    fn round(&mut self) {
        let [mut a, mut b, mut c, mut d] = self.state;
        a = a.wrapping_add(b);
        c = c.wrapping_add(d);
        b = b.rotate_left(13) ^ a;
        d = d.rotate_left(16) ^ c;
        a = a.rotate_left(32).wrapping_add(d);
        c = c.wrapping_add(b);
        b = b.rotate_left(17) ^ c;
        d = d.rotate_left(21) ^ a;
        self.state = [a, b, c.rotate_left(32), d];
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use core::hash::Hasher;
    use std::hash::DefaultHasher;

    use super::*;

    /// The standard library hashes with SipHash-1-3 under a key of zeros.
    #[test]
    fn the_standard_library_agrees_on_every_length_and_every_cut() {
        let bytes: [u8; 300] = core::array::from_fn(|place| (place * 37 + 200) as u8);
        for len in (0..=64).chain([127, 128, 255, 256, 300]) {
            let mut expected = DefaultHasher::new();
            expected.write(&bytes[..len]);
            for cut in 0..=len {
                let mut hash = SipHash::new([0; 2]);
                hash.write(&bytes[..cut]);
                hash.write(&bytes[cut..len]);
                assert_eq!(hash.finish(), expected.finish(), "{len} bytes cut at {cut}");
            }
        }
    }

    /// The vectors of SipHash-1-3 for the key 00 01 … 0F and the messages "", 00, 00 01 …, as in
    /// the tests of Rust's standard library.
    #[test]
    fn the_published_vectors_come_out() {
        let key = [0x0706_0504_0302_0100, 0x0F0E_0D0C_0B0A_0908];
        let vectors = [
            0xABAC_0158_050F_C4DC_u64,
            0xC9F4_9BF3_7D57_CA93,
            0x82CB_9B02_4DC7_D44D,
            0x8BF8_0AB8_E7DD_F7FB,
            0xCF75_5760_88D3_8328,
            0xDEF9_D52F_4953_3B67,
        ];
        let mut hash = SipHash::new(key);
        for (byte, vector) in (0..).zip(vectors) {
            assert_eq!(hash.clone().finish(), vector, "{byte} bytes");
            hash.write(&[byte]);
        }
    }

    #[test]
    fn seeds_make_keys_that_differ_in_both_words() {
        let keys: [HashKey; 3] = [0, 1, u64::MAX].map(HashKey::from_seed);
        for (one, other) in [(0, 1), (1, 2), (0, 2)] {
            assert_ne!(keys[one].words[0], keys[other].words[0]);
            assert_ne!(keys[one].words[1], keys[other].words[1]);
        }
        assert_ne!(keys[0].words[0], keys[0].words[1]);
    }
}
