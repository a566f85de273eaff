//! Who may read: the database, the transaction under way, which sees what it did itself, or the
//! database as it was.

use flysch_nand::Nand;

use super::find::Find;
use super::range::KeyRange;
use super::scan::{Direction, Scan};
use super::view::{At, View};
use super::{Db, DbError, Transaction};
use crate::row::{RowView, Value};

/// What rows are read through. A cursor that was made in a transaction may go on behind it, and the
/// other way round: it borrows neither.
pub trait Reader<'ram, 's, N: Nand> {
    /// The database. What a transaction left that was dropped is taken back first; the transaction
    /// under way keeps what it did. Cost: nothing, or what [`Transaction::roll_back`] costs.
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
        Ok(self.db)
    }
}

impl<'ram, 's, N: Nand> Reader<'ram, 's, N> for Transaction<'_, 'ram, 's, N> {
    fn reading(&mut self) -> Result<&mut Db<'ram, 's, N>, DbError> {
        Ok(self.db)
    }
}

macro_rules! reads {
    ($reader:ident) => {
        impl<'s, N: Nand> $reader<'_, '_, 's, N> {
            /// The row whose columns of this index have these values, as the reader sees it. Cost:
            /// as [`Db::get`].
            pub fn get<'o>(
                &mut self,
                table: u8,
                index: u8,
                values: &[Value<'_>],
                out: &'o mut [u8],
            ) -> Result<Option<RowView<'o, 's>>, DbError> {
                self.find(table, index, values)?.next(self, out)
            }

            /// As [`Db::find`].
            pub fn find(
                &self,
                table: u8,
                index: u8,
                values: &[Value<'_>],
            ) -> Result<Find, DbError> {
                self.db.find(table, index, values)
            }

            /// As [`Db::range_of`].
            pub fn range_of(
                &self,
                table: u8,
                index: u8,
                ends: (&[Value<'_>], &[Value<'_>]),
                direction: Direction,
            ) -> Result<KeyRange, DbError> {
                self.db.range_of(table, index, ends, direction)
            }

            /// As [`Db::prefix`].
            pub fn prefix(
                &self,
                table: u8,
                index: u8,
                values: &[Value<'_>],
                direction: Direction,
            ) -> Result<KeyRange, DbError> {
                self.db.prefix(table, index, values, direction)
            }

            /// As [`Db::scan`].
            pub fn scan(&self, table: u8, direction: Direction) -> Result<Scan, DbError> {
                self.db.scan(table, direction)
            }
        }
    };
}

reads!(Transaction);
reads!(At);
