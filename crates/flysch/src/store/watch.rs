//! What the database asks of the store between its calls.

use super::Store;

impl Store<'_> {
    /// Whether a flush would be refused because no more runs can be listed.
    pub fn is_crowded(&self) -> bool {
        self.runs.room() < 2
    }

    /// Whether this many entries take more than three quarters of the memory table.
    pub fn is_taken_by(&self, count: usize) -> bool {
        count * self.config.entry_size() * 4 > self.config.memtable_size * 3
    }

    /// Whether an index of the store has one row for each key.
    pub(crate) fn has_one_row(&self, index: u8) -> bool {
        self.shapes[usize::from(index)].is_unique
    }

    /// A number that changes whenever a merge may have dropped tombstones.
    pub(crate) const fn drops(&self) -> u32 {
        self.drops
    }

    /// A number that changes whenever the runs do.
    pub const fn changes(&self) -> u32 {
        self.run_changes
    }
}
