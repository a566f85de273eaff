//! What the database asks of the store between its calls.

use super::Store;

impl Store<'_> {
    /// Whether a flush would be refused because no more runs can be listed.
    pub fn is_crowded(&self) -> bool {
        self.runs.room() < 3
    }

    /// Whether this many entries of any index take more than half of the memory table.
    pub fn is_half_taken(&self, count: usize) -> bool {
        let sizes = (0..self.config.index_count).map(|index| self.memtable.entry_size(index));
        count * sizes.max().unwrap_or(0) * 2 > self.config.memtable_size
    }

    /// A number that changes whenever the runs do.
    pub const fn changes(&self) -> u32 {
        self.run_changes
    }
}
