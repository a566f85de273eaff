//! The log-block layer (block-associative sector translation, BAST). Each page of a logical block
//! has a fixed place in one block, the data block. Pages written since then are in another block,
//! the log block of this logical block.
//!
//! A log that is full must be merged, and so must the oldest log when another logical block needs
//! one. If the log holds the whole logical block in order, it takes the place of the data block
//! (switch merge). Otherwise the newest pages of both are copied to a free block (full merge).

use std::collections::VecDeque;

use flysch_chip::Recorder;

use super::media::{Outcome, Place};
use super::pool::{Pool, State, Wear};
use super::tag::Tag;
use crate::block_device::BlockError;

/// Free blocks that are needed besides the logs: one to merge into, and one in case that fails.
pub(super) const FREE_MIN: u32 = 2;

#[derive(Clone)]
pub(super) struct LogBlockFtl {
    pub(super) pool: Pool,
    recorder: Recorder,
    log_count_max: usize,
    /// Each logical block that has a log, with the log. The oldest log comes first.
    logs: VecDeque<(u32, u32)>,
}

impl LogBlockFtl {
    /// Go on with the blocks that were open before the mount, as logs. A repair may leave more than
    /// one open block of the same logical block; only the first becomes its log, and the others are
    /// merged later.
    pub(super) fn new(pool: Pool, log_count_max: u32, recorder: Recorder, open: &[u32]) -> Self {
        let log_count_max = log_count_max as usize;
        let mut ftl = Self { pool, recorder, log_count_max, logs: VecDeque::new() };
        let pages = ftl.pool.media.pages_per_block();
        for &block in open {
            let owner = ftl.pool.block(block).owners.iter().flatten().next();
            let logical_block = owner.expect("an open block holds live pages") / pages;
            match ftl.log_of(logical_block) {
                Some(_) => ftl.pool.close(block),
                None => ftl.logs.push_back((logical_block, block)),
            }
        }
        ftl
    }

    /// Merge logs as long as there are too many, and logical blocks that take more than a data
    /// block and a log.
    pub(super) fn tidy_up(&mut self) -> Result<(), BlockError> {
        while self.logs.len() > self.log_count_max {
            let (oldest, _) = self.logs[0];
            self.merge(oldest, Wear::Least)?;
        }
        for logical_block in self.scattered() {
            self.merge(logical_block, Wear::Least)?;
        }
        Ok(())
    }

    /// Logical blocks that take too many blocks: outside the logs their data is in several blocks,
    /// or in one that has pages out of their places.
    fn scattered(&self) -> Vec<u32> {
        let pages = self.pool.media.pages_per_block();
        let mut homes = vec![0; self.pool.places.len().div_ceil(pages as usize)];
        let mut found = Vec::new();
        for block in self.pool.blocks.iter().filter(|block| block.state == State::Used) {
            let mut owners = block.owners.iter().zip(0..).filter_map(|(owner, at)| {
                owner.map(|logical| (logical / pages, logical % pages == at))
            });
            let Some((logical_block, is_first_home)) = owners.next() else { continue };
            homes[logical_block as usize] += 1;
            let is_home = is_first_home && owners.all(|(_, is_home)| is_home);
            if !is_home || homes[logical_block as usize] > 1 {
                found.push(logical_block);
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    pub(super) fn write(&mut self, logical: u32, data: &[u8]) -> Result<(), BlockError> {
        let logical_block = logical / self.pool.media.pages_per_block();
        if !self.has_room(logical_block) {
            match self.log_of(logical_block) {
                Some(_) => self.merge(logical_block, Wear::Least)?,
                None if self.logs.len() >= self.log_count_max => {
                    let (oldest, _) = self.logs[0];
                    self.merge(oldest, Wear::Least)?;
                }
                None => {}
            }
            self.level_wear()?;
        }
        self.write_at_once(Tag::of(logical), data)
    }

    /// Write a logical page without making room by a merge first.
    pub(super) fn write_at_once(&mut self, tag: Tag, data: &[u8]) -> Result<(), BlockError> {
        let logical_block = tag.logical / self.pool.media.pages_per_block();
        if !self.has_room(logical_block) {
            self.close_log(logical_block);
            let block = self.pool.open(Wear::Least)?;
            self.logs.push_back((logical_block, block));
        }
        let block = self.log_of(logical_block).expect("just opened");
        let place = Place { block, page: self.pool.block(block).next_page };
        if self.pool.append(place, data, tag)? == Outcome::Done {
            return Ok(());
        }
        self.merge(logical_block, Wear::Least)?;
        self.write_at_once(tag, data)
    }

    fn log_of(&self, logical_block: u32) -> Option<u32> {
        let found = self.logs.iter().find(|(of, _)| *of == logical_block);
        found.map(|&(_, block)| block)
    }

    fn has_room(&self, logical_block: u32) -> bool {
        self.log_of(logical_block).is_some_and(|log| self.pool.room(log) > 0)
    }

    fn close_log(&mut self, logical_block: u32) {
        if let Some(at) = self.logs.iter().position(|(of, _)| *of == logical_block) {
            let (_, block) = self.logs.remove(at).expect("just found");
            self.pool.close(block);
        }
    }

    /// Merge a logical block, so that all its pages are in one block.
    fn merge(&mut self, logical_block: u32, wear: Wear) -> Result<(), BlockError> {
        let _scope = self.recorder.scope("ftl_merge");
        let log = self.log_of(logical_block);
        self.close_log(logical_block);
        if log.is_some_and(|log| self.can_switch(log)) {
            return self.pool.retire();
        }
        // If power is cut before the copy is complete, a mount goes back to the blocks it was made
        // from.
        self.pool.is_holding = true;
        let outcome = self.copy_block(logical_block, wear);
        if outcome.is_ok() {
            self.pool.release();
        }
        outcome?;
        self.pool.retire()
    }

    /// Whether a closed log holds all pages of a logical block, each in its place.
    fn can_switch(&self, log: u32) -> bool {
        let log = self.pool.block(log);
        let pages = self.pool.media.pages_per_block();
        let is_home =
            |(owner, at): (&Option<u32>, u32)| owner.is_some_and(|logical| logical % pages == at);
        log.state == State::Used && log.owners.iter().zip(0..).all(is_home)
    }

    fn copy_block(&mut self, logical_block: u32, wear: Wear) -> Result<(), BlockError> {
        let pages = self.pool.media.pages_per_block();
        'target: loop {
            let block = self.pool.open(wear)?;
            for page in 0..pages {
                let logical = logical_block * pages + page;
                if self.pool.places[logical as usize].is_none() {
                    continue;
                }
                let place = Place { block, page };
                if self.pool.copy(logical, place, true)? == Outcome::Failed {
                    continue 'target;
                }
            }
            self.pool.close(block);
            return Ok(());
        }
    }

    /// Static wear levelling: move a block whose data does not change to a worn block.
    fn level_wear(&mut self) -> Result<(), BlockError> {
        let _scope = self.recorder.scope("ftl_level_wear");
        let Some(coldest) = self.pool.coldest() else { return Ok(()) };
        let owner = self.pool.block(coldest).owners.iter().flatten().next();
        let logical = owner.expect("a used block holds live pages");
        let logical_block = logical / self.pool.media.pages_per_block();
        self.merge(logical_block, Wear::Most)
    }
}
