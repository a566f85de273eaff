//! Garbage collection. While there is enough space, a few chunks are copied with each write;
//! otherwise whole blocks are.

use super::Yaffs2;
use super::blocks::{BlockState, Owner};
use super::chunks::{RESERVED_BLOCKS, Reserve};
use super::format::{Found, Header, Tags};
use super::headers::Change;
use super::options::Profile;
use crate::filesystem::FsError;

/// Number of collections between two refreshes of the oldest block (`refresh_period`).
const REFRESH_PERIOD: u32 = 500;
/// A block with at most this many owned chunks is worth a passive collection.
const PASSIVE_THRESHOLD: u32 = 4;
/// Once a block with at most this many owned chunks is found, no better one is looked for.
const GOOD_ENOUGH: u32 = 2;

/// The state of the collector.
#[derive(Clone, Debug, Default)]
pub(super) struct Collector {
    /// The block being collected, and the next page to look at in it.
    block: Option<(u32, u32)>,
    finder: u32,
    /// The block with the fewest owned chunks found up to here, and their number.
    dirtiest: Option<(u32, u32)>,
    /// Number of searches without a result since the last one that had a result.
    fruitless: u32,
    skip: u32,
    refresh_skip: u32,
    is_running: bool,
    /// Whether it waits for a rename to replace a file.
    pub(super) is_off: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effort {
    Aggressive,
    Passive,
    Background,
}

impl Collector {
    /// Forget a block, because it was erased.
    pub(super) fn forget(&mut self, block: u32) {
        if self.block.is_some_and(|(own, _)| own == block) {
            self.block = None;
        }
        if self.dirtiest.is_some_and(|(own, _)| own == block) {
            self.dirtiest = None;
        }
    }
}

impl Yaffs2 {
    /// Collect garbage before a write, if there is need.
    pub(super) fn collect_in_foreground(&mut self) -> Result<(), FsError> {
        self.collect(false)
    }

