//! Checksums: CRC-32 (IEEE 802.3) over pages, CRC-16 (CCITT) over short fields, by the nibble.

/// The CRC-32 of `bytes`, continued from `crc`; start from 0.
pub(crate) fn crc32(crc: u32, bytes: &[u8]) -> u32 {
    let mut state = !crc;
    for &byte in bytes {
        state ^= u32::from(byte);
        state = (state >> 4) ^ TABLE32[(state & 15) as usize];
        state = (state >> 4) ^ TABLE32[(state & 15) as usize];
    }
    !state
}

/// The CRC-16 of `bytes`.
pub(crate) fn crc16(bytes: &[u8]) -> u16 {
    let mut state = 0xFFFF_u16;
    for &byte in bytes {
        state = (state << 4) ^ TABLE16[usize::from((state >> 12) ^ u16::from(byte >> 4))];
        state = (state << 4) ^ TABLE16[usize::from((state >> 12) ^ u16::from(byte & 15))];
    }
    state
}

const TABLE32: [u32; 16] = table32();
const TABLE16: [u16; 16] = table16();

const fn table32() -> [u32; 16] {
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
}

const fn table16() -> [u16; 16] {
    let mut table = [0; 16];
    let mut nibble = 0;
    while nibble < 16 {
        let mut state = nibble << 12;
        let mut bit = 0;
        while bit < 4 {
            state = if state & 0x8000 == 0 { state << 1 } else { (state << 1) ^ 0x1021 };
            bit += 1;
        }
        table[nibble as usize] = state;
        nibble += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_check_values_of_the_catalogue_come_out() {
        assert_eq!(crc32(0, b"123456789"), 0xCBF4_3926);
        assert_eq!(crc32(crc32(0, b"12345"), b"6789"), 0xCBF4_3926);
        assert_eq!(crc16(b"123456789"), 0x29B1);
    }
}
