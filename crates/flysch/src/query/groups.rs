//! Group by, over a cursor that comes in the order of the groups.

use flysch_nand::Nand;

use super::{Cursor, Held, Total, again, copy};
use crate::db::{DbError, Reader};
use crate::row::RowView;

/// Groups the rows of a cursor whose rows come group by group, such as a range of an index over the
/// columns that make the group. For each group it gives the first row and the total of a column.
///
/// Cost of a group: that of its rows, and of the first row behind them. RAM: the cursor; the caller
/// lends memory for two rows.
#[derive(Debug)]
pub struct Groups<'q, C> {
    cursor: C,
    /// Numbers of the columns that make the group.
    by: &'q [u8],
    /// Number of the column that is added up.
    of: u8,
    /// The first row of the next group, which lies in the memory for the next row; None before the
    /// first call and behind the last group.
    next: Option<Held>,
    is_over: bool,
}

impl<'q, C: Cursor> Groups<'q, C> {
    /// Group the rows of `cursor` by the columns `by`, and add up the column `of`.
    pub const fn new(cursor: C, by: &'q [u8], of: u8) -> Self {
        Self { cursor, by, of, next: None, is_over: false }
    }

    /// The next group: its first row in `first`, and its total; None behind the last group. The
    /// first row of the group after it stays in `ahead`, so give the same memory at each call and
    /// do not write to it. After an error the groups have to be begun anew: rows were passed.
    pub fn next<'o, 'ram, 's, N: Nand>(
        &mut self,
        reader: &mut impl Reader<'ram, 's, N>,
        first: &'o mut [u8],
        ahead: &mut [u8],
    ) -> Result<Option<(RowView<'o, 's>, Total)>, DbError> {
        let schema = reader.reading()?.schema();
        let (len, commit) = match self.next.take() {
            Some((len, commit)) => (copy(&ahead[..len], first)?, commit),
            None if self.is_over => return Ok(None),
            None => match self.cursor.next(reader, first)? {
                Some(row) => (row.row_len, row.commit),
                None => return Ok(None),
            },
        };
        let group = again(schema, first, (len, commit))?;
        let mut total = Total::default();
        total.add(&group.column(self.of)?);
        loop {
            let Some(row) = self.cursor.next(reader, ahead)? else {
                self.is_over = true;
                return Ok(Some((group, total)));
            };
            if !self.is_same(&group, &row)? {
                self.next = Some((row.row_len, row.commit));
                return Ok(Some((group, total)));
            }
            total.add(&row.column(self.of)?);
        }
    }

    fn is_same(&self, one: &RowView<'_, '_>, other: &RowView<'_, '_>) -> Result<bool, DbError> {
        for &column in self.by {
            if one.column(column)? != other.column(column)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
