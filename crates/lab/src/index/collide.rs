//! Keys that all have the same lookup3 hash under the seed 0. They are computed, not searched for:
//! the final mixing step of lookup3 can be inverted.
//!
//! Someone who knows the hash and its seed could send such keys. A method that uses this seed puts
//! all of them into one place. A method whose hash has a secret seed for each device is not
//! affected.

/// Size of these keys in bytes: lookup3 takes twelve bytes at once and, for a key of that size, has
/// only the final mixing step.
pub(super) const KEY_SIZE: usize = 12;

/// The two words of the hash that all keys have.
const HASH: [u32; 2] = [0x5EED_0000, 0xC011_1DED];

/// Key number `id`.
pub(super) fn key(id: u32) -> [u8; KEY_SIZE] {
    let mut state = [id, HASH[0], HASH[1]];
    let steps = [(2, 1, 14), (0, 2, 11), (1, 0, 25), (2, 1, 16), (0, 2, 4), (1, 0, 14), (2, 1, 24)];
    for (to, from, rotation) in steps.into_iter().rev() {
        state[to] = state[to].wrapping_add(u32::rotate_left(state[from], rotation)) ^ state[from];
    }
    let start = 0xDEAD_BEEF_u32.wrapping_add(12);
    let mut key = [0; KEY_SIZE];
    for (bytes, word) in key.chunks_exact_mut(4).zip(state) {
        bytes.copy_from_slice(&word.wrapping_sub(start).to_le_bytes());
    }
    key
}

#[cfg(test)]
mod tests {
    use flysch_indexes::hash::hash64;

    use super::*;

    #[test]
    fn all_of_them_have_one_hash() {
        let hashes = (0..1000).map(|id| hash64(&key(id), 0));
        assert!(hashes.into_iter().all(|hash| hash == 0x5EED_0000_C011_1DED));
        assert_ne!(hash64(&key(1), 7), hash64(&key(2), 7), "another seed tells them apart");
    }
}
