//! Entries of secondary keys whose rows were replaced or deleted.
//!
//! An update puts entries of the new row. Those of the old one stay until its block is gone, and
//! lead readers of their keys to a row that is not current: the jobs that were pending once lie
//! before those that are. So a reader that finds such an entry takes it back. A take-back that is
//! lost, as by a power cut, costs the next reader as much, and nothing else depends on it.
//!
//! 1. What a reader of the present finds to be gone stays so. Only an open transaction may be
//!    undone, so nothing is taken back once it has entries.
//! 2. A snapshot needs the entries of rows that it shows. What a reader of the oldest one finds to
//!    be gone, no other shows either; while one is open nobody else takes entries back. A commit of
//!    the past is not shown where rows were ever replaced.
//! 3. The newest of an entry and its take-backs counts. So a row that comes to the same cell, once
//!    page numbers begin again, is found by its own entry.

use flysch_nand::Nand;

use super::find::Sought;
use super::{Db, DbError};
use crate::row::RowView;
use crate::store::Entry;

impl<N: Nand> Db<'_, '_, N> {
    /// Whether what this reader finds to be gone is so for all readers, and may be taken back.
    pub(super) fn takes_back(&self) -> bool {
        self.store.takes_back() && self.sees_the_oldest()
    }

    /// Take back an entry that led to no current row among those sought, if its cell has rows of
    /// the key, and no others that may have the entry as well. Cost: one read at most.
    #[inline(never)]
    pub(super) fn take_back(&mut self, sought: Sought<'_>, entry: &Entry) -> Result<(), DbError> {
        if !self.takes_back() || !self.is_changed(sought.table) {
            return Ok(());
        }
        let (schema, hash) = (self.schema, self.key);
        let kept = self.kept(sought.table, sought.index)?;
        let (index, sight) = (self.index(sought.table, sought.index)?, self.view);
        debug_assert!(!index.is_unique, "newer entries hide those of a unique key");
        let stretch = self.rows_at(entry.pointer, false)?;
        let base = u64::from(stretch.base);
        let mut is_met = false;
        for row in stretch.rows() {
            let view = RowView::parse_front(schema, row, base)?;
            let declared = (sought.table, index);
            if sought.is_met_by(&view, (index, &hash), kept) {
                if !sight.sees(&view) {
                    return Ok(());
                }
                is_met = true;
            } else if kept.is_code_of(&view, declared, (schema, &hash), entry.code) {
                return Ok(());
            }
        }
        if is_met {
            self.store.take_back(entry);
        }
        Ok(())
    }
}
