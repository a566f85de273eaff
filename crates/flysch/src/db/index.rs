//! Indexes of the database: what they are in the store, and how their entries lead to rows.
//!
//! 1. The row has the last word: an entry whose row does not carry the key costs a read and no
//!    more.
//! 2. A run names rows on programmed pages only; entries of rows in the tail are in RAM.

use flysch_nand::Nand;

use super::{Db, DbError, UnderWay};
use crate::media::Space;
use crate::record::{Cells, Move, Position, Rows, Stretch, page_part, tail_page};
use crate::row::{HashKey, Index, IndexKind, RowView, Schema, Table, Value, key};
use crate::store::{Entry, INDEX_MAX, IndexPlan, Lent, Order, Rows as KeyRows, StoreError};

/// Pages of rows whose entries are in RAM alone, at most: a mount reads them again.
const UNFLUSHED_MAX: u32 = 12;

/// Entries that must still fit the memory table when a flush is put off.
const FLUSHED_AHEAD: usize = 8;

/// The indexes of a schema, as the store is to keep them.
pub(super) fn plans(schema: &Schema<'_>, capacity: u32) -> Option<([IndexPlan; INDEX_MAX], usize)> {
    let mut plans = [IndexPlan::default(); INDEX_MAX];
    let mut count = 0;
    for index in schema.tables.iter().flat_map(|table| table.indexes) {
        let order = match index.kind {
            IndexKind::Hash => Order::Hash,
            IndexKind::Ordered => Order::Key,
        };
        let rows = if index.is_unique { KeyRows::One } else { KeyRows::Many };
        let plan = IndexPlan { order, rows, is_updated: false, levels: 3, capacity };
        *plans.get_mut(count)? = plan;
        count += 1;
    }
    // The table of runs is shared: with many indexes each has fewer levels.
    let levels = if count > 5 { 2 } else { 3 };
    plans[..count].iter_mut().for_each(|plan| plan.levels = levels);
    Some((plans, count))
}

/// A key that is looked for, and where.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    pub(super) table: u8,
    pub(super) index: u8,
    pub(super) digest: u64,
}

