//! Void spans: pages before a head that were never committed, so that nobody may believe them.
//!
//! ```text
//! space u8 | first page u32 | end page u32
//! ```
//!
//! 1. Only spaces of rows have void spans, for a run names its pages.
//! 2. A span is kept in the state until its block has a summary page, or goes. The summary holds
//!    the spans of its block, for those who read its pages in turn.
//! 3. A mount adds at most one for each row space. So there has to be room for many mounts. Lives
//!    that are cut after a page each would put a span behind every page of a large block. So where
//!    there are many, a mount leaves out the rest of the block up to its summary page.

use super::address::{Numbers, Page, Space};
use crate::bytes::array;

/// Greatest number of spans that are kept.
pub const SPANS_MAX: usize = 28;
/// Number of spans from which on a mount leaves out the rest of a head's block that has a good part
/// of them.
const SPANS_CROWD: usize = 12;
/// Number of spans that such a block has at least.
const SPANS_LEFT: usize = 4;
/// Number of spans from which on a block that has one is emptied.
pub(crate) const SPANS_MANY: usize = 10;
/// Number of spans from which on no transaction begins or goes on.
pub(crate) const SPANS_REFUSED: usize = 18;
/// Number of spans from which on nothing is moved: the rest is for mounts.
pub(crate) const SPANS_LAST: usize = 24;
/// Bytes of a span in a record.
pub(crate) const SPAN_SIZE: usize = 9;

/// Pages that were programmed and never committed, or that a cut may have left half programmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The space of the pages.
    pub space: Space,
    /// Number of the first page.
    pub from: u32,
    /// Number of the page behind the last one.
    pub end: u32,
}

impl Span {
    /// Read a span from a record; None where it is not valid.
    pub(crate) fn parse(bytes: &[u8; SPAN_SIZE], numbers: Numbers) -> Option<Self> {
        let space = Space::of_code(bytes[0])?;
        let from = u32::from_le_bytes(array(&bytes[1..5]));
        let end = u32::from_le_bytes(array(&bytes[5..9]));
        let within = from < numbers.page_count() && end < numbers.page_count() && from != end;
        (within && space.holds_rows()).then_some(Self { space, from, end })
    }

    /// Write the span for a record.
    pub(crate) fn emit(&self) -> [u8; SPAN_SIZE] {
        debug_assert!(self.from != self.end, "a span holds a page");
        debug_assert!(self.space.holds_rows(), "only spaces of rows have spans");
        let mut bytes = [0; SPAN_SIZE];
        bytes[0] = self.space as u8;
        bytes[1..5].copy_from_slice(&self.from.to_le_bytes());
        bytes[5..9].copy_from_slice(&self.end.to_le_bytes());
        bytes
    }

    /// Whether a page lies in the span.
    pub fn holds(&self, page: Page, numbers: Numbers) -> bool {
        page.space == self.space
            && numbers.distance(self.from, page.number) < numbers.distance(self.from, self.end)
    }
}

/// All void spans that the state holds.
#[derive(Clone, Debug)]
pub struct Spans {
    spans: [Span; SPANS_MAX],
    len: u8,
}

impl Spans {
    /// A list without spans.
    pub(crate) const fn new() -> Self {
        let none = Span { space: Space::Hot, from: 0, end: 0 };
        Self { spans: [none; SPANS_MAX], len: 0 }
    }

    /// The spans, in the order in which they were added.
    pub fn as_slice(&self) -> &[Span] {
        &self.spans[..usize::from(self.len)]
    }

    /// Forget all spans.
    pub(crate) const fn clear(&mut self) {
        self.len = 0;
    }

    /// Whether there is room for `count` more spans.
    pub(crate) fn has_room(&self, count: usize) -> bool {
        usize::from(self.len) + count <= SPANS_MAX
    }

