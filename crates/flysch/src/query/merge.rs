//! A merge join: two cursors that come in the order of a key, side by side.

use core::cmp::Ordering;

use flysch_nand::Nand;

use super::{Cursor, Held, again};
use crate::db::{DbError, Reader};
use crate::row::RowView;

/// Rows of two cursors with equal values in some columns, found by going through both once. Both
/// come in ascending order of those columns, and each value comes at most once on the right.
///
/// Cost: as to pull both cursors to the end of the shorter, whatever matches; less than a
/// [`Lookup`](super::Lookup) where most rows of the right side match. RAM: both cursors.
#[derive(Debug)]
pub struct Merge<'q, L, R> {
    left: L,
    right: R,
    /// The columns of either side that are compared.
    on: (&'q [u8], &'q [u8]),
    /// The current right row; None until one was pulled.
    held: Option<Held>,
}

impl<'q, L: Cursor, R: Cursor> Merge<'q, L, R> {
    /// Join two cursors: `on` are the columns of either side that are compared, in the order of
    /// both cursors.
    pub const fn new(left: L, right: R, on: (&'q [u8], &'q [u8])) -> Self {
        Self { left, right, on, held: None }
    }

    /// The next pair; None behind the last. The right row stays in `right`, so give the same memory
    /// at each call and do not write to it. After an error the join has to be begun anew: a row was
    /// passed.
    pub fn next<'o, 'ram, 's, N: Nand>(
        &mut self,
        reader: &mut impl Reader<'ram, 's, N>,
        left: &'o mut [u8],
        right: &'o mut [u8],
    ) -> Result<Option<(RowView<'o, 's>, RowView<'o, 's>)>, DbError> {
        let schema = reader.reading()?.schema();
        let (mut one, mut other) = (pull(&mut self.left, reader, left)?, self.held);
        loop {
            let Some(here) = one else { return Ok(None) };
            if other.is_none() {
                other = pull(&mut self.right, reader, right)?;
            }
            self.held = other;
            let Some(there) = other else { return Ok(None) };
            match self.compare(&again(schema, left, here)?, &again(schema, right, there)?)? {
                Ordering::Less => one = pull(&mut self.left, reader, left)?,
                Ordering::Greater => other = None,
                Ordering::Equal => {
                    return Ok(Some((again(schema, left, here)?, again(schema, right, there)?)));
                }
            }
        }
    }

    fn compare(
        &self,
        left: &RowView<'_, '_>,
        right: &RowView<'_, '_>,
    ) -> Result<Ordering, DbError> {
        for (&here, &there) in self.on.0.iter().zip(self.on.1) {
            let ordering = left.column(here)?.cmp(&right.column(there)?);
            if ordering.is_ne() {
                return Ok(ordering);
            }
        }
        Ok(Ordering::Equal)
    }
}

fn pull<'ram, 's, N: Nand>(
    cursor: &mut impl Cursor,
    reader: &mut impl Reader<'ram, 's, N>,
    out: &mut [u8],
) -> Result<Option<Held>, DbError> {
    let row = cursor.next(reader, out)?;
    Ok(row.map(|row| (row.row_len, row.commit)))
}
