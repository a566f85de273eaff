//! Reserving space at a journal head: in its LEB, or in another LEB that becomes part of the
//! journal.

use super::Ubifs;
use super::fault::Fault;
use super::lpt::Lprops;
use super::wbuf::Head;

/// How often space is sought. Between two tries garbage is collected or the index is committed.
const TRIES: u32 = 8;

/// A bud: a LEB that belongs to the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bud {
    /// Where in the LEB the journal begins, bytes.
    pub start: u32,
}

impl Ubifs {
    /// Make room for `len` bytes at a head.
    pub(super) fn reserve(&mut self, head: Head, len: u32) -> Result<(), Fault> {
        for _ in 0..TRIES {
            let wbuf = self.head(head);
            if wbuf.lnum.is_some() && self.geometry.leb_size - wbuf.end() >= len {
                return Ok(());
            }
            match self.find_free_space(len, head == Head::Base) {
                Ok((lnum, offset)) => {
                    if self.move_head(head, lnum, offset)? {
                        return Ok(());
                    }
                    self.commit()?;
                }
                Err(Fault::NoSpace) => self.make_space()?,
                Err(fault) => return Err(fault),
            }
        }
        Err(Fault::NoSpace)
    }

    /// Collect garbage. If that frees no LEB, commit, which may free some.
    fn make_space(&mut self) -> Result<(), Fault> {
        match self.collect() {
            Ok(()) => Ok(()),
            Err(Fault::NoSpace) if self.has_uncommitted() => self.commit(),
            Err(fault) => Err(fault),
        }
    }

    /// Let a head go on in another LEB. Returns false if the journal has no room for that LEB.
    pub(super) fn move_head(&mut self, head: Head, lnum: u32, offset: u32) -> Result<bool, Fault> {
        let bytes = self.geometry.leb_size - offset;
        if !self.fits_journal(bytes) {
            let lprops = self.lprops(lnum)?;
            self.set_lprops(lnum, Lprops { taken: false, ..lprops })?;
            return Ok(false);
        }
        self.sync_head(head)?;
        self.add_reference(head, lnum, offset)?;
        if self.bud_bytes >= (self.geometry.bud_bytes_max * 13) >> 4 {
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
