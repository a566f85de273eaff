//! Erase blocks: how the bytes of each are used, and the list each block is on.
//!
//! Every byte of a block is exactly one of used, unchecked, dirty, wasted or free:
//!
//! ```text
//! free ──write──▸ used ──obsolete──▸ dirty, or wasted where there is too little to be collected
//!   └──skip────▸ wasted            (wasted becomes dirty once the block is worth collecting)
//! ```
//!
//! Invariants:
//! 1. A block's shares sum to its size.
//! 2. A block is on exactly one list; the block being filled and the one being collected are
//!    [`List::Detached`].

use std::collections::VecDeque;

use super::nodes::NodeId;

/// Largest number of file bytes in one data node, holes excepted. Linux writes at most a page into
/// a node (4096), but images from systems with pages of 64 KiB exist.
pub(super) const NODE_DATA_MAX: u32 = 65_536;

/// A block is worth collecting if more bytes than this are dead: an inode node, with the least data
/// that a node is begun for.
const DIRTY_THRESHOLD: u32 = 68 + 128;

/// What a byte of a block is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Share {
    Used,
    Unchecked,
    Dirty,
    Wasted,
    Free,
}

const SHARES: usize = 5;

/// The list of the kernel that a block is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum List {
    /// The block is full of valid nodes.
    Clean,
    /// A part of the block is dead.
    Dirty,
    /// At least half of the block is dead.
    VeryDirty,
    /// All of the block is dead, but it is not to be erased yet.
    Erasable,
    /// All of the block is dead, but nodes that supersede its own are still in the write buffer.
    ErasablePendingWbuf,
    /// The block waits to be erased.
    ErasePending,
    /// The block is erased and is being read back.
    Checking,
    /// The block is erased and carries its cleanmarker.
    Free,
    /// A program failed in the block: its nodes must be moved, and then it is marked bad.
    BadUsed,
    /// The block is marked bad and used for nothing.
    Bad,
    /// The block is being filled or collected, and is on no list.
    Detached,
}

const LISTS: usize = 11;

/// The use and the nodes of one erase block.
#[derive(Clone, Debug)]
pub(super) struct Eraseblock {
    shares: [u32; SHARES],
    pub list: List,
    /// The nodes in the block, in order of their offsets.
    pub nodes: Vec<NodeId>,
    /// The first node that the collector has not dealt with, as an index into `nodes`.
    pub gc_cursor: usize,
    /// Whether a program failed in this block. Once it is empty it is marked bad.
    pub failed: bool,
}

/// All erase blocks, with the lists they are on and the sums of their shares.
#[derive(Debug)]
#[expect(
    clippy::struct_field_names,
    reason = "the blocks themselves, among what is summed of them"
)]
#[derive(Clone)]
pub(super) struct Blocks {
    /// Bytes of each erase block.
    pub block_size: u32,
    blocks: Vec<Eraseblock>,
    lists: [VecDeque<u32>; LISTS],
    sums: [u64; SHARES],
    pub free_count: u32,
    /// Blocks that wait to be erased or are being read back.
    pub erasing_count: u32,
    pub next_block: Option<u32>,
    pub gc_block: Option<u32>,
}

impl Eraseblock {
    pub(super) const fn share(&self, share: Share) -> u32 {
        self.shares[share as usize]
    }

    pub(super) const fn is_dead(&self) -> bool {
        self.share(Share::Used) == 0 && self.share(Share::Unchecked) == 0
    }

    pub(super) const fn dead(&self) -> u32 {
        self.share(Share::Dirty) + self.share(Share::Wasted)
    }
}

pub(super) const fn is_dirty(bytes: u32) -> bool {
    bytes > DIRTY_THRESHOLD
}

impl Blocks {
    /// Blocks that are all free and on no list.
    pub(super) fn new(block_count: u32, block_size: u32) -> Self {
        let mut shares = [0; SHARES];
        shares[Share::Free as usize] = block_size;
        let block = Eraseblock {
            shares,
            list: List::Detached,
            nodes: Vec::new(),
            gc_cursor: 0,
            failed: false,
        };
        let mut sums = [0; SHARES];
        sums[Share::Free as usize] = u64::from(block_count) * u64::from(block_size);
        Self {
            block_size,
            blocks: vec![block; block_count as usize],
            lists: std::array::from_fn(|_| VecDeque::new()),
            sums,
            free_count: 0,
            erasing_count: 0,
            next_block: None,
            gc_block: None,
        }
    }

    pub(super) fn block(&self, block: u32) -> &Eraseblock {
        &self.blocks[block as usize]
    }

