//! The page-mapping layer: a new version of a page goes to the next page of an open block.
//!
//! Two blocks are open. One takes the pages that the host writes, the other takes pages that are
//! moved. A block that is opened is the least worn of the free ones; only for a move that levels
//! wear it is the most worn.

use flysch_chip::Recorder;

use super::media::{Outcome, Place};
use super::options::Victim;
use super::pool::{Pool, State, Wear};
use super::tag::Tag;
use crate::block_device::BlockError;

/// Garbage is collected if no more than this many blocks are free: one for the pages it moves, one
/// for the content of a block that fails, and one for the repair of a page that a power cut tore.
pub(super) const FREE_MIN: u32 = 3;

#[derive(Clone)]
pub(super) struct PageFtl {
    pub(super) pool: Pool,
    victim: Victim,
    recorder: Recorder,
    /// The block for pages that the host writes.
    host: Option<u32>,
    moved: Option<u32>,
}

impl PageFtl {
    /// Go on with two of the blocks that were open before the mount.
    pub(super) fn new(mut pool: Pool, victim: Victim, recorder: Recorder, open: &[u32]) -> Self {
        let mut resumed = open.iter().copied();
        let (host, moved) = (resumed.next(), resumed.next());
        resumed.for_each(|block| pool.close(block));
        Self { pool, victim, recorder, host, moved }
    }

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

    /// Write a logical page without collecting garbage first.
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

    /// Move the pages out of blocks in which a program failed, and mark these blocks bad.
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

    /// Static wear levelling: move data that does not change to a worn block.
    fn level_wear(&mut self) -> Result<(), BlockError> {
        let _scope = self.recorder.scope("ftl_level_wear");
        self.pool.coldest().map_or(Ok(()), |block| self.empty(block, Wear::Most))
    }

    /// Move all valid pages out of `block`.
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
