//! Numbers of variable length (LEB128): seven bits in each byte, least significant first.

use super::error::Fault;

/// Append `value` to `bytes`.
pub(super) fn put(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(low_bits(value) | 0x80);
        value >>= 7;
    }
    bytes.push(low_bits(value));
}

fn low_bits(value: u64) -> u8 {
    value.to_le_bytes()[0] & 0x7F
}

/// Map a signed number to an unsigned one, so that numbers near zero of either sign are short.
pub(super) const fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)).cast_unsigned()
}

/// The inverse of [`zigzag`].
pub(super) const fn unzigzag(value: u64) -> i64 {
    (value >> 1).cast_signed() ^ -((value & 1).cast_signed())
}

/// Parse a number at the start of `bytes`. Returns it with its length in bytes.
pub(super) fn parse(bytes: &[u8]) -> Result<(u64, usize), Fault> {
    let mut value = 0_u64;
    for (place, &byte) in bytes.iter().enumerate().take(10) {
        let bits = u64::from(byte & 0x7F);
        if place == 9 && bits > 1 {
            break;
        }
        value |= bits << (7 * place);
        if byte < 0x80 {
            return Ok((value, place + 1));
        }
    }
    if bytes.len() < 10 { Err(Fault::CutShort) } else { Err(Fault::Column("a 64-bit number")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        for value in [0, 1, 127, 128, 16_383, 16_384, u64::from(u32::MAX), u64::MAX] {
            let mut bytes = Vec::new();
            put(&mut bytes, value);
            assert_eq!(parse(&bytes), Ok((value, bytes.len())));
            assert_eq!(parse(&bytes[..bytes.len() - 1]), Err(Fault::CutShort));
        }
        for value in [0, 1, -1, 63, -64, i64::MAX, i64::MIN] {
            assert_eq!(unzigzag(zigzag(value)), value);
        }
        assert_eq!(zigzag(-1), 1);
    }

    #[test]
    fn numbers_over_64_bits_are_refused() {
        assert_eq!(parse(&[0xFF; 10]), Err(Fault::Column("a 64-bit number")));
        let mut two_to_64 = [0x80; 10];
        two_to_64[9] = 2;
        assert_eq!(parse(&two_to_64), Err(Fault::Column("a 64-bit number")));
    }
}
