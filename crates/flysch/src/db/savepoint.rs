//! Savepoints: places in a transaction to which it may be taken back.
//!
//! 1. What was done since is taken back as by a rollback: pages that were programmed become a void
//!    span, and the rows of the first of them are in the tail again.
//! 2. Entries do not say which savepoint they came after. So all entries of the transaction are
//!    dropped, and those of the rows before the savepoint are derived again.

use flysch_nand::Nand;

use super::{Db, DbError, Transaction, UnderWay};
use crate::media::{Page, SPANS_LAST, Space};
use crate::record::{MARKS_MAX, Mark, PART_SPACES, Rows};
use crate::row::RowView;

/// Greatest number of savepoints that a program may hold at a time.
pub const SAVEPOINTS_MAX: usize = MARKS_MAX - 1;

/// A place in a transaction to which it can be taken back. It is of use in that transaction alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Savepoint {
    number: u8,
    serial: u16,
}

impl<N: Nand> Transaction<'_, '_, '_, N> {
    /// Make a savepoint here. [`DbError::Savepoint`] where there are [`SAVEPOINTS_MAX`] already.
    /// Cost: none.
    pub fn savepoint(&mut self) -> Result<Savepoint, DbError> {
        if self.db.records.marks.len() >= SAVEPOINTS_MAX {
            return Err(DbError::Savepoint);
        }
        self.db.mark()
    }

    /// Take back everything since a savepoint. The savepoint itself stays; later ones are gone.
    /// [`DbError::Savepoint`] where it is gone itself. [`DbError::Full`] where the transaction went
    /// back some ten times already, over pages that it had programmed; it can only be rolled back
    /// then. Cost: none where nothing was done since; else one read where a page was programmed
    /// since, and one for each page that the transaction had programmed before. Entries of its rows
    /// that find no room in the memory table go to runs once more, as those of inserts do.
    pub fn roll_back_to(&mut self, savepoint: Savepoint) -> Result<(), DbError> {
        self.db.roll_back_to(savepoint)
    }

    /// Forget a savepoint and all later ones. What was done stays. Cost: none.
    pub fn release(&mut self, savepoint: Savepoint) {
        self.db.forget_mark(savepoint);
    }
}

impl<N: Nand> Db<'_, '_, N> {
    /// Make a savepoint in the open transaction.
    pub(super) fn mark(&mut self) -> Result<Savepoint, DbError> {
        debug_assert!(self.under_way.is_some(), "a savepoint is one of a transaction");
        let (lens, first) = (self.tail_lens(), [None; PART_SPACES.len()]);
        let (rows, came) = (self.row_count(), self.records.came());
        self.savepoints = self.savepoints.wrapping_add(1);
        let serial = self.savepoints;
        let mark = Mark { serial, lens, first, rows, came };
        let number = self.records.marks.len() as u8;
        let is_set = self.records.marks.push(mark);
        if is_set { Ok(Savepoint { number, serial }) } else { Err(DbError::Savepoint) }
    }

    /// The mark of a savepoint; None where the savepoint is gone.
    fn mark_of(&self, savepoint: Savepoint) -> Option<Mark> {
        let mark = self.records.marks.get(usize::from(savepoint.number));
        mark.filter(|mark| mark.serial == savepoint.serial)
    }

    pub(super) fn forget_mark(&mut self, savepoint: Savepoint) {
        if self.mark_of(savepoint).is_some() {
            self.records.marks.truncate(usize::from(savepoint.number));
        }
    }

    /// Make a change whole: where it fails, what it did so far is taken back.
    pub(super) fn whole<T>(
        &mut self,
        change: impl FnOnce(&mut Self) -> Result<T, DbError>,
    ) -> Result<T, DbError> {
        let marks = self.records.marks.len();
        let mark = self.mark()?;
        let done = change(self);
        if done.is_err() {
            self.roll_back_to(mark)?;
        }
        self.forget_mark(mark);
        debug_assert!(
            self.records.marks.len() == marks,
            "the program's savepoints are as they were"
        );
        done
    }

