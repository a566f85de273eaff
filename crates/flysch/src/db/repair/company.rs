//! Rows of other keys that begin in a cell to which an entry is put again, and have its code.
//!
//! An entry leads to a cell, and a lookup takes the first row of its key that it comes to. An entry
//! that is put again comes before all others of its code. So it would lead to an older version of
//! another key in its cell, before the entry of the newer one is met. The entries of those newer
//! rows are put once more, behind it, and so on with the cells to which they lead.

use flysch_nand::Nand;

use super::missing::Age;
use super::pass::Suspect;
use crate::db::index::Wanted;
use crate::db::{Db, DbError};
use crate::row::{Digest, RowHead, RowView};

/// Keys of one code in a cell, at most, and cells to which they lead.
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

/// The entries that are put once more, the oldest row first.
#[derive(Debug)]
pub(super) struct Company {
    all: [Option<Companion>; COMPANY_MAX],
}

impl Company {
    pub(super) fn iter(&self) -> impl Iterator<Item = &Companion> {
        self.all.iter().flatten()
    }

    /// Add one in the order of their ages, unless it is there.
    fn add(&mut self, new: Companion) -> Result<(), DbError> {
        if self.iter().any(|old| old.pointer == new.pointer) {
            return Ok(());
        }
        let len = self.iter().count();
        let at = self.iter().take_while(|old| old.age < new.age).count();
        // More keys of one code than that are a matter of too few bits of a hash.
        *self.all.get_mut(len).ok_or(DbError::TransactionTooLong)? = Some(new);
        self.all[at..=len].rotate_right(1);
        debug_assert!(self.iter().is_sorted_by_key(|one| one.age), "the oldest stands first");
        Ok(())
    }
}

impl<N: Nand> Db<'_, '_, N> {
    /// The entries to be put behind a missing one. Cost: a read, and a lookup for each row in its
    /// cell that has the same code and another key.
    pub(super) fn company(&mut self, suspect: &Suspect) -> Result<Company, DbError> {
        let mut company = Company { all: [None; COMPANY_MAX] };
        let Suspect { head, index, digest, pointer, .. } = *suspect;
        if !self.kept(head.table, index)?.may_meet || !self.index(head.table, index)?.is_unique {
            return Ok(company);
        }
        let code = self.code(Wanted { table: head.table, index, digest })?;
        self.add_company(pointer, (code, digest), &mut company)?;
        // An entry that is added may stand before others in the order of ages.
        let mut seen = [pointer; COMPANY_MAX];
        for turn in 0..COMPANY_MAX {
            let is_new = |other: &&Companion| !seen[..turn].contains(&other.pointer);
            let Some(next) = company.iter().find(is_new).map(|other| other.pointer) else { break };
            seen[turn] = next;
            self.add_company(next, (code, digest), &mut company)?;
        }
        Ok(company)
    }

    /// Add the entries of the newest rows of those keys that have the code and a row in this cell.
    fn add_company(
        &mut self,
        pointer: u32,
        (code, own): ((u8, u64), Digest),
        company: &mut Company,
    ) -> Result<(), DbError> {
        for wanted in self.keys_in(pointer, code)?.into_iter().flatten() {
            if wanted.digest == own {
                continue;
            }
            let Some(here) = self.look_in(pointer, wanted, true, &mut false)? else { continue };
            let here = self.age_of_seat(here)?;
            let Some(seat) = self.seek(wanted)?.seat else { continue };
            let age = self.age_of_seat(seat)?;
            // Where the row here is the newer one, the entry that is put leads to it.
            if age > here {
                let (head, index, digest) = (seat.head, wanted.index, wanted.digest);
                company.add(Companion { head, index, digest, pointer: seat.pointer, age })?;
            }
        }
        Ok(())
    }

    /// The keys of rows in a cell that have a code of an index of the store. Cost: one read.
    fn keys_in(
        &mut self,
        pointer: u32,
        (number, code): (u8, u64),
    ) -> Result<[Option<Wanted>; COMPANY_MAX], DbError> {
        let (mut keys, mut len) = ([None; COMPANY_MAX], 0);
        for place in 0.. {
            let (schema, hash) = (self.schema, self.key);
            let row = self.rows_at(pointer, true)?.rows().nth(place);
            let Some(row) = row else { break };
            let view = RowView::parse_front(schema, row, 0)?;
            let mut digests = [(0, Digest::default()); COMPANY_MAX];
            let (table, mut count) = (view.head.table, 0);
            for (index, declared) in (0..).zip(view.table.indexes).filter(|(_, own)| own.is_unique)
            {
                if let (Ok(digest), Some(next)) =
                    (view.digest(declared, &hash), digests.get_mut(count))
                {
                    *next = (index, digest);
                    count += 1;
                }
            }
            for &(index, digest) in &digests[..count] {
                let wanted = Wanted { table, index, digest };
                if self.code(wanted)? == (number, code) && !keys.contains(&Some(wanted)) {
                    *keys.get_mut(len).ok_or(DbError::TransactionTooLong)? = Some(wanted);
                    len += 1;
                }
            }
        }
        Ok(keys)
    }
}
