//! Whether an entry is missing: no other leads to its row, nor to a newer one of its key.
//!
//! 1. Of rows whose codes are the same and which are not marked as shared, only the newest may be
//!    there: it would have met another. So an older one of another key is a *rival* that was
//!    deleted, whether or not its tombstone is still there.

use flysch_nand::Nand;

use super::pass::Suspect;
use crate::db::index::Wanted;
use crate::db::seek::Seat;
use crate::db::{Db, DbError};
use crate::media::{CELL_SIZE, Layout, Space};
use crate::record::{Position, read_page};
use crate::row::{RowKind, RowView};
use crate::store::{SHARED, Sight, Sweep, TOMBSTONE};

/// Whether an entry is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Missing {
    No,
    /// It is missing, or its row was deleted long ago, which `is_doubtful` says. The entry of a
    /// rival is to be taken back.
    Yes {
        is_doubtful: bool,
        rival: Option<u32>,
    },
}

impl Missing {
    const CERTAIN: Self = Self::Yes { is_doubtful: false, rival: None };
}

/// A row of another key that has the code of a suspect, where neither is shared.
#[derive(Clone, Copy, Debug)]
struct Rival {
    age: Age,
    /// Whether no other row of the code begins in its cell.
    is_alone: bool,
}

/// Rows of one key in the order of their age. Those of one commit are told apart by where they lie:
/// only the newest one is ever moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Age {
    commit: u64,
    is_moved: bool,
    /// Pages from the first one of the space on.
    page: u32,
    cell: u32,
    place: u32,
}

/// Whether an entry is among those of its code, and was not taken back.
struct Seen {
    pointer: u32,
    is_there: bool,
    is_ended: bool,
}

impl Sight for Seen {
    fn limit(&self) -> u32 {
        self.pointer
    }

    fn falls(&self) -> bool {
        false
    }

    fn begin(&mut self) {
        self.is_ended = false;
    }

    fn see(&mut self, pointer: u32) {
        self.is_there |= pointer == self.pointer && !self.is_ended;
    }

    fn pass_over(&mut self, pointer: u32) {
        self.is_ended |= pointer == self.pointer;
    }
}

impl<N: Nand> Db<'_, '_, N> {
    /// Ask with lost pages taken for empty.
    pub(super) fn passing_over_lost<T>(
        &mut self,
        ask: impl FnOnce(&mut Self) -> Result<T, DbError>,
    ) -> Result<T, DbError> {
        self.store.pass_over_lost(true);
        let answer = ask(self);
        self.store.pass_over_lost(false);
        answer
    }

    /// Whether an entry is missing, as far as the other pages tell. Cost: a lookup of its key, one
    /// more for an index that is not the primary key, and a read where an older row is found.
    pub(super) fn missing(&mut self, suspect: &Suspect) -> Result<Missing, DbError> {
        let declared = self.table(suspect.head.table)?;
        if suspect.index == 0 && declared.primary_key().is_some() {
            return self.missing_key(suspect);
        }
        let is_current = declared.primary_key().is_none() || {
            let wanted = Wanted { table: suspect.head.table, index: 0, digest: suspect.key };
            let row = self.seek(wanted)?.row();
            row.is_some_and(|row| (row.pointer, row.place) == (suspect.pointer, suspect.place))
        };
        let is_missing = is_current && !self.has_entry(suspect)?;
        Ok(if is_missing { Missing::CERTAIN } else { Missing::No })
    }

    /// The same for the entry of a primary key.
    fn missing_key(&mut self, suspect: &Suspect) -> Result<Missing, DbError> {
        let table = suspect.head.table;
        let wanted = Wanted { table, index: 0, digest: suspect.key };
        let own = self.look_in(suspect.pointer, wanted, true, &mut false)?;
        if own.is_none_or(|last| last.place != suspect.place) {
            return Ok(Missing::No);
        }
        debug_assert!(own.is_some_and(|last| last.key == suspect.key), "the row has its key");
        let is_shared = suspect.head.is_shared && self.kept(table, 0)?.may_meet;
        let is_tombstone = suspect.head.kind == RowKind::Tombstone;
        let age = self.age_of(suspect)?;
        // An older entry tells nothing more: this repair may have put it again itself, and a later
        // tombstone of the key is gone.
        let is_doubtful = !is_tombstone && self.is_changed(table);
        let mut probe = self.sole_probe(wanted)?;
        let mut rival = None;
        while let Some(entry) = self.next_sole(&mut probe)? {
            if entry.pointer == suspect.pointer {
                // Rows of several keys may begin in the cell, and older versions of this one.
                let is_own = entry.is(TOMBSTONE) == is_tombstone;
                if is_own && (entry.is(SHARED) || !is_shared) {
                    return Ok(Missing::No);
                }
                continue;
            }
            // The entry before it may be lost, so this one may be stale, and name a void page.
            if let Some(seat) = self.look_in(entry.pointer, wanted, true, &mut false)? {
                let is_newer = age > self.age_of_seat(seat)?;
                let found = Missing::Yes { is_doubtful, rival: None };
                return Ok(if is_newer { found } else { Missing::No });
            }
            if !is_shared && entry.is_sole() {
                match self.rival_in(entry.pointer, wanted)? {
                    Some(other) if other.age > age => return Ok(Missing::No),
                    Some(other) if other.is_alone => rival = rival.or(Some(entry.pointer)),
                    Some(_) | None => {}
                }
            }
        }
        Ok(Missing::Yes { is_doubtful, rival })
    }

