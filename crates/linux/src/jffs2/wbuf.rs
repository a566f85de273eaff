//! The write buffer. It is needed because NAND is programmed in whole pages, and nodes have any
//! length.
//!
//! The buffer is one page of RAM for the whole file system. A page is programmed when the written
//! bytes reach its end, or when the buffer is flushed with padding. A read puts the content of the
//! buffer over the bytes that it gets from flash.
//!
//! Invariants:
//! 1. Nodes are written contiguously within a block. The buffer holds the last, incomplete page.
//! 2. The buffer remembers which inodes have nodes in it, so that an fsync knows whether to flush.
//!    Nodes that the collector wrote do not count, because their old copies are still on flash.

use std::collections::BTreeSet;

use super::Jffs2;
use super::append::TRIES;
use super::blocks::{List, Share};
use super::format::{InodeNode, NodeType, padding_node, parse_header};
use super::nodes::{NodeRef, NodeState};
use crate::filesystem::FsError;
use crate::mtd::MtdError;

#[derive(Clone, Debug)]
pub(super) struct WriteBuffer {
    /// Where in the partition the page begins, bytes. Meaningless while the buffer is empty.
    offset: u32,
    bytes: Vec<u8>,
    page_size: usize,
    /// Inodes that have nodes in the buffer which are not on flash.
    inodes: BTreeSet<u32>,
    /// Pages that could not be programmed and whose nodes are being written elsewhere. Until then
    /// these nodes are in RAM alone.
    pub pages_in_limbo: u32,
    /// Whether power was lost during a program: the content of the buffer is then unknown to the
    /// flash.
    is_void: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Programmed {
    InPlace,
    /// The program failed. The finished nodes of the page are in another block.
    Elsewhere,
}

impl WriteBuffer {
    pub(super) fn new(page_size: u32) -> Self {
        let page_size = page_size as usize;
        Self {
            offset: 0,
            bytes: Vec::with_capacity(page_size),
            page_size,
            inodes: BTreeSet::new(),
            pages_in_limbo: 0,
            is_void: false,
        }
    }

    pub(super) fn is_dirty(&self) -> bool {
        !self.bytes.is_empty()
    }

    /// Whether nodes are in RAM alone. As long as they are, nothing that they supersede may be
    /// erased.
    pub(super) fn holds_nodes(&self) -> bool {
        self.is_dirty() || self.pages_in_limbo > 0
    }

    /// Whether the buffer holds nodes of `ino`, or of any inode if that is `None`.
    pub(super) fn concerns(&self, ino: Option<u32>) -> bool {
        ino.map_or(!self.inodes.is_empty(), |ino| self.inodes.contains(&ino))
    }

    /// Put the buffered bytes over `bytes`, which were read from `offset`.
    pub(super) fn overlay(&self, offset: u32, bytes: &mut [u8]) {
        let (start, end) = (offset as usize, offset as usize + bytes.len());
        let held = self.offset as usize..self.offset as usize + self.bytes.len();
        let (from, to) = (start.max(held.start), end.min(held.end));
        if from < to {
            let source = &self.bytes[from - held.start..to - held.start];
            bytes[from - start..to - start].copy_from_slice(source);
        }
    }
}

impl Jffs2 {
    /// Write a node's bytes at `offset`, which is right behind the last node of the block.
    ///
    /// [`FsError::Io`] means that a program failed. The block is given up and its finished nodes
    /// are safe, but this node must be written again in another block.
    pub(super) fn write_flash(
        &mut self,
        offset: u32,
        bytes: &[u8],
        ino: Option<u32>,
    ) -> Result<(), FsError> {
        if self.wbuf.is_void {
            return Err(FsError::PowerLost);
        }
        let page_size = self.wbuf.page_size;
        let in_page = offset as usize % page_size;
        if !self.wbuf.is_dirty() {
            assert_eq!(in_page, 0, "an empty buffer begins at a page boundary");
            self.wbuf.offset = offset;
        }
        let expected = self.wbuf.offset as usize + self.wbuf.bytes.len();
        assert_eq!(offset as usize, expected, "nodes are written contiguously");
        self.note_content(offset, bytes);
        let mut rest = bytes;
        if self.wbuf.is_dirty() {
            let (head, tail) = rest.split_at(rest.len().min(page_size - in_page));
            self.wbuf.bytes.extend_from_slice(head);
            rest = tail;
            if self.wbuf.bytes.len() == page_size && self.program_wbuf()? == Programmed::Elsewhere {
                return Err(FsError::Io);
            }
        }
        if !self.wbuf.is_dirty() {
            self.write_whole_pages(&mut rest)?;
        }
        if !rest.is_empty() {
            self.wbuf.bytes.extend_from_slice(rest);
        }
        if self.wbuf.is_dirty() {
            self.note_writer(ino);
        }
        Ok(())
    }

    /// Note which part of which file a node holds.
    fn note_content(&self, offset: u32, bytes: &[u8]) {
        let place = (offset.into(), bytes.len() as u64);
        let header = parse_header(bytes).filter(|header| header.node_type == NodeType::Inode);
        let node = header.and_then(|header| InodeNode::parse(bytes, header.total_len));
        match node.filter(|node| node.dsize > 0) {
            Some(node) => {
                let part = (node.offset.into(), node.dsize.into());
                self.recorder.store("jffs2", node.ino, part, place);
            }
            None => self.recorder.store_own(place),
        }
    }

