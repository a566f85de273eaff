//! Queries without SQL: cursors that are made of cursors.
//!
//! ```text
//! Scan, Find, KeyRange         rows of a table, of a key, of a range of keys in their order
//! Filter                       those of them that a callback keeps
//! Lookup                       each with the rows of another table whose key it has
//! Merge                        two cursors that come in the order of a key, side by side
//! Groups                       a cursor in the order of its groups, a total for each
//! Top                          the first or last rows by a value, in the program's memory
//! ```
//!
//! Every cursor is pulled: [`Cursor::next`] gives a row in memory of the caller's, and what it
//! costs is known from the cursors that it is made of. None borrows the database between calls, so
//! rows may be changed meanwhile; a cursor that would lose its place says
//! [`crate::db::DbError::Stale`]. None allocates, and the RAM of each is its own
//! size.
//!
//! Order is that of an index, or that of [`Top`]; there is no sort that goes to flash.
//!
//! 1. A row that was given lies in the caller's memory, and stays there until that is used again.

mod filter;
mod groups;
mod lookup;
mod merge;
mod top;
mod total;

pub use filter::Filter;
pub use groups::Groups;
pub use lookup::Lookup;
pub use merge::Merge;
pub use top::{Order, Top};
pub use total::Total;

use flysch_nand::Nand;

use crate::db::{DbError, Find, KeyRange, Reader, Scan};
use crate::row::{RowView, Schema};

/// What rows are pulled out of.
pub trait Cursor {
    /// The next row, copied into `out`; none when there are no more. Cost: see each cursor.
    fn next<'o, 'ram, 's, N: Nand>(
        &mut self,
        reader: &mut impl Reader<'ram, 's, N>,
        out: &'o mut [u8],
    ) -> Result<Option<RowView<'o, 's>>, DbError>;

    /// How many rows are left. Cost: as to pull all of them.
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

    /// The total of a column of the rows that are left. Cost: as to pull all of them.
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

    /// Those of the rows that `keep` says yes to.
    fn filter<F: FnMut(&RowView<'_, '_>) -> Result<bool, DbError>>(self, keep: F) -> Filter<Self, F>
    where
        Self: Sized,
    {
        Filter::new(self, keep)
    }
}

/// A row in the caller's memory: its bytes, and its commit.
type Held = (usize, u64);

/// The row that the caller's memory holds.
fn again<'o, 's>(
    schema: &Schema<'s>,
    out: &'o [u8],
    (len, commit): Held,
) -> Result<RowView<'o, 's>, DbError> {
    let mut view = RowView::parse(schema, &out[..len], 0)?;
    view.commit = commit;
    Ok(view)
}

macro_rules! cursor {
    ($cursor:ty) => {
        impl Cursor for $cursor {
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
