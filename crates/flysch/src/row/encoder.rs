//! Writing a row, in one piece or in many. A row may be longer than a page, so it is never needed
//! in RAM as a whole.
//!
//! 1. The length that is computed before is exactly the number of bytes written.
//! 2. The sizes of the pieces do not change the bytes.

use super::head::{HEAD_SIZE_MAX, Prefix};
use super::{COLUMNS_MAX, RowHead, RowKind, Schema, Table, Value, ValueError, field};

/// Bytes of null bits of the widest table.
const NULL_SIZE_MAX: usize = COLUMNS_MAX.div_ceil(8);
/// Bytes that the encoder makes before it copies them to the caller: the head with the null bits,
/// or a number.
const PENDING_MAX: usize = HEAD_SIZE_MAX + NULL_SIZE_MAX;

/// A row that is being written. RAM: at most 64 bytes; the values are borrowed.
#[derive(Clone, Debug)]
pub struct Encoder<'v> {
    pending: [u8; PENDING_MAX],
    pending_at: u8,
    pending_end: u8,
    /// Bytes of the present text or blob that follow the encoder's own bytes.
    lent: &'v [u8],
    /// Values that are not written yet.
    values: &'v [Value<'v>],
    left: usize,
}

const _: () = assert!(size_of::<Encoder<'_>>() <= 64, "as documented");
const _: () = assert!(COLUMNS_MAX <= u32::BITS as usize, "a word has a bit for each column");

impl<'v> Encoder<'v> {
    /// Begin to write a row: the values of all columns; for a tombstone those of the primary key,
    /// in the key's order. `commit_delta` is the row's commit less that of the page in which the
    /// row will begin.
    ///
    /// Cost: every value is measured, none is copied.
    ///
    /// # Panics
    /// Where the schema has no such table, or a tombstone's table no primary key.
    pub fn new(
        schema: &Schema<'_>,
        head: RowHead,
        commit_delta: i64,
        values: &'v [Value<'v>],
    ) -> Result<Self, ValueError> {
        let table = &schema.tables[usize::from(head.table)];
        match head.kind {
            RowKind::Row | RowKind::Moved => {
                check_values(table, values, (0..).take(table.columns.len()))?;
            }
            RowKind::Tombstone => {
                let key = table.primary_key().expect("a tombstone needs a primary key");
                check_values(table, values, key.columns.iter().copied())?;
            }
        }
        let (nulls, null_size) = match head.kind {
            RowKind::Row | RowKind::Moved => (null_bits(table, values), table.null_size()),
            RowKind::Tombstone => (0, 0),
        };
        let content_len = null_size as u64 + values_len(values);
        let mut encoder = Self::with_prefix(Prefix { head, commit_delta }, content_len)?;
        let end = usize::from(encoder.pending_end);
        debug_assert!(null_size <= NULL_SIZE_MAX, "the schema was checked");
        debug_assert!(u64::from(nulls) >> (8 * null_size) == 0, "no bit is left behind");
        encoder.pending[end..end + null_size].copy_from_slice(&nulls.to_le_bytes()[..null_size]);
        encoder.pending_end += null_size as u8;
        encoder.values = values;
        Ok(encoder)
    }

    /// Begin to write a row again from its null bits and columns as they are on flash.
    pub(super) fn verbatim(
        head: RowHead,
        commit_delta: i64,
        content: &'v [u8],
    ) -> Result<Self, ValueError> {
        let prefix = Prefix { head, commit_delta };
        let encoder = Self::with_prefix(prefix, content.len() as u64)?;
        Ok(Self { lent: content, ..encoder })
    }

    fn with_prefix(prefix: Prefix, content_len: u64) -> Result<Self, ValueError> {
        let mut pending = [0; PENDING_MAX];
        let end = prefix.emit(content_len, &mut pending).ok_or(ValueError::TooLong)?;
        let left = end + content_len as usize;
        debug_assert!(super::row_len(&pending) == Ok(left), "the length that will be read");
        Ok(Self { pending, pending_at: 0, pending_end: end as u8, lent: &[], values: &[], left })
    }

    /// Refuse a row unless the columns that indexes have end within its first `reach` bytes: index
    /// entries are derived from those bytes alone. Nothing of the row may be written yet.
    pub fn check_keys(&self, table: &Table<'_>, reach: usize) -> Result<(), ValueError> {
        debug_assert!(self.pending_at == 0, "nothing is written yet");
        let columns = table.indexes.iter().flat_map(|index| index.columns.iter().copied());
        let Some(column) = columns.max() else { return Ok(()) };
        let behind = self.values.iter().skip(usize::from(column) + 1).map(field::len).sum::<u64>();
        debug_assert!(behind <= self.left as u64, "what lies behind is part of the row");
        let is_near = self.left as u64 - behind <= reach as u64;
        if is_near { Ok(()) } else { Err(ValueError::KeyTooFar { column }) }
    }

    /// Number of bytes that are still to be written; at first that of the whole row.
    pub const fn remaining(&self) -> usize {
        self.left
    }

    /// Write the next bytes of the row, as many as `out` takes or as are left; returns their
    /// number. Cost: a copy.
    ///
    /// # Panics
    /// Never: what is measured is what is written.
    pub fn fill(&mut self, out: &mut [u8]) -> usize {
        let goal = self.left.min(out.len());
        debug_assert!(self.pending_at <= self.pending_end, "no more was written than was ready");
        let mut written = 0;
        while written < goal {
            let ready = self.ready();
            let count = ready.len().min(goal - written);
            assert!(count > 0, "a row has the bytes that were measured");
            out[written..written + count].copy_from_slice(&ready[..count]);
            self.pass(count);
            written += count;
        }
        self.left -= written;
        debug_assert!(
            self.left > 0 || (self.lent.is_empty() && self.values.iter().all(is_null)),
            "no value is left behind"
        );
        written
    }

    /// The bytes that come next, from the present value or the one behind it.
    fn ready(&mut self) -> &[u8] {
        while self.pending_at == self.pending_end && self.lent.is_empty() {
            let Some((value, rest)) = self.values.split_first() else { break };
            let (end, lent) = field::emit(value, &mut self.pending);
            (self.pending_at, self.pending_end) = (0, end as u8);
            (self.lent, self.values) = (lent, rest);
        }
        if self.pending_at < self.pending_end {
            &self.pending[usize::from(self.pending_at)..usize::from(self.pending_end)]
        } else {
            self.lent
        }
    }

    fn pass(&mut self, count: usize) {
        if self.pending_at < self.pending_end {
            self.pending_at += count as u8;
        } else {
            self.lent = &self.lent[count..];
        }
    }
}

