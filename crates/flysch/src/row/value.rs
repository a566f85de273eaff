//! Values of columns, and their types.
//!
//! 1. Values of one type have one order; null comes before all of them.
//! 2. A real is kept as its bits: no code here computes with floats.

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnType {
    /// False or true: one byte on flash.
    Bool,
    /// A signed integer of 64 bits: 1 to 10 bytes on flash.
    Integer,
    /// A float of 64 bits: 8 bytes on flash.
    Real,
    /// UTF-8: on flash after 1 to 4 bytes of length.
    Text,
    /// Bytes: on flash after 1 to 4 bytes of length.
    Blob,
    /// A time in microseconds since 1970: 8 bytes on flash for the times of this century.
    Time,
}

/// A float of 64 bits. Zeros of both signs are equal. All values that are not a number are equal,
/// and come after infinity.
#[derive(Clone, Copy, Debug)]
pub struct Real {
    /// The float's bits, as IEEE 754 has them. They go to flash and come back unchanged.
    pub bits: u64,
}

/// The value of a column. Values of different types order as the variants here, values of one type
/// by that type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Value<'a> {
    /// No value. On flash it takes no byte, only its null bit.
    Null,
    /// A truth value.
    Bool(bool),
    /// A signed integer of 64 bits.
    Integer(i64),
    /// A floating-point number of 64 bits.
    Real(Real),
    /// UTF-8, ordered by its bytes.
    Text(&'a str),
    /// A string of any bytes.
    Blob(&'a [u8]),
    /// Microseconds since 1970.
    Time(i64),
}

impl Value<'_> {
    /// The same value, the bytes of which are copied to the front of `memory`; and the rest of
    /// that. None where they do not fit.
    pub(crate) fn copied<'m>(&self, memory: &'m mut [u8]) -> Option<(Value<'m>, &'m mut [u8])> {
        let bytes = match self {
            Self::Text(text) => text.as_bytes(),
            Self::Blob(bytes) => bytes,
            Self::Null | Self::Bool(_) | Self::Integer(_) | Self::Real(_) | Self::Time(_) => &[],
        };
        let (front, rest) = memory.split_at_mut_checked(bytes.len())?;
        front.copy_from_slice(bytes);
        let value = match *self {
            Self::Null => Value::Null,
            Self::Bool(value) => Value::Bool(value),
            Self::Integer(value) => Value::Integer(value),
            Self::Real(value) => Value::Real(value),
            Self::Text(_) => Value::Text(core::str::from_utf8(front).ok()?),
            Self::Blob(_) => Value::Blob(front),
            Self::Time(value) => Value::Time(value),
        };
        Some((value, rest))
    }

    /// The value's type; None for null, which fits any type.
    pub const fn column_type(&self) -> Option<ColumnType> {
        match self {
            Self::Null => None,
            Self::Bool(_) => Some(ColumnType::Bool),
            Self::Integer(_) => Some(ColumnType::Integer),
            Self::Real(_) => Some(ColumnType::Real),
            Self::Text(_) => Some(ColumnType::Text),
            Self::Blob(_) => Some(ColumnType::Blob),
            Self::Time(_) => Some(ColumnType::Time),
        }
    }
}

/// The bit of a float that is its sign.
const SIGN: u64 = 1 << 63;
/// The bits of infinity. Greater bits, without the sign, are not a number.
const INFINITY: u64 = 0x7FF << 52;

impl Real {
    /// An unsigned integer that orders as the real does. Equal reals have the same one.
    pub const fn order(self) -> u64 {
        let magnitude = self.bits & !SIGN;
        if magnitude > INFINITY {
            return u64::MAX;
        }
        let is_negative = self.bits & SIGN != 0;
        let order = if is_negative { SIGN - magnitude } else { SIGN + magnitude };
        debug_assert!(order > 0, "the least is left to null");
        debug_assert!(order < u64::MAX, "the greatest is left to what is no number");
        order
    }

    /// The value as a floating-point number.
    pub const fn to_f64(self) -> f64 {
        f64::from_bits(self.bits)
    }
}

impl PartialEq for Real {
    fn eq(&self, other: &Self) -> bool {
        self.order() == other.order()
    }
}

impl Eq for Real {}

impl PartialOrd for Real {
    fn partial_cmp(&self, other: &Self) -> Option<core::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Real {
    fn cmp(&self, other: &Self) -> core::cmp::Ordering {
        self.order().cmp(&other.order())
    }
}

impl From<f64> for Real {
    fn from(value: f64) -> Self {
        Self { bits: value.to_bits() }
    }
}

impl From<f64> for Value<'_> {
    fn from(value: f64) -> Self {
        Self::Real(value.into())
    }
}

impl From<i64> for Value<'_> {
    fn from(value: i64) -> Self {
        Self::Integer(value)
    }
}

impl From<bool> for Value<'_> {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(value: &'a str) -> Self {
        Self::Text(value)
    }
}

impl<'a> From<&'a [u8]> for Value<'a> {
    fn from(value: &'a [u8]) -> Self {
        Self::Blob(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reals_order_as_floats_do_and_what_is_no_number_comes_last() {
        let floats = [f64::NEG_INFINITY, -2.5, -1e-310, 0.0, 5e-324, 1.0, f64::MAX, f64::INFINITY];
        for pair in floats.windows(2) {
            assert!(Real::from(pair[0]) < Real::from(pair[1]), "{pair:?}");
        }
        assert_eq!(Real::from(-0.0), Real::from(0.0));
        assert_eq!(Real::from(f64::NAN), Real::from(-f64::NAN));
        assert!(Real::from(f64::NAN) > Real::from(f64::INFINITY));
        assert_eq!(Real::from(-0.0).to_f64().to_bits(), SIGN);
    }

    #[test]
    fn null_comes_before_every_value() {
        let values: [Value<'_>; 5] =
            [false.into(), i64::MIN.into(), f64::NEG_INFINITY.into(), "".into(), (&[][..]).into()];
        for value in values {
            assert!(Value::Null < value, "{value:?}");
            assert!(value.column_type().is_some());
        }
        assert!(Value::Text("a") < Value::Text("aa") && Value::Text("aa") < Value::Text("b"));
    }
}