    /// Collect garbage. Errors other than power loss are dropped; they show in the next write that
    /// finds no room.
    pub(super) fn collect(&mut self, in_background: bool) -> Result<(), FsError> {
        if self.collector.is_running || self.collector.is_off {
            return Ok(());
        }
        self.collector.is_running = true;
        let outcome = self.collect_twice(in_background);
        self.collector.is_running = false;
        match outcome {
            Err(FsError::PowerLost) => Err(FsError::PowerLost),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    fn collect_twice(&mut self, in_background: bool) -> Result<(), FsError> {
        for _ in 0..2 {
            let Some(effort) = self.effort(in_background) else { return Ok(()) };
            let _scope = self.recorder.scope("yaffs_gc");
            if effort != Effort::Aggressive && self.collector.block.is_none() {
                self.collector.block = self.block_to_refresh().map(|block| (block, 0));
            }
            if self.collector.block.is_none() {
                self.collector.block = self.choose(effort).map(|block| (block, 0));
            }
            let Some((block, _)) = self.collector.block else { return Ok(()) };
            self.collect_block(block, effort)?;
            if self.blocks.erased_count >= RESERVED_BLOCKS {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Whether garbage must be collected at this moment, and with how much effort.
    fn effort(&mut self, in_background: bool) -> Option<Effort> {
        let is_old = self.options.profile == Profile::Y2009;
        let margin = if is_old { 2 } else { 1 };
        let erased_min = RESERVED_BLOCKS + self.checkpoint_blocks_missing() + margin;
        if self.blocks.erased_count < erased_min {
            self.collector.skip = 5;
            return Some(Effort::Aggressive);
        }
        if in_background {
            return Some(Effort::Background);
        }
        if is_old {
            if self.collector.skip > 0 {
                self.collector.skip -= 1;
                return None;
            }
            return Some(Effort::Passive);
        }
        let erased_chunks = self.blocks.erased_count * self.blocks.chunks_per_block;
        if erased_chunks > self.blocks.free_chunks / 4 {
            return None;
        }
        self.collector.skip = 5;
        Some(Effort::Passive)
    }

    /// The oldest block, once in many collections. Copying its chunks renews the charge in their
    /// cells.
    fn block_to_refresh(&mut self) -> Option<u32> {
        if self.options.profile == Profile::Y2009 || self.collector.refresh_skip > 0 {
            return None;
        }
        self.collector.refresh_skip = REFRESH_PERIOD;
        let full = (0..self.blocks.count())
            .filter(|&block| self.blocks.block(block).state == BlockState::Full);
        full.min_by_key(|&block| self.blocks.block(block).sequence)
    }

    /// Choose a block to collect: one in which a program failed, or else the one with the fewest
    /// owned chunks among those searched. The code of 2009 keeps nothing of a search that found no
    /// block, and never chooses a block for its age.
    fn choose(&mut self, effort: Effort) -> Option<u32> {
        let is_old = self.options.profile == Profile::Y2009;
        if is_old {
            self.collector.dirtiest = None;
        }
        let found = self.failing_block(effort).or_else(|| self.dirtiest_block(effort));
        let patience = if effort == Effort::Background { 10 } else { 20 };
        let is_stuck = !is_old && found.is_none() && self.collector.fruitless >= patience;
        let chosen = if is_stuck { self.blocks.oldest_dirty() } else { found };
        if chosen.is_some() {
            self.collector.dirtiest = None;
            self.collector.fruitless = 0;
            self.collector.refresh_skip = self.collector.refresh_skip.saturating_sub(1);
            if is_old {
                self.collector.skip = 4;
            }
        } else {
            self.collector.fruitless = if is_stuck { 0 } else { self.collector.fruitless + 1 };
        }
        chosen
    }

    fn failing_block(&self, effort: Effort) -> Option<u32> {
        if effort == Effort::Aggressive || !self.blocks.has_failed {
            return None;
        }
        (0..self.blocks.count()).find(|&number| {
            let block = self.blocks.block(number);
            let is_failing = block.needs_retiring && block.state == BlockState::Full;
            is_failing && self.blocks.is_collectable(number)
        })
    }

    fn dirtiest_block(&mut self, effort: Effort) -> Option<u32> {
        let chunks = self.blocks.chunks_per_block;
        let count = self.blocks.count();
        let is_old = self.options.profile == Profile::Y2009;
        let tries_max = if is_old { 200 } else { 100 };
        let passive = (count / 16 + 1).min(tries_max);
        let (threshold, tries) = match effort {
            Effort::Aggressive => (chunks, count),
            Effort::Passive if is_old => (GOOD_ENOUGH, passive),
            Effort::Passive => (PASSIVE_THRESHOLD, passive),
            Effort::Background => {
                let growing = (self.collector.fruitless + 2) * 2;
                let max = (chunks / 2).max(PASSIVE_THRESHOLD);
                (growing.clamp(PASSIVE_THRESHOLD, max), passive)
            }
        };
        for _ in 0..tries {
            if self.collector.dirtiest.is_some_and(|(_, in_use)| in_use <= GOOD_ENOUGH) {
                break;
            }
            self.collector.finder = (self.collector.finder + 1) % count;
            let number = self.collector.finder;
            let block = self.blocks.block(number);
            let best = self.collector.dirtiest.map_or(chunks, |(_, in_use)| in_use);
            let is_better = block.state == BlockState::Full && block.in_use < best;
            if is_better && self.blocks.is_collectable(number) {
                self.collector.dirtiest = Some((number, self.blocks.block(number).in_use));
            }
        }
        let found = self.collector.dirtiest.filter(|&(_, in_use)| in_use <= threshold);
        found.map(|(block, _)| block)
    }

    /// Copy chunks out of a block, all or some of them. If none is left, the block is erased.
    fn collect_block(&mut self, number: u32, effort: Effort) -> Result<(), FsError> {
        let sequence = self.blocks.block(number).sequence;
        self.blocks.book(number, BlockState::Collecting, sequence);
        self.blocks.block_mut(number).has_shrink_header = false;
        self.drop_summary(number);
        let outcome = if self.blocks.block(number).in_use == 0 {
            self.clean_block(number)
        } else {
            self.copy_chunks(number, effort)
        };
        if self.blocks.block(number).state == BlockState::Collecting {
            self.blocks.book(number, BlockState::Full, sequence);
            if outcome.is_err() {
                self.collector.block = None;
            }
        }
        outcome
    }

    fn copy_chunks(&mut self, number: u32, effort: Effort) -> Result<(), FsError> {
        let chunks = self.blocks.chunks_per_block;
        let mut copies = match (effort, self.options.profile) {
            (Effort::Aggressive, _) => chunks,
            (_, Profile::Today) => 5,
            (_, Profile::Y2009) => 10,
        };
        while copies > 0 {
            let Some((block, page)) = self.collector.block else { break };
            debug_assert_eq!(block, number, "one block is collected at a time");
            if page >= chunks {
                // The end is reached with chunks left only if copies failed.
                self.collector.block = None;
                break;
            }
            let chunk = number * chunks + page;
            if let Owner::Object { object, chunk: part } = self.blocks.owner(chunk) {
                copies -= 1;
                self.copy_chunk(chunk, object, part)?;
            }
            if let Some((_, page)) = self.collector.block.as_mut() {
                *page += 1;
            }
        }
        Ok(())
    }

    /// Copy an owned chunk to the block being filled, which costs one read and one program.
    fn copy_chunk(&mut self, chunk: u32, object: u32, part: u32) -> Result<(), FsError> {
        let mut data = vec![0; self.chunk_size()];
        let (_, found) = self.read_chunk_and_tags(chunk, &mut data)?;
        if part == 0 {
            let tags = self.renew_header(object, &mut data);
            let copy = self.write_new_chunk(&data, &tags, Reserve::Use)?;
            return self.move_header(object, copy);
        }
        let size = u32::try_from(data.len()).expect("a chunk");
        let bytes = match found {
            Found::Tags(tags) => tags.bytes.min(size),
            Found::Blank | Found::Damaged => size,
        };
        let tags = Tags { sequence: 0, object, chunk: part, bytes, extra: None };
        let copy = self.write_new_chunk(&data, &tags, Reserve::Use)?;
        self.objects.object_mut(object).chunks.insert(part, copy);
        self.delete_chunk(chunk)
    }

    /// Prepare an object's header for its copy. It gets the object's present size, and does not
    /// carry over that it made older chunks or another object obsolete.
    fn renew_header(&mut self, id: u32, data: &mut [u8]) -> Tags {
        let header = Header::parse(data);
        match header {
            None => data.fill(0xFF),
            Some(header) => {
                let object = self.objects.object_mut(id);
                if !object.is_loaded {
                    (object.name, object.mode, object.mtime) =
                        (header.name, header.mode, header.mtime);
                    object.is_loaded = true;
                }
            }
        }
        self.fill_header(id, Change::default(), data)
    }

    fn drop_summary(&mut self, block: u32) {
        let chunks = self.blocks.chunks_per_block;
        for chunk in block * chunks..(block + 1) * chunks {
            if self.blocks.owner(chunk) == Owner::Summary {
                self.blocks.take(chunk);
            }
        }
    }
}
