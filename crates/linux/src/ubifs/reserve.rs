//! Reserving space at a journal head: in its LEB, or in another LEB that becomes part of the
//! journal.

use super::Ubifs;
use super::collect::{Collected, Purpose};
use super::fault::Fault;
use super::wbuf::Head;

/// How often a commit may be needed before space is found (`make_reservation`).
const COMMITS_MAX: u32 = 128;
/// How often of these it may be needed because nothing was left to collect.
const FULL_MAX: u32 = 2;
/// How often a collection that frees nothing is begun before a commit (`reserve_space`).
const TRIES: u32 = 3;

/// A bud: a LEB that belongs to the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bud {
    /// Where in the LEB the journal begins, bytes.
    pub start: u32,
}

impl Ubifs {
    /// Make room for `len` bytes at a head.
    pub(super) fn reserve(&mut self, head: Head, len: u32) -> Result<(), Fault> {
        let mut full = 0;
        for _ in 0..COMMITS_MAX {
            match self.reserve_before_commit(head, len) {
                Ok(true) => return Ok(()),
                Ok(false) => {}
                Err(Fault::NoSpace) if full < FULL_MAX => full += 1,
                Err(fault) => return Err(fault),
            }
            self.commit()?;
        }
        Err(Fault::NoSpace)
    }

    /// Make room for `len` bytes at a head, by collecting garbage if need be. Returns false if the
    /// index must be committed first.
    fn reserve_before_commit(&mut self, head: Head, len: u32) -> Result<bool, Fault> {
        if self.room_of(head) >= len {
            return Ok(true);
        }
        for _ in 0..TRIES {
            let (lnum, offset) = match self.find_free_space(len, head == Head::Base) {
                Ok(found) => found,
                Err(Fault::NoSpace) => match self.collect(Purpose::Leb)? {
                    Collected::Leb(lnum) => (lnum, 0),
                    Collected::CommitFirst => return Ok(false),
                    Collected::Nothing => continue,
                },
                Err(fault) => return Err(fault),
            };
            let goes_on = self.move_head(head, lnum, offset)?;
            if !goes_on {
                self.give_back(lnum)?;
            }
            return Ok(goes_on);
        }
        Err(Fault::NoSpace)
    }

    /// Bytes that are left in the LEB of a head.
    pub(super) fn room_of(&self, head: Head) -> u32 {
        let wbuf = self.head(head);
        wbuf.lnum.map_or(0, |_| self.geometry.leb_size - wbuf.end())
    }

    /// Let a head go on in another LEB. Returns false if the journal has no room for that LEB.
    pub(super) fn move_head(&mut self, head: Head, lnum: u32, offset: u32) -> Result<bool, Fault> {
        let bytes = self.geometry.leb_size - offset;
        if !self.fits_journal(bytes) {
            return Ok(false);
        }
        self.sync_head(head)?;
        self.add_reference(head, lnum, offset)?;
        if self.bud_bytes >= self.geometry.bud_bytes_background {
            self.tasks.commit_wanted = true;
        }
        self.buds.insert(lnum, Bud { start: offset });
        self.bud_bytes += u64::from(bytes);
        let wbuf = self.head_mut(head);
        wbuf.lnum = Some(lnum);
        wbuf.offset = offset;
        Ok(true)
    }
}
