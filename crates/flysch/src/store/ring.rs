//! A few values of which the oldest is replaced. It can be changed by those who borrow it.

use core::cell::Cell;

/// What a ring keeps.
pub(super) trait Item: Copy {
    /// In place of a value: there is none.
    const NONE: Self;

    /// Whether a newer value replaces this one. [`Item::NONE`] is like no value.
    fn is_like(&self, newer: &Self) -> bool;
}

/// So many values, replaced in turn.
#[derive(Debug)]
pub(super) struct Ring<T: Copy, const COUNT: usize> {
    values: [Cell<T>; COUNT],
    next: Cell<usize>,
}

impl<T: Item, const COUNT: usize> Ring<T, COUNT> {
    pub(super) const fn new() -> Self {
        Self { values: [const { Cell::new(T::NONE) }; COUNT], next: Cell::new(0) }
    }

    /// The values, [`Item::NONE`] among them.
    pub(super) fn iter(&self) -> impl Iterator<Item = T> {
        self.values.iter().map(Cell::get)
    }

    /// Keep a value, in place of the one that is like it, or else of the oldest.
    pub(super) fn keep(&self, value: T) {
        let alike = self.values.iter().find(|old| old.get().is_like(&value));
        let place = alike.unwrap_or_else(|| {
            self.next.set((self.next.get() + 1) % COUNT);
            &self.values[self.next.get()]
        });
        place.set(value);
    }

    /// Forget the values for which `is_gone` says yes.
    pub(super) fn forget(&self, is_gone: impl Fn(&T) -> bool) {
        let gone = self.values.iter().filter(|value| is_gone(&value.get()));
        gone.for_each(|value| value.set(T::NONE));
    }
}
