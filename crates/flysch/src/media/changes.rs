//! Changes of the block table since the present log block began.
//!
//! Each record of a log block holds all of them. So a mount reads the table of the checkpoint and
//! one record.
//!
//! A transaction may take more blocks than a record can tell. Changes are then no longer kept, and
//! the next record begins a log block with the whole table.
//!
//! A change tells how much of its block is dead as well. Otherwise a device would never learn that
//! which wakes for one commit at a time: it writes its checkpoint before the commit. So a block of
//! which more is dead now is a change, as long as there are few.

use super::table::{DEAD_MAX, Table, Use};
use crate::bytes::array;

/// Greatest number of changes that are kept. When there are as many, the next log block begins.
pub(crate) const CHANGES_MAX: usize = 32;
/// Bytes of a change in a record.
pub(crate) const CHANGE_SIZE: usize = 4;
/// Greatest number of blocks that are changes because of their dead share alone.
const DEAD_ONLY_MAX: u8 = 4;
/// Bits of a block's number in a change. The bits above them hold its dead share in eighths.
const BLOCK_BITS: u32 = 13;
const _: () =
    assert!(DEAD_MAX as u32 / 2 < 1 << (u16::BITS - BLOCK_BITS), "a share has three bits");

/// The changes, in the order in which they were made.
#[derive(Clone, Debug)]
pub(crate) struct Changes {
    list: [(u16, u16); CHANGES_MAX],
    len: u8,
    /// Number of changes that were made before the next log block's table was begun.
    mark: u8,
    /// Number of blocks that became changes because of their dead share alone.
    dead_only: u8,
    /// Whether changes are kept; else the next record has the whole table.
    are_kept: bool,
}

impl Changes {
    pub(crate) const fn new() -> Self {
        Self { list: [(0, 0); CHANGES_MAX], len: 0, mark: 0, dead_only: 0, are_kept: true }
    }

    /// Forget all changes, because a checkpoint has the whole table.
    pub(crate) fn clear(&mut self) {
        (self.len, self.mark, self.dead_only, self.are_kept) = (0, 0, 0, true);
    }

    /// Keep no changes until the next table is begun: the next record has to have the whole table.
    pub(crate) fn leave_to_table(&mut self) {
        self.clear();
        self.are_kept = false;
    }

    /// Note that the next log block's table is begun: its first record holds later changes only.
    pub(crate) fn mark(&mut self) {
        (self.mark, self.are_kept) = (self.len, true);
        assert!(usize::from(self.mark) <= CHANGES_MAX, "no more is marked than is kept");
    }

    /// Forget the changes that the next log block's table has, as that log block begins.
    pub(crate) fn forget_marked(&mut self) {
        assert!(self.mark <= self.len, "the mark lies among the changes");
        let (mark, len) = (usize::from(self.mark), usize::from(self.len));
        self.list.copy_within(mark..len, 0);
        (self.len, self.mark, self.dead_only) = (self.len - self.mark, 0, 0);
    }

    /// Whether a record of the present log block could tell all changes.
    pub(crate) const fn are_kept(&self) -> bool {
        self.are_kept
    }

    /// Number of changes that can still be kept.
    pub(crate) fn room(&self) -> usize {
        CHANGES_MAX - usize::from(self.len)
    }

