//! Positions: where a row begins, to the cell.
//!
//! A position is a number: the page times the cells of a page, plus the cell, and one bit for the
//! space. Several rows may begin in one cell: whoever follows a position looks at each of them.

use crate::media::{Layout, Numbers, Page, Space};

/// The cell in which a row begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// The page.
    pub page: Page,
    /// The cell of the page.
    pub cell: u32,
}

impl Position {
    /// The position as an index keeps it.
    pub(crate) fn pointer(&self, layout: Layout) -> u32 {
        debug_assert!(self.page.space.holds_rows(), "rows lie in spaces of rows");
        debug_assert!(self.cell < layout.cells, "the cell is on the page");
        let place = self.page.number * layout.cells + self.cell;
        place << 1 | self.page.space as u32
    }

    /// The position that an index kept; none where the chip has no such page.
    pub(crate) fn of_pointer(pointer: u32, layout: Layout, numbers: &Numbers) -> Option<Self> {
        let space = if pointer & 1 == 0 { Space::Hot } else { Space::Cold };
        let place = pointer >> 1;
        let page = Page { space, number: place / layout.cells };
        let position = Self { page, cell: place % layout.cells };
        (page.number < numbers.page_count()).then_some(position)
    }
}

/// The pointers of all cells of a page: from the first to behind the last.
pub(crate) fn pointers_of(page: Page, layout: Layout) -> (u32, u32) {
    let first = Position { page, cell: 0 }.pointer(layout);
    (first, first + 2 * layout.cells)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_come_back_from_pointers() {
        let (layout, numbers) = (Layout::new(2048), Numbers::new(1024, 64));
        for (space, number, cell) in [(Space::Hot, 0, 0), (Space::Cold, 131_071, 3)] {
            let position = Position { page: Page { space, number }, cell };
            let pointer = position.pointer(layout);
            assert_eq!(Position::of_pointer(pointer, layout, &numbers), Some(position));
        }
        assert_eq!(Position::of_pointer(u32::MAX, layout, &numbers), None);
    }
}
