//! LEBs by what they can be used for, in the order in which they are found.
//!
//! The kernel keeps the LEBs of three categories in heaps, by what there is to gain. Those that
//! hold nothing valid are in lists, and the one that came last is found first.

use super::heap::Heap;
use super::lpt::Lprops;
use strum::EnumCount;

/// What a LEB can be used for when space is sought.
#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumCount)]
pub(super) enum Category {
    Empty,
    /// Empty, and given to somebody who has not written to it yet.
    TakenEmpty,
    Freeable,
    FreeableIndex,
    DirtyIndex,
    Dirty,
    Free,
    None,
}

/// The LEBs of one category.
#[derive(Clone, Debug)]
enum Members {
    /// The greatest comes first.
    Heap(Heap),
    /// The last one comes first.
    List(Vec<u32>),
    /// They are never sought.
    Unsought,
}

/// The LEBs of each category, among those whose properties are in memory.
#[derive(Clone, Debug)]
pub(super) struct Categories([Members; Category::COUNT]);

impl Default for Categories {
    fn default() -> Self {
        let mut members = [const { Members::Unsought }; Category::COUNT];
        for category in [Category::DirtyIndex, Category::Dirty, Category::Free] {
            members[category as usize] = Members::Heap(Heap::default());
        }
        let (empty, freeable) = (Category::Empty, Category::Freeable);
        for category in [empty, Category::TakenEmpty, freeable, Category::FreeableIndex] {
            members[category as usize] = Members::List(Vec::new());
        }
        Self(members)
    }
}

impl Categories {
    /// Note that a LEB has other properties, and perhaps another category than before.
    pub(super) fn change(
        &mut self,
        lnum: u32,
        (old, new): (Option<Category>, Category),
        lprops: Lprops,
    ) {
        if let Some(old) = old.filter(|old| *old != new) {
            self.remove(lnum, old);
        }
        let value = match new {
            Category::Dirty => lprops.dirty,
            Category::Free => lprops.free,
            _ => lprops.gain(),
        };
        match &mut self.0[new as usize] {
            Members::Heap(heap) => heap.put(lnum, value),
            Members::List(lebs) if old != Some(new) => lebs.push(lnum),
            Members::List(_) | Members::Unsought => {}
        }
    }

    fn remove(&mut self, lnum: u32, old: Category) {
        match &mut self.0[old as usize] {
            Members::Heap(heap) => heap.remove(lnum),
            Members::List(lebs) => {
                let place = lebs.iter().rposition(|&it| it == lnum);
                lebs.remove(place.expect("it was listed when it got this category"));
            }
            Members::Unsought => {}
        }
    }

    /// Number of LEBs of a category that is sought.
    pub(super) fn count(&self, category: Category) -> u32 {
        let count = match &self.0[category as usize] {
            Members::Heap(heap) => heap.len(),
            Members::List(lebs) => lebs.len(),
            Members::Unsought => 0,
        };
        u32::try_from(count).expect("below the LEB count")
    }

    /// The LEBs of a category in the order in which they are found.
    pub(super) fn lebs(&self, category: Category) -> impl Iterator<Item = u32> + '_ {
        let (heap, list) = match &self.0[category as usize] {
            Members::Heap(heap) => (Some(heap), None),
            Members::List(lebs) => (None, Some(lebs)),
            Members::Unsought => (None, None),
        };
        let listed = list.into_iter().flat_map(|lebs| lebs.iter().rev().copied());
        heap.into_iter().flat_map(Heap::lebs).chain(listed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_empty_lebs_the_one_that_came_last_is_found_first() {
        let lprops = Lprops { free: 8, ..Lprops::default() };
        let mut all = Categories::default();
        for lnum in [5, 3, 4] {
            all.change(lnum, (None, Category::Empty), lprops);
        }
        all.change(5, (Some(Category::Empty), Category::Empty), lprops);
        assert_eq!(all.lebs(Category::Empty).collect::<Vec<_>>(), [4, 3, 5], "5 stays where it is");
        all.change(3, (Some(Category::Empty), Category::TakenEmpty), lprops);
        all.change(3, (Some(Category::TakenEmpty), Category::Empty), lprops);
        assert_eq!(all.lebs(Category::Empty).collect::<Vec<_>>(), [3, 4, 5]);
        assert_eq!((all.count(Category::Empty), all.count(Category::TakenEmpty)), (3, 0));
    }
}
