//! Keys of one lookup3 hash, written down without trying any: the last mix of lookup3 has an
//! inverse.
//!
//! They are what someone sends who knows the hash and takes its seed to be 0. Methods that keep to
//! that seed put all of them in one place; a hash with a key of the device does not see them.

/// Bytes of the keys: lookup3 takes twelve at once, and mixes them only at the end.
pub(super) const KEY_SIZE: usize = 12;

/// The hash that all of the keys have, both words of it.
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
