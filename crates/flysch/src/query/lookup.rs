//! A join by key: for each row of a cursor the rows of another table that have its key.

use flysch_nand::Nand;

use super::{Cursor, Held, again};
use crate::db::{DbError, Find, Reader};
use crate::row::{COLUMNS_MAX, RowView, Value};

/// For each row of a cursor, the rows of another table whose index has the values of some of its
/// columns (an index nested loop). Rows without a match do not come.
///
/// Cost of a pair: a lookup in that index for each row of the cursor, of two to four reads where
/// the key is unique, and a read or two for each further match. RAM: both cursors.
#[derive(Debug)]
pub struct Lookup<'q, C> {
    outer: C,
    /// Number of the table in which matches are looked up, and number of its index.
    inner: (u8, u8),
    /// Numbers of the columns of the outer row that make the key.
    on: &'q [u8],
    find: Option<Find>,
    held: Held,
}

impl<'q, C: Cursor> Lookup<'q, C> {
    /// Join the rows of `outer` with those of a table, by an index of it; `on` are the columns of
    /// the outer row that are its key.
    pub const fn new(outer: C, (table, index): (u8, u8), on: &'q [u8]) -> Self {
        Self { outer, inner: (table, index), on, find: None, held: (0, 0) }
    }

    /// The next pair: the outer row in `left`, the inner one in `right`; None behind the last pair.
    /// The outer row stays in `left`, so give the same memory at each call and do not write to it.
    pub fn next<'o, 'ram, 's, N: Nand>(
        &mut self,
        reader: &mut impl Reader<'ram, 's, N>,
        left: &'o mut [u8],
        right: &'o mut [u8],
    ) -> Result<Option<(RowView<'o, 's>, RowView<'o, 's>)>, DbError> {
        let schema = reader.reading()?.schema();
        let found = loop {
            if let Some(find) = &mut self.find
                && let Some(row) = find.next(reader, right)?
            {
                break (row.row_len, row.commit);
            }
            let Some(row) = self.outer.next(reader, left)? else { return Ok(None) };
            self.held = (row.row_len, row.commit);
            let mut key = [Value::Null; COLUMNS_MAX];
            for (value, &column) in key.iter_mut().zip(self.on) {
                *value = row.column(column)?;
            }
            let key = key.get(..self.on.len()).ok_or(DbError::Unknown)?;
            let (table, index) = self.inner;
            self.find = Some(reader.reading()?.find(table, index, key)?);
        };
        Ok(Some((again(schema, left, self.held)?, again(schema, right, found)?)))
    }
}
