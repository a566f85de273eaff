//! The table of blocks: the state of each block, and the owner of each chunk.
//!
//! A chunk is a page with its tags. The object that uses it owns it; an obsolete chunk has no
//! owner.
//!
//! Invariants:
//! 1. `in_use` of a block is the number of its chunks that have an owner.
//! 2. `erased_count` is the number of empty blocks. `free_chunks` is the number of chunks without
//!    an owner in blocks that are empty, being filled, or full.
//! 3. `dirty` has the full blocks with chunks without an owner, by sequence number. State, sequence
//!    number and `in_use` of a block change here alone.

use std::collections::BTreeSet;

/// The state of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlockState {
    /// The block is erased and was not used since.
    Empty,
    /// New chunks are being written to the block.
    Allocating,
    /// All of the block was written, or it was given up after a failure.
    Full,
    /// The collector is copying the block's chunks to another block.
    Collecting,
    /// The block holds a part of the checkpoint.
    Checkpoint,
    /// The block is bad and used for nothing.
    Dead,
}

/// Who owns a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// Nobody: the chunk is erased or obsolete.
    None,
    /// An object, as its chunk of this number. Number 0 is the header.
    Object { object: u32, chunk: u32 },
    /// The summary of the block.
    Summary,
}

#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts of a block, as in the format")]
pub(super) struct Block {
    pub state: BlockState,
    pub sequence: u32,
    pub in_use: u32,
    /// Whether it holds a header that makes older chunks obsolete. It must not be erased before
    /// them.
    pub has_shrink_header: bool,
    /// Whether it was certainly blank before it was filled: it was erased since the mount, or its
    /// first chunk was verified after its program.
    pub is_known_blank: bool,
    /// Whether it looked blank at the mount, although an interrupted erase may have left it so.
    pub is_suspect: bool,
    /// Whether a program in it failed. See [`Blocks::retire_later`].
    pub needs_retiring: bool,
    pub has_summary: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Blocks {
    pub list: Vec<Block>,
    owners: Vec<Owner>,
    /// Sequence number and number of each dirty block. The collector asks for the oldest for each
    /// block that it looks at.
    dirty: BTreeSet<(u32, u32)>,
    /// Whether a program failed in any block, ever.
    pub has_failed: bool,
    pub chunks_per_block: u32,
    pub erased_count: u32,
    pub free_chunks: u32,
    /// The block being filled, and the next page to write in it.
    pub filling: Option<(u32, u32)>,
    /// The block that was begun last, behind which the next empty one is looked for.
    pub finder: u32,
    pub sequence: u32,
}

/// Sequence number before that of the first block.
pub(super) const SEQUENCE_FIRST: u32 = 0x1000;

impl Blocks {
    /// A table in which all blocks are bad until their state is set.
    pub(super) fn new(count: u32, chunks_per_block: u32) -> Self {
        let block = Block {
            state: BlockState::Dead,
            sequence: 0,
            in_use: 0,
            has_shrink_header: false,
            is_known_blank: false,
            is_suspect: false,
            needs_retiring: false,
            has_summary: false,
        };
        Self {
            list: vec![block; count as usize],
            owners: vec![Owner::None; (count * chunks_per_block) as usize],
            dirty: BTreeSet::new(),
            has_failed: false,
            chunks_per_block,
            erased_count: 0,
            free_chunks: 0,
            filling: None,
            finder: count - 1,
            sequence: SEQUENCE_FIRST,
        }
    }

    pub(super) fn of(&self, chunk: u32) -> u32 {
        chunk / self.chunks_per_block
    }

    pub(super) fn block(&self, block: u32) -> &Block {
        &self.list[block as usize]
    }

    pub(super) fn block_mut(&mut self, block: u32) -> &mut Block {
        &mut self.list[block as usize]
    }

    /// Note that a program in a block failed, so that the collector empties it.
    pub(super) fn retire_later(&mut self, block: u32) {
        self.block_mut(block).needs_retiring = true;
        self.has_failed = true;
    }

