//! Transactions: rows appended, and committed or taken back together.

use flysch_nand::Nand;

use super::commit::Durability;
use super::index::{Wanted, carries};
use super::{Db, DbError, UnderWay};
use crate::log::{CHANGES_AHEAD, NUMBER_MAX};
use crate::record::NewRow;
use crate::row::{RowHead, RowKind, RowView, Table, Value, ValueError, key};
use crate::store::Probe;

/// A transaction. Dropped without a commit it is rolled back by the next call that writes.
#[derive(Debug)]
pub struct Transaction<'d, 'ram, 's, N> {
    db: &'d mut Db<'ram, 's, N>,
}

impl<'ram, 's, N: Nand> Db<'ram, 's, N> {
    /// Begin a transaction. Cost: nothing as a rule; what is due after an open, see the module.
    pub fn begin(&mut self) -> Result<Transaction<'_, 'ram, 's, N>, DbError> {
        self.roll_back_open()?;
        if self.commit >= NUMBER_MAX {
            return Err(DbError::Full);
        }
        self.settle()?;
        if self.media.changes.room() < CHANGES_AHEAD {
            // A long transaction was taken back: a record tells the blocks that it took.
            self.is_lazy = true;
            self.sync()?;
        }
        self.under_way = Some(UnderWay::default());
        self.begun_at = self.media.write;
        Ok(Transaction { db: self })
    }

    /// Roll back what a dropped transaction left.
    pub(super) fn roll_back_open(&mut self) -> Result<(), DbError> {
        if self.under_way.is_none() {
            return Ok(());
        }
        self.forget_frame();
        self.store.roll_back();
        if let Some(moved) = self.records.roll_back(&mut self.media, self.frame)? {
            self.rename(moved);
            // The pages that were programmed bear this number: it is not given again.
            self.commit += 1;
            self.log.forget_tail();
        }
        self.under_way = None;
        Ok(())
    }

    fn insert(&mut self, table: u8, values: &[Value<'_>]) -> Result<(), DbError> {
        let declared = self.table(table)?;
        check(declared, values)?;
        for (number, index) in (0..).zip(declared.indexes).filter(|(_, index)| index.is_unique) {
            let digest = key::digest_of_row(index, &self.key, values);
            if self.is_taken(Wanted { table, index: number, digest })? {
                return Err(DbError::Duplicate { index: number });
            }
        }
        let begun_at = self.media.write;
        self.make_room(table)?;
        let head = RowHead { table, kind: RowKind::Row, is_shared: false };
        let row = NewRow { head, values, commit: self.commit };
        self.forget_frame();
        let (at, moved) = self.records.append(&mut self.media, row, self.schema, self.frame)?;
        if let Some(moved) = moved {
            self.rename(moved);
            self.log.forget_tail();
        }
        self.under_way = self.under_way.map(|tx| UnderWay { rows: tx.rows + 1, ..tx });
        self.put_entries(table, values, at)?;
        // A row that programmed a page leaves its slice to the next one.
        let is_idle = self.media.write == begun_at;
        for _ in 0..if is_idle { self.store.slices_due() } else { 0 } {
            self.work()?;
        }
        Ok(())
    }

    /// Whether a row carries the key. Cost: as a lookup of an absent key.
    fn is_taken(&mut self, wanted: Wanted) -> Result<bool, DbError> {
        let (number, code) = self.code(wanted)?;
        let index = self.index(wanted.table, wanted.index)?;
        let (schema, hash) = (self.schema, self.key);
        let mut probe = Probe::new(self.store.config(), number, code);
        while let Some(entry) = probe.next(&self.store, &mut self.media, self.cell)? {
            let stretch = self.rows_at(entry.pointer)?;
            let mut views = stretch.rows().map(|row| RowView::parse_front(schema, row, 0));
            if views.any(|view| view.is_ok_and(|view| carries(&view, wanted, index, &hash))) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Refuse values that do not make a row before anything is looked up by them.
fn check(table: &Table<'_>, values: &[Value<'_>]) -> Result<(), DbError> {
    if values.len() == table.columns.len() {
        return Ok(());
    }
    let (needed, given) = (table.columns.len(), values.len());
    Err(DbError::Value(ValueError::Count { needed, given }))
}

impl<N: Nand> Transaction<'_, '_, '_, N> {
    /// Insert a row. Cost: the reads of a lookup for each unique index, and one of these: nothing;
    /// a page of rows; a run of index entries; a slice of a merge, at most a program and
    /// [`StoreConfig::reads_max`](crate::store::StoreConfig::reads_max) reads. A row that is longer
    /// than a page takes its own pages besides.
    pub fn insert(&mut self, table: u8, values: &[Value<'_>]) -> Result<(), DbError> {
        self.db.insert(table, values)
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
