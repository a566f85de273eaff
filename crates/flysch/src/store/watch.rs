//! Questions of the database about the state of the store.

use super::Store;
use super::newest::Newest;

impl Store<'_> {
    /// Whether a flush would be refused because the table of runs is full.
    pub fn is_crowded(&self) -> bool {
        self.runs.room() < 2
    }

    /// Whether entries of this many bytes take more than three quarters of the memory table.
    pub const fn is_taken_by(&self, size: usize) -> bool {
        size * 4 > self.config.memtable_size * 3
    }

    /// How many entries the memory table takes, if all are of the widest index.
    pub(crate) fn capacity(&self) -> usize {
        let sizes = (0..self.config.index_count).map(|index| self.memtable.entry_size(index));
        self.config.memtable_size / sizes.max().unwrap_or(1)
    }

    /// Bytes of an entry of an index in the memory table.
    pub(crate) fn entry_size(&self, index: u8) -> usize {
        self.memtable.entry_size(index)
    }

    /// Whether an index of the store is unique.
    pub(crate) fn has_one_row(&self, index: u8) -> bool {
        self.shapes[usize::from(index)].is_unique
    }

    /// What a lookup noted of the newest entry of a code.
    pub(crate) fn newest(&self, index: u8, code: u64) -> Option<Newest> {
        self.noted.find(index, code)
    }

    /// Note the newest entry of a code that leads to a row. No row of another key with that code is
    /// newer.
    pub(crate) fn note_newest(&self, index: u8, code: u64, newest: Newest) {
        self.noted.note(index, code, newest);
    }

    /// Merges of all levels of an index that ended. Only these may drop a tombstone that nothing
    /// newer replaces.
    pub(crate) const fn full_merges(&self) -> u32 {
        self.full_merges
    }

    /// Numbers that change whenever entries change, in the memory table or in the table of runs.
    pub(crate) const fn generation(&self) -> (u32, u32) {
        (self.run_changes, self.puts)
    }

    /// A number that changes whenever the table of runs changes.
    pub const fn changes(&self) -> u32 {
        self.run_changes
    }
}
