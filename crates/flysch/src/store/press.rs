//! Pressed rounds: where space is short, a round merges all levels.
//!
//! An entry that was replaced stays in its run until a merge meets the newer one. Rounds merge few
//! levels as a rule, so the runs of rows that are updated may have several times the pages that
//! their live entries fill. On a full device those pages are the space that is missing.

use super::{INDEX_MAX, Store};

impl Store<'_> {
    /// Have the next round merge all levels, where runs beside the largest level of each index have
    /// so many pages. What they replace or delete is no more then. Cost: none, but that of the
    /// round in the slices that follow.
    pub(crate) fn press(&mut self, pages: u32) {
        let (mut all, mut largest) = (0, [0; INDEX_MAX]);
        for run in self.runs.iter() {
            all += run.pages();
            if !run.head.is_recent() {
                let of_index = &mut largest[usize::from(run.head.indexes)];
                *of_index = run.pages().max(*of_index);
            }
        }
        let levels = largest.iter().sum::<u32>();
        debug_assert!(levels <= all, "the largest levels are runs");
        let newer = all - levels;
        self.is_pressed |= newer >= pages && self.recents().entries > 0;
    }

    /// Whether a round merges all levels.
    pub(crate) const fn is_pressed(&self) -> bool {
        self.is_pressed
    }
}
