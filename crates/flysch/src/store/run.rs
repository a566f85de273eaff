//! Runs: what RAM and the state of a record hold about each of them.
//!
//! A run is a sequence of units. A page takes one in each of its cells, and the pages lie in a few
//! pieces, its *extents*. A *level* run holds one index. A *recent* run holds a section of each
//! index, one behind the other.
//!
//! 1. In a planned section the place of a code, between the least and the greatest one, tells a
//!    unit. The entries of the code begin there, or in a later unit, if all units between are full.
//!    A section without a plan is packed.
//! 2. All entries of a run lie within the bounds of its sections, and have pointers within the
//!    run's.

use super::entry::{INDEX_MAX, Shape};
use super::fence::ends_group;
use crate::media::{Numbers, Page, Space};

/// Greatest number of extents of a run. Void pages and pages of other runs may lie between them.
pub(crate) const EXTENTS_MAX: usize = 4;
/// The level number of recent runs, which belong to no level.
pub(crate) const RECENT: u8 = 0xFF;

/// Mark: the run holds entries of the open transaction.
pub(crate) const OPEN: u8 = 1;
/// Mark: the run is an input of the present round of merges.
pub(crate) const IN_ROUND: u8 = 2;
/// Mark: the merge under way reads the run.
pub(crate) const IN_JOB: u8 = 4;
/// Mark: the run's Bloom filter is complete.
pub(crate) const LEARNT: u8 = 8;
/// Mark: a small merge wrote the run.
pub(crate) const MERGED: u8 = 16;
/// Mark: the merge that is put off reads the run.
pub(crate) const PUT_OFF: u8 = 64;
/// Mark: fences lie among the run's units.
pub(crate) const FENCED: u8 = 32;

/// Consecutive pages of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) first: u32,
    pub(crate) count: u32,
}

/// The part of a run that holds one index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Section {
    pub(crate) entries: u32,
    /// Number of units it was planned with; 0 for a packed section.
    pub(crate) planned: u32,
    pub(crate) units: u32,
    /// The unit of the run in which it begins.
    pub(crate) start: u32,
    /// Least and greatest code; none lies outside.
    pub(crate) least: u64,
    pub(crate) greatest: u64,
    /// Whether its codes lie about evenly between these, so that the merge of it may be planned.
    pub(crate) is_even: bool,
    /// Whether fences lie among its units.
    pub(crate) is_fenced: bool,
}

impl Section {
    /// A section that was not begun.
    pub(crate) const NONE: Self = Self {
        entries: 0,
        planned: 0,
        units: 0,
        start: 0,
        least: 0,
        greatest: 0,
        is_even: false,
        is_fenced: false,
    };

    /// In which of `count` equal parts between the least and the greatest code a code lies.
    /// Rounding never makes the part of a greater code smaller.
    pub(crate) fn part(&self, code: u64, count: u32, shape: Shape) -> u32 {
        let greatest = self.greatest.min(shape.code_max());
        let width = greatest.saturating_sub(self.least);
        let shift = 32_u32.saturating_sub(width.leading_zeros());
        let place = code.clamp(self.least, greatest.max(self.least)) - self.least;
        debug_assert!(self.least <= self.greatest, "the bounds are in order");
        let (place, width) = (place >> shift, width >> shift);
        (place * u64::from(count) / (width + 1)) as u32
    }

    /// The first unit of the section in which entries of a code may be.
    pub(crate) fn target(&self, code: u64, shape: Shape) -> u32 {
        self.part(code, self.planned, shape)
    }

    /// Whether the cell of this number is a fence and no unit.
    pub(crate) const fn is_fence(&self, unit: u32, shape: Shape) -> bool {
        self.is_fenced && (ends_group(unit, shape) || unit + 1 == self.units)
    }

    /// Whether a code lies within the bounds of the section.
    pub(crate) const fn spans(&self, code: u64) -> bool {
        self.least <= code && code <= self.greatest
    }
}

/// The facts about a run that are asked most often.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Head {
    /// Its level, 0 being the highest; [`RECENT`] for a recent run.
    pub(crate) level: u8,
    /// For a level run, the number of its index. For a recent run, a bit for each index whose
    /// entries are not in a level yet.
    pub(crate) indexes: u8,
    /// A set of [`OPEN`], [`IN_ROUND`], [`IN_JOB`], [`LEARNT`], [`MERGED`] and the other marks.
    pub(crate) marks: u8,
    /// Flags that occur in its entries.
    pub(crate) flags: u8,
    /// Bytes of its Bloom filter.
    pub(crate) bloom_size: u16,
}

