//! Bytes as they come from flash: pieces of a fixed size, and the checksum that they bear, CRC-32
//! (IEEE 802.3).
//!
//! On a device the checksum goes by the nibble, because code and constants are scarce there. With
//! the feature `fast-crc` a library does it with the host's own instructions.

/// The CRC-32 of `bytes`, continued from `crc`; start from 0.
#[cfg(not(feature = "fast-crc"))]
pub fn crc32(crc: u32, bytes: &[u8]) -> u32 {
    let mut state = !crc;
    for &byte in bytes {
        state ^= u32::from(byte);
        state = (state >> 4) ^ TABLE32[(state & 15) as usize];
        state = (state >> 4) ^ TABLE32[(state & 15) as usize];
    }
    !state
}

/// The CRC-32 of `bytes`, continued from `crc`; start from 0.
#[cfg(feature = "fast-crc")]
pub fn crc32(crc: u32, bytes: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new_with_initial(crc);
    hasher.update(bytes);
    hasher.finalize()
}

#[cfg(not(feature = "fast-crc"))]
const TABLE32: [u32; 16] = {
    let mut table = [0; 16];
    let mut nibble = 0;
    while nibble < 16 {
        let mut state = nibble;
        let mut bit = 0;
        while bit < 4 {
            state = if state & 1 == 0 { state >> 1 } else { (state >> 1) ^ 0xEDB8_8320 };
            bit += 1;
        }
        table[nibble as usize] = state;
        nibble += 1;
    }
    table
};

/// The bytes of a fixed-size field.
pub fn array<const LEN: usize>(bytes: &[u8]) -> [u8; LEN] {
    let mut fixed = [0; LEN];
    fixed.copy_from_slice(bytes);
    fixed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_check_values_of_the_catalogue_come_out() {
        assert_eq!(crc32(0, b"123456789"), 0xCBF4_3926);
        assert_eq!(crc32(crc32(0, b"12345"), b"6789"), 0xCBF4_3926);
        assert_eq!(crc32(0, &[0; 32]), 0x190A_55AD);
        assert_eq!(crc32(crc32(0, &[0xFF; 9]), &[0xFF; 23]), 0xFF6C_AB0B);
    }
}
