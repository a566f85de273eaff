//! Copies: a block's pages go to another block, page by page as they are, and the number follows.
//!
//! 1. Nothing names the new block until the last page is there: a cut forgets the copy.
//! 2. The old block is free when the record that follows is on flash.
//! 3. A copy ends where its block is taken again. The block may get the number that it had, and the
//!    copy would be one of pages that are there no more.

use std::rc::Rc;

use super::device::{Done, PAGES, Seen, Stop};
use super::engine::Engine;
use super::state::{Slot, space_of};
use super::switches::Broken;

/// A copy under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockCopy {
    slot: Slot,
    from: u8,
    to: u8,
    page: u8,
}

impl Engine {
    /// The block that a copy has taken, a bit.
    pub(crate) fn copied_to(&self) -> u64 {
        self.copy.map_or(0, |copy| 1 << copy.to)
    }

    /// One slice: a block is chosen and its place erased, or some pages are copied.
    pub(crate) fn copy_slice(&mut self) -> Done {
        let Some(copy) = self.copy else { return self.begin_copy() };
        for _ in 0..=self.device.below(u64::from(PAGES) + 2) {
            let is_there = self.table[usize::from(copy.from)] == copy.slot
                && self.claimed(&self.state) >> copy.from & 1 == 1;
            let Some(at) = self.copy else { return Ok(()) };
            if !is_there && !self.is(Broken::CopyOutlivesBlock) {
                self.drop_copy();
                return Ok(());
            }
            if at.page == PAGES {
                self.end_copy(at);
                return Ok(());
            }
            self.copy_page(at)?;
        }
        Ok(())
    }

    fn begin_copy(&mut self) -> Done {
        let is_held = |slot: Slot| {
            (0..5).any(|head| slot == Slot::Block(space_of(head), self.state.heads[head].number))
        };
        let claimed = self.claimed(&self.state);
        let movable = (0..self.config.block_count)
            .filter(|block| claimed >> block & 1 == 1 && !is_held(self.table[usize::from(*block)]));
        let movable: Vec<u8> = movable.collect();
        if movable.is_empty() || self.free_count() < u32::from(self.config.list_len) + 7 {
            return Ok(());
        }
        if !self.is(Broken::CopyBeforeWake) {
            self.wake()?;
        }
        let from = movable[self.device.below(movable.len() as u64) as usize];
        let Some(to) = self.draw_free() else { return Ok(()) };
        self.free &= !(1 << to);
        match self.device.erase(to) {
            Ok(()) => {}
            Err(Stop::Bad) => return self.device.mark(to),
            Err(stop) => return Err(stop),
        }
        let slot = self.table[usize::from(from)];
        self.copy = Some(BlockCopy { slot, from, to, page: 0 });
        Ok(())
    }

    /// A page that cannot be read ends the copy, those apart that nobody believes.
    fn copy_page(&mut self, copy: BlockCopy) -> Done {
        let BlockCopy { slot, from, to, page } = copy;
        let programmed = match self.device.read(from, page) {
            Seen::Blank => Ok(()),
            Seen::Page(content) => self.device.program_as_is(to, page, Rc::clone(&content)),
            Seen::Unreadable => {
                let Slot::Block(space, number) = slot else { return Ok(()) };
                if space == 0 && page < PAGES - 1 && !self.is_void(number, page)? {
                    self.drop_copy();
                    return Ok(());
                }
                Ok(())
            }
        };
        match programmed {
            Ok(()) => {
                self.copy = Some(BlockCopy { page: page + 1, ..copy });
                Ok(())
            }
            Err(Stop::Bad) => {
                self.copy = None;
                self.device.mark(to)
            }
            Err(stop) => Err(stop),
        }
    }

    fn end_copy(&mut self, copy: BlockCopy) {
        self.copy = None;
        if self.is(Broken::CopyFreesEarly) {
            self.free |= 1 << copy.from;
        }
        self.set_slot(copy.from, Slot::Free);
        self.set_slot(copy.to, copy.slot);
        self.changes.push((copy.to, copy.slot));
        self.is_moved = true;
    }

    /// A block is taken: a copy of it ends.
    pub(crate) fn end_copy_of(&mut self, block: u8) {
        let is_copied = self.copy.is_some_and(|copy| copy.from == block);
        if is_copied && !self.is(Broken::CopyOutlivesTaking) {
            self.drop_copy();
        }
    }

    fn drop_copy(&mut self) {
        if let Some(copy) = self.copy.take() {
            self.free |= 1 << copy.to;
        }
    }
}
