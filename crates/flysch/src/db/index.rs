//! The indexes of the schema: how the index store keeps them, and how entries lead to rows.
//!
//! 1. The row decides: an entry whose row has another key costs a read, and gives no wrong answer.
//! 2. A run names rows on programmed pages only. Entries of rows in the tail stay in RAM.

use flysch_nand::Nand;

use super::{Db, DbError, UnderWay};
use crate::media::{CELL_SIZE, Space};
use crate::record::{Move, PART_SPACES, Position, ROW_SPACES, Rows, page_part, tail_page};
use crate::row::{Digest, HashKey, Index, RowHead, RowKind, RowView, Schema, Table, Value, key};
use crate::store::{Entry, Lent, SHARED, StoreError, TOMBSTONE};

/// Greatest number of pages of rows whose entries may be in RAM alone. A mount reads all of them
/// again.
const UNFLUSHED_MAX: u32 = 12;

/// Entries that the memory table must still have room for, so that a flush may be put off.
const FLUSHED_AHEAD: usize = 8;

/// A key to look up, and the index to look it up in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wanted {
    pub(super) table: u8,
    pub(super) index: u8,
    pub(super) digest: Digest,
}

impl<'s, N: Nand> Db<'_, 's, N> {
    pub(super) fn table(&self, table: u8) -> Result<&'s Table<'s>, DbError> {
        let schema: &'s Schema<'s> = self.schema;
        schema.tables.get(usize::from(table)).ok_or(DbError::Unknown)
    }

    pub(super) fn index(&self, table: u8, index: u8) -> Result<&'s Index<'s>, DbError> {
        self.table(table)?.indexes.get(usize::from(index)).ok_or(DbError::Unknown)
    }

    /// For a key in an index of the schema: the number of the store's index, and the code there.
    pub(super) fn code(&self, wanted: Wanted) -> Result<(u8, u64), DbError> {
        let kept = self.kept(wanted.table, wanted.index)?;
        let code = kept.code(wanted.digest);
        debug_assert!(
            code.checked_shr(self.store.code_bits(kept.number).into()).unwrap_or(0) == 0,
            "the store keeps all bits of the code"
        );
        Ok((kept.number, code))
    }

    /// Forget which page the frame holds, as it is about to be overwritten.
    pub(super) const fn forget_frame(&mut self) {
        (self.held, self.held_cells) = (None, None);
    }

    /// Put the entries of an appended row into the memory table. The values of a tombstone are
    /// those of the primary key, so it has an entry in that index alone.
    pub(super) fn put_entries(
        &mut self,
        head: RowHead,
        values: &[Value<'_>],
        at: Position,
    ) -> Result<(), DbError> {
        let pointer = at.pointer(self.media.layout());
        debug_assert!(
            Position::of_pointer(pointer, self.media.layout(), self.media.numbers()) == Some(at),
            "the pointer leads back to the row"
        );
        let table = self.table(head.table)?;
        for (number, index) in (0..).zip(table.indexes_of(head.kind)) {
            let digest = match head.kind {
                RowKind::Tombstone => key::digest(table, index, &self.key, values),
                RowKind::Row | RowKind::Moved => {
                    key::digest_of_row(table, index, &self.key, values)
                }
            };
            self.put_digest(head, number, digest, pointer)?;
        }
        Ok(())
    }

    /// Put the entry of a row in one index into the memory table.
    pub(super) fn put_digest(
        &mut self,
        head: RowHead,
        index: u8,
        digest: Digest,
        pointer: u32,
    ) -> Result<(), DbError> {
        debug_assert!(
            pointer >> self.store.config().pointer_bits() == 0,
            "the pointer has its bits"
        );
        let kept = self.kept(head.table, index)?;
        let shared = if head.is_shared && kept.may_meet { SHARED } else { 0 };
        let flags = shared | if head.kind == RowKind::Tombstone { TOMBSTONE } else { 0 };
        let (index, code) = (kept.number, kept.code(digest));
        Ok(self.store.put(&Entry { index, code, pointer, flags })?)
    }

    /// Give the entries of rows in the tail new pointers: the tail becomes another page than
    /// expected.
    pub(super) fn rename(&mut self, moved: Move) {
        if moved.from != moved.to {
            self.follow_tail(moved);
            let layout = self.media.layout();
            self.store.rename_page(page_part(moved.from, layout), page_part(moved.to, layout));
        }
    }

    /// Make room in the memory table for the entries of one more row.
    pub(super) fn make_room(&mut self, table: u8) -> Result<(), DbError> {
        let count = self.table(table)?.indexes.len();
        // Entries of committed rows in the tail stay in RAM while a transaction is under way: it
        // begins with room for its own.
        if self.row_count() == 0 && self.is_taken_by_tail()? {
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
        if self.store.is_open_full() {
            return Err(DbError::TransactionTooLong);
        }
        // The transaction outgrows the RAM: its entries go to a run of its own. Committed rows on
        // the first page that it programmed go back into the tail where it is rolled back: their
        // entries stay in RAM until it is committed.
        self.flush_open()?;
        if self.store.has_room(count) {
            return Ok(());
        }
        self.spill_tail()?;
        self.flush()?;
        self.flush_open()
    }

    /// Flush the entries of the open transaction whose rows are programmed, as a run of its own.
    pub(super) fn flush_open(&mut self) -> Result<(), DbError> {
        debug_assert!(self.under_way.is_some(), "a transaction has open entries");
        self.forget_frame();
        self.crowd_out()?;
        let is_programmed = self.is_programmed(ROW_SPACES.map(|space| self.media.head(space)));
        let mut lent =
            Lent { page: self.frame, cell: &mut self.scratch[..CELL_SIZE], commit: self.commit };
        let programs = self.store.flush_open(&mut self.media, &mut lent, &is_programmed)?;
        let has_runs = programs > 0;
        self.under_way =
            self.under_way.map(|tx| UnderWay { has_runs: tx.has_runs || has_runs, ..tx });
        Ok(())
    }

    /// A test whether the row that a pointer names is programmed and committed, by the first page
    /// of each space that is not. Moved rows have entries only once they are programmed, and
    /// entries that were taken back may name pages that are gone.
    fn is_programmed(&self, limits: [u32; ROW_SPACES.len()]) -> impl Fn(u32) -> bool + use<N> {
        let (layout, numbers) = (self.media.layout(), self.media.numbers());
        let tails = ROW_SPACES.map(|space| tail_page(&self.media, space).number);
        move |pointer| {
            let at = Position::of_pointer(pointer, layout, numbers);
            at.is_some_and(|Position { page, .. }| {
                let (limit, tail) = (limits[page.space.stream()], tails[page.space.stream()]);
                let is_open = numbers.distance(limit, page.number) <= numbers.distance(limit, tail);
                page.space == Space::Cold || !is_open
            })
        }
    }

    /// Whether the entries of the tail's rows, of whichever table, leave too little of the memory
    /// table.
    fn is_taken_by_tail(&self) -> Result<bool, DbError> {
        let mut widest = 0;
        for table in 0..self.schema.tables.len() as u8 {
            widest = widest.max(self.entries_size(table, RowKind::Row)?);
        }
        let mut rows = Rows::new(self.records.tail.rows());
        let count = core::iter::from_fn(|| rows.next()).count();
        if !self.store.is_taken_by(count * widest) {
            return Ok(false);
        }
        let (mut rows, mut size) = (Rows::new(self.records.tail.rows()), 0);
        while let Some((_, row)) = rows.next() {
            let head = RowView::parse_front(self.schema, row, 0)?.head;
            size += self.entries_size(head.table, head.kind)?;
        }
        Ok(self.store.is_taken_by(size))
    }

    /// Bytes of the entries of a row in the memory table.
    fn entries_size(&self, table: u8, kind: RowKind) -> Result<usize, DbError> {
        let count = self.table(table)?.indexes_of(kind).len();
        (0..count as u8).try_fold(0, |size, index| {
            Ok(size + self.store.entry_size(self.kept(table, index)?.number))
        })
    }

    /// Rows that the open transaction appended so far.
    pub(super) fn row_count(&self) -> u32 {
        self.under_way.map_or(0, |tx| tx.rows)
    }

    /// Program all parts of the tail.
    pub(super) fn spill_tail(&mut self) -> Result<(), DbError> {
        for space in PART_SPACES {
            if self.records.tail.len_of(space) > 0 {
                self.spill_part(space)?;
            }
        }
        debug_assert!(self.records.tail.rows().is_empty(), "no part is left out");
        Ok(())
    }

    /// Program the part of the tail that goes to a space.
    pub(super) fn spill_part(&mut self, space: Space) -> Result<(), DbError> {
        debug_assert!(self.records.tail.len_of(space) > 0, "there is something to program");
        debug_assert!(self.doubt.is_none(), "nothing is programmed before it is certain");
        self.forget_frame();
        let parts = (self.schema, space);
        let moved = self.records.spill(&mut self.media, parts, self.frame)?;
        self.log.forget_tail();
        self.rename(moved);
        Ok(())
    }

    /// Whether a flush is due soon: it is then done at a commit that has nothing else to do.
    pub(super) fn is_flush_due(&self) -> bool {
        let has_pages = |space| self.media.head(space) != self.records.stream(space).mark;
        !self.store.has_room(FLUSHED_AHEAD) && ROW_SPACES.into_iter().any(has_pages)
    }

    /// Whether a mount would read too many pages for entries that a flush could put into a run.
    fn is_overdue(&self) -> bool {
        let numbers = self.media.numbers();
        let unflushed = |space| {
            let mark = self.records.stream(space).mark;
            numbers.distance(mark, self.flushable(space))
        };
        ROW_SPACES.into_iter().map(unflushed).sum::<u32>() > UNFLUSHED_MAX
    }

    /// Whether the open transaction has programmed so many pages that a mount would read too many
    /// for entries, were it committed as it is.
    pub(super) fn has_many_open(&self) -> bool {
        let numbers = self.media.numbers();
        let open = |space: Space| {
            let first = self.records.open_page(space);
            first.map_or(0, |first| numbers.distance(first, self.media.head(space)))
        };
        PART_SPACES.into_iter().map(open).sum::<u32>() > UNFLUSHED_MAX
    }

    /// The first page of a space whose entries are not flushed: the one that the open transaction
    /// began on, or the first that is not programmed.
    fn flushable(&self, space: Space) -> u32 {
        let open = if space == Space::Cold { None } else { self.records.open_page(space) };
        open.unwrap_or(self.media.head(space))
    }

    /// Flush the entries of committed rows that are on pages.
    pub(super) fn flush(&mut self) -> Result<(), DbError> {
        self.forget_frame();
        self.crowd_out()?;
        let limits = ROW_SPACES.map(|space| self.flushable(space));
        let is_programmed = self.is_programmed(limits);
        let mut lent =
            Lent { page: self.frame, cell: &mut self.scratch[..CELL_SIZE], commit: self.commit };
        self.store.flush(&mut self.media, &mut lent, &is_programmed)?;
        for (space, limit) in ROW_SPACES.into_iter().zip(limits) {
            debug_assert!(limit < self.media.numbers().page_count(), "the mark is a page");
            self.records.stream_mut(space).mark = limit;
        }
        Ok(())
    }

    /// Flush all entries before a commit, those of the open transaction last. So no entry that
    /// stays in RAM is older than the transaction's runs. Where this fails, nothing committed has
    /// changed, and the transaction can still be rolled back.
    pub(super) fn flush_all(&mut self) -> Result<(), DbError> {
        self.spill_tail()?;
        self.flush_open()?;
        self.crowd_out()?;
        let mut lent =
            Lent { page: self.frame, cell: &mut self.scratch[..CELL_SIZE], commit: self.commit };
        self.store.flush(&mut self.media, &mut lent, &|_| true)?;
        debug_assert!(self.store.held() == 0, "no entry is older than the transaction's runs");
        Ok(())
    }

    /// Note that the entries of all rows before the heads are in runs.
    pub(super) fn mark_flushed(&mut self) {
        debug_assert!(self.store.held() == 0, "no entry is in RAM alone");
        debug_assert!(self.records.tail.rows().is_empty(), "all rows are before the heads");
        for space in ROW_SPACES {
            self.records.stream_mut(space).mark = self.media.head(space);
        }
    }

    /// Merge runs until the table of runs has room for another one.
    fn crowd_out(&mut self) -> Result<(), DbError> {
        debug_assert!(self.doubt.is_none(), "nothing is programmed before it is certain");
        while self.store.is_crowded() {
            if self.under_way.is_some() {
                self.make_room_for_changes();
            }
            if !self.work()? {
                break;
            }
        }
        Ok(())
    }

    /// Do a slice of the store's work; returns whether there was any.
    #[inline(never)]
    pub(super) fn work(&mut self) -> Result<bool, DbError> {
        if !self.store.is_due() {
            return Ok(false);
        }
        self.forget_frame();
        let mut lent =
            Lent { page: self.frame, cell: &mut self.scratch[..CELL_SIZE], commit: self.commit };
        self.store.work(&mut self.media, &mut lent)?;
        Ok(true)
    }
}

impl From<StoreError> for DbError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Media(error) => error.into(),
            // Runs of the open transaction are as large as they may be, and no more can be listed.
            StoreError::Crowded => Self::TransactionTooLong,
            error => Self::Store(error),
        }
    }
}

/// Whether a row is of the table and has the key in an index in which it has an entry.
pub(super) fn carries(view: &RowView<'_, '_>, wanted: Wanted, key: &HashKey) -> bool {
    let index = view.table.indexes_of(view.head.kind).get(usize::from(wanted.index));
    let has_key = |index| view.digest(index, key) == Ok(wanted.digest);
    view.head.table == wanted.table && index.is_some_and(has_key)
}
