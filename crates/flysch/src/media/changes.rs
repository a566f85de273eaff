//! Changes of the block table since the present log block began.
//!
//! Each record of a log block holds all of them. So a mount reads the table of the checkpoint and
//! one record.

use super::table::{Table, Use};
use crate::bytes::array;

/// Greatest number of changes that are kept. When there are as many, the next log block begins.
pub(crate) const CHANGES_MAX: usize = 32;
/// Bytes of a change in a record.
pub(crate) const CHANGE_SIZE: usize = 4;

/// The changes, in the order in which they were made.
#[derive(Clone, Debug)]
pub(crate) struct Changes {
    list: [(u16, u16); CHANGES_MAX],
    len: u8,
    /// Number of changes that were made before the next log block's table was begun.
    mark: u8,
}

impl Changes {
    pub(crate) const fn new() -> Self {
        Self { list: [(0, 0); CHANGES_MAX], len: 0, mark: 0 }
    }

    /// Forget all changes, because a checkpoint has the whole table.
    pub(crate) fn clear(&mut self) {
        (self.len, self.mark) = (0, 0);
    }

    /// Note that the next log block's table is begun: its first record holds later changes only.
    pub(crate) fn mark(&mut self) {
        self.mark = self.len;
        assert!(usize::from(self.mark) <= CHANGES_MAX, "no more is marked than is kept");
    }

    /// Forget the changes that the next log block's table has, as that log block begins.
    pub(crate) fn forget_marked(&mut self) {
        assert!(self.mark <= self.len, "the mark lies among the changes");
        let (mark, len) = (usize::from(self.mark), usize::from(self.len));
        self.list.copy_within(mark..len, 0);
        (self.len, self.mark) = (self.len - self.mark, 0);
    }

    /// Number of changes that can still be kept.
    pub(crate) fn room(&self) -> usize {
        CHANGES_MAX - usize::from(self.len)
    }

    /// Keep a change. A block has one at most, its last.
    pub(crate) fn add(&mut self, block: u32, used: Use) {
        let change = (block as u16, used.code());
        let len = usize::from(self.len);
        if let Some(at) = self.list[..len].iter().position(|(known, _)| *known == change.0) {
            self.list.copy_within(at + 1..len, at);
            self.list[len - 1] = change;
            self.mark -= u8::from(at < usize::from(self.mark));
            return;
        }
        assert!(len < CHANGES_MAX, "a log block is left before its changes overflow");
        debug_assert!(usize::from(self.mark) <= len, "what is marked came before");
        self.list[len] = change;
        self.len += 1;
    }

    pub(crate) fn len(&self) -> usize {
        usize::from(self.len)
    }

    /// The change at this place, in the form of a record.
    pub(crate) fn emit(&self, at: usize) -> [u8; CHANGE_SIZE] {
        debug_assert!(at < self.len(), "the change is kept");
        let (block, code) = self.list[..usize::from(self.len)][at];
        let [a, b] = block.to_le_bytes();
        let [c, d] = code.to_le_bytes();
        [a, b, c, d]
    }

    /// Take over a change from a record, and make it in the table. An impossible one is refused.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of the next log block was begun after two changes; one of the blocks changes again
    /// behind that, so its change is not in the table.
    #[test]
    fn what_the_next_table_has_is_forgotten_and_nothing_else() {
        let mut changes = Changes::new();
        changes.add(3, Use::Log);
        changes.add(4, Use::Log);
        changes.mark();
        changes.add(5, Use::Root);
        changes.add(3, Use::Free);
        changes.forget_marked();
        assert_eq!([changes.emit(0)[0], changes.emit(1)[0]], [5, 3]);
        changes.forget_marked();
        assert_eq!(changes.len(), 2, "nothing is marked any more");
    }
}
