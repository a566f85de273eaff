//! From the values of a key to the code under which an index keeps it.
//!
//! ```text
//! Hash      32 bits of a SipHash-1-3 over, for each column of the key in its order,
//!           | type u8, 0 for null | 8 bytes                    bool, integer, time, real by its order
//!           | type u8 | length u32 | bytes                     text, blob
//! Ordered   integer, time   the value with its sign bit flipped; null 0
//!           real            Real::order; null 0
//!           bool            false 1, true 2; null 0
//!           text, blob      the first 8 bytes, the first highest, filled with zeros; null 0
//! ```
//!
//! 1. Equal keys have equal codes. No two keys have the same hashed bytes.
//! 2. Ordered codes never order against their values; different values may have one code.
//! 3. Where [`is_exact`] says no, the row decides whether it carries the key.

use super::siphash::{HashKey, SipHash};
use super::{ColumnType, Index, IndexKind, Table, Value};

/// Bits of a code of a hash index: it is below 2^32.
pub const HASH_BITS: u32 = 32;

/// A code in the making: values are added one by one, in the order of the index's columns.
#[derive(Clone, Debug)]
pub enum KeyCode {
    /// Of a hash index.
    Hash(SipHash),
    /// Of an ordered index: none before its value is added.
    Ordered(Option<u64>),
}

impl KeyCode {
    /// Begin a code.
    pub fn start(kind: IndexKind, key: &HashKey) -> Self {
        match kind {
            IndexKind::Hash => Self::Hash(key.start()),
            IndexKind::Ordered => Self::Ordered(None),
        }
    }

    /// Add the value of the key's next column. Cost: a round of the hash for each 8 bytes.
    ///
    /// # Panics
    /// Where an ordered index is given a second value.
    pub fn add(&mut self, value: &Value<'_>) {
        match self {
            Self::Hash(hash) => write(hash, value),
            Self::Ordered(code) => {
                assert!(code.is_none(), "an ordered index has one column");
                *code = Some(order(value));
            }
        }
    }

    /// The code.
    ///
    /// # Panics
    /// Where an ordered index was given no value.
    pub fn finish(self) -> u64 {
        let kind = match self {
            Self::Hash(_) => IndexKind::Hash,
            Self::Ordered(_) => IndexKind::Ordered,
        };
        code_of_digest(kind, self.digest())
    }

    /// All 64 bits of the hash, or the ordered code: keys of equal hashes are told apart by it.
    ///
    /// # Panics
    /// Where an ordered index was given no value.
    pub fn digest(self) -> u64 {
        match self {
            Self::Hash(hash) => hash.finish(),
            Self::Ordered(code) => code.expect("the key's value was added"),
        }
    }
}

/// The code of a key of this digest.
pub const fn code_of_digest(kind: IndexKind, digest: u64) -> u64 {
    match kind {
        IndexKind::Hash => digest >> (u64::BITS - HASH_BITS),
        IndexKind::Ordered => digest,
    }
}

/// The digest of a key: the values of the index's columns, in the index's order.
///
/// # Panics
/// Where the index has another number of columns.
pub fn digest(index: &Index<'_>, key: &HashKey, values: &[Value<'_>]) -> u64 {
    assert!(values.len() == index.columns.len(), "a key has a value for each of its columns");
    let mut code = KeyCode::start(index.kind, key);
    for value in values {
        code.add(value);
    }
    code.digest()
}

/// The digest in an index of a row whose values, of all columns, are at hand.
pub fn digest_of_row(index: &Index<'_>, key: &HashKey, row: &[Value<'_>]) -> u64 {
    let mut code = KeyCode::start(index.kind, key);
    for &column in index.columns {
        code.add(&row[usize::from(column)]);
    }
    code.digest()
}

/// The code of a key: the values of the index's columns, in the index's order.
///
/// # Panics
/// Where the index has another number of columns.
pub fn code(index: &Index<'_>, key: &HashKey, values: &[Value<'_>]) -> u64 {
    debug_assert!(!values.is_empty(), "a key has a column");
    assert!(values.len() == index.columns.len(), "a key has a value for each of its columns");
    let mut code = KeyCode::start(index.kind, key);
    for value in values {
        code.add(value);
    }
    code.finish()
}

/// The code in an index of a row whose values, of all columns, are at hand.
pub fn code_of_row(index: &Index<'_>, key: &HashKey, row: &[Value<'_>]) -> u64 {
    let mut code = KeyCode::start(index.kind, key);
    for &column in index.columns {
        code.add(&row[usize::from(column)]);
    }
    code.finish()
}

/// The ordered code of a value. Both ends of a range of values give both ends of a range of codes.
pub fn order(value: &Value<'_>) -> u64 {
    match *value {
        Value::Null => 0,
        Value::Bool(bit) => 1 + u64::from(bit),
        Value::Integer(number) | Value::Time(number) => number.cast_unsigned() ^ (1 << 63),
        Value::Real(real) => real.order(),
        Value::Text(text) => prefix(text.as_bytes()),
        Value::Blob(blob) => prefix(blob),
    }
}

/// Whether a row found under this code of this index is sure to carry the key, so that it need not
/// be read: never of hashes, text and blobs; of others always, but for the code that null shares.
/// Reals are exact up to the sign of zero.
pub fn is_exact(table: &Table<'_>, index: &Index<'_>, code: u64) -> bool {
    if index.kind == IndexKind::Hash {
        return false;
    }
    let column = &table.columns[usize::from(index.columns[0])];
    match column.kind {
        ColumnType::Text | ColumnType::Blob => false,
        ColumnType::Bool | ColumnType::Real => true,
        ColumnType::Integer | ColumnType::Time => code != 0 || !column.is_nullable,
    }
}

fn prefix(bytes: &[u8]) -> u64 {
    let places = (0..8).map(|place| bytes.get(place).copied().unwrap_or(0));
    places.fold(0, |code, byte| code << 8 | u64::from(byte))
}

fn write(hash: &mut SipHash, value: &Value<'_>) {
    hash.write(&[value.column_type().map_or(0, ColumnType::code)]);
    match *value {
        Value::Null => (),
        Value::Bool(_) | Value::Integer(_) | Value::Time(_) | Value::Real(_) => {
            hash.write(&order(value).to_le_bytes());
        }
        Value::Text(text) => write_bytes(hash, text.as_bytes()),
        Value::Blob(blob) => write_bytes(hash, blob),
    }
}

fn write_bytes(hash: &mut SipHash, bytes: &[u8]) {
    hash.write(&(bytes.len() as u32).to_le_bytes());
    hash.write(bytes);
}
