//! The checksum of short fields: CRC-16 (CCITT), computed four bits at a time.

/// The CRC-16 of `bytes`.
pub(crate) fn crc16(bytes: &[u8]) -> u16 {
    let mut state = 0xFFFF_u16;
    for &byte in bytes {
        state = (state << 4) ^ TABLE16[usize::from((state >> 12) ^ u16::from(byte >> 4))];
        state = (state << 4) ^ TABLE16[usize::from((state >> 12) ^ u16::from(byte & 15))];
    }
    state
}

const TABLE16: [u16; 16] = table16();

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
    fn the_check_value_of_the_catalogue_comes_out() {
        assert_eq!(crc16(b"123456789"), 0x29B1);
    }
}
