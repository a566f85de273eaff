//! The page-mapping layer: a new version of a page goes to the next page of the open block.
//!
//! Two blocks are open: one takes what the host writes, one what is moved. Both are the least worn
//! of the free ones, but for what is moved for the sake of wear, which goes to the most worn.

use flysch_chip::Recorder;

use super::media::{Outcome, Place};
use super::options::Victim;
use super::pool::{Pool, State, Wear};
use super::tag::Tag;
use crate::block_device::BlockError;

/// Free blocks below which garbage collection runs: one for what it moves, one for a failing
/// block's content, one for the repair of a page that a power cut tore.
pub(super) const FREE_MIN: u32 = 3;

/// A page-mapping flash translation layer.
pub(super) struct PageFtl {
    pub(super) pool: Pool,
    victim: Victim,
    recorder: Recorder,
    /// The block for the host's pages.
    host: Option<u32>,
    /// The block for pages that are moved.
    moved: Option<u32>,
}

impl PageFtl {
    /// Go on with two of the blocks that were open.
    pub(super) fn new(mut pool: Pool, victim: Victim, recorder: Recorder, open: &[u32]) -> Self {
        let mut resumed = open.iter().copied();
        let (host, moved) = (resumed.next(), resumed.next());
        resumed.for_each(|block| pool.close(block));
        Self { pool, victim, recorder, host, moved }
    }

    /// Write a logical page.
    pub(super) fn write(&mut self, logical: u32, data: &[u8]) -> Result<(), BlockError> {
        while !self.has_room(self.host) {
            self.close_host();
            self.make_room()?;
            self.level_wear()?;
            if !self.has_room(self.host) {
                self.host = Some(self.pool.open(Wear::Least)?);
            }
        }
        self.write_at_once(Tag::of(logical), data)?;
        self.evacuate()
    }

    /// Write a logical page without garbage collection before it.
    pub(super) fn write_at_once(&mut self, tag: Tag, data: &[u8]) -> Result<(), BlockError> {
        loop {
            if !self.has_room(self.host) {
                self.close_host();
                self.host = Some(self.pool.open(Wear::Least)?);
            }
            let block = self.host.expect("just opened");
            let place = Place { block, page: self.pool.block(block).next_page };
            if self.pool.append(place, data, tag)? == Outcome::Done {
                return Ok(());
            }
        }
    }

    /// Move what failing blocks hold, and mark them bad.
    pub(super) fn evacuate(&mut self) -> Result<(), BlockError> {
        let is_failing = |pool: &Pool, block| pool.block(block).state == State::Failing;
        for block in 0..self.pool.media.block_count {
            if is_failing(&self.pool, block) {
                self.empty(block, Wear::Least)?;
            }
        }
        self.pool.retire()
    }

    fn has_room(&self, block: Option<u32>) -> bool {
        let is_open = |&block: &u32| self.pool.block(block).state == State::Open;
        block.filter(is_open).is_some_and(|block| self.pool.room(block) > 0)
    }

    fn close_host(&mut self) {
        if let Some(block) = self.host.take() {
            self.pool.close(block);
        }
    }

    fn make_room(&mut self) -> Result<(), BlockError> {
        while self.pool.free_count() <= FREE_MIN as usize {
            let _scope = self.recorder.scope("ftl_collect");
            let victim = self.victim.choose(&self.pool).ok_or(BlockError::WornOut)?;
            self.empty(victim, Wear::Least)?;
        }
        Ok(())
    }

    /// Static wear levelling: let what never changes move to a worn block.
    fn level_wear(&mut self) -> Result<(), BlockError> {
        let _scope = self.recorder.scope("ftl_level_wear");
        self.pool.coldest().map_or(Ok(()), |block| self.empty(block, Wear::Most))
    }

    /// Move all live pages of `block`.
    fn empty(&mut self, block: u32, wear: Wear) -> Result<(), BlockError> {
        for page in 0..self.pool.media.pages_per_block() {
            let Some(logical) = self.pool.block(block).owners[page as usize] else { continue };
            while self.move_page(logical, wear)? == Outcome::Failed {}
        }
        Ok(())
    }

    fn move_page(&mut self, logical: u32, wear: Wear) -> Result<Outcome, BlockError> {
        if !self.has_room(self.moved) {
            if let Some(block) = self.moved.take() {
                self.pool.close(block);
            }
            self.moved = Some(self.pool.open(wear)?);
        }
        let block = self.moved.expect("just opened");
        let place = Place { block, page: self.pool.block(block).next_page };
        self.pool.copy(logical, place, false)
    }
}
