//! Transactions: rows appended, and committed or taken back together.

use flysch_nand::Nand;

use super::commit::Durability;
use super::{Db, DbError};
use crate::record::NewRow;
use crate::row::{RowHead, RowKind, Value};

/// A transaction. Dropped without a commit it is rolled back by the next call that writes.
#[derive(Debug)]
pub struct Transaction<'d, 'ram, 's, N> {
    db: &'d mut Db<'ram, 's, N>,
}

impl<'ram, 's, N: Nand> Db<'ram, 's, N> {
    /// Begin a transaction. Cost: nothing as a rule; what is due after an open, see the module.
    pub fn begin(&mut self) -> Result<Transaction<'_, 'ram, 's, N>, DbError> {
        self.roll_back_open()?;
        self.settle()?;
        self.is_open = true;
        Ok(Transaction { db: self })
    }

    /// Tell the time, in microseconds since 1970: commits carry it.
    pub const fn set_time(&mut self, time: u64) {
        self.time = time;
    }

    /// Roll back what a dropped transaction left.
    pub(super) fn roll_back_open(&mut self) -> Result<(), DbError> {
        if !self.is_open {
            return Ok(());
        }
        self.held = None;
        if self.records.roll_back(&mut self.media, self.frame)?.is_some() {
            // The pages that were programmed bear this number: it is not given again.
            self.commit += 1;
            self.log.forget_tail();
        }
        self.is_open = false;
        Ok(())
    }

    fn append(&mut self, table: u8, values: &[Value<'_>]) -> Result<(), DbError> {
        if usize::from(table) >= self.schema.tables.len() {
            return Err(DbError::Unknown);
        }
        let head = RowHead { table, kind: RowKind::Row, is_shared: false };
        let row = NewRow { head, values, commit: self.commit };
        self.held = None;
        let (_, moved) = self.records.append(&mut self.media, row, self.schema, self.frame)?;
        if moved.is_some() {
            self.log.forget_tail();
        }
        Ok(())
    }
}

impl<N: Nand> Transaction<'_, '_, '_, N> {
    /// Insert a row. Cost: at most two programs and an erase; a row that is longer than a page takes
    /// its own pages besides.
    pub fn insert(&mut self, table: u8, values: &[Value<'_>]) -> Result<(), DbError> {
        self.db.append(table, values)
    }

    /// Commit. Cost: see [`Db::sync`].
    pub fn commit(self, durability: Durability) -> Result<(), DbError> {
        self.db.commit_now(durability)
    }

    /// Take everything back. Cost: nothing, or one read where pages had been programmed.
    pub fn roll_back(self) -> Result<(), DbError> {
        self.db.roll_back_open()
    }
}
