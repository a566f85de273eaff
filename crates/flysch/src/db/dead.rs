//! Entries of secondary keys whose rows were replaced or deleted.
//!
//! An update puts entries of the new row. Those of the old one stay until its block is gone, and
//! lead readers of their keys to a row that is not current: the jobs that were pending once lie
//! before those that are. So a reader that finds such an entry takes it back. A take-back that is
//! lost, as by a power cut, costs the next reader as much, and nothing else depends on it. Where
//! readers cannot keep up, updates take back the entries of the rows that they replace.
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
use super::seek::Seat;
use super::view::Since;
use super::{Db, DbError};
use crate::row::{RowHead, RowView, Value};
use crate::store::{Entry, INDEX_MAX};

/// The entries of a row that is about to be replaced, as far as they are to be taken back.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leaving {
    /// Numbers of indexes of the table, with the row's code in each of them.
    codes: [(u8, u64); INDEX_MAX],
    len: u8,
    since: Since,
}

impl<N: Nand> Db<'_, '_, N> {
    /// Whether what this reader finds to be gone is so for all readers, and entries of an index may
    /// be taken back.
    pub(super) fn takes_back(&mut self, table: u8, index: u8) -> Result<bool, DbError> {
        let number = self.kept(table, index)?.number;
        Ok(self.sees_the_oldest() && self.store.takes_back(number))
    }

    /// Take back the entry of this code and pointer, if none of the rows that are sought in its
    /// cell is current. Cost: for each of them as much as for a row that is given.
    pub(super) fn take_back_cell(
        &mut self,
        sought: Sought<'_>,
        code: u64,
        pointer: u32,
    ) -> Result<(), DbError> {
        if self.takes_back(sought.table, sought.index)?
            && self.live_row(pointer, sought, &mut 0)?.is_none()
        {
            self.take_back(sought, code, pointer)?;
        }
        Ok(())
    }

    /// Take back the entry of this code and pointer, which led to no current row among those
    /// sought, if its cell has rows of the key, and no others that may have the entry as well.
    /// Cost: one read at most.
    #[inline(never)]
    pub(super) fn take_back(
        &mut self,
        sought: Sought<'_>,
        code: u64,
        pointer: u32,
    ) -> Result<(), DbError> {
        if !self.is_changed(sought.table) || !self.takes_back(sought.table, sought.index)? {
            return Ok(());
        }
        let (schema, hash) = (self.schema, self.key);
        let kept = self.kept(sought.table, sought.index)?;
        let (index, sight) = (self.index(sought.table, sought.index)?, self.view);
        debug_assert!(!index.is_unique, "newer entries hide those of a unique key");
        let stretch = self.rows_at(pointer, false)?;
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
            } else if kept.is_code_of(&view, declared, (schema, &hash), code) {
                return Ok(());
            }
        }
        if is_met {
            self.store.take_back(&Entry { index: kept.number, code, pointer, flags: 0 });
        }
        Ok(())
    }

    /// Append a row in place of another one, which may be its tombstone, and take back the entries
    /// of that one where updates do. Cost: as an append, and where updates do one read more, unless
    /// the old row's page was the last that was read.
    pub(super) fn append_over(
        &mut self,
        old: Seat,
        head: RowHead,
        values: &[Value<'_>],
    ) -> Result<(), DbError> {
        let leaving = self.leaving(old)?;
        let new = self.append(head, values)?;
        self.leave(old, leaving, new)
    }

    /// The entries of a row that updates take back.
    #[inline(never)]
    fn leaving(&mut self, old: Seat) -> Result<Leaving, DbError> {
        let mut leaving = Leaving { codes: [(0, 0); INDEX_MAX], len: 0, since: self.since() };
        let table = old.head.table;
        let indexes = (0..).zip(self.table(table)?.indexes);
        for (number, _) in indexes.filter(|(_, index)| !index.is_unique) {
            let kept = self.kept(table, number)?;
            let place = leaving.codes.get_mut(usize::from(leaving.len));
            if self.store.goes_ahead(kept.number)
                && !self.has_snapshots()
                && let (Some(place), Some(code)) = (place, self.own_code(old, number)?)
            {
                *place = (number, code);
                leaving.len += 1;
            }
        }
        Ok(leaving)
    }

    /// The code of a row in an index; None where another row of its cell may have it too.
    fn own_code(&mut self, seat: Seat, index: u8) -> Result<Option<u64>, DbError> {
        let (schema, hash, table) = (self.schema, self.key, seat.head.table);
        let (kept, declared) = (self.kept(table, index)?, self.index(table, index)?);
        let digest = self.front_at(seat.pointer, seat.place)?.digest(declared, &hash);
        let Ok(code) = digest.map(|digest| kept.code(digest)) else { return Ok(None) };
        let stretch = self.rows_at(seat.pointer, false)?;
        let base = u64::from(stretch.base);
        for (place, row) in (0..).zip(stretch.rows()) {
            let view = RowView::parse_front(schema, row, base)?;
            let has_code = || kept.is_code_of(&view, (table, declared), (schema, &hash), code);
            if place != seat.place && has_code() {
                return Ok(None);
            }
        }
        Ok(Some(code))
    }

    /// Note that a row was replaced, by the row of this pointer, and take its entries back.
    #[inline(never)]
    fn leave(&mut self, old: Seat, leaving: Leaving, new: u32) -> Result<(), DbError> {
        self.note_dead(old.pointer, old.len);
        if self.leads_elsewhere(leaving.since) {
            // The row came to another page.
            return Ok(());
        }
        for &(number, code) in &leaving.codes[..usize::from(leaving.len)] {
            // The new row may have the same entry.
            if new != old.pointer || self.own_code(old, number)?.is_some() {
                let (index, pointer) = (self.kept(old.head.table, number)?.number, old.pointer);
                self.store.take_back_ahead(&Entry { index, code, pointer, flags: 0 })?;
            }
        }
        Ok(())
    }
}
