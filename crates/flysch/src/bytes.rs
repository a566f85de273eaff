//! Bytes as they come from flash: pieces of a fixed size, and the checksum that they bear, CRC-32
//! (IEEE 802.3).
//!
//! On a device the checksum goes by the nibble, because code and constants are scarce there. With
//! the feature `fast-crc` it goes by eight bytes and takes 8 KiB of tables.

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
    let mut state = !crc;
    let (chunks, rest) = bytes.as_chunks::<8>();
    for &chunk in chunks {
        let word = u64::from_le_bytes(chunk) ^ u64::from(state);
        state = 0;
        for (table, byte) in TABLES.iter().rev().zip(word.to_le_bytes()) {
            state ^= table[usize::from(byte)];
        }
    }
    for &byte in rest {
        let [low, ..] = state.to_le_bytes();
        state = (state >> 8) ^ TABLES[0][usize::from(low ^ byte)];
    }
    !state
}

/// The state of the checksum after `bits` more bits of zeros.
const fn shifted(mut state: u32, bits: u32) -> u32 {
    let mut bit = 0;
    while bit < bits {
        state = if state & 1 == 0 { state >> 1 } else { (state >> 1) ^ 0xEDB8_8320 };
        bit += 1;
    }
    state
}

#[cfg(not(feature = "fast-crc"))]
const TABLE32: [u32; 16] = {
    let mut table = [0; 16];
    let mut nibble = 0;
    while nibble < 16 {
        table[nibble as usize] = shifted(nibble, 4);
        nibble += 1;
    }
    table
};

/// Tables of Intel's slicing by eight: `TABLES[n][byte]` is what a byte adds to the checksum when
/// `n` bytes follow it.
#[cfg(feature = "fast-crc")]
static TABLES: [[u32; 256]; 8] = {
    let mut tables = [[0; 256]; 8];
    let mut byte = 0;
    while byte < 256 {
        let mut state = byte;
        let mut following = 0;
        while following < 8 {
            state = shifted(state, 8);
            tables[following][byte as usize] = state;
            following += 1;
        }
        byte += 1;
    }
    tables
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
