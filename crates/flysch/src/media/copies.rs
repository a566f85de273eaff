//! Copies of blocks: the pages go to another block as they are, and the logical block with them.
//!
//! A page bears the seal of its logical place, so that no entry and no row tells where a block lies
//! on the chip, and a copy is as good as the block.
//!
//! 1. The block table names the old block until the last page is copied: a cut forgets the copy.
//! 2. The old block is taken by nobody until the record is on flash that tells the change.

use flysch_nand::Nand;

use super::blocks::Wear;
use super::{Cause, Media, MediaError, Name, Page, Sight, Space, Use};

/// A copy under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockCopy {
    space: Space,
    number: u32,
    pub(super) from: u32,
    pub(super) to: u32,
    /// The next page of the block.
    page: u32,
}

/// What a step of a copy came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Copied {
    /// A page is copied, or was blank.
    Page,
    /// This page cannot be read. The copy waits there.
    Unreadable(Page),
    /// All pages are copied, and the logical block lies in the new block: the next record tells it.
    Block,
    /// There is no copy: there was none, its block was let go, or a program failed.
    Nothing,
}

impl<N: Nand> Media<'_, N> {
    /// Whether a block is being copied.
    pub(crate) const fn is_copying(&self) -> bool {
        self.copy.is_some()
    }

    /// Whether a block that was copied or let go waits for the next record.
    pub(crate) const fn has_given_up(&self) -> bool {
        self.given_up.is_some()
    }

    /// Begin to copy a block of a space, in which no head lies, to the free block that is worn
    /// most. Cost: one read and one erase, more only where blocks are bad.
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

    /// The next page of the copy is left blank: nobody believes what is there.
    pub(crate) fn pass_page(&mut self) {
        if let Some(copy) = &mut self.copy {
            copy.page += 1;
        }
    }

    /// Give the copy up. The new block is free as before.
    pub(crate) fn drop_copy(&mut self) {
        self.copy = None;
    }

    fn end_copy(&mut self, copy: BlockCopy) -> Copied {
        if self.given_up.is_some() || self.changes.room() == 0 {
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

    /// Whether a head lies in a block, so that more is programmed there.
    pub(crate) fn is_head(&self, space: Space, number: u32) -> bool {
        let head = self.head(space);
        self.numbers.page_in_block(head) > 0 && self.numbers.block_of(head) == number
    }
}
