//! Integers of 1 to 10 bytes: seven bits a byte, the low ones first, bit 7 where another follows.
//!
//! 1. A number has one form: a form whose last byte adds nothing is refused.
//! 2. Signed numbers go zig-zag: 0, -1, 1, -2 … become 0, 1, 2, 3 …, so that small ones are short.

/// Greatest number of bytes of a varint.
pub(crate) const VARINT_MAX: usize = 10;

/// Bytes that `value` takes: 1 below 128, 2 below 16,384, 10 at most.
pub(crate) const fn len(value: u64) -> usize {
    let bits = u64::BITS - (value | 1).leading_zeros();
    let len = bits.div_ceil(7) as usize;
    debug_assert!(1 <= len, "zero takes a byte");
    debug_assert!(len <= VARINT_MAX, "64 bits take no more");
    len
}

/// Write `value` at the start of `bytes`. Give the number of bytes written.
pub(crate) fn emit(value: u64, bytes: &mut [u8]) -> usize {
    let count = len(value);
    assert!(count <= bytes.len(), "there is room for the number");
    let mut rest = value;
    for byte in &mut bytes[..count] {
        *byte = rest as u8 | 0x80;
        rest >>= 7;
    }
    bytes[count - 1] &= 0x7F;
    debug_assert!(rest == 0, "every bit is written");
    count
}

/// What was found at the start of some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Varint {
    /// A number, and how many bytes it takes.
    Whole(u64, usize),
    /// The bytes end before the number does.
    Cut,
    /// A number beyond 64 bits, or in a form that is too long.
    Invalid,
}

/// Read a number at the start of `bytes`.
pub(crate) fn parse(bytes: &[u8]) -> Varint {
    let mut value = 0;
    for (place, &byte) in bytes.iter().take(VARINT_MAX).enumerate() {
        let is_beyond = place == VARINT_MAX - 1 && byte > 1;
        let is_padded = place > 0 && byte == 0;
        if is_beyond || is_padded {
            return Varint::Invalid;
        }
        value |= u64::from(byte & 0x7F) << (7 * place);
        if byte & 0x80 == 0 {
            debug_assert!(len(value) == place + 1, "a number has one form");
            return Varint::Whole(value, place + 1);
        }
    }
    Varint::Cut
}

/// The unsigned number that stands for a signed one.
pub(crate) const fn zigzag(value: i64) -> u64 {
    let sign = value >> 63;
    let number = ((value << 1) ^ sign).cast_unsigned();
    debug_assert!(unzigzag(number) == value, "the number stands for the value");
    number
}

/// The signed number for which `value` stands.
pub(crate) const fn unzigzag(value: u64) -> i64 {
    (value >> 1).cast_signed() ^ -(value & 1).cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_from_as_many_bytes_as_they_need() {
        let cases = [
            (0, 1),
            (127, 1),
            (128, 2),
            (16_383, 2),
            (16_384, 3),
            ((1 << 28) - 1, 4),
            (1 << 56, 9),
            (1 << 63, 10),
            (u64::MAX, 10),
        ];
        for (value, expected) in cases {
            let mut bytes = [0xEE; VARINT_MAX];
            assert_eq!((len(value), emit(value, &mut bytes)), (expected, expected));
            assert_eq!(parse(&bytes), Varint::Whole(value, expected));
            assert_eq!(parse(&bytes[..expected]), Varint::Whole(value, expected));
            (0..expected).for_each(|cut| assert_eq!(parse(&bytes[..cut]), Varint::Cut));
        }
    }

    #[test]
    fn forms_that_no_number_has_are_refused() {
        let ten = [0xFF; 10];
        let two_words = [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 2];
        for bytes in [&[0x80, 0][..], &[0xFF, 0x80, 0], &ten, &two_words] {
            assert_eq!(parse(bytes), Varint::Invalid, "{bytes:x?}");
        }
    }

    #[test]
    fn signed_numbers_near_zero_are_short() {
        for (place, value) in (0..).zip([0, -1, 1, -2, 2]) {
            assert_eq!((zigzag(value), unzigzag(place)), (place, value));
        }
        for value in [i64::MIN, i64::MAX, i64::MIN + 1, 1_700_000_000_000_000] {
            assert_eq!(unzigzag(zigzag(value)), value);
        }
        assert_eq!(zigzag(i64::MIN), u64::MAX);
    }
}