    pub(super) fn block_mut(&mut self, block: u32) -> &mut Eraseblock {
        &mut self.blocks[block as usize]
    }

    pub(super) fn count(&self) -> u32 {
        u32::try_from(self.blocks.len()).expect("made from a u32")
    }

    /// The block that holds byte `offset` of the partition.
    pub(super) const fn of(&self, offset: u32) -> u32 {
        offset / self.block_size
    }

    pub(super) const fn start(&self, block: u32) -> u32 {
        block * self.block_size
    }

    /// Sum of a share over all blocks that are not bad, bytes.
    pub(super) const fn sum(&self, share: Share) -> u64 {
        self.sums[share as usize]
    }

    /// Dead bytes that the collector could free. Blocks that wait to be erased do not count, as
    /// they need no collection.
    pub(super) fn collectable(&self) -> u64 {
        let waiting = u64::from(self.erasing_count) * u64::from(self.block_size);
        self.sum(Share::Dirty).saturating_sub(waiting)
    }

    pub(super) fn shift(&mut self, block: u32, from: Share, to: Share, len: u32) {
        let shares = &mut self.blocks[block as usize].shares;
        assert!(shares[from as usize] >= len, "block {block} has no {len} bytes {from:?}");
        shares[from as usize] -= len;
        shares[to as usize] += len;
        self.sums[from as usize] -= u64::from(len);
        self.sums[to as usize] += u64::from(len);
    }

    /// Turn all of one share of a block into another. Returns the number of bytes.
    pub(super) fn shift_all(&mut self, block: u32, from: Share, to: Share) -> u32 {
        let len = self.block(block).share(from);
        self.shift(block, from, to, len);
        len
    }

    pub(super) const fn list(&self, list: List) -> &VecDeque<u32> {
        &self.lists[list as usize]
    }

    pub(super) fn is_list_empty(&self, list: List) -> bool {
        self.list(list).is_empty()
    }

    /// Move a block from the list it is on to the end of `list`.
    pub(super) fn file(&mut self, block: u32, list: List) {
        let old = self.block(block).list;
        self.leave(block, old);
        self.block_mut(block).list = list;
        match list {
            List::Detached => return,
            List::Free => self.free_count += 1,
            List::ErasePending | List::Checking => {
                self.erasing_count += 1;
                self.shift_all(block, Share::Wasted, Share::Dirty);
            }
            List::Bad => self.retire(block),
            List::Clean
            | List::Dirty
            | List::VeryDirty
            | List::Erasable
            | List::ErasablePendingWbuf
            | List::BadUsed => {}
        }
        self.lists[list as usize].push_back(block);
    }

    /// Put a block that is full onto the list that fits its dead space.
    pub(super) fn file_by_dirt(&mut self, block: u32) {
        if is_dirty(self.block(block).dead()) {
            self.shift_all(block, Share::Wasted, Share::Dirty);
            let list = if self.is_very_dirty(block) { List::VeryDirty } else { List::Dirty };
            self.file(block, list);
        } else {
            self.file(block, List::Clean);
        }
    }

    pub(super) fn is_very_dirty(&self, block: u32) -> bool {
        self.block(block).share(Share::Dirty) >= self.block_size / 2
    }

    /// Take the first block off a list.
    pub(super) fn take_first(&mut self, list: List) -> Option<u32> {
        let block = *self.list(list).front()?;
        self.file(block, List::Detached);
        Some(block)
    }

    pub(super) fn clear(&mut self, block: u32) {
        for share in [Share::Used, Share::Unchecked, Share::Dirty, Share::Wasted] {
            self.shift_all(block, share, Share::Free);
        }
        self.block_mut(block).gc_cursor = 0;
    }

    fn leave(&mut self, block: u32, list: List) {
        match list {
            List::Free => self.free_count -= 1,
            List::ErasePending | List::Checking => self.erasing_count -= 1,
            List::Bad => unreachable!("a retired block stays retired"),
            List::Clean
            | List::Dirty
            | List::VeryDirty
            | List::Erasable
            | List::ErasablePendingWbuf
            | List::BadUsed
            | List::Detached => {}
        }
        let waiting = &mut self.lists[list as usize];
        if let Some(place) = waiting.iter().position(|&other| other == block) {
            waiting.remove(place);
        }
    }

    /// Take a bad block out of the sums: none of its bytes can be used.
    fn retire(&mut self, block: u32) {
        let shares = std::mem::take(&mut self.blocks[block as usize].shares);
        for (sum, share) in self.sums.iter_mut().zip(shares) {
            *sum -= u64::from(share);
        }
    }
}
