//! Marks: how far the open transaction had come at a savepoint.

use super::tail::PARTS;
use crate::media::Space;

/// Greatest number of marks at a time: those of the program's savepoints, and one of the engine's
/// own.
pub(crate) const MARKS_MAX: usize = 5;

/// How far a ring has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Came {
    /// Rows that the ring ever had, as far as they were counted, modulo 2^32.
    pub(crate) rows: u32,
    /// The last programmed page that has rows of the ring.
    pub(crate) last: u32,
}

impl Came {
    /// The state of a ring that never had a row.
    pub(crate) const NONE: Self = Self { rows: 0, last: 0 };
}

/// How far the open transaction had come at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mark {
    /// Tells a mark from another one that was set in its place before.
    pub(crate) serial: u16,
    /// Number of bytes in each part of the tail.
    pub(crate) lens: [u16; PARTS],
    /// For each part, the first page programmed since that has rows of the transaction. It begins
    /// with the rows that were in the tail. None where no such page was programmed.
    pub(crate) first: [Option<u32>; PARTS],
    /// Number of rows of the transaction.
    pub(crate) rows: u32,
    /// How far each ring had come.
    pub(crate) came: [Came; Space::RINGS.len()],
}

/// The marks of the open transaction, the oldest first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Marks {
    marks: [Mark; MARKS_MAX],
    len: u8,
}

impl Marks {
    pub(crate) const fn new() -> Self {
        let none = Mark {
            serial: 0,
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

    /// Set a mark; false where there are [`MARKS_MAX`] already.
    pub(crate) fn push(&mut self, mark: Mark) -> bool {
        let Some(place) = self.marks.get_mut(usize::from(self.len)) else { return false };
        *place = mark;
        self.len += 1;
        true
    }

    /// A mark by its number, the oldest being 0; None where there is no such mark.
    pub(crate) fn get(&self, number: usize) -> Option<Mark> {
        self.marks[..usize::from(self.len)].get(number).copied()
    }

    /// Forget the marks from `number` on.
    pub(crate) fn truncate(&mut self, number: usize) {
        debug_assert!(number <= MARKS_MAX, "marks are counted from the oldest");
        self.len = self.len.min(number as u8);
    }

    /// Note that the rows of a page are in the tail again.
    pub(crate) fn forget_page(&mut self, part: usize, page: u32) {
        for mark in self.marks.iter_mut().filter(|mark| mark.first[part] == Some(page)) {
            mark.first[part] = None;
        }
    }

    /// Note that a part of the tail was programmed as a page. `has_open` says whether the
    /// transaction had rows in it: otherwise no rollback can undo the page.
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

/// Note that rows of a part are on a page that no rollback can undo.
pub(super) fn note_last(came: &mut [Came; Space::RINGS.len()], part: usize, page: u32) {
    // Part 0 is that of new rows, which are of no ring.
    if let Some(came) = part.checked_sub(1).and_then(|ring| came.get_mut(ring)) {
        came.last = page;
    }
}
