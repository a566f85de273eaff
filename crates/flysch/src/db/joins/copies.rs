//! Values that are copied from one row to another.

use crate::db::DbError;
use crate::row::{ColumnType, HashKey, Index, IndexKind, KeyCode, RowError, RowView, Value};

/// Bytes of all texts and blobs that a row copies from its parents.
pub(super) const COPIES_SIZE: usize = 256;

/// Memory for the texts and blobs that a row copies.
pub(super) struct Copies<'v> {
    room: &'v mut [u8],
}

impl<'v> Copies<'v> {
    pub(super) const fn new(memory: &'v mut [u8; COPIES_SIZE]) -> Self {
        Self { room: memory }
    }

    /// Move a value into memory that outlives its row.
    pub(super) fn keep(&mut self, value: Value<'_>) -> Result<Value<'v>, DbError> {
        Ok(match value {
            Value::Null => Value::Null,
            Value::Bool(bit) => Value::Bool(bit),
            Value::Integer(number) => Value::Integer(number),
            Value::Real(real) => Value::Real(real),
            Value::Time(time) => Value::Time(time),
            Value::Blob(blob) => Value::Blob(self.put(blob)?),
            Value::Text(text) => {
                let text = core::str::from_utf8(self.put(text.as_bytes())?);
                Value::Text(text.unwrap_or_else(|_| unreachable!("it was a text")))
            }
        })
    }

    fn put(&mut self, bytes: &[u8]) -> Result<&'v [u8], DbError> {
        let (room, needed) = (core::mem::take(&mut self.room), bytes.len());
        let (own, rest) =
            room.split_at_mut_checked(needed).ok_or(DbError::RowTooLong { needed })?;
        self.room = rest;
        own.copy_from_slice(bytes);
        Ok(own)
    }
}

/// A column of a row of which the first bytes are at hand.
pub(super) fn front_column<'a>(view: &RowView<'a, '_>, column: u8) -> Result<Value<'a>, DbError> {
    view.column(column).map_err(|error| match error {
        RowError::Overrun(_) => DbError::RowTooLong { needed: view.row_len },
        error => error.into(),
    })
}

/// A hash of some columns of a row.
pub(super) fn hash_columns(
    view: &RowView<'_, '_>,
    columns: impl Iterator<Item = u8>,
    key: &HashKey,
) -> Result<u64, DbError> {
    let any = Index { columns: &[], kind: IndexKind::Hash, is_unique: false };
    let mut code = KeyCode::start(&any, key);
    for column in columns {
        code.add(ColumnType::Integer, &front_column(view, column)?);
    }
    Ok(code.finish().identity)
}
