//! The newest row of a key, and whether a given row is the newest of its key.
//!
//! 1. A lookup goes from the newest entries to the oldest. The first row that has the key is the
//!    answer, be it a row or a tombstone. Of rows in the same cell the last one counts.
//! 2. An entry may be stale: it costs a read and never gives a wrong answer. Once one led to
//!    another row, later pages are checked against the summaries of their blocks, for they may be
//!    void.
//! 3. A row is current if the primary key's index leads to that very row. In a table of which no
//!    row was ever replaced, deleted or moved, all rows are.

use flysch_nand::Nand;

use super::index::{Wanted, carries};
use super::{Db, DbError};
use crate::media::{CELL_SIZE, MediaError, Page, Space};
use crate::record::{BlockSummary, Cells, Position, Stretch, is_void, tail_page};
use crate::row::{Digest, RowHead, RowKind, RowView, Schema};
use crate::store::{Entry, Newest, Probe, SoleProbe, TOMBSTONE};

/// Where a row was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seat {
    /// The pointer of its cell, and its place among the rows that begin there.
    pub(super) pointer: u32,
    pub(super) place: u32,
    /// The digest of its primary key; the same for all rows where the table has none.
    pub(super) key: Digest,
    pub(super) head: RowHead,
    /// Bytes of the row.
    pub(super) len: usize,
    /// Whether no later row of its cell has the same primary key.
    pub(super) is_last: bool,
}

/// What a lookup of one key found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sought {
    /// The newest row that has the key, or its tombstone; None where there is neither.
    pub(super) seat: Option<Seat>,
    /// Whether a row of another key with the same code was met.
    pub(super) has_met: bool,
}

impl Sought {
    /// Whether a new row of this key has to be marked as shared, see `docs/format.md`.
    pub(super) fn is_shared(&self) -> bool {
        self.has_met || self.seat.is_some_and(|seat| seat.head.is_shared)
    }

    /// The row, unless it is deleted.
    pub(super) fn row(&self) -> Option<Seat> {
        self.seat.filter(|seat| seat.head.kind != RowKind::Tombstone)
    }
}

