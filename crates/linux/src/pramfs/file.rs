//! The content of files: bytes move straight between the caller and the memory, one block after the
//! other.

use super::Pramfs;
use super::format::inode::{Kind, State};
use crate::filesystem::FsError;

#[derive(Clone, Copy, Debug)]
struct Piece {
    index: u32,
    column: u32,
    at: usize,
    len: usize,
}

impl Pramfs {
    pub(super) fn read_file(
        &mut self,
        ino: u32,
        offset: u64,
        bytes: &mut [u8],
    ) -> Result<usize, FsError> {
        let state = self.file_state(ino)?;
        let left = usize::try_from(state.size.saturating_sub(offset)).unwrap_or(usize::MAX);
        let len = bytes.len().min(left);
        for Piece { index, column, at, len } in self.pieces(offset, len) {
            let part = &mut bytes[at..at + len];
            match self.find_block(&state, index)? {
                Some(block) => {
                    self.memory.read_into(self.shape.block_addr(block) + column, part)?;
                }
                None => part.fill(0),
            }
        }
        Ok(len)
    }

    pub(super) fn write_file(
        &mut self,
        ino: u32,
        offset: u64,
        bytes: &[u8],
    ) -> Result<(), FsError> {
        let mut state = self.file_state(ino)?;
        let end = offset.checked_add(bytes.len() as u64).ok_or(FsError::TooLong)?;
        if end > self.shape.file_size_max() {
            return Err(FsError::TooLong);
        }
        let pieces = self.pieces(offset, bytes.len());
        self.check_room(&state, &pieces)?;
        self.blank_gap(&state, offset)?;
        for piece in pieces {
            self.write_piece(&mut state, piece, &bytes[piece.at..piece.at + piece.len])?;
        }
        let mtime_s = self.now_s();
        self.store_state(ino, State { size: state.size.max(end), mtime_s, ..state })
    }

    pub(super) fn resize_file(&mut self, ino: u32, size: u64) -> Result<(), FsError> {
        let state = self.file_state(ino)?;
        if size > self.shape.file_size_max() {
            return Err(FsError::TooLong);
        }
        let mtime_s = self.now_s();
        if size >= state.size {
            self.blank_gap(&state, size)?;
            return self.store_state(ino, State { size, mtime_s, ..state });
        }
        if size == 0 {
            self.store_state(ino, State { size, mtime_s, root: None, ..state })?;
            return self.free_root(state.root);
        }
        self.store_state(ino, State { size, mtime_s, ..state })?;
        let Some(root) = state.root else { return Ok(()) };
        let first = self.blocks_below(size);
        let gone = self.cut_blocks(root, first)?;
        self.free_blocks(gone)
    }

    /// Free all blocks below `root`. No inode may lead to them.
    pub(super) fn free_root(&mut self, root: Option<u32>) -> Result<(), FsError> {
        let Some(root) = root else { return Ok(()) };
        let blocks = self.list_blocks(root)?;
        self.free_blocks(blocks)
    }

    /// Number of blocks that `size` bytes take.
    pub(super) fn blocks_below(&self, size: u64) -> u32 {
        let blocks = size.div_ceil(u64::from(self.shape.block_size));
        u32::try_from(blocks).expect("sizes are checked at the door")
    }

    fn file_state(&self, ino: u32) -> Result<State, FsError> {
        let state = self.state(ino)?;
        if state.kind == Kind::File { Ok(state) } else { Err(FsError::WrongKind) }
    }

    /// Cut `len` bytes at `offset` at the boundaries of blocks.
    fn pieces(&self, offset: u64, len: usize) -> Vec<Piece> {
        let block_size = u64::from(self.shape.block_size);
        let mut pieces = Vec::new();
        let mut at = 0;
        while at < len {
            let byte = offset + at as u64;
            let column = u32::try_from(byte % block_size).expect("below the block size");
            let index = u32::try_from(byte / block_size).expect("files are short enough");
            let part = (self.shape.block_size - column) as usize;
            let part = part.min(len - at);
            pieces.push(Piece { index, column, at, len: part });
            at += part;
        }
        pieces
    }

    /// Refuse a write for which there are not enough free blocks, before any of it is made.
    fn check_room(&mut self, state: &State, pieces: &[Piece]) -> Result<(), FsError> {
        let mut needed = 0;
        let mut column = None;
        for piece in pieces {
            if self.find_block(state, piece.index)?.is_some() {
                continue;
            }
            needed += 1;
            let at = piece.index / self.shape.fanout();
            if column != Some(at) {
                let lacking = self.lacking_pointers(state, piece.index)?;
                needed += if column.is_some() { lacking.min(1) } else { lacking };
                column = Some(at);
            }
        }
        if needed > self.bitmap.free_count { Err(FsError::NoSpace) } else { Ok(()) }
    }

    /// Zero the bytes of the last block from the end of the file up to `end`, because they become
    /// part of the file.
    fn blank_gap(&mut self, state: &State, end: u64) -> Result<(), FsError> {
        let block_size = u64::from(self.shape.block_size);
        let gap_end = end.min(state.size.next_multiple_of(block_size));
        if gap_end <= state.size {
            return Ok(());
        }
        let index = u32::try_from(state.size / block_size).expect("files are short enough");
        let Some(block) = self.find_block(state, index)? else { return Ok(()) };
        let column = u32::try_from(state.size % block_size).expect("below the block size");
        let len = usize::try_from(gap_end - state.size).expect("less than a block");
        Ok(self.memory.write(self.shape.block_addr(block) + column, &vec![0; len])?)
    }

    fn write_piece(
        &mut self,
        state: &mut State,
        piece: Piece,
        bytes: &[u8],
    ) -> Result<(), FsError> {
        if let Some(block) = self.find_block(state, piece.index)? {
            let addr = self.shape.block_addr(block) + piece.column;
            return Ok(self.memory.write(addr, bytes)?);
        }
        let block = self.take_block()?;
        let mut content = vec![0; self.shape.block_size as usize];
        content[piece.column as usize..][..piece.len].copy_from_slice(bytes);
        self.memory.write(self.shape.block_addr(block), &content)?;
        self.set_block(state, piece.index, block)
    }
}
