//! Mounting: by the checkpoint if it is complete, or else by reading the tags of all chunks.

use super::blocks::{BlockState, Blocks, Owner, SEQUENCE_FIRST};
use super::checkpoint::{CHECKPOINT_SEQUENCE, Checkpoint};
use super::chunks::SUMMARY_OBJECT;
use super::format::{Found, Tags, parse_summary};
use super::objects::{DELETED, Objects, UNLINKED};
use super::prepare::check_suitable;
use super::rebuild::Rebuild;
use super::short_ops::ShortOps;
use super::{MountError, Options, Yaffs2, collect};
use crate::cpu::Cpu;
use crate::filesystem::FsError;
use crate::mtd::{MtdError, Partition};
use flysch_chip::Recorder;

/// Highest sequence number that a block can have.
const SEQUENCE_MAX: u32 = 0xEFFF_FF00;

#[derive(Debug)]
pub(super) struct ScannedBlock {
    pub number: u32,
    pub sequence: u32,
    /// The tags of its chunks. `None` for a chunk that cannot be used.
    pub tags: Vec<Option<Tags>>,
    pub has_summary: bool,
    /// Whether further chunks may be programmed behind the last.
    pub is_open: bool,
}

impl From<MtdError> for MountError {
    fn from(error: MtdError) -> Self {
        match error {
            MtdError::PowerLost => Self::PowerLost,
            MtdError::ProgramFailed(_) | MtdError::EraseFailed(_) => Self::Io,
        }
    }
}

impl From<FsError> for MountError {
    fn from(error: FsError) -> Self {
        if error == FsError::PowerLost { Self::PowerLost } else { Self::Io }
    }
}

impl Yaffs2 {
    /// Mount the file system on the partition. What the chunks hold is never an error: chunks that
    /// make no sense are left out.
    pub fn mount(
        mtd: Partition,
        options: Options,
        cpu: Cpu,
        recorder: &Recorder,
    ) -> Result<Self, MountError> {
        let _scope = recorder.scope("mount");
        check_suitable(&mtd)?;
        let blocks = fresh_blocks(&mtd);
        let now_ns = recorder.clock().now_ns();
        let mut fs = Self {
            mtd,
            options,
            cpu,
            recorder: recorder.clone(),
            blocks,
            objects: Objects::new(),
            short_ops: ShortOps::new(options.caches),
            collector: collect::Collector::default(),
            checkpoint: Checkpoint::default(),
            summary: Vec::new(),
            was_all_blank: false,
            thread_due_ns: now_ns,
        };
        if !fs.load_checkpoint()? {
            fs.scan()?;
        }
        fs.objects.number_from_last();
        fs.end_nameless()?;
        Ok(fs)
    }

    /// Read the tags of all chunks, and rebuild everything from them.
    fn scan(&mut self) -> Result<(), FsError> {
        let mut scanned = Vec::new();
        let mut blank = Vec::new();
        for block in 0..self.blocks.count() {
            if self.blocks.block(block).state == BlockState::Dead {
                continue;
            }
            match self.scan_block(block)? {
                Some(found) => scanned.push(found),
                None => blank.push(block),
            }
        }
        let may_be_fresh = scanned.is_empty() && self.checkpoint.blocks.is_empty();
        self.was_all_blank = may_be_fresh && self.are_blank(&blank)?;
        for block in blank {
            self.blocks.book(block, BlockState::Empty, 0);
            self.blocks.block_mut(block).is_suspect = !self.was_all_blank;
        }
        scanned.sort_by_key(|block| std::cmp::Reverse(block.sequence));
        for block in &scanned {
            self.blocks.book(block.number, BlockState::Full, block.sequence);
            let has_shrink = block.tags.iter().flatten().any(|tags| {
                tags.extra.is_some_and(|extra| {
                    extra.is_shrink || matches!(extra.parent, UNLINKED | DELETED)
                })
            });
            self.blocks.block_mut(block.number).has_shrink_header = has_shrink;
            self.blocks.block_mut(block.number).has_summary = block.has_summary;
            if let Some(shape) = self.summary_shape().filter(|_| block.has_summary) {
                let first = block.number * self.blocks.chunks_per_block + shape.covered;
                for chunk in first..first + shape.parts {
                    self.blocks.give(chunk, Owner::Summary);
                }
            }
        }
        self.blocks.sequence =
            scanned.first().map_or(SEQUENCE_FIRST, |newest| newest.sequence.max(SEQUENCE_FIRST));
        self.open_newest(scanned.first());
        let rebuild = Rebuild::new(self).chunks(&scanned)?;
        rebuild.finish();
        for block in std::mem::take(&mut self.checkpoint.blocks) {
            self.blocks.book(block, BlockState::Checkpoint, CHECKPOINT_SEQUENCE);
            self.clean_block(block)?;
        }
        Ok(())
    }