    /// The row of another key in a cell that has the code and is not shared. Cost: a read.
    fn rival_in(&mut self, pointer: u32, wanted: Wanted) -> Result<Option<Rival>, DbError> {
        let index = self.index(wanted.table, wanted.index)?;
        let kept = self.kept(wanted.table, wanted.index)?;
        let (code, schema, hash) = (kept.code(wanted.digest), self.schema, self.key);
        let (mut found, mut count) = (None, 0);
        for (place, row) in (0..).zip(self.rows_at(pointer, true)?.rows()) {
            let view = RowView::parse_front(schema, row, 0)?;
            let is_like = kept.is_code_of(&view, (wanted.table, index), (schema, &hash), code);
            count += u32::from(is_like);
            if is_like && !view.head.is_shared {
                found = Some(place);
            }
        }
        let Some(place) = found else { return Ok(None) };
        let age = self.age_of_row(pointer, place)?;
        Ok(Some(Rival { age, is_alone: count == 1 }))
    }

    /// Whether the store has the entry.
    fn has_entry(&mut self, suspect: &Suspect) -> Result<bool, DbError> {
        let Suspect { head, index, digest, pointer, .. } = *suspect;
        let wanted = Wanted { table: head.table, index, digest };
        let (number, code) = self.code(wanted)?;
        if self.store.has_one_row(number) {
            let mut probe = self.sole_probe(wanted)?;
            while let Some(entry) = self.next_sole(&mut probe)? {
                if entry.pointer == pointer {
                    return Ok(true);
                }
            }
            return Ok(false);
        }
        let mut seen = Seen { pointer, is_there: false, is_ended: false };
        let lent = (&mut self.media, &mut self.scratch[..CELL_SIZE]);
        Sweep::new(number, code).go(&self.store, lent, pointer, &mut seen)?;
        Ok(seen.is_there)
    }

    pub(super) fn age_of(&self, suspect: &Suspect) -> Result<Age, DbError> {
        let (layout, numbers) = (self.media.layout(), self.media.numbers());
        let at = Position::of_pointer(suspect.pointer, layout, numbers).ok_or(DbError::Unknown)?;
        Ok(self.age_at(at, suspect.place, suspect.commit))
    }

    pub(super) fn age_of_seat(&mut self, seat: Seat) -> Result<Age, DbError> {
        self.age_of_row(seat.pointer, seat.place)
    }

    /// The age of the row at a place of a cell. Cost: one read, none in the tail.
    fn age_of_row(&mut self, pointer: u32, place: u32) -> Result<Age, DbError> {
        let (layout, numbers) = (self.media.layout(), self.media.numbers());
        let at = Position::of_pointer(pointer, layout, numbers).ok_or(DbError::Unknown)?;
        if self.is_tail(at.page) {
            return Ok(self.age_at(at, place, u64::MAX));
        }
        self.forget_frame();
        let (stretch, _) = read_page(&mut self.media, at.page, self.frame)?;
        let base = u64::from(stretch.base);
        let row = row_of(stretch.rows(), (at.cell, place), layout).ok_or(DbError::Unknown)?;
        let commit = RowView::parse_front(self.schema, row, base)?.commit;
        Ok(self.age_at(at, place, commit))
    }

    fn age_at(&self, at: Position, place: u32, commit: u64) -> Age {
        let Position { page, cell } = at;
        let first = self.records.stream(page.space).first;
        let is_moved = page.space == Space::Cold;
        Age {
            commit,
            is_moved,
            page: self.media.numbers().distance(first, page.number),
            cell,
            place,
        }
    }
}

/// The row of a page that has this place among those which begin in a cell.
fn row_of<'r>(
    rows: impl Iterator<Item = &'r [u8]>,
    (cell, place): (u32, u32),
    layout: Layout,
) -> Option<&'r [u8]> {
    let mut from = 0;
    let mut begin_there = rows.filter(|row| {
        let here = layout.place(from).0 as u32;
        from += row.len();
        here == cell
    });
    begin_there.nth(place as usize)
}
