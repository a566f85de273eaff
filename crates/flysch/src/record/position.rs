//! Positions: the page and the cell in which a row begins.
//!
//! An index keeps a position as a number, its *pointer*: the page, then one bit for the space (two
//! where there are rings), then the cell in the lowest bits. Several rows may begin in one cell.
//! Whoever follows a position looks at each of them.

use super::records::ROW_SPACES;
use crate::media::{Layout, Numbers, Page};

/// The cell in which a row begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// The page that holds the row.
    pub page: Page,
    /// The cell within the page.
    pub cell: u32,
}

impl Position {
    /// The position as a number, as an index keeps it.
    pub(crate) fn pointer(&self, layout: Layout) -> u32 {
        debug_assert!(self.page.space.holds_rows(), "rows lie in spaces of rows");
        debug_assert!(self.cell < layout.cells, "the cell is on the page");
        page_part(self.page, layout) * layout.cells + self.cell
    }

    /// The position for a pointer of an index; None where the chip has no such page.
    pub(crate) fn of_pointer(pointer: u32, layout: Layout, numbers: Numbers) -> Option<Self> {
        let page = pointer / layout.cells;
        let space = ROW_SPACES[(page & ((1 << layout.space_bits) - 1)) as usize];
        let page = Page { space, number: page >> layout.space_bits };
        let position = Self { page, cell: pointer % layout.cells };
        (page.number < numbers.page_count()).then_some(position)
    }
}

/// The part of a pointer that names the page: all but the bits of the cell.
pub(crate) const fn page_part(page: Page, layout: Layout) -> u32 {
    let stream = page.space.stream() as u32;
    debug_assert!(stream >> layout.space_bits == 0, "only rings need a second bit");
    page.number << layout.space_bits | stream
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::media::Space;

    #[test]
    fn positions_come_back_from_pointers() {
        let (layout, numbers) = (Layout::new(2048), Numbers::new(1024, 64));
        for (space, number, cell) in [(Space::Hot, 0, 0), (Space::Cold, 131_071, 3)] {
            let position = Position { page: Page { space, number }, cell };
            let pointer = position.pointer(layout);
            assert_eq!(Position::of_pointer(pointer, layout, numbers), Some(position));
        }
        assert_eq!(Position::of_pointer(u32::MAX, layout, numbers), None);
    }
}
