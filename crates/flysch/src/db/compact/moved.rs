//! Moving the current rows of a window, or one row that is longer than a page.

use flysch_nand::Nand;

use super::super::{Db, DbError};
use super::Candidate;
use super::survey::is_spread;
use super::victim::{Place, Victim};
use crate::media::{DEAD_MAX, Media, MediaError, Page, Space};
use crate::record::{Rows, Source, read_page};
use crate::row::{HEAD_SIZE_MAX, RowView, commit_of, rebase, row_len};

/// Least number of rows for whose entries there must be room before a page of them is put together.
const ROWS_MIN: usize = 8;

impl<N: Nand> Db<'_, '_, N> {
    /// Move a row that is longer than a page, if it is current.
    pub(super) fn move_long(&mut self, row: Candidate) -> Result<(), DbError> {
        let Some(victim) = self.compaction.victim else { return Ok(()) };
        debug_assert!(row.len > self.media.layout().payload_size(), "others move in a window");
        let pages = row.len.div_ceil(self.media.layout().payload_size()) as u32;
        let behind = Place { page: victim.upto.page + pages, at: 0 };
        if !self.is_newest(row.table, row.key, row.pointer)? {
            self.note_upto(behind);
            return Ok(());
        }
        let count = self.table(row.table)?.indexes.len();
        self.make_room_for_moved(count)?;
        self.forget_frame();
        let here = victim.page(victim.upto.page, self.media.geometry().pages_per_block);
        let from = (here, pages, row.table);
        let to = self.records.move_long(&mut self.media, from, self.frame)?;
        let (stretch, _) = read_page(&mut self.media, to, self.frame)?;
        let len = stretch.bytes().len();
        self.set_changed(row.table);
        self.replay_row(to, 0, (0, len))?;
        self.store.commit();
        self.compaction.moves += 1;
        self.note_upto(behind);
        Ok(())
    }

    /// Make room in the memory table for so many entries of moved rows.
    fn make_room_for_moved(&mut self, entries: usize) -> Result<(), DbError> {
        debug_assert!(entries > 0, "rows have entries");
        if !self.store.has_room(entries) {
            self.flush()?;
        }
        if !self.store.has_room(entries) && !self.records.tail.rows().is_empty() {
            // Entries of rows in the tail leave no room.
            self.spill_tail()?;
            self.flush()?;
        }
        Ok(())
    }

    /// Program what goes before so many entries of moved rows: a run, or the summary of the block
    /// that the rows before them filled. It is a step of its own, so that a call that does a step
    /// programs one page as a rule. Returns whether anything was programmed.
    fn prepare_to_move(&mut self, entries: usize) -> Result<bool, DbError> {
        debug_assert!(entries > 0, "rows have entries");
        let before = self.media.write;
        if !self.store.has_room(entries) {
            self.flush()?;
        }
        if self.media.write == before {
            self.forget_frame();
            self.records.end_block(&mut self.media, Space::Cold, self.frame)?;
        }
        Ok(self.media.write != before)
    }

    /// Move the rows of the window, or make ready for it.
    #[inline(never)]
    pub(super) fn move_window(&mut self) -> Result<bool, DbError> {
        let widest = self.widest();
        let Some(victim) = self.compaction.victim else { return Ok(false) };
        debug_assert!(victim.len > 0 && !victim.is_surveyed, "a window with rows is moved");
        if !self.gains_by(&victim) {
            self.give_up_victim();
            return Ok(true);
        }
        let rows = victim.rows_of_page(self.media.layout().payload_size());
        if self.prepare_to_move(widest * rows.max(ROWS_MIN))? {
            return Ok(true);
        }
        self.make_room_for_moved(widest * ROWS_MIN)?;
        let merges = self.store.full_merges();
        if let Some(victim) = &mut self.compaction.victim
            && victim.tombstones_at.is_some_and(|before| before != merges)
        {
            victim.forget();
            return Ok(true);
        }
        self.copy_window(widest)
    }

    /// Whether a block is free for fewer pages than it has, as its first rows tell. Where the
    /// memory table has no room for the entries of a page of short rows, pages of moved rows hold
    /// fewer of them than those on which they lie.
    fn gains_by(&mut self, victim: &Victim) -> bool {
        let is_first = victim.from == Place { page: 0, at: 0 };
        let block = self.media.table.find(victim.space, victim.number);
        let is_asked = |block: &u32| {
            is_first && !self.has_to_free() && !self.compaction.survey.is_worth(*block)
        };
        let Some(block) = block.filter(is_asked) else { return true };
        let dead = usize::from(self.media.table.dead(block));
        let taken = victim.rows() * self.moved_size_min();
        let parts = usize::from(DEAD_MAX) + 1;
        debug_assert!(victim.bytes > 0, "a window with rows is moved");
        !is_spread(taken, victim.bytes) || (parts - dead) * taken <= (parts - 1) * victim.bytes
    }