impl<'s, N: Nand> Db<'_, 's, N> {
    /// Whether rows of a table on flash may have been replaced, deleted or moved.
    pub(super) fn is_changed(&self, table: u8) -> bool {
        self.records.changed >> table & 1 != 0
    }

    /// Whether a row that another index led to must also be looked up by its primary key, to see
    /// whether it is current.
    pub(super) fn is_checked(&self, table: u8) -> Result<bool, DbError> {
        Ok(self.is_changed(table) && self.table(table)?.primary_key().is_some())
    }

    /// Whether a table has a primary key.
    fn is_keyed(&self, table: u8) -> bool {
        self.table(table).is_ok_and(|table| table.primary_key().is_some())
    }

    /// Note that rows of a table may be replaced, deleted or moved from now on.
    pub(super) fn set_changed(&mut self, table: u8) {
        if !self.is_changed(table) {
            self.records.changed |= 1 << table;
            self.is_log_due = true;
            self.note_changed();
        }
    }

    /// Tell the store which indexes may hold stale entries, so that lookups begin at the newest
    /// ones.
    pub(super) fn note_changed(&mut self) {
        for (table, declared) in (0..).zip(self.schema.tables) {
            for index in 0..declared.indexes.len() as u8 {
                if let Some(kept) = self.kept(table, index).ok().filter(|_| self.is_changed(table))
                {
                    self.store.set_updated(kept.number);
                }
            }
        }
    }

    /// Whether a row to which an index led is current. Cost: none in the primary key's index, which
    /// leads to the newest row; else see [`Db::is_newest`].
    pub(super) fn is_current(&mut self, seat: Seat, index: u8) -> Result<bool, DbError> {
        if index == 0 || !self.is_checked(seat.head.table)? {
            return Ok(true);
        }
        Ok(seat.is_last && self.is_newest(seat.head.table, seat.key, seat.pointer)?)
    }

    /// A probe of the index for the entries of a key. Cost: none.
    pub(super) fn probe(&self, wanted: Wanted) -> Result<Probe, DbError> {
        let (number, code) = self.code(wanted)?;
        Ok(Probe::new(self.store.config(), number, code))
    }

    /// The next entry of a probe. Cost: as [`Probe::next`].
    #[inline(never)]
    pub(super) fn next_entry(&mut self, probe: &mut Probe) -> Result<Option<Entry>, DbError> {
        Ok(probe.next(&self.store, &mut self.media, &mut self.scratch[..CELL_SIZE])?)
    }

    /// A probe of a unique index for the entries of a key. Cost: none.
    pub(super) fn sole_probe(&self, wanted: Wanted) -> Result<SoleProbe, DbError> {
        let index = || self.index(wanted.table, wanted.index);
        debug_assert!(index().is_ok_and(|index| index.is_unique), "a key has one current row");
        let (number, code) = self.code(wanted)?;
        // Where tables share an index of the store, others may be changed.
        let is_final = !self.is_changed(wanted.table);
        Ok(if is_final { SoleProbe::of_final(number, code) } else { SoleProbe::new(number, code) })
    }

    /// The next entry of a probe of a unique index. Cost: as [`Probe::next`].
    #[inline(never)]
    pub(super) fn next_sole(&mut self, probe: &mut SoleProbe) -> Result<Option<Entry>, DbError> {
        Ok(probe.next(&self.store, &mut self.media, &mut self.scratch[..CELL_SIZE])?)
    }

    /// The newest row of a key in a unique index. Cost: a lookup; a read of the row where the key
    /// was looked up shortly before.
    #[inline(never)]
    pub(super) fn seek(&mut self, wanted: Wanted) -> Result<Sought, DbError> {
        let newest = self.newest(wanted)?;
        self.seek_from(wanted, newest)
    }

    /// The same, where it is given what is known of the newest entry of the key's code.
    pub(super) fn seek_from(
        &mut self,
        wanted: Wanted,
        newest: Option<Newest>,
    ) -> Result<Sought, DbError> {
        match newest {
            Some(Newest::Absent) => return Ok(Sought::default()),
            Some(Newest::At(pointer)) => {
                let mut has_met = false;
                let seat = self.look_in(pointer, wanted, false, &mut has_met)?;
                if seat.is_some() {
                    return Ok(Sought { seat, has_met });
                }
            }
            None => {}
        }
        self.seek_anew(wanted)
    }

    fn seek_anew(&mut self, wanted: Wanted) -> Result<Sought, DbError> {
        let mut probe = self.sole_probe(wanted)?;
        let mut sought = Sought::default();
        let (mut has_entry, mut is_deep) = (false, false);
        while let Some(entry) = self.next_sole(&mut probe)? {
            has_entry = true;
            if !self.may_see(entry.pointer) {
                continue;
            }
            sought.seat = self.seat_of(entry, wanted, is_deep, &mut sought.has_met)?;
            if sought.seat.is_some() {
                break;
            }
            is_deep = true;
        }
        debug_assert!(
            sought.seat.is_none_or(|seat| seat.head.table == wanted.table),
            "it has the key"
        );
        match sought.seat {
            Some(seat) => self.note_newest(wanted, Newest::At(seat.pointer), sought.has_met)?,
            None => self.note_newest(wanted, Newest::Absent, has_entry)?,
        }
        Ok(sought)
    }

    /// What an earlier lookup noted of a key's newest entry. A reader of the past may ask as well:
    /// the row says whether that reader sees it.
    fn newest(&self, wanted: Wanted) -> Result<Option<Newest>, DbError> {
        let (number, code) = self.code(wanted)?;
        Ok(self.store.newest(number, code))
    }

    /// Note the newest entry of a key, unless an entry of its code was met that led elsewhere. In
    /// the past another one was the newest.
    fn note_newest(&self, wanted: Wanted, newest: Newest, has_met: bool) -> Result<(), DbError> {
        let (number, code) = self.code(wanted)?;
        if !has_met && !self.view.is_past() {
            self.store.note_newest(number, code, newest);
        }
        Ok(())
    }

    /// Whether a row is the newest of its key. `pointer` names its cell, of which it must be the
    /// last row of that key. Cost: a lookup in the index, and a read of a row where it is not.
    #[inline(never)]
    pub(super) fn is_newest(
        &mut self,
        table: u8,
        digest: Digest,
        pointer: u32,
    ) -> Result<bool, DbError> {
        debug_assert!(self.is_keyed(table), "a row is replaced by its key");
        let wanted = Wanted { table, index: 0, digest };
        let mut probe = self.sole_probe(wanted)?;
        let (mut is_deep, mut has_met) = (false, false);
        while let Some(entry) = self.next_sole(&mut probe)? {
            let is_own = entry.pointer == pointer;
            // Behind an entry that led elsewhere the row itself may lie on a void page.
            if is_own && !is_deep && !entry.is(TOMBSTONE) {
                self.note_newest(wanted, Newest::At(pointer), has_met)?;
                return Ok(true);
            }
            if !is_own && !self.may_see(entry.pointer) {
                continue;
            }
            if self.seat_of(entry, wanted, is_deep, &mut has_met)?.is_some() {
                return Ok(is_own);
            }
            is_deep = true;
        }
        Ok(false)
    }

    /// The last row with the key of the cell that an entry names. An entry of a tombstone that
    /// leads to a row is stale, so that the page may be void.
    fn seat_of(
        &mut self,
        entry: Entry,
        wanted: Wanted,
        is_deep: bool,
        has_met: &mut bool,
    ) -> Result<Option<Seat>, DbError> {
        let seat = self.look_in(entry.pointer, wanted, is_deep, has_met)?;
        let is_row = seat.is_some_and(|seat| seat.head.kind != RowKind::Tombstone);
        if entry.is(TOMBSTONE) && is_row && !is_deep {
            return self.look_in(entry.pointer, wanted, true, has_met);
        }
        Ok(seat)
    }

    /// Whether compaction must keep a tombstone, the last row of its key in its cell. It must where
    /// the tombstone is the newest of its key, and an entry leads to a row of the key in another
    /// block: that row would come back. Cost: as a lookup of an absent key.
    #[inline(never)]
    pub(super) fn ends_rows(
        &mut self,
        table: u8,
        digest: Digest,
        pointer: u32,
    ) -> Result<bool, DbError> {
        debug_assert!(self.is_keyed(table), "a tombstone has a key");
        let wanted = Wanted { table, index: 0, digest };
        let mut probe = self.sole_probe(wanted)?;
        let (mut has_passed, mut is_deep) = (false, false);
        while let Some(entry) = self.next_sole(&mut probe)? {
            has_passed |= entry.pointer == pointer;
            let goes_too = has_passed && self.are_of_one_block(entry.pointer, pointer);
            if !goes_too && self.seat_of(entry, wanted, is_deep, &mut false)?.is_some() {
                return Ok(has_passed);
            }
            is_deep = true;
        }
        Ok(false)
    }

    /// Whether two pointers name cells of the same block of rows.
    fn are_of_one_block(&self, one: u32, other: u32) -> bool {
        let (layout, numbers) = (self.media.layout(), self.media.numbers());
        let block = |pointer| {
            let at = Position::of_pointer(pointer, layout, numbers)?;
            Some((at.page.space, numbers.block_of(at.page.number)))
        };
        block(one).is_some() && block(one) == block(other)
    }

    /// The last row of a cell that has the key. `has_met` is set where a row of another key there
    /// has the same code.
    #[inline(never)]
    pub(super) fn look_in(
        &mut self,
        pointer: u32,
        wanted: Wanted,
        is_deep: bool,
        has_met: &mut bool,
    ) -> Result<Option<Seat>, DbError> {
        let (schema, hash) = (self.schema, self.key);
        let index = self.index(wanted.table, wanted.index)?;
        let primary = self.table(wanted.table)?.primary_key();
        let kept = self.kept(wanted.table, wanted.index)?;
        let code = kept.code(wanted.digest);
        let sight = self.view;
        let primary_of = |view: &RowView<'_, '_>| {
            primary.map_or(Ok(Digest::default()), |primary| view.digest(primary, &hash))
        };
        let mut seat: Option<Seat> = None;
        let stretch = self.rows_at(pointer, is_deep)?;
        let base = u64::from(stretch.base);
        for (place, row) in (0..).zip(stretch.rows()) {
            let view = RowView::parse_front(schema, row, base)?;
            if !sight.sees(&view) {
                continue;
            }
            if carries(&view, wanted, &hash) {
                let key = primary_of(&view)?;
                let (head, len) = (view.head, view.row_len);
                seat = Some(Seat { pointer, place, key, head, len, is_last: true });
                continue;
            }
            if let Some(seat) = seat.as_mut().filter(|_| view.head.table == wanted.table) {
                seat.is_last &= seat.key != primary_of(&view)?;
            }
            let declared = (wanted.table, index);
            *has_met = *has_met || kept.is_code_of(&view, declared, (schema, &hash), code);
        }
        Ok(seat)
    }

    /// The rows that begin in the cell which a pointer names, from flash or from the tail. None
    /// where the pointer leads to no valid row. Cost: nothing in the tail; else one read, two where
    /// a row is long. `is_deep` says that an entry led elsewhere before: it takes one more to see
    /// whether the page is void.
    pub(super) fn rows_at(&mut self, pointer: u32, is_deep: bool) -> Result<Stretch<'_>, DbError> {
        let (layout, numbers) = (self.media.layout(), self.media.numbers());
        let Some(at) = Position::of_pointer(pointer, layout, numbers) else {
            return Ok(Stretch::NONE);
        };
        if self.is_tail(at.page) {
            let place = (at.page.space, at.cell);
            return Ok(Stretch::of_cell(&self.records.tail, place, layout));
        }
        if !self.is_before_head(at.page) || is_deep && self.is_void(at.page)? {
            return Ok(Stretch::NONE);
        }
        self.held = None;
        let is_dated = self.view.is_past();
        let held = self.held_cells.take();
        let cells = match held.filter(|held| held.hold(self.frame, at, is_dated)) {
            Some(held) => held,
            None => match Cells::read(&mut self.media, at, (held, is_dated), self.frame) {
                Ok(cells) => cells,
                // The page was being programmed at a cut. A stale entry names it from an earlier
                // use of the block.
                Err(MediaError::Corrupt(_)) if self.is_void(at.page)? => return Ok(Stretch::NONE),
                Err(error) => return Err(error.into()),
            },
        };
        debug_assert!(self.held.is_none(), "the frame holds one page");
        self.held_cells = Some(cells);
        Ok(cells.rows(self.frame, at))
    }

    /// The first bytes of the row at a place of a cell, which is there. Cost: as [`Db::rows_at`].
    pub(super) fn front_at(
        &mut self,
        pointer: u32,
        place: u32,
    ) -> Result<RowView<'_, 's>, DbError> {
        self.front_if_there(pointer, place)?.ok_or(DbError::Unknown)
    }

    /// The same; None where no such row is there any more.
    pub(super) fn front_if_there(
        &mut self,
        pointer: u32,
        place: u32,
    ) -> Result<Option<RowView<'_, 's>>, DbError> {
        let schema: &'s Schema<'s> = self.schema;
        let row = self.rows_at(pointer, false)?.rows().nth(place as usize);
        Ok(row.map(|row| RowView::parse_front(schema, row, 0)).transpose()?)
    }

    /// Whether a page is one that a part of the tail will become.
    pub(super) fn is_tail(&self, page: Page) -> bool {
        page.space != Space::Cold && page == tail_page(&self.media, page.space)
    }

    /// Whether a page lies before the head of its space, and so was programmed.
    fn is_before_head(&mut self, page: Page) -> bool {
        let numbers = self.media.numbers();
        let head = self.media.head(page.space);
        let is_ahead =
            numbers.block_of(head) == numbers.block_of(page.number) && page.number >= head;
        !is_ahead && !is_void(&mut self.media, page, None)
    }

    /// Whether a page is void by the summary of its block. Cost: one read; none where the block
    /// before was the same, it has no void page, and nothing was programmed since.
    pub(super) fn is_void(&mut self, page: Page) -> Result<bool, DbError> {
        let block = self.media.numbers().block_of(page.number);
        let sound = Some((page.space, block, self.media.write));
        if self.sound_block == sound {
            return Ok(is_void(&mut self.media, page, None));
        }
        self.forget_frame();
        let summary = BlockSummary::read(&mut self.media, (page.space, block), self.frame)?;
        if summary.as_ref().is_none_or(|summary| !summary.has_void()) {
            self.sound_block = sound;
        }
        Ok(is_void(&mut self.media, page, summary.as_ref()))
    }
}
