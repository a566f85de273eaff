//! JFFS2's checksum: the polynomial of CRC-32 with an initial value of zero and no inversion at the
//! end.

pub(in super::super) fn crc32(bytes: &[u8]) -> u32 {
    // The library inverts the initial value and the result. Both are inverted here once more to
    // undo that.
    let mut hasher = crc32fast::Hasher::new_with_initial(!0);
    hasher.update(bytes);
    !hasher.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_bitwise_definition() {
        let bytes: Vec<u8> = (0..=255).collect();
        let mut crc = 0_u32;
        for &byte in &bytes {
            crc ^= u32::from(byte);
            for _ in 0..8 {
                crc = if crc & 1 == 1 { (crc >> 1) ^ 0xEDB8_8320 } else { crc >> 1 };
            }
        }
        assert_eq!(crc32(&bytes), crc);
        assert_eq!(crc32(&[]), 0);
    }
}
