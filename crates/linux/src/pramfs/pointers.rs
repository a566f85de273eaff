//! Finding the block of a part of a file: a root block of pointers leads to blocks of pointers.

use super::Pramfs;
use super::format::inode::State;
use super::format::{POINTER_SIZE, emit_pointer, parse_pointer};
use crate::filesystem::FsError;

impl Pramfs {
    /// The block that holds part `index` of a file. `None` for a hole.
    pub(super) fn find_block(&mut self, state: &State, index: u32) -> Result<Option<u32>, FsError> {
        let fanout = self.shape.fanout();
        let Some(root) = state.root else { return Ok(None) };
        let Some(column) = self.read_pointer(root, index / fanout)? else { return Ok(None) };
        self.read_pointer(column, index % fanout)
    }

    /// Number of blocks of pointers that a file needs before part `index` can have a block.
    pub(super) fn lacking_pointers(&mut self, state: &State, index: u32) -> Result<u32, FsError> {
        let Some(root) = state.root else { return Ok(2) };
        let column = self.read_pointer(root, index / self.shape.fanout())?;
        Ok(u32::from(column.is_none()))
    }

    /// Let part `index` of a file point to `block`. Missing blocks of pointers are added.
    pub(super) fn set_block(
        &mut self,
        state: &mut State,
        index: u32,
        block: u32,
    ) -> Result<(), FsError> {
        let fanout = self.shape.fanout();
        let root = match state.root {
            Some(root) => root,
            None => *state.root.insert(self.take_pointers()?),
        };
        let column = if let Some(column) = self.read_pointer(root, index / fanout)? {
            column
        } else {
            let column = self.take_pointers()?;
            self.write_pointer(root, index / fanout, Some(column))?;
            column
        };
        self.write_pointer(column, index % fanout, Some(block))
    }

    /// Clear the pointers to the parts from `first` on, and list the blocks that are free by that.
    pub(super) fn cut_blocks(&mut self, root: u32, first: u32) -> Result<Vec<u32>, FsError> {
        let fanout = self.shape.fanout();
        let mut gone = Vec::new();
        for at in first / fanout..fanout {
            let Some(column) = self.read_pointer(root, at)? else { continue };
            let kept = first.saturating_sub(at * fanout);
            for place in kept..fanout {
                let Some(block) = self.read_pointer(column, place)? else { continue };
                gone.push(block);
                if kept > 0 {
                    self.write_pointer(column, place, None)?;
                }
            }
            if kept == 0 {
                gone.push(column);
                self.write_pointer(root, at, None)?;
            }
        }
        Ok(gone)
    }

    /// All blocks of a file, blocks of pointers included.
    pub(super) fn list_blocks(&mut self, root: u32) -> Result<Vec<u32>, FsError> {
        let mut blocks = vec![root];
        for column in self.read_pointers(root)?.into_iter().flatten() {
            blocks.push(column);
            blocks.extend(self.read_pointers(column)?.into_iter().flatten());
        }
        Ok(blocks)
    }

    pub(super) fn read_pointers(&mut self, block: u32) -> Result<Vec<Option<u32>>, FsError> {
        let mut bytes = vec![0; self.shape.block_size as usize];
        self.memory.read_into(self.shape.block_addr(block), &mut bytes)?;
        let pointers = bytes.chunks(POINTER_SIZE as usize).map(|bytes| self.checked(bytes));
        Ok(pointers.collect())
    }

    fn read_pointer(&mut self, block: u32, place: u32) -> Result<Option<u32>, FsError> {
        let addr = self.shape.block_addr(block) + place * POINTER_SIZE;
        let bytes: [u8; POINTER_SIZE as usize] = self.memory.read(addr)?;
        Ok(self.checked(&bytes))
    }

    /// A pointer, unless it is empty or leads outside the data area.
    fn checked(&self, bytes: &[u8]) -> Option<u32> {
        parse_pointer(bytes).filter(|&block| block < self.shape.block_count())
    }

    pub(super) fn write_pointer(
        &mut self,
        block: u32,
        place: u32,
        target: Option<u32>,
    ) -> Result<(), FsError> {
        let addr = self.shape.block_addr(block) + place * POINTER_SIZE;
        Ok(self.memory.write(addr, &emit_pointer(target))?)
    }

    /// Take a block and clear all pointers in it.
    fn take_pointers(&mut self) -> Result<u32, FsError> {
        let block = self.take_block()?;
        let zeros = vec![0; self.shape.block_size as usize];
        self.memory.write(self.shape.block_addr(block), &zeros)?;
        Ok(block)
    }
}
