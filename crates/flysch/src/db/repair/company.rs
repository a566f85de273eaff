//! Rows of other keys that begin in a cell to which an entry is put again, and have its code.
//!
//! An entry leads to a cell, and a lookup takes the first row of its key that it comes to. An entry
//! that is put again comes before all others of its code. So it would lead to an older version of
//! another key in its cell, before the entry of the newer one is met. The entries of those newer
//! rows are put once more, behind it, and so on with the cells to which they lead.
//!
//! 1. They are put in the order of their rows' ages. A row that is older than another row of its
//!    key is never moved. So what a cell calls for is newer than every row in that cell.
//! 2. There may be any number of them: many keys of an ordered index may have one code. Some are
//!    remembered at a time. When those are put, all cells are looked at again, which the entries
//!    that were put so far tell.

use flysch_nand::Nand;

use super::missing::Age;
use super::pass::Suspect;
use crate::db::index::Wanted;
use crate::db::seek::Seat;
use crate::db::{Db, DbError};
use crate::row::{Digest, RowHead, RowView};
use crate::store::SoleProbe;

/// Entries to be put that are remembered at a time.
const COMPANY_MAX: usize = 8;

/// An entry that is put once more.
#[derive(Clone, Copy, Debug)]
pub(super) struct Companion {
    pub(super) head: RowHead,
    pub(super) index: u8,
    pub(super) digest: Digest,
    pub(super) pointer: u32,
    age: Age,
}

/// The entries that are put behind a missing one.
#[derive(Debug)]
pub(super) struct Company {
    /// The cell of the missing entry, and that of the entry which was put last.
    first: u32,
    last: u32,
    /// The store's index, and the code there.
    code: (u8, u64),
    /// The age of the row whose entry was put last.
    age: Age,
    /// Those that are put next, the oldest row first.
    next: [Option<Companion>; COMPANY_MAX],
    /// The age of the oldest row that was left out.
    left_out: Option<Age>,
}

impl Company {
    /// Add an entry in the order of ages, unless it is there or was put.
    fn add(&mut self, new: Companion) {
        let is_known = self.next.iter().flatten().any(|old| old.age == new.age);
        let is_late = self.left_out.is_some_and(|age| age <= new.age);
        if is_known || is_late || new.age <= self.age {
            return;
        }
        let at = self.next.iter().flatten().take_while(|old| old.age < new.age).count();
        let Some(behind) = self.next.get_mut(at..).filter(|behind| !behind.is_empty()) else {
            self.left_out = Some(new.age);
            return;
        };
        behind.rotate_right(1);
        if let Some(out) = behind[0].replace(new) {
            self.left_out = Some(out.age);
        }
        debug_assert!(self.next.iter().flatten().is_sorted_by_key(|one| one.age), "by age");
    }

    /// Take the entry of the oldest row.
    fn take(&mut self) -> Option<Companion> {
        let next = self.next[0].take()?;
        self.next.rotate_left(1);
        debug_assert!(self.age < next.age, "what a cell calls for is newer than its rows");
        (self.last, self.age) = (next.pointer, next.age);
        Some(next)
    }
}

impl<N: Nand> Db<'_, '_, N> {
    /// What is put behind a missing entry; None where nothing ever is. Cost: none.
    pub(super) fn company(&self, suspect: &Suspect) -> Result<Option<Company>, DbError> {
        let Suspect { head, index, digest, pointer, .. } = *suspect;
        let code = self.code(Wanted { table: head.table, index, digest })?;
        let is_unique = self.index(head.table, index)?.is_unique;
        if !is_unique || !self.kept(head.table, index)?.may_meet || !self.store.is_updated(code.0) {
            return Ok(None);
        }
        let age = self.age_of(suspect)?;
        let next = [None; COMPANY_MAX];
        Ok(Some(Company { first: pointer, last: pointer, code, age, next, left_out: None }))
    }

    /// The entry to be put next, once the one before is put. Cost: two reads and two lookups for
    /// each row in its cell that has the same code and another key.
    pub(super) fn companion(
        &mut self,
        company: &mut Company,
    ) -> Result<Option<Companion>, DbError> {
        self.add_company(company.last, company)?;
        if company.next[0].is_none() && company.left_out.take().is_some() {
            let (number, code) = company.code;
            let mut probe = SoleProbe::new(number, code);
            while let Some(entry) = self.next_sole(&mut probe)? {
                self.add_company(entry.pointer, company)?;
                if entry.pointer == company.first {
                    break;
                }
            }
        }
        Ok(company.take())
    }

    /// Add the entries of the newest rows of those keys that have the code and a row in this cell.
    fn add_company(&mut self, pointer: u32, company: &mut Company) -> Result<(), DbError> {
        let mut from = (0, 0);
        while let Some(wanted) = self.key_in(pointer, company.code, &mut from)? {
            let Some(here) = self.look_in(pointer, wanted, true, &mut false)? else { continue };
            let here = self.age_of_seat(here)?;
            let Some(seat) = self.seek_behind(wanted, company.first)? else { continue };
            let age = self.age_of_seat(seat)?;
            // Where the row here is the newer one, the entry that is put leads to it.
            if age > here {
                let (head, index, digest) = (seat.head, wanted.index, wanted.digest);
                company.add(Companion { head, index, digest, pointer: seat.pointer, age });
            }
        }
        Ok(())
    }

    /// The newest row of a key by the entries behind the one that was put for a cell. Cost: a
    /// lookup.
    fn seek_behind(&mut self, wanted: Wanted, pointer: u32) -> Result<Option<Seat>, DbError> {
        let mut probe = self.sole_probe(wanted)?;
        let mut is_behind = false;
        while let Some(entry) = self.next_sole(&mut probe)? {
            if is_behind
                && let Some(seat) = self.look_in(entry.pointer, wanted, true, &mut false)?
            {
                return Ok(Some(seat));
            }
            is_behind |= entry.pointer == pointer;
        }
        Ok(None)
    }

    /// The next key of a row in a cell that has a code of an index of the store. `from` is where to
    /// go on: the place of a row, and the number of an index. Cost: one read, and one more at the
    /// first row to see whether the page is void.
    fn key_in(
        &mut self,
        pointer: u32,
        code: (u8, u64),
        from: &mut (usize, u8),
    ) -> Result<Option<Wanted>, DbError> {
        loop {
            let (schema, hash) = (self.schema, self.key);
            let (place, index) = *from;
            let row = self.rows_at(pointer, *from == (0, 0))?.rows().nth(place);
            let Some(row) = row else { return Ok(None) };
            let view = RowView::parse_front(schema, row, 0)?;
            let table = view.head.table;
            let Some(declared) = view.table.indexes.get(usize::from(index)) else {
                *from = (place + 1, 0);
                continue;
            };
            *from = (place, index + 1);
            if declared.is_unique
                && let Ok(digest) = view.digest(declared, &hash)
            {
                let wanted = Wanted { table, index, digest };
                if self.code(wanted)? == code {
                    return Ok(Some(wanted));
                }
            }
        }
    }
}
