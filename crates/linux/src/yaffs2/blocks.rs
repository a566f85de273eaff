//! The table of blocks: their states, and who owns each chunk.
//!
//! Invariants:
//! 1. `in_use` of a block is the number of its chunks with an owner.
//! 2. `erased_count` counts the empty blocks; `free_chunks` the chunks without owner in blocks that
//!    are empty, being filled, or full.

/// What a block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlockState {
    /// Erased.
    Empty,
    /// Being filled.
    Allocating,
    /// Filled, or given up while it was.
    Full,
    /// Its live chunks are being copied.
    Collecting,
    /// It holds part of the checkpoint.
    Checkpoint,
    /// Bad.
    Dead,
}

/// Who owns a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// Nobody: it is erased or obsolete.
    None,
    /// The chunk of an object: 0 is its header.
    Object { object: u32, chunk: u32 },
    /// The block's summary.
    Summary,
}

/// A block.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts of a block, as in the format")]
pub(super) struct Block {
    pub state: BlockState,
    pub sequence: u32,
    pub in_use: u32,
    /// It holds a header that makes older chunks obsolete: they must go first.
    pub has_shrink_header: bool,
    /// It was erased since the mount, or its first program was verified.
    pub is_known_blank: bool,
    /// It was blank at a mount after a cut, which an interrupted erase may have left so.
    pub is_suspect: bool,
    /// A program in it failed.
    pub needs_retiring: bool,
    pub has_summary: bool,
}

/// The blocks of the partition.
#[derive(Debug)]
pub(super) struct Blocks {
    pub list: Vec<Block>,
    owners: Vec<Owner>,
    pub chunks_per_block: u32,
    pub erased_count: u32,
    pub free_chunks: u32,
    /// The block being filled, and the next of its chunks.
    pub filling: Option<(u32, u32)>,
    /// The block that was last taken.
    pub finder: u32,
    pub sequence: u32,
}

/// Sequence number before the first block's.
pub(super) const SEQUENCE_FIRST: u32 = 0x1000;

impl Blocks {
    /// All blocks bad, until they are told to be otherwise.
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

    pub(super) fn count(&self) -> u32 {
        u32::try_from(self.list.len()).expect("made from a 32-bit count")
    }

    pub(super) fn owner(&self, chunk: u32) -> Owner {
        self.owners[chunk as usize]
    }

    /// Give a chunk without owner to someone.
    pub(super) fn give(&mut self, chunk: u32, owner: Owner) {
        debug_assert_eq!(self.owner(chunk), Owner::None, "chunk {chunk} has an owner");
        self.owners[chunk as usize] = owner;
        let block = self.of(chunk);
        self.block_mut(block).in_use += 1;
        self.free_chunks -= 1;
    }

    /// Take a chunk from its owner.
    pub(super) fn take(&mut self, chunk: u32) {
        debug_assert_ne!(self.owner(chunk), Owner::None, "chunk {chunk} has no owner");
        self.owners[chunk as usize] = Owner::None;
        let block = self.of(chunk);
        self.block_mut(block).in_use -= 1;
        self.free_chunks += 1;
    }

    /// Book a block that holds nothing of the table yet.
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
        let entry = self.block_mut(block);
        entry.state = state;
        entry.sequence = sequence;
    }

    /// Take the next empty block in turn.
    pub(super) fn take_empty(&mut self) -> Option<u32> {
        let count = self.count();
        let turn = (1..=count).map(|step| (self.finder + step) % count);
        let block = turn.into_iter().find(|&block| self.block(block).state == BlockState::Empty)?;
        self.finder = block;
        self.sequence += 1;
        self.book(block, BlockState::Allocating, self.sequence);
        Some(block)
    }

    /// Stop filling the block.
    pub(super) fn skip_rest(&mut self) {
        if let Some((block, _)) = self.filling.take() {
            let sequence = self.block(block).sequence;
            self.book(block, BlockState::Full, sequence);
        }
    }

    /// The full block with obsolete chunks that was begun first.
    pub(super) fn oldest_dirty(&self) -> Option<u32> {
        let dirty = (0..self.count()).filter(|&block| {
            let block = self.block(block);
            block.state == BlockState::Full && block.in_use < self.chunks_per_block
        });
        dirty.min_by_key(|&block| self.block(block).sequence)
    }

    /// Whether a block may be erased before all older ones: not if it holds the record of what
    /// became obsolete in them.
    pub(super) fn is_collectable(&self, block: u32) -> bool {
        let block = self.block(block);
        !block.has_shrink_header
            || self
                .oldest_dirty()
                .is_none_or(|oldest| block.sequence <= self.block(oldest).sequence)
    }
}
