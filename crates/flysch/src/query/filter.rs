//! The rows of a cursor that a callback keeps.

use flysch_nand::Nand;

use super::{Cursor, again};
use crate::db::{DbError, Reader};
use crate::row::RowView;

/// A cursor over the rows of another cursor for which a callback says yes. Cost of a row: that of
/// all rows of the other cursor up to it. RAM: the cursor and the callback.
#[derive(Clone, Copy, Debug)]
pub struct Filter<C, F> {
    cursor: C,
    keep: F,
}

impl<C: Cursor, F: FnMut(&RowView<'_, '_>) -> Result<bool, DbError>> Filter<C, F> {
    /// Keep the rows of `cursor` that `keep` says yes to.
    pub const fn new(cursor: C, keep: F) -> Self {
        Self { cursor, keep }
    }
}

impl<C: Cursor, F: FnMut(&RowView<'_, '_>) -> Result<bool, DbError>> Cursor for Filter<C, F> {
    fn next<'o, 'ram, 's, N: Nand>(
        &mut self,
        reader: &mut impl Reader<'ram, 's, N>,
        out: &'o mut [u8],
    ) -> Result<Option<RowView<'o, 's>>, DbError> {
        let schema = reader.reading()?.schema();
        let mut len = None;
        while len.is_none() {
            let Some(row) = self.cursor.next(reader, out)? else { return Ok(None) };
            if (self.keep)(&row)? {
                len = Some((row.row_len, row.commit));
            }
        }
        let Some((len, commit)) = len else { return Ok(None) };
        again(schema, out, (len, commit)).map(Some)
    }
}
