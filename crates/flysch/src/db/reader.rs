//! Who may read: the database, an open transaction, which sees its own changes, or the database as
//! it was at a snapshot or a commit.

use flysch_nand::Nand;

use super::criteria::{Criterion, Matches};
use super::find::Find;
use super::range::KeyRange;
use super::scan::{Direction, Scan};
use super::view::{At, View};
use super::{Db, DbError, Transaction};
use crate::row::{RowView, Value};

/// What rows are read through. Cursors borrow no reader: one made in a transaction may go on after
/// it, and the other way round.
pub trait Reader<'ram, 's, N: Nand> {
    /// The database. What a dropped transaction left is rolled back first; an open transaction
    /// keeps what it did. Cost: nothing, or what [`Transaction::roll_back`] costs.
    fn reading(&mut self) -> Result<&mut Db<'ram, 's, N>, DbError>;
}

impl<'ram, 's, N: Nand> Reader<'ram, 's, N> for Db<'ram, 's, N> {
    fn reading(&mut self) -> Result<&mut Self, DbError> {
        self.view = View::NOW;
        self.roll_back_open()?;
        Ok(self)
    }
}

impl<'ram, 's, N: Nand> Reader<'ram, 's, N> for At<'_, 'ram, 's, N> {
    fn reading(&mut self) -> Result<&mut Db<'ram, 's, N>, DbError> {
        debug_assert!(self.db.view.is_past(), "the view is set while the reader is there");
        debug_assert!(self.db.under_way.is_none(), "the past has no open transaction");
        Ok(self.db)
    }
}

impl<'ram, 's, N: Nand> Reader<'ram, 's, N> for Transaction<'_, 'ram, 's, N> {
    fn reading(&mut self) -> Result<&mut Db<'ram, 's, N>, DbError> {
        debug_assert!(self.db.under_way.is_some(), "the transaction is open");
        debug_assert!(!self.db.view.is_past(), "a transaction sees everything");
        self.db.check_spoilt()?;
        Ok(self.db)
    }
}

macro_rules! reads {
    ($reader:ident) => {
        impl<'s, N: Nand> $reader<'_, '_, 's, N> {
            /// Copy the row whose columns of this index have these values into `out`, as this
            /// reader sees it. Cost: see [`Db::get`].
            pub fn get<'o>(
                &mut self,
                table: u8,
                index: u8,
                values: &[Value<'_>],
                out: &'o mut [u8],
            ) -> Result<Option<RowView<'o, 's>>, DbError> {
                self.find(table, index, values)?.next(self, out)
            }

            /// A cursor over the rows whose columns of an index have these values, see
            /// [`Db::find`].
            pub fn find(
                &self,
                table: u8,
                index: u8,
                values: &[Value<'_>],
            ) -> Result<Find, DbError> {
                self.db.find(table, index, values)
            }

            /// A cursor over the rows that meet some criteria, see [`Db::matching`].
            pub fn matching<const COUNT: usize>(
                &self,
                table: u8,
                criteria: [Criterion<'_>; COUNT],
            ) -> Result<Matches<COUNT>, DbError> {
                self.db.matching(table, criteria)
            }

            /// A cursor over the rows with keys from `least` to `greatest`, see [`Db::range_of`].
            pub fn range_of(
                &self,
                table: u8,
                index: u8,
                ends: (&[Value<'_>], &[Value<'_>]),
                direction: Direction,
            ) -> Result<KeyRange, DbError> {
                self.db.range_of(table, index, ends, direction)
            }

            /// A cursor over the rows whose key begins with these values, see [`Db::prefix`].
            pub fn prefix(
                &self,
                table: u8,
                index: u8,
                values: &[Value<'_>],
                direction: Direction,
            ) -> Result<KeyRange, DbError> {
                self.db.prefix(table, index, values, direction)
            }

            /// A cursor over all rows of a table by its primary key, see [`Db::all`].
            pub fn all(&self, table: u8) -> Result<KeyRange, DbError> {
                self.db.all(table)
            }

            /// A cursor over all rows of a table, see [`Db::scan`].
            pub fn scan(&self, table: u8, direction: Direction) -> Result<Scan, DbError> {
                self.db.scan(table, direction)
            }
        }
    };
}

reads!(Transaction);
reads!(At);