impl Head {
    pub(crate) const fn is_recent(self) -> bool {
        self.level == RECENT
    }

    pub(crate) const fn is(self, marks: u8) -> bool {
        self.marks & marks == marks
    }

    /// Whether a lookup in `index` has to read this run.
    pub(crate) const fn serves(self, index: u8) -> bool {
        if self.is_recent() { self.indexes >> index & 1 == 1 } else { self.indexes == index }
    }

    /// The space in which its pages lie.
    pub(crate) const fn space(self) -> Space {
        if self.is_recent() { Space::Young } else { Space::Old }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) head: Head,
    /// Number of extents.
    extent_count: u8,
    extents: [Extent; EXTENTS_MAX],
    pub(crate) units: u32,
    pub(crate) entries: u32,
    /// Number of different codes.
    pub(crate) distinct: u32,
    /// The least and the greatest pointer of its entries.
    pub(crate) pointers: (u32, u32),
    /// A bit for each index, set where codes of its section lie evenly.
    pub(crate) evens: u8,
    /// How many splitters a level run has; None where it keeps none.
    pub(super) splitters: Option<u8>,
    /// For a recent run the entries, the plan and the units of each section; for a level run the
    /// plan, and two splitters in each word behind it.
    detail: [u32; INDEX_MAX],
    /// The least and the greatest code of each section. A level run has one section.
    bounds: [(u64, u64); INDEX_MAX],
}

impl Run {
    /// An empty run, to be filled.
    pub(crate) const EMPTY: Self =
        Self::empty(Head { level: 0, indexes: 0, marks: 0, flags: 0, bloom_size: 0 });

    /// An empty recent run.
    pub(crate) fn recent(flags: u8) -> Self {
        Self::empty(Head { level: RECENT, flags, ..Head::default() })
    }

    /// An empty level run.
    #[cfg(test)]
    pub(crate) fn of_level(index: u8, level: u8, flags: u8) -> Self {
        Self::empty(Head { level, indexes: index, flags, ..Head::default() })
    }

    pub(crate) const fn empty(head: Head) -> Self {
        Self {
            head,
            extent_count: 0,
            extents: [Extent { first: 0, count: 0 }; EXTENTS_MAX],
            units: 0,
            entries: 0,
            distinct: 0,
            pointers: (u32::MAX, 0),
            evens: 0,
            splitters: None,
            detail: [0; INDEX_MAX],
            bounds: [(0, u64::MAX); INDEX_MAX],
        }
    }

    /// The part of the run that holds an index.
    pub(crate) fn section(&self, index: u8) -> Section {
        let at = usize::from(index);
        let is_even = self.evens >> index & 1 == 1;
        if !self.head.is_recent() {
            if index != self.head.indexes {
                return Section::default();
            }
            let Self { entries, units, detail, .. } = *self;
            let (least, greatest) = self.bounds[0];
            let planned = detail[0];
            let is_fenced = self.head.is(FENCED);
            return Section {
                entries,
                planned,
                units,
                start: 0,
                least,
                greatest,
                is_even,
                is_fenced,
            };
        }
        let start = self.detail[..at].iter().map(|word| word >> 24).sum();
        let word = self.detail[at];
        let (entries, planned, units) = (word & 0xFFFF, word >> 16 & 0xFF, word >> 24);
        let (least, greatest) = self.bounds[at];
        let is_fenced = false;
        Section { entries, planned, units, start, least, greatest, is_even, is_fenced }
    }

    /// Take over a section of a recent run, or the plan of a level run; false where a number is
    /// larger than the encoding allows.
    pub(crate) fn set_section(&mut self, index: u8, section: &Section) -> bool {
        let Section { entries, planned, units, least, greatest, .. } = *section;
        debug_assert!(least <= greatest, "the least code is not above the greatest");
        self.evens = self.evens & !(1 << index) | u8::from(section.is_even) << index;
        if !self.head.is_recent() {
            (self.detail[0], self.bounds[0]) = (planned, (least, greatest));
            return true;
        }
        let at = usize::from(index);
        self.detail[at] = entries.min(0xFFFF) | planned.min(0xFF) << 16 | units.min(0xFF) << 24;
        self.bounds[at] = (least, greatest);
        self.head.indexes |= u8::from(units > 0) << index;
        entries <= 0xFFFF && planned <= 0xFF && units <= 0xFF
    }

    pub(super) fn splitter(&self, at: usize) -> u16 {
        let word = self.detail[1 + at / 2];
        (word >> (at % 2 * 16)) as u16
    }

