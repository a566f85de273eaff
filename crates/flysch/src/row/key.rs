//! From the values of a key to the code under which an index keeps it.
//!
//! ```text
//! Hash      32 bits of a SipHash-1-3 over, for each column of the key in its order,
//!           | type u8, 0 for null | 8 bytes                    bool, integer, time, real by its order
//!           | type u8 | length u32 | bytes                     text, blob
//! Ordered   over one column:
//!           integer, time   the value with its sign bit flipped; null 0
//!           real            Real::order; null 0
//!           bool            false 1, true 2; null 0
//!           text, blob      the first 8 bytes, the first highest, filled with zeros; null 0
//!           over several: the first 8 bytes of what the module `order` makes of the key
//! ```
//!
//! 1. Equal keys have equal codes. No two keys have the same hashed bytes.
//! 2. Ordered codes never order against their values; different values may have one code.
//! 3. Keys of one code are told apart by their identity.

use super::order::Front;
use super::siphash::{HashKey, SipHash};
use super::{ColumnType, Index, IndexKind, Table, Value, order};

/// Bits of a code of a hash index: it is below 2^32.
pub const HASH_BITS: u32 = 32;

/// A key: what tells it from others, and where an index keeps it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Digest {
    /// The same for equal keys alone, but for one pair in 2^64.
    pub identity: u64,
    /// The code that the index orders the key by.
    pub code: u64,
}

impl Digest {
    const fn exact(code: u64) -> Self {
        Self { identity: code, code }
    }
}

/// A code in the making: values are added one by one, in the order of the index's columns.
#[derive(Clone, Debug)]
pub struct KeyCode {
    hash: SipHash,
    order: Order,
}

/// Where an ordered index keeps the key.
#[derive(Clone, Copy, Debug)]
enum Order {
    /// The index goes by hashes.
    Hash,
    /// Its one value was not added yet.
    Blank,
    /// No other key has this code.
    Exact(u64),
    /// Other keys may have this code.
    Code(u64),
    /// It has several columns.
    Several(Front),
}

impl KeyCode {
    /// Begin a code of an index.
    pub fn start(index: &Index<'_>, key: &HashKey) -> Self {
        let order = match index.kind {
            IndexKind::Hash => Order::Hash,
            IndexKind::Ordered if index.columns.len() > 1 => Order::Several(Front::default()),
            IndexKind::Ordered => Order::Blank,
        };
        Self { hash: key.start(), order }
    }

    /// Add the value of the key's next column, which has this type. Cost: a round of the hash for
    /// each 8 bytes; none of a number, a time or a bool that an ordered index is over alone.
    ///
    /// # Panics
    /// Where an ordered index of one column is given a second value.
    pub fn add(&mut self, kind: ColumnType, value: &Value<'_>) {
        match &mut self.order {
            Order::Hash => {}
            Order::Several(front) => order::emit(kind, value, &mut |byte| front.push(byte)),
            Order::Blank => {
                self.order = match value {
                    Value::Null | Value::Text(_) | Value::Blob(_) => Order::Code(order(value)),
                    Value::Bool(_) | Value::Integer(_) | Value::Time(_) | Value::Real(_) => {
                        return self.order = Order::Exact(order(value));
                    }
                };
            }
            Order::Exact(_) | Order::Code(_) => panic!("the index has one column"),
        }
        write(&mut self.hash, value);
    }

    /// The key.
    ///
    /// # Panics
    /// Where an ordered index was given no value.
    pub fn finish(self) -> Digest {
        match self.order {
            Order::Blank => panic!("the key's value was added"),
            Order::Exact(code) => Digest::exact(code),
            Order::Code(code) => Digest { identity: self.hash.finish(), code },
            Order::Several(front) => Digest { identity: self.hash.finish(), code: front.least() },
            Order::Hash => {
                let identity = self.hash.finish();
                Digest { identity, code: identity >> (u64::BITS - HASH_BITS) }
            }
        }
    }
}

/// A key: the values of the index's columns, in the index's order.
///
/// # Panics
/// Where the index has another number of columns, or the table not such columns.
pub fn digest(table: &Table<'_>, index: &Index<'_>, key: &HashKey, values: &[Value<'_>]) -> Digest {
    debug_assert!(!values.is_empty(), "a key has a column");
    assert!(values.len() == index.columns.len(), "a key has a value for each of its columns");
    let mut code = KeyCode::start(index, key);
    for (value, kind) in values.iter().zip(kinds(table, index)) {
        code.add(kind, value);
    }
    code.finish()
}

/// The key in an index of a row whose values, of all columns, are at hand.
pub fn digest_of_row(
    table: &Table<'_>,
    index: &Index<'_>,
    key: &HashKey,
    row: &[Value<'_>],
) -> Digest {
    let mut code = KeyCode::start(index, key);
    for (&column, kind) in index.columns.iter().zip(kinds(table, index)) {
        code.add(kind, &row[usize::from(column)]);
    }
    code.finish()
}

/// The types of the columns of a key, in its order.
pub(crate) fn kinds<'t>(
    table: &'t Table<'_>,
    index: &'t Index<'_>,
) -> impl Iterator<Item = ColumnType> + 't {
    index.columns.iter().map(|&column| table.columns[usize::from(column)].kind)
}

/// The least and the greatest code of the keys of an ordered index that begin with these values,
/// some of the first columns or all of them.
pub(crate) fn codes(table: &Table<'_>, index: &Index<'_>, values: &[Value<'_>]) -> (u64, u64) {
    if let ([_], [value]) = (index.columns, values) {
        return (order(value), order(value));
    }
    let mut front = Front::default();
    for (value, kind) in values.iter().zip(kinds(table, index)) {
        order::emit(kind, value, &mut |byte| front.push(byte));
    }
    (front.least(), front.greatest())
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

/// Whether no two keys of an index have one code: of ordered numbers, times and bools that take no
/// null. Reals are exact up to the sign of zero.
pub fn is_exact(table: &Table<'_>, index: &Index<'_>) -> bool {
    let &[column] = index.columns else { return false };
    let column = &table.columns[usize::from(column)];
    let is_short = !matches!(column.kind, ColumnType::Text | ColumnType::Blob);
    index.kind == IndexKind::Ordered && is_short && !column.is_nullable
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
