//! Queries without SQL: cursors that are made of cursors.
//!
//! ```text
//! Scan, Find, KeyRange         rows of a table, of a key, of a range of keys in their order
//! Matches                      rows that have several keys at once, or one of several
//! Filter                       those of them that a callback keeps
//! Lookup                       each with the rows of another table whose key it has
//! Merge                        two cursors that come in the order of a key, side by side
//! Groups                       a cursor in the order of its groups, a total for each
//! Top                          the first or last rows by a value, in the program's memory
//! Sort                         all of them in the order of any columns, by way of flash
//! ```
//!
//! Every cursor is pulled: [`Cursor::next`] gives a row in memory of the caller's, and what it
//! costs is known from the cursors that it is made of. None borrows the database between calls, so
//! rows may be changed meanwhile; a cursor that would lose its place says
//! [`crate::db::DbError::Stale`]. None allocates, and the RAM of each is its own
//! size.
//!
//! Order is that of an index, or that of [`Top`] or [`Sort`]. Only a sort writes to flash.
//!
//! 1. A row that a cursor gave stays in the caller's memory until the caller uses that memory
//!    again.

mod filter;
mod groups;
mod lookup;
mod merge;
mod sort;
mod top;
mod total;

pub use filter::Filter;
pub use groups::Groups;
pub use lookup::Lookup;
pub use merge::Merge;
pub use sort::Sort;
pub use top::{Order, Top};
pub use total::Total;

use flysch_nand::Nand;

use crate::db::{DbError, Find, KeyRange, Matches, Reader, Scan};
use crate::row::{RowView, Schema};

/// A source of rows that are pulled one by one.
pub trait Cursor {
    /// Copy the next row into `out`; None behind the last one. Cost: see each cursor.
    fn next<'o, 'ram, 's, N: Nand>(
        &mut self,
        reader: &mut impl Reader<'ram, 's, N>,
        out: &'o mut [u8],
    ) -> Result<Option<RowView<'o, 's>>, DbError>;

    /// Number of the rows that are left; the cursor is at its end afterwards. Cost: that of pulling
    /// all of them.
    fn count<'ram, 's, N: Nand>(
        &mut self,
        reader: &mut impl Reader<'ram, 's, N>,
        out: &mut [u8],
    ) -> Result<u64, DbError> {
        let mut count = 0;
        while self.next(reader, out)?.is_some() {
            count += 1;
        }
        Ok(count)
    }

    /// Total of a column over the rows that are left. Cost: that of pulling all of them.
    fn total<'ram, 's, N: Nand>(
        &mut self,
        reader: &mut impl Reader<'ram, 's, N>,
        column: u8,
        out: &mut [u8],
    ) -> Result<Total, DbError> {
        let mut total = Total::default();
        while let Some(row) = self.next(reader, out)? {
            total.add(&row.column(column)?);
        }
        Ok(total)
    }

    /// A cursor over those of the rows for which `keep` says yes.
    fn filter<F: FnMut(&RowView<'_, '_>) -> Result<bool, DbError>>(self, keep: F) -> Filter<Self, F>
    where
        Self: Sized,
    {
        Filter::new(self, keep)
    }
}

/// A row in the caller's memory: its number of bytes, and its commit.
type Held = (usize, u64);

/// Parse the row again that the caller's memory holds.
fn again<'o, 's>(
    schema: &Schema<'s>,
    out: &'o [u8],
    (len, commit): Held,
) -> Result<RowView<'o, 's>, DbError> {
    let mut view = RowView::parse(schema, &out[..len], 0)?;
    view.commit = commit;
    Ok(view)
}

/// Copy the bytes of a row into the caller's memory; returns their number.
fn copy(row: &[u8], out: &mut [u8]) -> Result<usize, DbError> {
    let room = out.get_mut(..row.len()).ok_or(DbError::RowTooLong { needed: row.len() })?;
    room.copy_from_slice(row);
    Ok(row.len())
}

/// The first of `count` places that does not come before what is sought; those that do come first.
fn place_behind(count: usize, comes_before: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low.midpoint(high);
        if comes_before(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

macro_rules! cursor {
    ($cursor:ty $(, $count:ident)?) => {
        impl$(<const $count: usize>)? Cursor for $cursor {
            fn next<'o, 'ram, 's, N: Nand>(
                &mut self,
                reader: &mut impl Reader<'ram, 's, N>,
                out: &'o mut [u8],
            ) -> Result<Option<RowView<'o, 's>>, DbError> {
                Self::next(self, reader, out)
            }
        }
    };
}

cursor!(Scan);
cursor!(Find);
cursor!(KeyRange);
cursor!(Matches<COUNT>, COUNT);
cursor!(Sort<'_>);