fn is_null(value: &Value<'_>) -> bool {
    *value == Value::Null
}

/// Bytes of the values of a row.
pub(crate) fn values_len(values: &[Value<'_>]) -> u64 {
    values.iter().map(field::len).sum()
}

/// Refuse values that do not fit these columns of a table.
pub(crate) fn check_values(
    table: &Table<'_>,
    values: &[Value<'_>],
    columns: impl Iterator<Item = u8> + Clone,
) -> Result<(), ValueError> {
    let (needed, given) = (columns.clone().count(), values.len());
    if needed != given {
        return Err(ValueError::Count { needed, given });
    }
    for (value, number) in values.iter().zip(columns) {
        let column = &table.columns[usize::from(number)];
        match value.column_type() {
            None if column.is_nullable => (),
            None => return Err(ValueError::Null { column: number }),
            Some(given) if given == column.kind => (),
            Some(_) => return Err(ValueError::Type { column: number }),
        }
    }
    Ok(())
}

/// A bit for each nullable column, set where the value is null, the first lowest.
fn null_bits(table: &Table<'_>, values: &[Value<'_>]) -> u32 {
    let columns = table.columns.iter().zip(values);
    let nullable = columns.filter(|(column, _)| column.is_nullable);
    nullable
        .enumerate()
        .fold(0, |bits, (place, (_, value))| bits | u32::from(is_null(value)) << place)
}