    /// Copy rows of the window to a page of moved rows, as many as fit the page and the memory
    /// table.
    #[inline(never)]
    fn copy_window(&mut self, widest: usize) -> Result<bool, DbError> {
        let Some(mut victim) = self.compaction.victim else { return Ok(false) };
        debug_assert!(self.under_way.is_none(), "rows are moved between transactions");
        let before = (victim.from, victim.len);
        self.forget_frame();
        let Some(moved) = self.compose(&mut victim, widest)? else {
            self.give_up_victim();
            return Ok(true);
        };
        if moved.len > 0 {
            let bytes = (moved.len, moved.base);
            let records = &mut self.records;
            let page = records.program_moved(&mut self.media, self.schema, bytes, self.frame)?;
            self.put_moved(page, moved.len)?;
            self.compaction.owed += moved.rows as u32;
        }
        self.compaction.victim = Some(victim);
        Ok(before != (victim.from, victim.len))
    }

    /// Copy current rows of the window to the frame, until the page is full or the window ends.
    /// None where a row cannot be read.
    #[inline(never)]
    fn compose(&mut self, victim: &mut Victim, widest: usize) -> Result<Option<Moved>, DbError> {
        let pages = self.media.geometry().pages_per_block;
        let mut moved = Moved { from: victim.from, ..Moved::default() };
        while moved.passed < victim.len && !moved.is_full {
            if moved.from.page + 1 >= pages {
                return Ok(None);
            }
            let is_void = victim.is_void(moved.from.page);
            if !is_void && !self.compose_from(victim, &mut moved, widest)? {
                return Ok(None);
            }
            if !moved.is_full && moved.passed < victim.len {
                moved.from = Place { page: moved.from.page + 1, at: 0 };
            }
        }
        debug_assert!(moved.passed <= victim.len, "only rows of the window are moved");
        debug_assert!(moved.rows <= moved.passed, "a row is moved once");
        let is_done = moved.passed == victim.len;
        let from = if is_done { victim.upto } else { moved.from };
        victim.advance(moved.passed, from, moved.bytes);
        Ok(Some(moved))
    }

    /// Copy the current rows of one page; false where it cannot be read.
    fn compose_from(
        &mut self,
        victim: &Victim,
        moved: &mut Moved,
        widest: usize,
    ) -> Result<bool, DbError> {
        let at = victim.page(moved.from.page, self.media.geometry().pages_per_block);
        let payload = self.media.layout().payload_size();
        let mut source = match Source::open(&mut self.media, at, self.scratch) {
            Ok(source) => source,
            Err(MediaError::Corrupt(_) | MediaError::Missing(_)) => return Ok(false),
            Err(error) => return Err(error.into()),
        };
        while moved.passed < victim.len && moved.from.at < source.used {
            let mut front = [0; HEAD_SIZE_MAX];
            let some = front.len().min(source.used - moved.from.at);
            source.take(&mut self.media, moved.from.at, &mut front[..some])?;
            let Ok(len) = row_len(&front[..some]) else { return Ok(false) };
            if victim.bit(moved.passed) {
                let front = &front[..some.min(len)];
                let out = &mut self.frame[..payload];
                moved.is_full = !self.store.has_room(widest * (moved.rows + 1))
                    || !moved.add(&mut self.media, &mut source, (len, front), out)?;
                if moved.is_full {
                    break;
                }
                moved.bytes += len;
            }
            moved.passed += 1;
            moved.from.at += len;
        }
        Ok(true)
    }

    /// Put the entries of the rows that now lie at the beginning of the frame.
    fn put_moved(&mut self, page: Page, len: usize) -> Result<(), DbError> {
        let mut at = 0;
        while let Some(row) = Rows::from(&self.frame[..len], at).next_front() {
            let view = RowView::parse_front(self.schema, &self.frame[row.0..row.1], 0)?;
            let table = view.head.table;
            self.set_changed(table);
            at = self.replay_row(page, at, row)?;
        }
        debug_assert!(at == len, "each row of the page has its entries");
        self.store.commit();
        self.compaction.moves += 1;
        Ok(())
    }
}

/// A page of moved rows being put together.
#[derive(Clone, Copy, Debug, Default)]
struct Moved {
    /// Rows and bytes on it, and the commit of the first row.
    rows: usize,
    len: usize,
    base: u32,
    /// How many rows of the window were passed, where the next one lies, and the bytes of those
    /// that were current.
    passed: usize,
    from: Place,
    bytes: usize,
    /// Whether the next row does not fit.
    is_full: bool,
}

impl Moved {
    /// Copy the next row of the source, of so many bytes and with this front; false where `out` has
    /// no room for it. Cost: a read for each cell or two.
    fn add<N: Nand>(
        &mut self,
        media: &mut Media<'_, N>,
        source: &mut Source<'_>,
        (len, front): (usize, &[u8]),
        out: &mut [u8],
    ) -> Result<bool, DbError> {
        if self.rows == 0 {
            self.base = commit_of(front, source.base)? as u32;
        }
        let new = rebase(front, source.base, self.base)?;
        let end = self.len + new.len + (len - new.old_len);
        let Some(out) = out.get_mut(self.len..end) else { return Ok(false) };
        let (prefix, rest) = out.split_at_mut(new.len);
        prefix.copy_from_slice(&new.bytes[..new.len]);
        source.take(media, self.from.at + new.old_len, rest)?;
        debug_assert!(end > self.len, "a row has bytes");
        (self.len, self.rows) = (end, self.rows + 1);
        Ok(true)
    }
}
