//! Newest entries: where lookups of the last few codes ended.
//!
//! A program reads the rows of an order, and then replaces each of them. The second lookup of a key
//! would go through all runs once more, to learn what the first one did.
//!
//! 1. What is noted of a code says that no newer entry leads to a row, and that no row of another
//!    key was met before it. So it is forgotten when an entry of the code is put.
//! 2. It says nothing of the row. Its block may be gone by now: a lookup that does not find the row
//!    there begins anew.
//! 3. Notes are in RAM alone, and made by lookups, which borrow the store.

use super::ring::{Item, Ring};

/// Number of codes of which something is noted.
const COUNT: usize = 16;
/// In place of a pointer: there is no entry. Pointers have fewer than 32 bits.
const ABSENT: u32 = u32::MAX;

/// The newest entry of a code that leads to a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Newest {
    /// It has this pointer.
    At(u32),
    /// There is none: no entry of the code leads anywhere.
    Absent,
}

/// A code of an index, and the pointer of its newest entry. A note of no index is none.
#[derive(Clone, Copy, Debug)]
struct Note {
    code: u64,
    pointer: u32,
    index: Option<u8>,
}

impl Note {
    fn is_of(&self, index: u8, code: u64) -> bool {
        (self.index, self.code) == (Some(index), code)
    }
}

impl Item for Note {
    const NONE: Self = Self { code: 0, pointer: 0, index: None };

    fn is_like(&self, newer: &Self) -> bool {
        newer.index.is_some_and(|index| self.is_of(index, newer.code))
    }
}

/// What is noted of some codes.
#[derive(Debug)]
pub(crate) struct Noted {
    notes: Ring<Note, COUNT>,
}

impl Noted {
    /// Nothing is known.
    pub(crate) const fn new() -> Self {
        Self { notes: Ring::new() }
    }

    /// The newest entry of a code; None where it is not known.
    pub(crate) fn find(&self, index: u8, code: u64) -> Option<Newest> {
        let Note { pointer, .. } = self.notes.iter().find(|note| note.is_of(index, code))?;
        Some(if pointer == ABSENT { Newest::Absent } else { Newest::At(pointer) })
    }

    /// Note the newest entry of a code.
    pub(crate) fn note(&self, index: u8, code: u64, newest: Newest) {
        let pointer = match newest {
            Newest::At(pointer) => pointer,
            Newest::Absent => ABSENT,
        };
        debug_assert!(newest == Newest::Absent || pointer < ABSENT, "a pointer has fewer bits");
        self.notes.keep(Note { code, pointer, index: Some(index) });
    }

    /// Forget a code, as an entry of it is put.
    pub(crate) fn forget(&self, index: u8, code: u64) {
        debug_assert!(
            self.notes.iter().filter(|note| note.is_of(index, code)).count() <= 1,
            "a code is noted once"
        );
        self.notes.forget(|note| note.is_of(index, code));
    }

    /// Forget everything, as entries are dropped or lead elsewhere.
    pub(crate) fn clear(&self) {
        self.notes.forget(|_| true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_codes_are_known_until_an_entry_of_theirs_is_put() {
        let noted = Noted::new();
        let at = |pointer| Some(Newest::At(pointer));
        (0..COUNT as u32).for_each(|n| noted.note(3, u64::from(n), Newest::At(n * 7)));
        let found = |code| noted.find(3, code);
        assert_eq!([0, 5, 15].map(found), [at(0), at(35), at(105)]);
        assert_eq!(noted.find(2, 5), None, "an index has its own codes");
        noted.note(3, 5, Newest::Absent);
        assert_eq!([0, 5].map(found), [at(0), Some(Newest::Absent)], "a code is noted once");
        noted.note(3, 99, Newest::At(1));
        assert_eq!([0, 1, 99].map(found), [None, at(7), at(1)], "the oldest goes first");
        noted.forget(3, 1);
        noted.forget(2, 5);
        assert_eq!([1, 5].map(found), [None, Some(Newest::Absent)]);
        noted.clear();
        assert_eq!([5, 99].map(found), [None, None]);
    }
}
