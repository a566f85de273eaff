//! Runs: what RAM and the state know of each, and the table of them.
//!
//! A run is a sequence of units; the page of unit `n` is the `n / cells`-th of its extents. A
//! *level* run holds one index. A *recent* run holds a section of each index, one after the other.
//!
//! 1. In the table levels come first, in any order; recent runs follow, the oldest first.
//! 2. A section that was planned has the entries of a code in unit `code * planned / codes` or in
//!    one behind it, with every unit between them full. A section with no plan is packed.

use super::entry::{INDEX_MAX, Shape};
use crate::media::{Numbers, Page, Space};

/// Runs that exist at a time, at most.
pub(crate) const RUNS_MAX: usize = 20;
/// Pieces of a run, at most: void spans and other runs come between.
pub(crate) const EXTENTS_MAX: usize = 4;
/// The level of recent runs.
pub(crate) const RECENT: u8 = 0xFF;

/// It holds entries of the transaction under way.
pub(crate) const OPEN: u8 = 1;
/// It belongs to the round of merges under way.
pub(crate) const IN_ROUND: u8 = 2;
/// The merge under way reads it.
pub(crate) const IN_JOB: u8 = 4;
/// Its Bloom filter is complete.
pub(crate) const LEARNT: u8 = 8;

/// Pages that follow each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) first: u32,
    pub(crate) count: u32,
}

/// The part of a run that holds one index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Section {
    pub(crate) entries: u32,
    /// Units it was planned with; 0 where it is packed.
    pub(crate) planned: u32,
    /// Units it has.
    pub(crate) units: u32,
    /// Its first unit in the run.
    pub(crate) start: u32,
}

impl Section {
    /// The first unit of the section in which entries of a code may be.
    pub(crate) fn target(&self, code: u64, shape: Shape) -> u32 {
        debug_assert!(code <= shape.code_max(), "a code has its index's bits");
        ((u128::from(code) * u128::from(self.planned)) >> shape.code_bits) as u32
    }
}

/// A run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Run {
    /// Its level; [`RECENT`] for recent runs.
    pub(crate) level: u8,
    /// The index of a level run.
    pub(crate) index: u8,
    /// [`OPEN`], [`IN_ROUND`], [`IN_JOB`], [`LEARNT`].
    pub(crate) marks: u8,
    /// Flags that occur in its entries.
    pub(crate) flags: u8,
    /// Indexes of a recent run that a level holds by now.
    pub(crate) gone: u8,
    /// Pieces in use.
    pub(crate) extent_count: u8,
    /// Bytes of its Bloom filter.
    pub(crate) bloom_size: u16,
    extents: [Extent; EXTENTS_MAX],
    /// Units.
    pub(crate) units: u32,
    pub(crate) entries: u32,
    /// Codes that differ.
    pub(crate) distinct: u32,
    /// Cells of fences behind the units.
    pub(crate) fences: u32,
    /// Of a recent run: entries, plan and units of each section. Of a level: the plan, then the
    /// least and the greatest code.
    detail: [u32; INDEX_MAX],
}

impl Run {
    /// An empty recent run.
    pub(crate) fn recent(flags: u8) -> Self {
        Self { level: RECENT, flags, ..Self::default() }
    }

    /// An empty level run.
    pub(crate) fn of_level(index: u8, level: u8, flags: u8, planned: u32) -> Self {
        let mut run = Self { level, index, flags, ..Self::default() };
        run.detail[0] = planned;
        run
    }

    pub(crate) const fn is_recent(&self) -> bool {
        self.level == RECENT
    }

    pub(crate) const fn is(&self, marks: u8) -> bool {
        self.marks & marks == marks
    }

    /// Whether a lookup in `index` has to look here.
    pub(crate) fn serves(&self, index: u8) -> bool {
        if self.is_recent() {
            self.gone >> index & 1 == 0 && self.section(index).units > 0
        } else {
            self.index == index && self.units > 0
        }
    }

