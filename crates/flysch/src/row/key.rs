//! The code under which an index keeps a key, from the key's values.
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
//! 1. Equal keys have equal codes. Different keys never have the same hashed bytes, only by chance
//!    the same hash.
//! 2. Ordered codes keep the order of the values, but different values may have the same code.
//! 3. Keys of the same code are told apart by their identity.

use super::order::Front;
use super::siphash::{HashKey, SipHash};
use super::{ColumnType, Index, IndexKind, Table, Value, order};

/// Bits of a hash index's code.
pub const HASH_BITS: u32 = 32;

/// A key in short: an identity, which tells it from others, and the code under which an index keeps
/// it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Digest {
    /// A hash of the key of 64 bits. It differs for different keys, but for one pair in 2^64.
    pub identity: u64,
    /// The code that the index orders the key by.
    pub code: u64,
}

impl Digest {
    const fn exact(code: u64) -> Self {
        Self { identity: code, code }
    }
}

/// A code being computed: values are added one by one, in the order of the index's columns.
#[derive(Clone, Debug)]
pub struct KeyCode {
    hash: SipHash,
    order: Order,
}

/// What is known of the key's ordered code.
#[derive(Clone, Copy, Debug)]
enum Order {
    /// The index goes by hashes and has no ordered code.
    Hash,
    /// The one column's value was not added yet.
    Blank,
    /// No other key has this code.
    Exact(u64),
    /// Other keys may have this code.
    Code(u64),
    /// The key has several columns: its first bytes.
    Several(Front),
}

impl KeyCode {
    /// Begin the code of a key of this index.
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

    /// The digest of the key whose values were added.
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

/// The digest of a key. `values` are those of the index's columns, in the index's order.
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

/// The digest of a row's key in an index, where the values of all columns are given.
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

/// The least and the greatest code of keys in an ordered index that begin with these values, which
/// are those of all columns or of some of the first ones.
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

/// The ordered code of a value. The codes of values in a range lie between the codes of its ends.
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

/// Whether different keys of an ordered index always have different codes. They do in an index over
/// one integer, time, bool or real that is not nullable. Equal reals share one, such as the two
/// zeros.
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
