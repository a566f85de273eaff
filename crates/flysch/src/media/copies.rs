//! Copies of blocks: all pages of a block are copied to another one unchanged, which then is the
//! logical block.
//!
//! The seal of a page names its logical place. No entry and no row names the physical block, so a
//! copy is as good as the original.
//!
//! 1. The block table names the old block until the last page is copied. A cut before forgets the
//!    copy.
//! 2. Nobody takes the old block until the record with the change is on flash.

use flysch_nand::Nand;

use super::blocks::Wear;
use super::{Cause, Media, MediaError, Name, Page, Sight, Space, Use};

/// A copy that is under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockCopy {
    space: Space,
    number: u32,
    pub(super) from: u32,
    pub(super) to: u32,
    /// The next page that is copied, by its place in the block.
    page: u32,
}

/// What one step of a copy did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Copied {
    /// A page was copied, or was blank.
    Page,
    /// This page cannot be read, and the copy waits.
    Unreadable(Page),
    /// The last page was copied: the logical block is the new block from now on. The next record
    /// says so.
    Block,
    /// Nothing is being copied: there was no copy, its block was let go, or a program failed.
    Nothing,
}

impl<N: Nand> Media<'_, N> {
    /// Whether a block is being copied.
    pub(crate) const fn is_copying(&self) -> bool {
        self.copy.is_some()
    }

    /// Whether a copied or freed block waits for the next record.
    pub(crate) const fn has_given_up(&self) -> bool {
        self.given_up.is_some()
    }

    /// Begin to copy a block, in which no head lies, to the most worn free block. Cost: one read
    /// and one erase, more only where blocks are bad.
    pub(crate) fn begin_copy(&mut self, from: u32) -> Result<(), MediaError> {
        let Use::Data(space, number) = self.table.at(from) else { return Ok(()) };
        assert!(!self.is_head(space, number), "the block of a head is still written to");
        debug_assert!(self.copy.is_none(), "one block is copied at a time");
        let to = self.erase_next(Wear::Most)?;
        assert!(to != from, "a block that is in use is not free");
        self.copy = Some(BlockCopy { space, number, from, to, page: 0 });
        Ok(())
    }

    /// Copy the next page. Cost: one read and one program.
    pub(crate) fn copy_page(&mut self, frame: &mut [u8]) -> Result<Copied, MediaError> {
        let Some(copy) = self.copy else { return Ok(Copied::Nothing) };
        if self.table.at(copy.from) != Use::Data(copy.space, copy.number) {
            self.drop_copy();
            return Ok(Copied::Nothing);
        }
        if copy.page == self.geometry.pages_per_block {
            return Ok(self.end_copy(copy));
        }
        debug_assert!(copy.page < self.geometry.pages_per_block, "a page is left");
        debug_assert!(copy.from != copy.to, "a block is not copied to itself");
        let name = Name::of_data(copy.space, copy.number);
        match self.look(copy.from, copy.page, name, frame)? {
            Sight::Blank => {}
            Sight::Unreadable => {
                let number = copy.number * self.geometry.pages_per_block + copy.page;
                return Ok(Copied::Unreadable(Page { space: copy.space, number }));
            }
            Sight::Page(_) => match self.program_sealed(copy.to, copy.page, Cause::Scrub, frame) {
                Ok(()) => {}
                Err(MediaError::ProgramFailed(_)) => {
                    self.drop_copy();
                    self.mark_bad(copy.to)?;
                    self.table.set(copy.to, Use::Bad);
                    return Ok(Copied::Nothing);
                }
                Err(error) => return Err(error),
            },
        }
        self.pass_page();
        Ok(Copied::Page)
    }

    /// Leave the next page of the copy blank, as nobody needs what is there.
    pub(crate) fn pass_page(&mut self) {
        if let Some(copy) = &mut self.copy {
            copy.page += 1;
        }
    }

    /// Give the copy up. The new block is free again.
    pub(crate) fn drop_copy(&mut self) {
        self.copy = None;
    }

    fn end_copy(&mut self, copy: BlockCopy) -> Copied {
        // The old block and the new one change.
        if self.given_up.is_some() || self.changes.room() < 2 {
            return Copied::Page;
        }
        debug_assert!(copy.page == self.geometry.pages_per_block, "all pages are copied");
        debug_assert!(self.table.at(copy.to) == Use::Free, "the copy has no name yet");
        let dead = self.table.dead(copy.from);
        self.assign(copy.to, Use::Data(copy.space, copy.number));
        self.table.set_dead(copy.to, dead);
        debug_assert_eq!(self.table.at(copy.from), Use::Free, "the name left the old block");
        self.given_up = Some(copy.from);
        self.copy = None;
        self.note_scrubbed(copy.from);
        Copied::Block
    }

    /// Whether a head lies in a block: more pages will be programmed there.
    pub(crate) fn is_head(&self, space: Space, number: u32) -> bool {
        let head = self.head(space);
        self.numbers.page_in_block(head) > 0 && self.numbers.block_of(head) == number
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::sync::Arc;

    use flysch_chip::{Chip, Clock, FaultInjector, Part};

    use super::super::table::ENTRY_SIZE;
    use super::super::{Partition, Space};
    use super::*;

    /// A chip of which block 5 holds pages, and a copy of that block under way.
    fn copying(table: &mut [u8]) -> Media<'_, FaultInjector> {
        let part = Part::builtin("gemalto-vfl").unwrap();
        let chip = FaultInjector::new(Chip::new(Arc::new(part), Clock::new(), 1));
        let mut media = Media::new(chip, Partition { first: 0, count: 24 }, table, 0);
        media.table.set(5, Use::Data(Space::Hot, 3));
        let free = media.free_count();
        media.begin_copy(5).unwrap();
        assert_eq!(media.free_count(), free - 1, "the copy takes a block");
        media
    }

    #[test]
    fn a_copy_of_a_block_that_was_erased_takes_no_block() {
        let mut table = [0; 24 * ENTRY_SIZE];
        let mut media = copying(&mut table);
        // The block was let go, and is taken for other pages.
        media.table.set(5, Use::Data(Space::Hot, 4));
        let free = media.free_count();
        assert_eq!(media.erase(5), Ok(true));
        assert_eq!(media.free_count(), free + 1, "nothing is left to copy");
    }

    #[test]
    fn a_copy_of_a_block_that_was_let_go_does_not_bring_it_back() {
        let mut table = [0; 24 * ENTRY_SIZE];
        let mut media = copying(&mut table);
        media.table.set(5, Use::Free);
        let mut frame = [0; 4096];
        let size = media.layout().page_size();
        assert_eq!(media.copy_page(&mut frame[..size]), Ok(Copied::Nothing));
        assert!(!media.is_copying(), "the copy is given up");
        assert_eq!(media.table.find(Space::Hot, 3), None);
    }
}
