//! Rows whose keys share a code, in the order of their keys.
//!
//! The index does not order them. So a pass over all of them keeps the rows that come next, a few
//! at a time, and the next pass goes on behind these.
//!
//! 1. A pass reads rows and looks nothing up: rows that were inserted together lie on one page, so
//!    it costs the pages of the rows rather than the rows.
//! 2. Whether a row is current is asked when its turn comes, by a lookup of its primary key. One
//!    that is not is passed over. A pass may meet rows that were never committed: entries that are
//!    stale lead to them, but no lookup does.
//! 3. Where an entry came or went meanwhile, the pass is made again. Rows may go without that, with
//!    a block of which all rows are dead: those are passed over.

use flysch_nand::Nand;

use super::find::{Carried, Sought, columns_of};
use super::index::Wanted;
use super::{Db, DbError, Direction};
use crate::media::CELL_SIZE;
use crate::row::RowView;
use crate::row::order::End;
use crate::store::{All, Batch, Entry, Probe};

/// Rows that a pass keeps.
const ROOM: usize = 16;
/// The order of a row among those of one code: its key, as far as an end holds it, then its pointer
/// and its place.
pub(super) type Rank = (End, u32, u32);

/// The rows of one code, of which some were given.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) code: u64,
    /// The last row that had its turn, or the last place that rows of its key may have.
    after: Option<Rank>,
    /// The pointer and the place of that row, if it has its turn again.
    again: Option<(u32, u32)>,
    /// Pointers and places of the rows that come next, the next one at the end.
    next: [(u32, u32); ROOM],
    len: u8,
    /// Whether no row comes behind these.
    is_whole: bool,
    /// Whether all were given.
    is_over: bool,
    /// The state of the store in which they were found; None where nothing was looked for yet.
    found_at: Option<(u32, u32)>,
}

/// Which rows of an ordered index are given, and in which order.
#[derive(Debug)]
pub(super) struct Bounds {
    pub(super) table: u8,
    pub(super) index: u8,
    /// The ends of the range, where codes alone cannot tell whether a row lies between them.
    pub(super) ends: Option<(End, End)>,
    pub(super) direction: Direction,
    /// Whether each key has one row.
    pub(super) is_unique: bool,
}

/// The rows that come first of those seen in a pass.
struct Pass {
    /// In their order, the places that are free behind them.
    rows: [Option<Rank>; ROOM],
    /// Whether a row was left out for want of room.
    has_more: bool,
}

impl Bounds {
    pub(super) const fn sought(&self, code: u64) -> Sought<'_> {
        let carried = Carried::Code(code, self.ends.as_ref());
        Sought { table: self.table, index: self.index, carried, is_doubtful: true }
    }

    fn comes_before(&self, one: &Rank, other: &Rank) -> bool {
        if self.direction == Direction::Forward { one < other } else { one > other }
    }

    /// A place behind every row of a key.
    const fn last_of(&self, key: End) -> Rank {
        match self.direction {
            Direction::Forward => (key, u32::MAX, u32::MAX),
            Direction::Backward => (key, 0, 0),
        }
    }
}

impl Group {
    pub(super) const fn new(code: u64) -> Self {
        Self {
            code,
            after: None,
            again: None,
            next: [(0, 0); ROOM],
            len: 0,
            is_whole: false,
            is_over: false,
            found_at: None,
        }
    }

    /// The pointer and the place of the next row; None behind the last one. Cost: a lookup of the
    /// row's primary key, and a pass over the group for every few rows.
    #[inline(never)]
    pub(super) fn next<N: Nand>(
        &mut self,
        db: &mut Db<'_, '_, N>,
        bounds: &Bounds,
    ) -> Result<Option<(u32, u32)>, DbError> {
        while !self.is_over {
            let is_known = self.found_at == Some(db.store.generation());
            if !is_known || self.len == 0 && !self.is_whole {
                self.pass(db, bounds)?;
            }
            let Some(left) = self.len.checked_sub(1) else {
                self.is_over = true;
                break;
            };
            self.len = left;
            let (pointer, place) = self.next[usize::from(left)];
            let Some(rank) = db.rank_at(bounds, (pointer, place))? else { continue };
            (self.after, self.again) = (Some(rank), None);
            if self.is_current(db, bounds, (pointer, place))? {
                return Ok(Some((pointer, place)));
            }
            self.pass_dead(db, bounds, pointer)?;
        }
        Ok(None)
    }

