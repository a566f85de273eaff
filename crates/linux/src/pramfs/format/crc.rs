//! CRC-16 (polynomial 0x8005, reflected), as the kernel's `crc16`.

/// The checksum of `bytes`, continued from `crc`.
pub(crate) fn crc16(crc: u16, bytes: &[u8]) -> u16 {
    bytes.iter().fold(crc, |crc, &byte| {
        (0..8).fold(
            crc ^ u16::from(byte),
            |crc, _| {
                if crc & 1 == 1 { crc >> 1 ^ 0xA001 } else { crc >> 1 }
            },
        )
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_check_value_is_the_published_one() {
        assert_eq!(super::crc16(0, b"123456789"), 0xBB3D);
    }
}