    pub(super) fn set_splitter(&mut self, at: usize, splitter: u16) {
        debug_assert!(!self.head.is_recent(), "the words of a recent run are its sections'");
        debug_assert!(1 + at / 2 < INDEX_MAX, "there is room for the splitter");
        let (word, shift) = (&mut self.detail[1 + at / 2], at % 2 * 16);
        *word = *word & !(0xFFFF << shift) | u32::from(splitter) << shift;
    }

    /// Widen the range of pointers so that it has this one.
    pub(crate) fn note_pointer(&mut self, pointer: u32) {
        self.pointers = (self.pointers.0.min(pointer), self.pointers.1.max(pointer));
    }

    /// The extents of the run.
    pub(crate) fn extents(&self) -> &[Extent] {
        &self.extents[..usize::from(self.extent_count)]
    }

    /// The number that tells the run from others.
    pub(crate) fn name(&self) -> u32 {
        let first = self.extents().first();
        debug_assert!(first.is_some(), "a run that is read has pages");
        first.map_or(0, |extent| extent.first) << 1 | u32::from(self.head.is_recent())
    }

    /// Number of pages.
    pub(crate) fn pages(&self) -> u32 {
        self.extents().iter().map(|extent| extent.count).sum()
    }

    /// Add a page; false where it would need one extent too many.
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

    /// Add an extent; false where the run has the most already.
    pub(crate) fn add_extent(&mut self, extent: Extent) -> bool {
        debug_assert!(extent.count > 0, "a piece has a page");
        let count = usize::from(self.extent_count);
        if count == EXTENTS_MAX {
            return false;
        }
        debug_assert!(count < EXTENTS_MAX, "there is room for the piece");
        self.extents[count] = extent;
        self.extent_count += 1;
        true
    }

    /// The page of a unit and the cell on that page; None behind the end of the run.
    pub(crate) fn place(&self, unit: u32, cells: u32, numbers: Numbers) -> Option<(Page, usize)> {
        debug_assert!(cells > 0, "a page has cells");
        let mut left = unit / cells;
        for extent in self.extents() {
            if left < extent.count {
                let number = numbers.advance(extent.first, left);
                let space = self.head.space();
                return Some((Page { space, number }, (unit % cells) as usize));
            }
            left -= extent.count;
        }
        None
    }

    /// Whether pages of the run lie in a block.
    pub(crate) fn touches(&self, space: Space, block: u32, numbers: Numbers) -> bool {
        space == self.head.space()
            && self.extents().iter().any(|extent| {
                let first = numbers.block_of(extent.first);
                let last = numbers.block_of(numbers.advance(extent.first, extent.count - 1));
                let blocks = numbers.block_count();
                (block + blocks - first) % blocks <= (last + blocks - first) % blocks
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_hop_over_what_lies_between_the_pieces() {
        let numbers = Numbers::new(24, 8);
        let mut run = Run::of_level(2, 1, 0);
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
        let section = |entries, planned, units| Section {
            entries,
            planned,
            units,
            greatest: 255,
            ..Section::default()
        };
        assert!(run.set_section(0, &section(300, 4, 3)));
        assert!(run.set_section(2, &section(7, 0, 1)));
        assert!(!run.set_section(3, &section(70_000, 0, 0)));
        assert_eq!(run.section(2), Section { start: 3, ..section(7, 0, 1) });
        assert!(run.head.serves(0) && !run.head.serves(1) && run.head.serves(2));
        let shape = Shape { code_bits: 8, pointer_bits: 9, is_unique: true };
        assert_eq!([0, 63, 64, 255].map(|code| run.section(0).target(code, shape)), [0, 0, 1, 3]);
    }

    #[test]
    fn parts_of_any_width_ascend_from_the_first_to_the_last() {
        let keys = Shape { code_bits: 64, pointer_bits: 9, is_unique: true };
        for (least, greatest) in [(0, u64::MAX), (5, 5), (1 << 40, (1 << 40) + 999), (7, 1 << 33)] {
            let section = Section { planned: 1000, least, greatest, ..Section::default() };
            let width = greatest - least;
            let codes = (0..=100).map(|part| least + width / 100 * part);
            let parts = codes.map(|code| section.target(code, keys));
            assert!(parts.clone().is_sorted() && parts.clone().all(|part| part < 1000));
            assert_eq!(section.target(least, keys), 0);
            let last = section.target(greatest, keys);
            assert_eq!(last, if width > 0 { 999 } else { 0 });
        }
    }
}