    fn are_blank(&mut self, blocks: &[u32]) -> Result<bool, FsError> {
        let chunks = self.blocks.chunks_per_block;
        for chunk in blocks.iter().flat_map(|block| block * chunks..(block + 1) * chunks) {
            if self.read_tags(chunk)? != Found::Blank {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Go on filling the newest block, if it has blank chunks left.
    fn open_newest(&mut self, newest: Option<&ScannedBlock>) {
        let Some(newest) = newest.filter(|newest| newest.is_open) else { return };
        let page = u32::try_from(newest.tags.len()).expect("chunks of a block");
        if page >= self.blocks.chunks_per_block - self.summary_chunks() {
            return;
        }
        self.blocks.book(newest.number, BlockState::Allocating, newest.sequence);
        self.blocks.filling = Some((newest.number, page));
        self.blocks.finder = newest.number;
        if newest.tags.iter().all(Option::is_some) {
            self.summary = newest.tags.iter().flatten().copied().collect();
        }
    }

    /// Read the tags of a block. `None` if it holds nothing that is valid.
    fn scan_block(&mut self, number: u32) -> Result<Option<ScannedBlock>, FsError> {
        let chunks = self.blocks.chunks_per_block;
        let first = number * chunks;
        let head = self.read_tags(first)?;
        if is_checkpoint(head) {
            self.checkpoint.blocks.push(number);
            return Ok(None);
        }
        if head == Found::Blank {
            return Ok(None);
        }
        if let Found::Tags(tags) = head
            && let Some(summary) = self.load_summary(number, tags.sequence)?
        {
            let sequence = tags.sequence;
            let found =
                ScannedBlock { number, sequence, tags: summary, has_summary: true, is_open: false };
            return Ok(Some(found).filter(|_| is_block_sequence(sequence)));
        }
        let mut all = vec![head];
        for chunk in first + 1..first + chunks {
            all.push(self.read_tags(chunk)?);
        }
        self.judge(number, all)
    }

    /// Interpret the tags of a block that has no summary.
    fn judge(&mut self, number: u32, mut all: Vec<Found>) -> Result<Option<ScannedBlock>, FsError> {
        let is_full_len = all.len();
        let used = all.iter().rposition(|found| *found != Found::Blank).map_or(0, |last| last + 1);
        all.truncate(used);
        if all.contains(&Found::Blank) {
            return Ok(None);
        }
        let sequence = all.iter().find_map(|found| match found {
            Found::Tags(tags) => Some(tags.sequence),
            Found::Blank | Found::Damaged => None,
        });
        let Some(sequence) = sequence.filter(|&sequence| is_block_sequence(sequence)) else {
            return Ok(None);
        };
        let mut tags: Vec<Option<Tags>> = all
            .into_iter()
            .map(|found| match found {
                Found::Tags(tags) if tags.sequence == sequence => Some(tags),
                Found::Tags(_) | Found::Blank | Found::Damaged => None,
            })
            .collect();
        let last = u32::try_from(used).expect("chunks of a block") - 1;
        let mut data = vec![0; self.chunk_size()];
        let chunk = number * self.blocks.chunks_per_block + last;
        let (is_good, _) = self.read_chunk_and_tags(chunk, &mut data)?;
        if !is_good {
            tags[last as usize] = None;
        }
        let is_open = is_good && tags[last as usize].is_some() && used < is_full_len;
        // A chunk of an invalid summary belongs to no object.
        let tags = tags.into_iter().map(|tags| tags.filter(|tags| tags.object != SUMMARY_OBJECT));
        let tags = tags.collect();
        Ok(Some(ScannedBlock { number, sequence, tags, has_summary: false, is_open }))
    }

    fn load_summary(
        &mut self,
        number: u32,
        sequence: u32,
    ) -> Result<Option<Vec<Option<Tags>>>, FsError> {
        let Some(shape) = self.summary_shape() else { return Ok(None) };
        let first = number * self.blocks.chunks_per_block + shape.covered;
        let mut parts = Vec::new();
        for part in 0..shape.parts {
            let mut data = vec![0; self.chunk_size()];
            let (is_good, found) = self.read_chunk_and_tags(first + part, &mut data)?;
            let is_summary = matches!(found, Found::Tags(tags)
                if tags.object == SUMMARY_OBJECT
                    && tags.chunk == part + 1
                    && tags.sequence == sequence
                    && tags.bytes as usize == shape.len(part));
            if !(is_good && is_summary) {
                return Ok(None);
            }
            parts.push(data);
        }
        Ok(parse_summary(shape, number, sequence, &parts))
    }

    /// Delete the objects that have no name. No user can have them open after a mount.
    fn end_nameless(&mut self) -> Result<(), FsError> {
        let mut nameless = self.objects.children(UNLINKED);
        nameless.extend(self.objects.children(DELETED));
        for id in nameless {
            // If there is no room to record the deletion, the object stays until there is.
            if self.end_object(id) == Err(FsError::PowerLost) {
                return Err(FsError::PowerLost);
            }
        }
        Ok(())
    }
}

fn is_block_sequence(sequence: u32) -> bool {
    (SEQUENCE_FIRST..=SEQUENCE_MAX).contains(&sequence)
}

pub(super) fn is_checkpoint(found: Found) -> bool {
    matches!(found, Found::Tags(tags) if tags.sequence == CHECKPOINT_SEQUENCE)
}

/// The table of blocks before the scan, when only the bad ones are known.
pub(super) fn fresh_blocks(mtd: &Partition) -> Blocks {
    let mut blocks = Blocks::new(mtd.block_count(), mtd.geometry().pages_per_block);
    for block in (0..mtd.block_count()).filter(|&block| !mtd.is_bad(block)) {
        blocks.book(block, BlockState::Collecting, 0);
    }
    blocks
}