    /// Add a span. It is joined with the one before where both touch within a block. Fails where
    /// there is no room, or where both make a circle.
    pub(crate) fn add(&mut self, span: Span, numbers: Numbers) -> Result<(), ()> {
        assert!(span.from != span.end, "a span holds a page");
        let is_within = numbers.page_in_block(span.from) > 0;
        let touches =
            |known: &&mut Span| is_within && known.space == span.space && known.end == span.from;
        let known = self.spans[..usize::from(self.len)].iter_mut().find(touches);
        if let Some(known) = known {
            if known.from == span.end {
                // Together they would be all pages of the space, or none.
                return Err(());
            }
            known.end = span.end;
            return Ok(());
        }
        if !self.has_room(1) {
            return Err(());
        }
        self.spans[usize::from(self.len)] = span;
        self.len += 1;
        Ok(())
    }

    /// Forget the spans for which `keep` says no.
    pub(crate) fn retain(&mut self, mut keep: impl FnMut(&Span) -> bool) {
        let mut kept = 0;
        for at in 0..usize::from(self.len) {
            if keep(&self.spans[at]) {
                self.spans[kept] = self.spans[at];
                kept += 1;
            }
        }
        debug_assert!(kept <= usize::from(self.len), "spans only go");
        self.len = kept as u8;
    }

    /// Whether a block lies wholly in a span, so that it holds nothing.
    pub(crate) fn cover(&self, space: Space, block: u32, numbers: Numbers) -> bool {
        let first = block * numbers.pages_per_block;
        let last = numbers.last_page(block);
        self.as_slice().iter().any(|span| {
            let holds = |number| span.holds(Page { space, number }, numbers);
            holds(first) && holds(last)
        })
    }

    /// The spans of a block.
    pub(crate) fn of_block(
        &self,
        space: Space,
        block: u32,
        numbers: Numbers,
    ) -> impl Iterator<Item = &Span> {
        let within =
            move |span: &&Span| span.space == space && numbers.block_of(span.from) == block;
        self.as_slice().iter().filter(within)
    }

    /// Whether a mount leaves out the rest of a head's block, so that its summary comes to hold its
    /// spans: it has a good part of too many spans.
    pub(crate) fn crowd(&self, space: Space, block: u32, numbers: Numbers) -> bool {
        debug_assert!(space.holds_rows(), "only spaces of rows have spans");
        usize::from(self.len) >= SPANS_CROWD
            && self.of_block(space, block, numbers).count() >= SPANS_LEFT
    }

    /// The span in which a page lies; None where the page is not void.
    pub(crate) fn find(&self, page: Page, numbers: Numbers) -> Option<&Span> {
        self.as_slice().iter().find(|span| span.holds(page, numbers))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_join_within_a_block_and_come_back() {
        let numbers = Numbers::new(24, 8);
        let mut spans = Spans::new();
        let first = Span { space: Space::Hot, from: 509, end: 511 };
        spans.add(first, numbers).unwrap();
        spans.add(Span { from: 511, end: 0, ..first }, numbers).unwrap();
        spans.add(Span { from: 0, end: 2, ..first }, numbers).unwrap();
        let [one, two] = [Span { end: 0, ..first }, Span { from: 0, end: 2, ..first }];
        assert_eq!(spans.as_slice(), [one, two]);
        let hot = |number| Page { space: Space::Hot, number };
        let holds = |number| spans.find(hot(number), numbers).is_some();
        assert_eq!([508, 509, 511, 0, 1, 2].map(holds), [false, true, true, true, true, false]);
        assert_eq!(Span::parse(&one.emit(), numbers), Some(one));
        spans.retain(|span| span.from == 3);
        assert_eq!(spans.as_slice(), []);
    }

    /// Only a damaged image has them: each span begins where the other ends.
    #[test]
    fn spans_that_make_a_circle_are_refused() {
        let numbers = Numbers::new(24, 8);
        let first = Span { space: Space::Cold, from: 100, end: 103 };
        let rest = Span { from: 103, end: 100, ..first };
        for [one, two] in [[first, rest], [Span { end: 105, ..first }, Span { from: 105, ..rest }]]
        {
            let mut spans = Spans::new();
            spans.add(one, numbers).unwrap();
            spans.add(two, numbers).unwrap_err();
            assert_eq!(spans.as_slice(), [one]);
        }
    }
}
