//! Keys of a unique index that are looked up together.
//!
//! Lookups one by one read a cell of each run for every key. Together, all keys go through a run
//! in the order of their codes, so that each of its cells is read once. Then rows are read in the
//! order of their places, so that each page is read once.
//!
//! 1. What the runs say is where the newest entry of each key leads. The row decides: where it has
//!    another key, that key is looked up alone.
//! 2. Where anything changed between two calls, the keys that are left go through the runs anew.

use flysch_nand::Nand;

use super::index::Wanted;
use super::reader::Reader;
use super::seek::Seat;
use super::{Db, DbError};
use crate::media::CELL_SIZE;
use crate::row::{Digest, RowView, Value};
use crate::store::{Newest, Reading, SoleProbe, TAKE_BACK};

/// Memory for a key of a [`KeyList`]. It is the caller's.
#[derive(Clone, Copy, Debug, Default)]
pub struct ListedKey {
    digest: Digest,
    /// The key's place among those that were put.
    number: u16,
    /// What the runs say of it. None: its newest entry was taken back, and a lookup of this key
    /// alone tells.
    newest: Option<Newest>,
}

/// A cursor over the rows that have one of several keys.
///
/// Cost of all rows: at most a read of each cell of the index and of each page of rows on which a
/// key lies. Where something is written between two calls, the keys that are left go through the
/// index once more. RAM: 32 bytes of the caller's for each key.
#[derive(Debug)]
pub struct KeyList<'k> {
    table: u8,
    index: u8,
    keys: &'k mut [ListedKey],
    /// Keys that were put, and how many of them had their turn. Those come first.
    count: u16,
    turned: u16,
    /// The state in which the rest went through the runs.
    found_at: Option<(u32, u32)>,
}

impl<N: Nand> Db<'_, '_, N> {
    /// A list of keys of a unique index, to be filled by [`KeyList::put`]. It takes as many keys as
    /// `keys` has places, and at most 65,535. Cost: none.
    pub fn list<'k>(
        &self,
        table: u8,
        index: u8,
        keys: &'k mut [ListedKey],
    ) -> Result<KeyList<'k>, DbError> {
        if !self.index(table, index)?.is_unique {
            return Err(DbError::Unknown);
        }
        Ok(KeyList { table, index, keys, count: 0, turned: 0, found_at: None })
    }
}

impl KeyList<'_> {
    /// Put a key; false where there is no place left. Cost: none.
    pub fn put<N: Nand>(
        &mut self,
        db: &Db<'_, '_, N>,
        values: &[Value<'_>],
    ) -> Result<bool, DbError> {
        let digest = db.digest_of_key(self.table, self.index, values)?;
        let place = self.keys.get_mut(usize::from(self.count));
        let Some(place) = place.filter(|_| self.count < u16::MAX) else { return Ok(false) };
        *place = ListedKey { digest, number: self.count, newest: None };
        self.count += 1;
        self.found_at = None;
        Ok(true)
    }

    /// Copy the next row into `out`, in no particular order. Says which key it has, counted from 0
    /// in the order in which they were put. Keys without a row are passed over; None behind the
    /// last.
    pub fn next<'o, 'ram, 's, N: Nand>(
        &mut self,
        reader: &mut impl Reader<'ram, 's, N>,
        out: &'o mut [u8],
    ) -> Result<Option<(u16, RowView<'o, 's>)>, DbError> {
        let db = reader.reading()?;
        db.check_past(self.table)?;
        let (number, seat) = loop {
            if self.turned == self.count {
                return Ok(None);
            }
            if self.found_at != Some(db.store.generation()) {
                self.pass(db)?;
            }
            let key = self.keys[usize::from(self.turned)];
            let seat = self.look(db, key)?;
            self.turned += 1;
            if let Some(seat) = seat {
                break (key.number, seat);
            }
        };
        let copied = db.row_at(seat.pointer, seat.place, out);
        if copied.is_err() {
            // The next call may lend more bytes for the row.
            self.turned -= 1;
        }
        copied.map(|row| Some((number, row)))
    }

    /// The row of a key, whose entries were looked for.
    fn look<N: Nand>(
        &self,
        db: &mut Db<'_, '_, N>,
        key: ListedKey,
    ) -> Result<Option<Seat>, DbError> {
        let wanted = Wanted { table: self.table, index: self.index, digest: key.digest };
        let Some(seat) = db.seek_from(wanted, key.newest)?.row() else { return Ok(None) };
        let is_current = db.is_current(seat, self.index)?;
        Ok(is_current.then_some(seat))
    }

    /// Send the keys that are left through all runs, from the newest to the oldest.
    fn pass<N: Nand>(&mut self, db: &mut Db<'_, '_, N>) -> Result<(), DbError> {
        let kept = db.kept(self.table, self.index)?;
        let rest = &mut self.keys[usize::from(self.turned)..usize::from(self.count)];
        for key in rest.iter_mut() {
            key.newest = Some(Newest::Absent);
        }
        rest.sort_unstable_by_key(|key| kept.code(key.digest));
        let mut number = 0;
        while let Some(place) = db.store.place(kept.number, number, false) {
            let cell = &mut db.scratch[..CELL_SIZE];
            let mut reading = Reading::new(&mut db.media, cell, db.store.lost());
            for key in rest.iter_mut().filter(|key| key.newest == Some(Newest::Absent)) {
                let mut probe = SoleProbe::new(kept.number, kept.code(key.digest));
                if let Some(entry) = probe.next_in(&db.store, place, &mut reading)? {
                    let is_clear = !entry.is(TAKE_BACK);
                    key.newest = is_clear.then_some(Newest::At(entry.pointer));
                }
            }
            number += 1;
        }
        rest.sort_unstable_by_key(|key| key.newest);
        self.found_at = Some(db.store.generation());
        Ok(())
    }
}
