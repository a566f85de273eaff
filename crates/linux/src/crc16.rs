//! The checksum of PRAMFS's records and of UBIFS's LPT: CRC-16 (polynomial 0x8005, reflected), as
//! the kernel's `crc16`.

/// The checksum of `bytes`, continued from `crc`.
pub(crate) fn crc16(crc: u16, bytes: &[u8]) -> u16 {
    bytes.iter().fold(crc, |crc, &byte| {
        let low = (crc ^ u16::from(byte)) & 0xFF;
        crc >> 8 ^ TABLE[usize::from(low)]
    })
}

/// What eight steps make of each byte.
const TABLE: [u16; 256] = table();

const fn table() -> [u16; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = byte;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ 0xA001 } else { crc >> 1 };
            bit += 1;
        }
        table[byte as usize] = crc;
        byte += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_check_value_is_the_published_one() {
        assert_eq!(super::crc16(0, b"123456789"), 0xBB3D);
    }
}