    /// Program the whole pages that `rest` begins with, straight from the caller's bytes.
    fn write_whole_pages(&mut self, rest: &mut &[u8]) -> Result<(), FsError> {
        let whole = rest.len() - rest.len() % self.wbuf.page_size;
        let (pages, tail) = rest.split_at(whole);
        if !pages.is_empty() {
            self.program_pages(self.wbuf.offset, pages)?;
            self.wbuf.offset += u32::try_from(whole).expect("a node is shorter than a block");
        }
        *rest = tail;
        Ok(())
    }

    fn note_writer(&mut self, ino: Option<u32>) {
        if let Some(ino) = ino {
            self.wbuf.inodes.insert(ino);
            self.arm_flush_timer();
        }
    }

    /// Bring the buffered nodes to flash. Blocks that waited for it may then be erased.
    pub(super) fn flush_wbuf(&mut self) -> Result<(), FsError> {
        for _ in 0..TRIES {
            if self.program_padded()? == Programmed::InPlace {
                return Ok(());
            }
        }
        Err(FsError::Io)
    }

    /// Fill the buffered page up with padding and program it. The padding is wasted space.
    fn program_padded(&mut self) -> Result<Programmed, FsError> {
        if self.wbuf.is_void {
            return Err(FsError::PowerLost);
        }
        if !self.wbuf.is_dirty() {
            self.refile_pending();
            return Ok(Programmed::InPlace);
        }
        let _scope = self.recorder.scope("wbuf_flush");
        let filled = self.wbuf.bytes.len();
        let missing = u32::try_from(self.wbuf.page_size - filled).expect("within a page");
        let at = self.wbuf.offset + u32::try_from(filled).expect("within a page");
        self.wbuf.bytes.extend(padding_node(missing));
        if missing > 0 {
            self.book_padding(at, missing);
        }
        self.program_wbuf()
    }

    fn book_padding(&mut self, offset: u32, len: u32) {
        let block = self.blocks.of(offset);
        let node = NodeRef { offset, len, state: NodeState::Obsolete, ino: None };
        let id = self.nodes.insert(node);
        self.blocks.block_mut(block).nodes.push(id);
        self.blocks.shift(block, Share::Free, Share::Wasted, len);
    }

    /// Program the full buffer. Blocks that waited for it may then be erased.
    fn program_wbuf(&mut self) -> Result<Programmed, FsError> {
        assert_eq!(self.wbuf.bytes.len(), self.wbuf.page_size, "only whole pages are programmed");
        let offset = self.wbuf.offset;
        let bytes = std::mem::take(&mut self.wbuf.bytes);
        match self.program_pages(offset, &bytes) {
            Ok(()) => {}
            Err(FsError::PowerLost) => return Err(FsError::PowerLost),
            Err(_) => {
                self.rescue_page(offset, &bytes)?;
                return Ok(Programmed::Elsewhere);
            }
        }
        self.wbuf.bytes = bytes;
        self.wbuf.bytes.clear();
        self.wbuf.offset += u32::try_from(self.wbuf.page_size).expect("a page");
        // While nodes are rescued, the list keeps who has nodes in them, as the kernel's does
        // (`jffs2_wbuf_recover`): a name too many costs no more than a flush.
        if self.wbuf.pages_in_limbo == 0 {
            self.wbuf.inodes.clear();
        }
        self.refile_pending();
        Ok(Programmed::InPlace)
    }

    fn program_pages(&mut self, offset: u32, pages: &[u8]) -> Result<(), FsError> {
        let shipment = self.recorder.ship(offset.into());
        let outcome = self.mtd.write(offset, pages);
        drop(shipment);
        self.wbuf.is_void = outcome == Err(MtdError::PowerLost);
        outcome.map_err(FsError::from)
    }

    /// Move the blocks whose erasing waited for the buffer to the lists of blocks to be erased.
    fn refile_pending(&mut self) {
        if self.wbuf.holds_nodes() {
            return;
        }
        while let Some(block) = self.blocks.take_first(List::ErasablePendingWbuf) {
            self.file_dead(block);
        }
        self.wake_collector();
    }

    /// Flush the buffer for `ino`, or for any inode, by collecting garbage into it, as fsync does
    /// in the kernel. The page is filled with nodes that had to be moved anyway, instead of
    /// padding.
    pub(super) fn flush_wbuf_by_gc(
        &mut self,
        cache: &mut crate::cache::PageCache,
        ino: Option<u32>,
    ) -> Result<(), FsError> {
        if !self.wbuf.concerns(ino) {
            return Ok(());
        }
        if self.blocks.sum(Share::Unchecked) > 0 {
            return self.flush_wbuf();
        }
        let _scope = self.recorder.scope("wbuf_flush_by_gc");
        while self.wbuf.concerns(ino) {
            match self.collect(cache) {
                Ok(()) => {}
                Err(FsError::PowerLost) => return Err(FsError::PowerLost),
                // There is nothing to collect, or no room for it: padding fills the page.
                Err(_) => return self.flush_wbuf(),
            }
        }
        Ok(())
    }
}