impl<'s, N: Nand> Db<'_, 's, N> {
    pub(super) fn table(&self, table: u8) -> Result<&'s Table<'s>, DbError> {
        let schema: &'s Schema<'s> = self.schema;
        schema.tables.get(usize::from(table)).ok_or(DbError::Unknown)
    }

    pub(super) fn index(&self, table: u8, index: u8) -> Result<&'s Index<'s>, DbError> {
        self.table(table)?.indexes.get(usize::from(index)).ok_or(DbError::Unknown)
    }

    /// The entry of a row in an index: its number in the store, and its code there.
    pub(super) fn code(&self, wanted: Wanted) -> Result<(u8, u64), DbError> {
        let index = self.index(wanted.table, wanted.index)?;
        let number = self.schema.index_number(wanted.table, wanted.index);
        let code = key::code_of_digest(index.kind, wanted.digest);
        let bits = self.store.config().indexes[usize::from(number)].code_bits();
        let is_hash = index.kind == IndexKind::Hash;
        Ok((number, if is_hash { code >> (key::HASH_BITS - u32::from(bits)) } else { code }))
    }

    /// The rows that begin at a pointer of the store: read from flash, or from the tail. None where
    /// nothing can be there. Cost: nothing in the tail; else one read, two where a row is long.
    pub(super) fn rows_at(&mut self, pointer: u32) -> Result<Stretch<'_>, DbError> {
        let (layout, numbers) = (self.media.layout(), self.media.numbers());
        let Some(at) = Position::of_pointer(pointer, layout, numbers) else {
            return Ok(Stretch::NONE);
        };
        if at.page == tail_page(&self.media) {
            let tail = &self.records.tail;
            return Ok(Stretch::of_cell(tail.rows(), tail.base(), layout, at.cell));
        }
        self.held = None;
        let held = self.held_cells.take();
        let cells = match held.filter(|held| held.hold(self.frame, at)) {
            Some(held) => held,
            None => Cells::read(&mut self.media, at, held, self.frame)?,
        };
        self.held_cells = Some(cells);
        Ok(cells.rows(self.frame, at))
    }

    /// What the frame held is about to be overwritten.
    pub(super) const fn forget_frame(&mut self) {
        (self.held, self.held_cells) = (None, None);
    }

    /// Put the entries of a row that was appended.
    pub(super) fn put_entries(
        &mut self,
        table: u8,
        values: &[Value<'_>],
        at: Position,
    ) -> Result<(), DbError> {
        let pointer = at.pointer(self.media.layout());
        for (number, index) in (0..).zip(self.table(table)?.indexes) {
            let digest = key::digest_of_row(index, &self.key, values);
            self.put_entry(Wanted { table, index: number, digest }, pointer)?;
        }
        Ok(())
    }

    /// Put the entries of a row of this table that has these digests.
    pub(super) fn put_digests(
        &mut self,
        table: u8,
        digests: &[u64; INDEX_MAX],
        pointer: u32,
    ) -> Result<(), DbError> {
        for (index, &digest) in (0..).zip(&digests[..self.table(table)?.indexes.len()]) {
            self.put_entry(Wanted { table, index, digest }, pointer)?;
        }
        Ok(())
    }

    fn put_entry(&mut self, wanted: Wanted, pointer: u32) -> Result<(), DbError> {
        let (index, code) = self.code(wanted)?;
        let entry = Entry { index, code, pointer, flags: 0 };
        Ok(self.store.put(&entry)?)
    }

    /// The tail became another page than it was to be.
    pub(super) fn rename(&mut self, moved: Move) {
        if moved.from != moved.to {
            self.store.rename_page(page_part(moved.from), page_part(moved.to));
        }
    }

    /// See that the entries of one more row fit the memory table.
    pub(super) fn make_room(&mut self, table: u8) -> Result<(), DbError> {
        let count = self.table(table)?.indexes.len();
        // Entries of committed rows in the tail stay in RAM while a transaction is under way: it
        // begins with room for its own.
        if self.row_count() == 0 && self.store.is_taken_by(self.tail_entries(count)) {
            self.spill_tail()?;
            self.flush()?;
        }
        if self.store.has_room(count) && !self.is_overdue() {
            return Ok(());
        }
        self.flush()?;
        if self.store.has_room(count) {
            return Ok(());
        }
        // The transaction outgrows the RAM: its entries go to a run of its own. Committed rows on
        // the first page that it programmed go back into the tail where it is rolled back: their
        // entries stay in RAM until it is committed.
        self.flush_open()?;
        if self.store.has_room(count) {
            return Ok(());
        }
        if !self.records.tail.rows().is_empty() {
            self.spill_tail()?;
        }
        self.flush()?;
        self.flush_open()
    }

    /// Flush the entries of the transaction under way whose rows are on pages.
    fn flush_open(&mut self) -> Result<(), DbError> {
        self.forget_frame();
        self.crowd_out()?;
        let is_programmed = self.is_programmed(self.media.head(Space::Hot));
        let mut lent = Lent { page: self.frame, cell: self.cell, commit: self.commit };
        let flushed = self.store.flush_open(&mut self.media, &mut lent, is_programmed);
        let programs = flushed.map_err(|error| match error {
            StoreError::Crowded => DbError::TransactionTooLong,
            error => error.into(),
        })?;
        let has_runs = programs > 0;
        self.under_way =
            self.under_way.map(|tx| UnderWay { has_runs: tx.has_runs || has_runs, ..tx });
        Ok(())
    }

    /// What tells of a pointer whether its row is on a page before `limit`.
    fn is_programmed(&self, limit: u32) -> impl Fn(u32) -> bool + use<N> {
        let (layout, numbers) = (self.media.layout(), self.media.numbers());
        let first = self.records.first;
        let reach = numbers.distance(first, limit);
        move |pointer| {
            let at = Position::of_pointer(pointer, layout, numbers);
            at.is_some_and(|at| numbers.distance(first, at.page.number) < reach)
        }
    }

    /// Entries of the rows in the tail, at most: a row has no more than `count`.
    fn tail_entries(&self, count: usize) -> usize {
        let mut rows = Rows::new(self.records.tail.rows());
        core::iter::from_fn(|| rows.next()).count() * count
    }

    /// Rows of the transaction under way.
    pub(super) fn row_count(&self) -> u32 {
        self.under_way.map_or(0, |tx| tx.rows)
    }

    fn spill_tail(&mut self) -> Result<(), DbError> {
        self.forget_frame();
        let moved = self.records.spill(&mut self.media, self.schema, self.frame)?;
        self.log.forget_tail();
        self.rename(moved);
        Ok(())
    }

    /// Whether a flush is due soon: then it is done at a commit that does nothing else.
    pub(super) fn is_flush_due(&self) -> bool {
        !self.store.has_room(FLUSHED_AHEAD) && self.media.head(Space::Hot) != self.records.mark
    }

    fn is_overdue(&self) -> bool {
        let numbers = self.media.numbers();
        numbers.distance(self.records.mark, self.media.head(Space::Hot)) > UNFLUSHED_MAX
    }

    /// Flush the entries of committed rows that are on pages.
    pub(super) fn flush(&mut self) -> Result<(), DbError> {
        self.forget_frame();
        self.crowd_out()?;
        let limit = self.records.open_page().unwrap_or(self.media.head(Space::Hot));
        let is_programmed = self.is_programmed(limit);
        let mut lent = Lent { page: self.frame, cell: self.cell, commit: self.commit };
        self.store.flush(&mut self.media, &mut lent, is_programmed)?;
        self.records.mark = limit;
        Ok(())
    }

    /// Merge until another run can be listed.
    fn crowd_out(&mut self) -> Result<(), DbError> {
        while self.store.is_crowded() && self.work()? {}
        Ok(())
    }

    /// Do a slice of the store's work; whether there was any.
    pub(super) fn work(&mut self) -> Result<bool, DbError> {
        if !self.store.is_due() {
            return Ok(false);
        }
        self.forget_frame();
        let mut lent = Lent { page: self.frame, cell: self.cell, commit: self.commit };
        self.store.work(&mut self.media, &mut lent)?;
        Ok(true)
    }
}

impl From<StoreError> for DbError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Media(error) => error.into(),
            error => Self::Store(error),
        }
    }
}

/// Whether a row is of the table and carries the key.
pub(super) fn carries(
    view: &RowView<'_, '_>,
    wanted: Wanted,
    index: &Index<'_>,
    key: &HashKey,
) -> bool {
    view.head.table == wanted.table && view.digest(index, key) == Ok(wanted.digest)
}