    /// Take the open transaction back to a savepoint.
    #[inline(never)]
    pub(super) fn roll_back_to(&mut self, savepoint: Savepoint) -> Result<(), DbError> {
        let number = usize::from(savepoint.number);
        let mark = self.mark_of(savepoint).ok_or(DbError::Savepoint)?;
        debug_assert!(mark.rows <= self.row_count(), "a savepoint lies behind");
        if self.stands_at(&mark) {
            self.records.marks.truncate(number + 1);
            return Ok(());
        }
        self.forget_frame();
        self.under_way = self.under_way.map(|tx| UnderWay { is_spoilt: true, ..tx });
        // The state must keep room for the spans of mounts. Taking all back leaves no more spans
        // than a transaction that has no savepoint.
        let parts = mark.first.iter().flatten().count();
        if parts > 0 && self.media.spans.as_slice().len() + 2 * parts > SPANS_LAST {
            return Err(DbError::Full);
        }
        self.store.roll_back();
        let mut moves = [None; PART_SPACES.len()];
        let to_fill = (&mut *self.frame, &mut moves);
        let done = self.records.roll_back_to(mark, &mut self.media, to_fill);
        if moves.iter().any(Option::is_some) {
            moves.into_iter().flatten().for_each(|moved| self.rename(moved));
            self.log.forget_tail();
        }
        done?;
        self.records.marks.truncate(number);
        let of_mark = |tx: UnderWay| UnderWay {
            rows: mark.rows,
            grown: tx.grown.min(mark.rows),
            has_runs: false,
            is_spoilt: true,
            ..tx
        };
        self.under_way = self.under_way.map(of_mark);
        let is_set = self.records.marks.push(Mark { first: [None; PART_SPACES.len()], ..mark });
        debug_assert!(is_set, "there was room for it before");
        debug_assert!(self.records.marks.len() == number + 1, "later savepoints are gone");
        debug_assert!(self.tail_lens() == mark.lens, "the tail is as it was");
        PART_SPACES.into_iter().try_for_each(|space| self.derive_open(space))?;
        self.under_way = self.under_way.map(|tx| UnderWay { is_spoilt: false, ..tx });
        Ok(())
    }

    /// Whether nothing was appended since a mark, nor taken back in part.
    fn stands_at(&self, mark: &Mark) -> bool {
        self.check_spoilt().is_ok()
            && (mark.rows, mark.lens) == (self.row_count(), self.tail_lens())
            && mark.first.iter().all(Option::is_none)
    }

    /// Bytes in each part of the tail.
    fn tail_lens(&self) -> [u16; PART_SPACES.len()] {
        PART_SPACES.map(|space| self.records.tail.len_of(space) as u16)
    }

    /// Derive the entries of the open transaction's rows in a space, and put them into the memory
    /// table.
    fn derive_open(&mut self, space: Space) -> Result<(), DbError> {
        let (mut page, mut place) = self.records.open_start(space);
        loop {
            if page.is_some_and(|page| page == self.media.head(space)) {
                // The pages are done: the tail comes next.
                (page, place) = (None, 0);
            }
            let at = page.map(|number| Page { space, number });
            let Some((from, to)) = self.load_open(space, at, place)? else {
                let Some(number) = page else { return Ok(()) };
                page = Some(self.media.numbers().advance(number, 1));
                place = 0;
                continue;
            };
            let bytes = if page.is_some() { &self.frame[..] } else { self.records.tail.rows() };
            let table = RowView::parse_front(self.schema, &bytes[from..to], 0)?.head.table;
            if !self.store.has_room(self.table(table)?.indexes.len()) {
                self.make_room(table)?;
                if page.is_none() && self.records.tail.len_of(space) == 0 {
                    // The tail was programmed meanwhile, as the page before the head.
                    let numbers = self.media.numbers();
                    let head = self.media.head(space);
                    page = Some(numbers.advance(head, numbers.page_count() - 1));
                }
                continue;
            }
            place = match at {
                Some(at) => self.replay_row(at, place, (from, to))?,
                None => self.replay_tail(space, place)?,
            };
        }
    }

    /// Bring the row at a place of the open transaction to hand, from its page or the tail; None
    /// behind the last row. Cost: a read, unless the frame holds the page.
    fn load_open(
        &mut self,
        space: Space,
        page: Option<Page>,
        place: usize,
    ) -> Result<Option<(usize, usize)>, DbError> {
        let Some(at) = page else { return Ok(self.records.tail.find(space, place)) };
        Ok(Rows::from(self.stretch_on(at, None)?.bytes(), place).next_front())
    }
}
