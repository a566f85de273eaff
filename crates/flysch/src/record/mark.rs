//! Marks in a transaction under way: how far it had come.

/// Marks that there are at a time, at most: those of a program, and one of the engine's own.
pub(crate) const MARKS_MAX: usize = 5;

/// A place in the transaction under way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mark {
    /// Bytes of the tail.
    pub(crate) tail_len: u16,
    /// The first page with rows of the transaction that was programmed since: it begins with the
    /// rows that were in the tail.
    pub(crate) first: Option<u32>,
    /// Rows of the transaction.
    pub(crate) rows: u32,
}

/// The marks of a transaction, the oldest first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Marks {
    marks: [Mark; MARKS_MAX],
    len: u8,
}

impl Marks {
    pub(crate) const fn new() -> Self {
        Self { marks: [Mark { tail_len: 0, first: None, rows: 0 }; MARKS_MAX], len: 0 }
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
        self.len = self.len.min(number as u8);
    }

    /// The rows of a page are in the tail again.
    pub(crate) fn forget_page(&mut self, page: u32) {
        for mark in self.marks.iter_mut().filter(|mark| mark.first == Some(page)) {
            mark.first = None;
        }
    }

    /// The tail became a page. Where nothing of the transaction was in it, nothing on it is ever
    /// taken back.
    pub(crate) fn note_page(&mut self, page: u32, has_open: bool) {
        for mark in self.marks[..usize::from(self.len)].iter_mut().filter(|it| it.first.is_none()) {
            if has_open {
                mark.first = Some(page);
            } else {
                mark.tail_len = 0;
            }
        }
    }
}