    /// Pass a row that is not current. With the last one of its cell that cell's entry is taken
    /// back, if none of its rows with the code is current. Cost: one read, and with the last row of
    /// a cell a lookup for each of these.
    #[inline(never)]
    fn pass_dead<N: Nand>(
        &self,
        db: &mut Db<'_, '_, N>,
        bounds: &Bounds,
        pointer: u32,
    ) -> Result<(), DbError> {
        let stays = bounds.is_unique
            || !db.takes_back(bounds.table, bounds.index)?
            || self.has_more_in(db, bounds, pointer)?;
        if stays {
            return Ok(());
        }
        db.take_back_cell(bounds.sought(self.code), self.code, pointer)
    }

    /// Whether a row of a cell has not had its turn yet.
    fn has_more_in<N: Nand>(
        &self,
        db: &mut Db<'_, '_, N>,
        bounds: &Bounds,
        pointer: u32,
    ) -> Result<bool, DbError> {
        let mut place = 0;
        while db.next_row(pointer, bounds.sought(self.code), &mut place)?.is_some() {
            let ranks = self.after.as_ref().zip(db.rank_at(bounds, (pointer, place - 1))?);
            if ranks.is_some_and(|(after, rank)| bounds.comes_before(after, &rank)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether rows may be left to be given.
    pub(super) const fn is_under_way(&self) -> bool {
        !self.is_over
    }

    /// Have the row that was given last be the next one again, as it was not copied.
    pub(super) fn give_back(&mut self) {
        debug_assert!((self.len as usize) < ROOM, "the row has left a place");
        (self.len, self.is_over) = (self.len + u8::from(!self.is_over), false);
        self.again = self.after.map(|(_, pointer, place)| (pointer, place));
    }

    /// Leave the key of the row that was given last, if no other row has it: an update may have put
    /// another entry of it.
    pub(super) fn leave(&mut self, bounds: &Bounds) {
        if let Some((key, ..)) = self.after.filter(|(key, ..)| bounds.is_unique && key.is_whole()) {
            self.after = Some(bounds.last_of(key));
        }
    }

    /// Whether a lookup by the primary key ends at this very row. It tells a row that was replaced,
    /// and one that was never committed.
    fn is_current<N: Nand>(
        &self,
        db: &mut Db<'_, '_, N>,
        bounds: &Bounds,
        (pointer, mut place): (u32, u32),
    ) -> Result<bool, DbError> {
        let seat = (pointer, place);
        let candidate = db.next_row(pointer, bounds.sought(self.code), &mut place)?;
        let Some(candidate) = candidate.filter(|it| it.is_last) else { return Ok(false) };
        let Some(digest) = candidate.key else { return Ok(true) };
        let found = db.seek(Wanted { table: bounds.table, index: 0, digest })?.row();
        Ok(found.is_some_and(|found| (found.pointer, found.place) == seat))
    }

    /// The row of a code that no two keys have, as a reader of the past sees it: of its versions
    /// the first one that leads to a current row. Cost: a lookup.
    #[inline(never)]
    pub(super) fn only<N: Nand>(
        &mut self,
        db: &mut Db<'_, '_, N>,
        bounds: &Bounds,
    ) -> Result<Option<(u32, u32)>, DbError> {
        if core::mem::replace(&mut self.is_over, true) {
            return Ok(None);
        }
        let number = db.kept(bounds.table, bounds.index)?.number;
        let mut probe = Probe::new(db.store.config(), number, self.code);
        while let Some(Entry { pointer, .. }) = db.next_entry(&mut probe)? {
            if db.may_see(pointer)
                && let Some(place) = db.live_row(pointer, bounds.sought(self.code), &mut 0)?
            {
                return Ok(Some((pointer, place)));
            }
        }
        Ok(None)
    }

    /// Look at all rows of the code, and keep those that come next.
    #[inline(never)]
    fn pass<N: Nand>(&mut self, db: &mut Db<'_, '_, N>, bounds: &Bounds) -> Result<(), DbError> {
        let mut pass = Pass::NONE;
        let number = db.kept(bounds.table, bounds.index)?.number;
        let mut all = All::new(db.store.config(), number, self.code);
        let mut some = Batch::EMPTY;
        loop {
            let lent = (&mut db.media, &mut db.scratch[..CELL_SIZE]);
            if !all.next(&db.store, lent, &mut some)? {
                break;
            }
            for &pointer in some.as_slice() {
                if db.may_see(pointer) {
                    self.look_in(db, bounds, pointer, &mut pass)?;
                }
            }
        }
        self.found_at = Some(db.store.generation());
        self.is_whole = !pass.has_more;
        self.len = pass.rows.iter().flatten().count() as u8;
        let rows = pass.rows.iter().flatten().rev();
        for (next, (_, pointer, place)) in self.next.iter_mut().zip(rows) {
            *next = (*pointer, *place);
        }
        Ok(())
    }

    /// Offer the rows of a cell.
    #[inline(never)]
    fn look_in<N: Nand>(
        &self,
        db: &mut Db<'_, '_, N>,
        bounds: &Bounds,
        pointer: u32,
        pass: &mut Pass,
    ) -> Result<(), DbError> {
        let (schema, hash, sight) = (db.schema, db.key, db.view);
        let (sought, kept) = (bounds.sought(self.code), db.kept(bounds.table, bounds.index)?);
        let index = db.index(bounds.table, bounds.index)?;
        let stretch = db.rows_at(pointer, false)?;
        let base = u64::from(stretch.base);
        for (place, row) in (0..).zip(stretch.rows()) {
            let view = RowView::parse_front(schema, row, base)?;
            if sight.sees(&view) && sought.is_met_by(&view, (index, &hash), kept) {
                let rank = (End::front(columns_of(&view, index)), pointer, place);
                let is_again = self.again == Some((pointer, place));
                let is_behind = |after: &Rank| bounds.comes_before(after, &rank);
                if is_again || self.after.as_ref().is_none_or(is_behind) {
                    pass.offer(&rank, bounds);
                }
            }
        }
        Ok(())
    }
}

impl Pass {
    /// No row was seen yet.
    const NONE: Self = Self { rows: [None; ROOM], has_more: false };

    /// Keep a row if it comes before one of those that are kept, or if there is room.
    #[inline(never)]
    fn offer(&mut self, rank: &Rank, bounds: &Bounds) {
        let is_before = |kept: &Rank| bounds.comes_before(kept, rank);
        let at = self.rows.partition_point(|kept| kept.as_ref().is_some_and(is_before));
        if self.rows.get(at).is_some_and(|kept| kept.as_ref() == Some(rank)) {
            return;
        }
        self.has_more |= self.rows[ROOM - 1].is_some();
        if let Some(last) = self.rows[at..].last_mut() {
            *last = Some(*rank);
            self.rows[at..].rotate_right(1);
        }
        debug_assert!(self.rows.is_sorted_by_key(Option::is_none), "they stand together");
    }
}

impl<N: Nand> Db<'_, '_, N> {
    /// Where a row stands in the order of the keys; None where no row is there any more: the block
    /// of a row that is not current may have been given back, without a change of any entry. Cost:
    /// nothing where its page was just read.
    pub(super) fn rank_at(
        &mut self,
        bounds: &Bounds,
        (pointer, place): (u32, u32),
    ) -> Result<Option<Rank>, DbError> {
        let indexed = self.index(bounds.table, bounds.index)?;
        let Some(view) = self.front_if_there(pointer, place)? else { return Ok(None) };
        debug_assert!(view.head.table == bounds.table, "others come with entries or commits");
        Ok(Some((End::front(columns_of(&view, indexed)), pointer, place)))
    }
}
