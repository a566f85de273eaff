//! Changes of the block table since the log block began.
//!
//! Each record of a log block carries them all, so that a mount reads the checkpoint's table and
//! one record.

use super::table::{Table, Use};
use crate::bytes::array;

/// Changes kept at a time, at most. A log block that has as many is followed by the next one.
pub(crate) const CHANGES_MAX: usize = 32;
/// Bytes of a change in a record.
pub(crate) const CHANGE_SIZE: usize = 4;

/// The changes, in the order in which they were made.
#[derive(Clone, Debug)]
pub(crate) struct Changes {
    changes: [(u16, u16); CHANGES_MAX],
    len: u8,
}

impl Changes {
    /// No change.
    pub(crate) const fn new() -> Self {
        Self { changes: [(0, 0); CHANGES_MAX], len: 0 }
    }

    /// Forget all changes: a checkpoint holds the table.
    pub(crate) fn clear(&mut self) {
        self.len = 0;
    }

    /// Changes that can still be kept.
    pub(crate) fn room(&self) -> usize {
        CHANGES_MAX - usize::from(self.len)
    }

    /// Keep a change; the last one of a block counts.
    pub(crate) fn add(&mut self, block: u32, used: Use) {
        let change = (block as u16, used.code());
        let len = usize::from(self.len);
        if let Some(at) = self.changes[..len].iter().position(|(known, _)| *known == change.0) {
            self.changes.copy_within(at + 1..len, at);
            self.changes[len - 1] = change;
            return;
        }
        assert!(len < CHANGES_MAX, "a log block is left before its changes overflow");
        self.changes[len] = change;
        self.len += 1;
    }

    /// Changes kept.
    pub(crate) fn len(&self) -> usize {
        usize::from(self.len)
    }

    /// The change of that place, as a record carries it.
    pub(crate) fn emit(&self, at: usize) -> [u8; CHANGE_SIZE] {
        let (block, code) = self.changes[..usize::from(self.len)][at];
        let [a, b] = block.to_le_bytes();
        let [c, d] = code.to_le_bytes();
        [a, b, c, d]
    }

    /// Take over a change of a record, and make it in the table. One that makes no sense is
    /// refused.
    pub(crate) fn load(
        &mut self,
        bytes: [u8; CHANGE_SIZE],
        table: &mut Table<'_>,
    ) -> Result<(), ()> {
        let block = u32::from(u16::from_le_bytes(array(&bytes[..2])));
        let code = u16::from_le_bytes(array(&bytes[2..]));
        let used = Use::of_code(code, table.has_rings).ok_or(())?;
        if block >= table.len() || self.room() == 0 {
            return Err(());
        }
        self.add(block, used);
        table.set(block, used);
        Ok(())
    }
}