    /// The space it lies in.
    pub(crate) const fn space(&self) -> Space {
        if self.is_recent() { Space::Young } else { Space::Old }
    }

    /// The part of the run that holds an index.
    pub(crate) fn section(&self, index: u8) -> Section {
        if !self.is_recent() {
            if index != self.index {
                return Section::default();
            }
            let Self { entries, units, detail, .. } = *self;
            return Section { entries, planned: detail[0], units, start: 0 };
        }
        let start = (0..index).map(|index| self.detail[usize::from(index)] >> 24).sum();
        let word = self.detail[usize::from(index)];
        let (entries, planned, units) = (word & 0xFFFF, word >> 16 & 0xFF, word >> 24);
        Section { entries, planned, units, start }
    }

    /// Note a section of a recent run; false where it is larger than one can be.
    pub(crate) fn set_section(&mut self, index: u8, section: &Section) -> bool {
        let Section { entries, planned, units, .. } = *section;
        let fits = entries <= 0xFFFF && planned <= 0xFF && units <= 0xFF;
        if self.is_recent() {
            self.detail[usize::from(index)] =
                entries.min(0xFFFF) | planned.min(0xFF) << 16 | units.min(0xFF) << 24;
        } else {
            self.detail[0] = planned;
        }
        fits || !self.is_recent()
    }

    /// The least and the greatest code of a level.
    pub(crate) const fn bounds(&self) -> (u64, u64) {
        let detail = &self.detail;
        let least = (detail[2] as u64) << 32 | detail[1] as u64;
        (least, (detail[4] as u64) << 32 | detail[3] as u64)
    }

    /// Note the least and the greatest code of a level.
    pub(crate) const fn set_bounds(&mut self, least: u64, greatest: u64) {
        debug_assert!(least <= greatest, "the least code is not above the greatest");
        (self.detail[1], self.detail[2]) = (least as u32, (least >> 32) as u32);
        (self.detail[3], self.detail[4]) = (greatest as u32, (greatest >> 32) as u32);
    }

    /// The pieces of the run.
    pub(crate) fn extents(&self) -> &[Extent] {
        &self.extents[..usize::from(self.extent_count)]
    }

    /// Pages of the run.
    pub(crate) fn pages(&self) -> u32 {
        self.extents().iter().map(|extent| extent.count).sum()
    }

    /// Add a page; false where the run has too many pieces.
    pub(crate) fn add_page(&mut self, page: u32, numbers: Numbers) -> bool {
        let count = usize::from(self.extent_count);
        if let Some(last) = self.extents[..count].last_mut()
            && numbers.advance(last.first, last.count) == page
        {
            last.count += 1;
            return true;
        }
        self.add_extent(Extent { first: page, count: 1 })
    }

    /// Add a piece; false where the run has too many.
    pub(crate) fn add_extent(&mut self, extent: Extent) -> bool {
        debug_assert!(extent.count > 0, "a piece has a page");
        let count = usize::from(self.extent_count);
        if count == EXTENTS_MAX {
            return false;
        }
        self.extents[count] = extent;
        self.extent_count += 1;
        true
    }

    /// The page of a unit or fence, and the cell within it.
    pub(crate) fn place(&self, unit: u32, cells: u32, numbers: Numbers) -> Option<(Page, usize)> {
        let mut left = unit / cells;
        for extent in self.extents() {
            if left < extent.count {
                let number = numbers.advance(extent.first, left);
                return Some((Page { space: self.space(), number }, (unit % cells) as usize));
            }
            left -= extent.count;
        }
        None
    }

    /// Whether a block holds a page of the run.
    pub(crate) fn touches(&self, space: Space, block: u32, numbers: Numbers) -> bool {
        space == self.space()
            && self.extents().iter().any(|extent| {
                let first = numbers.block_of(extent.first);
                let last = numbers.block_of(numbers.advance(extent.first, extent.count - 1));
                let blocks = numbers.block_count();
                (block + blocks - first) % blocks <= (last + blocks - first) % blocks
            })
    }
}