    pub(super) fn count(&self) -> u32 {
        u32::try_from(self.list.len()).expect("made from a 32-bit count")
    }

    /// How many chunks are summaries of blocks.
    pub(super) fn summary_count(&self) -> usize {
        self.owners.iter().filter(|&&owner| owner == Owner::Summary).count()
    }

    pub(super) fn owner(&self, chunk: u32) -> Owner {
        self.owners[chunk as usize]
    }

    /// Give a chunk an owner. It must not have one.
    pub(super) fn give(&mut self, chunk: u32, owner: Owner) {
        debug_assert_eq!(self.owner(chunk), Owner::None, "chunk {chunk} has an owner");
        self.owners[chunk as usize] = owner;
        let block = self.of(chunk);
        self.change(block, |block| block.in_use += 1);
        self.free_chunks -= 1;
    }

    /// Take a chunk from its owner. It becomes obsolete.
    pub(super) fn take(&mut self, chunk: u32) {
        debug_assert_ne!(self.owner(chunk), Owner::None, "chunk {chunk} has no owner");
        self.owners[chunk as usize] = Owner::None;
        let block = self.of(chunk);
        self.change(block, |block| block.in_use -= 1);
        self.free_chunks += 1;
    }

    /// Change a block, and keep account of whether it is dirty.
    fn change(&mut self, number: u32, change: impl FnOnce(&mut Block)) {
        let chunks = self.chunks_per_block;
        let key = |block: &Block| {
            let is_dirty = block.state == BlockState::Full && block.in_use < chunks;
            is_dirty.then_some((block.sequence, number))
        };
        let block = &mut self.list[number as usize];
        let before = key(block);
        change(block);
        let after = key(block);
        if before != after {
            before.map(|key| self.dirty.remove(&key));
            self.dirty.extend(after);
        }
    }

    /// Set the state of a block, and update the counts of free chunks and empty blocks.
    pub(super) fn book(&mut self, block: u32, state: BlockState, sequence: u32) {
        let counts = |state| !matches!(state, BlockState::Dead | BlockState::Checkpoint);
        let old = self.block(block).state;
        let unused = self.chunks_per_block - self.block(block).in_use;
        if counts(old) && !counts(state) {
            self.free_chunks -= unused;
        } else if !counts(old) && counts(state) {
            self.free_chunks += unused;
        }
        self.erased_count -= u32::from(old == BlockState::Empty);
        self.erased_count += u32::from(state == BlockState::Empty);
        self.change(block, |block| (block.state, block.sequence) = (state, sequence));
    }

    /// Take the next empty block after the one begun last.
    pub(super) fn take_empty(&mut self) -> Option<u32> {
        let count = self.count();
        let turn = (1..=count).map(|step| (self.finder + step) % count);
        let block = turn.into_iter().find(|&block| self.block(block).state == BlockState::Empty)?;
        self.finder = block;
        self.sequence += 1;
        self.book(block, BlockState::Allocating, self.sequence);
        Some(block)
    }

    /// Stop filling the current block, whatever is left of it.
    pub(super) fn skip_rest(&mut self) {
        if let Some((block, _)) = self.filling.take() {
            let sequence = self.block(block).sequence;
            self.book(block, BlockState::Full, sequence);
        }
    }

    /// The full block with obsolete chunks that was begun before all others.
    pub(super) fn oldest_dirty(&self) -> Option<u32> {
        self.dirty.first().map(|(_, block)| *block)
    }

    /// Whether a block may be collected. A block with a header that makes older chunks obsolete may
    /// not, as long as an older block has obsolete chunks.
    pub(super) fn is_collectable(&self, block: u32) -> bool {
        let block = self.block(block);
        !block.has_shrink_header
            || self
                .oldest_dirty()
                .is_none_or(|oldest| block.sequence <= self.block(oldest).sequence)
    }
}
