//! The blocks of a translation layer: which are free, how worn they are, and where each logical
//! page is.
//!
//! A page is live if it holds the newest version of its logical page.
//!
//! Invariants:
//! 1. `places` and `owners` are inverse to each other. `live_count` of a block is the number of its
//!    pages with an owner.
//! 2. Only an open block is programmed, and only from `next_page` on.
//! 3. A used block that loses its last live page becomes free. While a merge is under way it is
//!    held instead.

use flysch_nand::PowerLost;

use super::media::{Media, Outcome, Place};
use super::tag::Tag;
use crate::block_device::BlockError;

/// The state of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Bad,
    /// The block has no live page, whatever its cells hold.
    Free,
    /// The block is being programmed.
    Open,
    Used,
    /// A program in the block failed. The block is marked bad once its live pages are moved.
    Failing,
    /// The block has no live page, but it must not be erased before a merge ends.
    Held,
}

#[derive(Clone, Debug)]
pub(super) struct Block {
    pub(super) state: State,
    pub(super) erase_count: u32,
    pub(super) live_count: u32,
    pub(super) next_page: u32,
    /// Sequence number of the last program in it.
    pub(super) sequence: u64,
    /// The logical page of each of its live pages.
    pub(super) owners: Vec<Option<u32>>,
}

/// Which free block is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wear {
    /// The least worn, for data that will soon be overwritten.
    Least,
    /// The most worn, for data that does not change.
    Most,
}

#[derive(Clone)]
pub(super) struct Pool {
    pub(super) media: Media,
    pub(super) blocks: Vec<Block>,
    pub(super) places: Vec<Option<Place>>,
    pub(super) next_sequence: u64,
    /// Whether blocks that lose their last live page are held.
    pub(super) is_holding: bool,
    pub(super) wear_gap: u32,
}

impl From<PowerLost> for BlockError {
    fn from(_: PowerLost) -> Self {
        Self::PowerLost
    }
}

impl Pool {
    pub(super) fn free_count(&self) -> usize {
        self.blocks.iter().filter(|block| block.state == State::Free).count()
    }

    pub(super) fn block(&self, block: u32) -> &Block {
        &self.blocks[block as usize]
    }

    pub(super) fn block_mut(&mut self, block: u32) -> &mut Block {
        &mut self.blocks[block as usize]
    }

    pub(super) fn room(&self, block: u32) -> u32 {
        self.media.pages_per_block() - self.block(block).next_page
    }

    /// Erase a free block and open it. If an erase fails, the block is marked bad and another is
    /// tried.
    pub(super) fn open(&mut self, wear: Wear) -> Result<u32, BlockError> {
        while let Some(block) = self.choose_free(wear) {
            if self.renew(block)? {
                self.block_mut(block).state = State::Open;
                return Ok(block);
            }
        }
        Err(BlockError::WornOut)
    }

    /// Erase a block without live pages. Returns whether it can be used.
    pub(super) fn renew(&mut self, block: u32) -> Result<bool, BlockError> {
        assert_eq!(self.block(block).live_count, 0, "block {block} holds live pages");
        if self.media.erase(block)? == Outcome::Failed {
            self.block_mut(block).state = State::Bad;
            self.media.mark_bad(block)?;
            return Ok(false);
        }
        let block = self.block_mut(block);
        // A tag may claim any number.
        block.erase_count = block.erase_count.saturating_add(1);
        block.next_page = 0;
        Ok(true)
    }

    fn choose_free(&self, wear: Wear) -> Option<u32> {
        let free = (0..).zip(&self.blocks).filter(|(_, block)| block.state == State::Free);
        let found = match wear {
            Wear::Least => free.min_by_key(|(_, block)| block.erase_count),
            Wear::Most => free.max_by_key(|(_, block)| block.erase_count),
        };
        found.map(|(block, _)| block)
    }

