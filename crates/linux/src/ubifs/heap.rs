//! A binary heap of LEBs (`lpt_heap`).
//!
//! Which one of several equal LEBs comes first follows from how the heap became what it is. The
//! model keeps all LEBs, and the kernel 256 of each category.

/// As a place: the LEB is not in the heap.
const NOWHERE: usize = usize::MAX;

/// LEBs with a value each, the greatest on top.
#[derive(Clone, Debug, Default)]
pub(super) struct Heap {
    /// Values and numbers of LEBs. None has a greater value than its parent, at half its place.
    entries: Vec<(u32, u32)>,
    /// Where a LEB is among them, by its number.
    places: Vec<usize>,
}

impl Heap {
    /// Put a LEB into the heap, or give it another value.
    pub(super) fn put(&mut self, lnum: u32, value: u32) {
        if self.places.len() <= lnum as usize {
            self.places.resize(lnum as usize + 1, NOWHERE);
        }
        let mut place = self.places[lnum as usize];
        if place == NOWHERE {
            place = self.entries.len();
            self.entries.push((value, lnum));
        }
        self.entries[place].0 = value;
        self.places[lnum as usize] = place;
        self.settle(place);
    }

    pub(super) fn remove(&mut self, lnum: u32) {
        let place = self.places[lnum as usize];
        self.places[lnum as usize] = NOWHERE;
        self.entries.swap_remove(place);
        if let Some(&(_, moved)) = self.entries.get(place) {
            self.places[moved as usize] = place;
            self.settle(place);
        }
    }

    /// Move an entry up as long as it is greater than its parent, or down as long as a child is
    /// greater. Below one that went up, none is.
    fn settle(&mut self, mut place: usize) {
        let value = self.entries[place].0;
        while place > 0 && value > self.entries[(place - 1) / 2].0 {
            self.swap(place, (place - 1) / 2);
            place = (place - 1) / 2;
        }
        while let Some(child) = self.greater_child(place) {
            self.swap(place, child);
            place = child;
        }
    }

    /// The greater child of an entry, the left one of two that are equal, if it is greater than
    /// the entry.
    fn greater_child(&self, place: usize) -> Option<usize> {
        let value = |place: usize| self.entries.get(place).map(|(value, _)| *value);
        let (left, right) = (2 * place + 1, 2 * place + 2);
        let child = if value(right) > value(left) { right } else { left };
        (value(child) > value(place)).then_some(child)
    }

    pub(super) const fn len(&self) -> usize {
        self.entries.len()
    }

    /// The LEBs as they lie in the heap: one with the greatest value comes first, and none comes
    /// before its parent.
    pub(super) fn lebs(&self) -> impl Iterator<Item = u32> + '_ {
        self.entries.iter().map(|(_, lnum)| *lnum)
    }

    fn swap(&mut self, one: usize, other: usize) {
        self.entries.swap(one, other);
        for place in [one, other] {
            self.places[self.entries[place].1 as usize] = place;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_greatest_is_on_top_whatever_comes_and_goes() {
        let (mut heap, mut values) = (Heap::default(), std::collections::BTreeMap::new());
        let mut state = 1_u32;
        for _ in 0..5_000 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let (lnum, value) = (state >> 27, state >> 8 & 15);
            if value == 0 && values.remove(&lnum).is_some() {
                heap.remove(lnum);
            } else if value > 0 {
                heap.put(lnum, value);
                values.insert(lnum, value);
            }
            let mut entries = heap.entries.clone();
            entries.sort_unstable();
            let mut wanted: Vec<_> = values.iter().map(|(lnum, value)| (*value, *lnum)).collect();
            wanted.sort_unstable();
            assert_eq!(entries, wanted);
            let top = heap.entries.first().map(|(value, _)| *value);
            assert_eq!(top, values.values().max().copied());
        }
    }

    /// A LEB does not pass one that is equal. The last one takes the place of one that goes, and of
    /// two equal children the left one goes up.
    #[test]
    fn of_equal_lebs_the_history_decides() {
        let top = |heap: &Heap| heap.entries[0].1;
        let mut heap = Heap::default();
        (1..=4).for_each(|lnum| heap.put(lnum, 5));
        assert_eq!(top(&heap), 1);
        heap.remove(1);
        assert_eq!(top(&heap), 4);
        heap.put(4, 3);
        assert_eq!(top(&heap), 2, "the left child");
        heap.put(4, 5);
        assert_eq!(top(&heap), 2);
        heap.put(4, 6);
        assert_eq!(top(&heap), 4);
        heap.put(5, 6);
        assert_eq!(top(&heap), 4, "it goes up no further than below an equal one");
    }
}