/// The table of runs.
#[derive(Clone, Debug)]
pub(crate) struct Runs {
    runs: [Run; RUNS_MAX],
    len: u8,
}

impl Runs {
    pub(crate) fn new() -> Self {
        Self { runs: [Run::default(); RUNS_MAX], len: 0 }
    }

    pub(crate) fn as_slice(&self) -> &[Run] {
        &self.runs[..usize::from(self.len)]
    }

    pub(crate) fn as_mut_slice(&mut self) -> &mut [Run] {
        &mut self.runs[..usize::from(self.len)]
    }

    /// Runs that can still be listed.
    pub(crate) const fn room(&self) -> usize {
        RUNS_MAX - self.len as usize
    }

    /// Put a run at a place of the table.
    pub(crate) fn insert(&mut self, at: usize, run: Run) {
        assert!(self.room() > 0, "merges end before the table is full");
        let len = usize::from(self.len);
        assert!(at <= len, "runs follow each other");
        self.runs.copy_within(at..len, at + 1);
        self.runs[at] = run;
        self.len += 1;
    }

    /// Forget the runs that `keep` refuses.
    pub(crate) fn retain(&mut self, keep: impl Fn(&Run) -> bool) {
        let mut kept = 0;
        for at in 0..usize::from(self.len) {
            if keep(&self.runs[at]) {
                self.runs[kept] = self.runs[at];
                kept += 1;
            }
        }
        self.len = kept as u8;
    }

    /// The recent runs, the oldest first.
    pub(crate) fn recents(&self) -> impl DoubleEndedIterator<Item = (usize, &Run)> {
        self.as_slice().iter().enumerate().filter(|(_, run)| run.is_recent())
    }

    /// The run of a level.
    pub(crate) fn level(&self, index: u8, level: u8) -> Option<usize> {
        self.as_slice().iter().position(|run| run.index == index && run.level == level)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_hop_over_what_lies_between_the_pieces() {
        let numbers = Numbers::new(24, 8);
        let mut run = Run::of_level(2, 1, 0, 9);
        for page in [509, 510, 511, 0, 5, 6, 20] {
            assert!(run.add_page(page, numbers));
        }
        assert_eq!((run.extents().len(), run.pages()), (3, 7));
        let old = |number, cell| Some((Page { space: Space::Old, number }, cell));
        assert_eq!(run.place(13, 4, numbers), old(0, 1));
        assert_eq!(run.place(16, 4, numbers), old(5, 0));
        assert_eq!(run.place(27, 4, numbers), old(20, 3));
        assert_eq!(run.place(28, 4, numbers), None);
        let blocks = [63, 0, 1, 2].map(|block| run.touches(Space::Old, block, numbers));
        assert_eq!(blocks, [true, true, false, true]);
        assert!(!run.touches(Space::Young, 0, numbers));
    }

    #[test]
    fn sections_follow_each_other() {
        let mut run = Run::recent(0);
        let section = |entries, planned, units| Section { entries, planned, units, start: 0 };
        assert!(run.set_section(0, &section(300, 4, 3)));
        assert!(run.set_section(2, &section(7, 0, 1)));
        assert!(!run.set_section(3, &section(70_000, 0, 1)));
        assert_eq!(run.section(2), Section { start: 3, ..section(7, 0, 1) });
        assert!(run.serves(0) && !run.serves(1) && run.serves(2));
        run.gone = 1;
        assert!(!run.serves(0));
        let shape = Shape { code_bits: 8, pointer_bits: 9, is_unique: true };
        assert_eq!([0, 63, 64, 255].map(|code| run.section(0).target(code, shape)), [0, 0, 1, 3]);
    }
}