    /// Keep a change. A block has one at most, its last.
    pub(crate) fn add(&mut self, block: u32, used: Use) {
        if !self.are_kept {
            return;
        }
        let change = (block as u16, used.code());
        let len = usize::from(self.len);
        if let Some(at) = self.place_of(block) {
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

    /// Keep the dead share of a block as a change, where few are kept for that alone. It is no
    /// change of what the block is used for.
    pub(crate) fn add_dead(&mut self, block: u32, used: Use) {
        let has_room = self.dead_only < DEAD_ONLY_MAX && self.room() > CHANGES_MAX / 2;
        if has_room && self.place_of(block).is_none() {
            self.dead_only += 1;
            self.add(block, used);
        }
    }

    fn place_of(&self, block: u32) -> Option<usize> {
        self.list[..self.len()].iter().position(|(known, _)| u32::from(*known) == block)
    }

    pub(crate) fn len(&self) -> usize {
        usize::from(self.len)
    }

    /// The change at this place, in the form of a record. `rounds_up` decides whether a dead share
    /// that lies between two eighths is told as the greater one, so that it is right on average.
    pub(crate) fn emit(&self, at: usize, table: &Table<'_>, rounds_up: bool) -> [u8; CHANGE_SIZE] {
        debug_assert!(at < self.len(), "the change is kept");
        let (block, code) = self.list[..usize::from(self.len)][at];
        let eighths = (table.dead(u32::from(block)) + u8::from(rounds_up)).min(DEAD_MAX) / 2;
        let [a, b] = (block | u16::from(eighths) << BLOCK_BITS).to_le_bytes();
        let [c, d] = code.to_le_bytes();
        [a, b, c, d]
    }

    /// Take over a change from a record, and make it in the table. An impossible one is refused.
    pub(crate) fn load(
        &mut self,
        bytes: [u8; CHANGE_SIZE],
        table: &mut Table<'_>,
    ) -> Result<(), ()> {
        let told = u32::from(u16::from_le_bytes(array(&bytes[..2])));
        let (block, eighths) = (told & ((1 << BLOCK_BITS) - 1), told >> BLOCK_BITS);
        let code = u16::from_le_bytes(array(&bytes[2..]));
        let used = table.use_of(code).ok_or(())?;
        if block >= table.len() || self.room() == 0 {
            return Err(());
        }
        self.add(block, used);
        table.set(block, used);
        table.set_dead(block, eighths as u8 * 2);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::table::ENTRY_SIZE;
    use super::*;
    use crate::media::Space;

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
        let (mut memory, mut blocks) = ([0; 8 * ENTRY_SIZE], [0; 2]);
        let table = Table::new(&mut memory, false);
        for (at, block) in blocks.iter_mut().enumerate() {
            *block = changes.emit(at, &table, false)[0];
        }
        assert_eq!(blocks, [5, 3]);
        changes.forget_marked();
        assert_eq!(changes.len(), 2, "nothing is marked any more");
    }

    /// A share between two eighths is told as one of them by chance, and the most that is told is
    /// seven eighths.
    #[test]
    fn dead_shares_are_told_and_only_of_few_blocks() {
        let (mut memory, mut other) = ([0; 8 * ENTRY_SIZE], [0; 8 * ENTRY_SIZE]);
        let mut table = Table::new(&mut memory, false);
        let used = |block: u32| Use::Data(Space::Hot, block);
        let mut changes = Changes::new();
        for (block, dead) in (0..8).zip([0, 1, 4, 5, 14, 15, 15, 15]) {
            table.set(block, used(block));
            table.set_dead(block, dead);
        }
        for (rounds_up, told) in [(false, [0, 0, 4, 4, 14]), (true, [0, 2, 4, 6, 14])] {
            changes.clear();
            (0..5).for_each(|block| changes.add(block, used(block)));
            let mut loaded = (Changes::new(), Table::new(&mut other, false));
            for at in 0..changes.len() {
                let bytes = changes.emit(at, &table, rounds_up);
                assert_eq!(loaded.0.load(bytes, &mut loaded.1), Ok(()));
            }
            assert_eq!([0, 1, 2, 3, 4].map(|block| loaded.1.dead(block)), told);
            assert_eq!(loaded.1.at(4), used(4), "its use is told as before");
        }
        changes.clear();
        (0..8).for_each(|block| changes.add_dead(block, used(block)));
        assert_eq!(changes.len(), usize::from(DEAD_ONLY_MAX));
        changes.add_dead(0, used(0));
        assert_eq!(changes.len(), usize::from(DEAD_ONLY_MAX), "a block is one change");
    }
}
