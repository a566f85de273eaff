//! Finding the block of a page of a file, by direct, indirect and double-indirect pointers.

use super::inode::{DIRECT, DOUBLE, INDIRECT, Inode};
use super::{PAGE_SIZE, Plainfs};
use crate::filesystem::{FsError, Ino};

/// Number of pointers in a block of pointers.
const FANOUT: u32 = PAGE_SIZE / 4;
/// Size of the largest file, blocks.
pub(super) const BLOCKS_MAX: u32 = DIRECT + FANOUT + FANOUT * FANOUT;

/// The way to a page: a pointer of the inode, then one pointer in each block of pointers.
struct Way {
    root: usize,
    steps: Vec<u32>,
}

fn way(index: u32) -> Way {
    if index < DIRECT {
        return Way { root: index as usize, steps: Vec::new() };
    }
    let index = index - DIRECT;
    if index < FANOUT {
        return Way { root: INDIRECT, steps: vec![index] };
    }
    let index = index - FANOUT;
    Way { root: DOUBLE, steps: vec![index / FANOUT, index % FANOUT] }
}

impl Plainfs {
    /// The block that holds page `index` of a file. `None` for a hole.
    pub(super) fn find_block(
        &mut self,
        ino: u32,
        inode: &Inode,
        index: u32,
    ) -> Result<Option<u32>, FsError> {
        let way = way(index);
        let mut block = self.checked(ino, inode.pointers[way.root])?;
        for step in way.steps {
            let Some(pointers) = block else { return Ok(None) };
            let pointer = self.pointer(pointers, step)?;
            block = self.checked(ino, pointer)?;
        }
        Ok(block)
    }

    /// Give page `index` of a file, which is a hole, a block. The inode is changed in memory only.
    pub(super) fn add_block(
        &mut self,
        ino: u32,
        inode: &mut Inode,
        index: u32,
    ) -> Result<u32, FsError> {
        let way = way(index);
        let mut block = self.checked(ino, inode.pointers[way.root])?;
        if block.is_none() {
            let taken = self.take_block()?;
            inode.pointers[way.root] = taken;
            if !way.steps.is_empty() {
                self.buffers.blank(taken);
            }
            block = Some(taken);
        }
        let mut at = block.expect("just taken");
        for (depth, &step) in way.steps.iter().enumerate() {
            let pointer = self.pointer(at, step)?;
            if let Some(next) = self.checked(ino, pointer)? {
                at = next;
                continue;
            }
            let taken = self.take_block()?;
            self.set_pointer(at, step, taken)?;
            if depth + 1 < way.steps.len() {
                self.buffers.blank(taken);
            }
            at = taken;
        }
        Ok(at)
    }

    /// Free the blocks of a file from page `first` on.
    pub(super) fn cut_blocks(
        &mut self,
        ino: u32,
        inode: &mut Inode,
        first: u32,
    ) -> Result<(), FsError> {
        let roots = (0..DIRECT).map(|at| (at, 0)).chain([(DIRECT, 1), (DIRECT + FANOUT, 2)]);
        for (place, (start, depth)) in roots.enumerate() {
            let Some(block) = self.checked(ino, inode.pointers[place])? else { continue };
            if self.cut_tree(ino, block, depth, first.saturating_sub(start))? {
                inode.pointers[place] = 0;
            }
        }
        Ok(())
    }

    /// Free the pages from `first` on below `block`, which is `depth` levels above the data.
    /// Returns whether `block` itself is free, too.
    fn cut_tree(&mut self, ino: u32, block: u32, depth: u32, first: u32) -> Result<bool, FsError> {
        if depth == 0 {
            if first == 0 {
                self.free_block(block)?;
            }
            return Ok(first == 0);
        }
        let span = FANOUT.pow(depth - 1);
        for step in first / span..FANOUT {
            let pointer = self.pointer(block, step)?;
            let Some(below) = self.checked(ino, pointer)? else { continue };
            let is_gone =
                self.cut_tree(ino, below, depth - 1, first.saturating_sub(step * span))?;
            if is_gone && first > 0 {
                self.set_pointer(block, step, 0)?;
            }
        }
        if first == 0 {
            self.free_metadata(block)?;
        }
        Ok(first == 0)
    }

    fn pointer(&mut self, block: u32, place: u32) -> Result<u32, FsError> {
        let page = self.buffers.page(block)?;
        let at = place as usize * 4;
        Ok(u32::from_le_bytes(page[at..at + 4].try_into().expect("four bytes")))
    }

    fn set_pointer(&mut self, block: u32, place: u32, target: u32) -> Result<(), FsError> {
        let page = self.buffers.page_mut(block)?;
        page[place as usize * 4..][..4].copy_from_slice(&target.to_le_bytes());
        Ok(())
    }

    /// Check a pointer. 0 stands for a hole; a block outside the data area is damage.
    fn checked(&self, ino: u32, pointer: u32) -> Result<Option<u32>, FsError> {
        match pointer {
            0 => Ok(None),
            block if (self.layout.data()..self.layout.block_count).contains(&block) => {
                Ok(Some(block))
            }
            _lost => Err(FsError::Damaged { ino: Ino(ino), offset: 0 }),
        }
    }
}
