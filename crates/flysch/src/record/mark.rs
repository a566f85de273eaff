//! Marks in a transaction under way: how far it had come.

use super::tail::PARTS;
use crate::media::Space;

/// Marks that there are at a time, at most: those of a program, and one of the engine's own.
pub(crate) const MARKS_MAX: usize = 5;

/// How far a ring has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Came {
    /// Rows that it ever had, as far as they are counted.
    pub(crate) rows: u32,
    /// The last page with rows of it that was programmed.
    pub(crate) last: u32,
}

impl Came {
    /// A ring of no rows.
    pub(crate) const NONE: Self = Self { rows: 0, last: 0 };
}

/// A place in the transaction under way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mark {
    /// Bytes of each part of the tail.
    pub(crate) lens: [usize; PARTS],
    /// The first page of each part with rows of the transaction that was programmed since: it
    /// begins with the rows that were in the tail.
    pub(crate) first: [Option<u32>; PARTS],
    /// Rows of the transaction.
    pub(crate) rows: u32,
    /// How far each ring had come.
    pub(crate) came: [Came; Space::RINGS.len()],
}

/// The marks of a transaction, the oldest first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Marks {
    marks: [Mark; MARKS_MAX],
    len: u8,
}

impl Marks {
    pub(crate) const fn new() -> Self {
        let none = Mark {
            lens: [0; PARTS],
            first: [None; PARTS],
            rows: 0,
            came: [Came::NONE; Space::RINGS.len()],
        };
        Self { marks: [none; MARKS_MAX], len: 0 }
    }

    /// How many there are.
    pub(crate) const fn len(&self) -> usize {
        self.len as usize
    }

    /// Set a mark; false where there are too many.
    pub(crate) fn push(&mut self, mark: Mark) -> bool {
        let Some(place) = self.marks.get_mut(usize::from(self.len)) else { return false };
        *place = mark;
        self.len += 1;
        true
    }

    /// A mark, counted from the oldest.
    pub(crate) fn get(&self, number: usize) -> Option<Mark> {
        self.marks[..usize::from(self.len)].get(number).copied()
    }

    /// Forget the marks from `number` on.
    pub(crate) fn truncate(&mut self, number: usize) {
        debug_assert!(number <= MARKS_MAX, "marks are counted from the oldest");
        self.len = self.len.min(number as u8);
    }

    /// The rows of a page are in the tail again.
    pub(crate) fn forget_page(&mut self, part: usize, page: u32) {
        for mark in self.marks.iter_mut().filter(|mark| mark.first[part] == Some(page)) {
            mark.first[part] = None;
        }
    }

    /// A part of the tail became a page. Where nothing of the transaction was in it, nothing on it
    /// is ever taken back.
    pub(crate) fn note_page(&mut self, part: usize, page: u32, has_open: bool) {
        let marks = self.marks[..usize::from(self.len)].iter_mut();
        for mark in marks.filter(|mark| mark.first[part].is_none()) {
            if has_open {
                mark.first[part] = Some(page);
            } else {
                mark.lens[part] = 0;
                note_last(&mut mark.came, part, page);
            }
        }
    }
}

/// The rows of a part are on a page that nothing takes back.
pub(super) fn note_last(came: &mut [Came; Space::RINGS.len()], part: usize, page: u32) {
    // The first part is that of new rows.
    if let Some(came) = part.checked_sub(1).and_then(|ring| came.get_mut(ring)) {
        came.last = page;
    }
}