    /// Program `data` as the newest version of page `tag.logical` at `place`, which is in an open
    /// block.
    pub(super) fn append(
        &mut self,
        place: Place,
        data: &[u8],
        tag: Tag,
    ) -> Result<Outcome, BlockError> {
        let block = self.block(place.block);
        assert_eq!(block.state, State::Open, "block {} is programmed", place.block);
        assert!(block.next_page <= place.page, "pages ascend");
        let (erase_count, sequence) = (block.erase_count, self.next_sequence);
        self.next_sequence += 1;
        let tag = Tag { erase_count, sequence, data_crc: crc32fast::hash(data), ..tag };
        let outcome = self.media.program(place, data, &tag)?;
        let block = self.block_mut(place.block);
        block.next_page = place.page + 1;
        block.sequence = sequence;
        match outcome {
            Outcome::Failed => block.state = State::Failing,
            Outcome::Done => self.move_to(tag.logical, place),
        }
        Ok(outcome)
    }

    fn move_to(&mut self, logical: u32, place: Place) {
        if let Some(old) = self.places[logical as usize].replace(place) {
            let block = self.block_mut(old.block);
            block.owners[old.page as usize] = None;
            block.live_count -= 1;
            self.settle(old.block);
        }
        let block = self.block_mut(place.block);
        block.owners[place.page as usize] = Some(logical);
        block.live_count += 1;
    }

    /// Free a used block if it has no live page.
    fn settle(&mut self, block: u32) {
        let next = if self.is_holding { State::Held } else { State::Free };
        let block = self.block_mut(block);
        if block.state == State::Used && block.live_count == 0 {
            block.state = next;
        }
    }

    /// Free the blocks that were held.
    pub(super) fn release(&mut self) {
        self.is_holding = false;
        for block in &mut self.blocks {
            if block.state == State::Held {
                block.state = State::Free;
            }
        }
    }

    /// Close an open block: it is not programmed any more.
    pub(super) fn close(&mut self, block: u32) {
        if self.block(block).state == State::Open {
            self.block_mut(block).state = State::Used;
            self.settle(block);
        }
    }

    /// Mark failing blocks bad that have no live page left.
    pub(super) fn retire(&mut self) -> Result<(), BlockError> {
        for block in 0..self.media.block_count {
            let Block { state, live_count, .. } = *self.block(block);
            if state == State::Failing && live_count == 0 {
                self.block_mut(block).state = State::Bad;
                self.media.mark_bad(block)?;
            }
        }
        Ok(())
    }

    /// Read a logical page. Returns whether its content is intact. A page that was never written
    /// reads as zeros.
    pub(super) fn read(&mut self, logical: u32, data: &mut [u8]) -> Result<bool, BlockError> {
        let Some(place) = self.places[logical as usize] else {
            data.fill(0);
            return Ok(true);
        };
        Ok(self.media.read(place, data)?)
    }

    /// Copy a logical page to `place`. If its content is lost, the copy's tag says so.
    pub(super) fn copy(
        &mut self,
        logical: u32,
        place: Place,
        is_merged: bool,
    ) -> Result<Outcome, BlockError> {
        let mut data = vec![0; self.media.page_size()];
        let is_damaged = !self.read(logical, &mut data)?;
        let tag = Tag { is_damaged, is_merged, ..Tag::of(logical) };
        self.append(place, &data, tag)
    }

    /// Note how often blocks were erased before, where that is more than their tags say.
    pub(super) fn wear_in(&mut self, erase_counts: &[u32]) {
        for (block, &erase_count) in self.blocks.iter_mut().zip(erase_counts) {
            block.erase_count = block.erase_count.max(erase_count);
        }
    }

    /// The used block whose content should move to level wear, if there is one.
    pub(super) fn coldest(&self) -> Option<u32> {
        let good = self.blocks.iter().filter(|block| block.state != State::Bad);
        let most = good.map(|block| block.erase_count).max()?;
        let used = (0..).zip(&self.blocks).filter(|(_, block)| block.state == State::Used);
        let (coldest, block) = used.min_by_key(|(_, block)| block.erase_count)?;
        (most - block.erase_count > self.wear_gap).then_some(coldest)
    }
}

impl Tag {
    /// A tag for new data. The pool fills in the remaining fields.
    pub(super) const fn of(logical: u32) -> Self {
        Self {
            is_damaged: false,
            is_merged: false,
            erase_count: 0,
            logical,
            sequence: 0,
            data_crc: 0,
        }
    }
}
