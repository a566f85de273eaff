//! The journal: every change is written to it as nodes, and then entered into the index in memory.

use super::Ubifs;
use super::compress::{number, pack};
use super::fault::Fault;
use super::format::{
    DATA_NODE_SIZE_MAX, DENT_SIZE, DataNode, DentNode, Group, INODE_SIZE, InodeNode,
    TRUN_NODE_SIZE, TrunNode, aligned,
};
use super::inode::{Dirt, FLAG_COMPRESS};
use super::key::Key;
use super::options::Compressor;
use super::wbuf::Head;
use crate::filesystem::{CACHE_PAGE_SIZE, byte_in_page};

/// Nodes that are written together. Each begins at a multiple of 8.
#[derive(Debug, Default)]
struct Bundle {
    bytes: Vec<u8>,
    /// Offset in `bytes` and length of each node.
    nodes: Vec<(u32, u32)>,
}

/// A block of a file in the form in which it is stored.
#[derive(Clone, Debug)]
pub(super) struct Block {
    key: Key,
    size: u32,
    compression: u16,
    stored: Vec<u8>,
}

impl Bundle {
    fn push(&mut self, node: &[u8]) {
        self.bytes.resize(self.bytes.len().next_multiple_of(8), 0);
        let at = u32::try_from(self.bytes.len()).expect("a few nodes");
        self.nodes.push((at, u32::try_from(node.len()).expect("a node")));
        self.bytes.extend(node);
    }

    fn len(&self) -> u32 {
        u32::try_from(self.bytes.len()).expect("a few nodes")
    }
}

impl Ubifs {
    /// Compress one block of a file and write it.
    pub(super) fn write_data(&mut self, ino: u32, block: u32, data: &[u8]) -> Result<(), Fault> {
        let block = self.pack_block(ino, block, data)?;
        self.append_block(ino, &block)
    }

    /// Compress one block of a file, ready to be written.
    pub(super) fn pack_block(&mut self, ino: u32, block: u32, data: &[u8]) -> Result<Block, Fault> {
        let flags = self.inode(ino)?.node.flags;
        let compressor =
            if flags & FLAG_COMPRESS == 0 { Compressor::None } else { self.options.compressor };
        let (compressor, stored) = pack(compressor, data, &self.cpu);
        let size = u32::try_from(data.len()).expect("a block");
        Ok(Block { key: Key::data(ino, block), size, compression: number(compressor), stored })
    }

    /// Write a block that is ready, and enter it into the index.
    pub(super) fn append_block(&mut self, ino: u32, block: &Block) -> Result<(), Fault> {
        let &Block { key, size, compression, ref stored } = block;
        let sequence = self.next_sequence();
        let bytes = DataNode { key, size, compression, stored }.emit(sequence);
        self.reserve(Head::Data, aligned(u32::try_from(bytes.len()).expect("a node")))?;
        let spot = self.append(Head::Data, &bytes, &[ino])?;
        self.insert(key, Self::place_at(spot, bytes.len()))
    }

    /// Write an inode. If it has no name, it and its data are removed from the index.
    pub(super) fn write_inode(&mut self, ino: u32) -> Result<(), Fault> {
        let sequence = self.next_sequence();
        let inode = self.inode(ino)?;
        inode.synced_size = inode.node.size;
        let is_last = inode.node.links == 0;
        let bytes = inode.node.emit(sequence, Group::Alone);
        self.make_inode_clean(ino);
        self.reserve(Head::Base, aligned(u32::try_from(bytes.len()).expect("a node")))?;
        let spot = self.append(Head::Base, &bytes, &[ino])?;
        let place = Self::place_at(spot, bytes.len());
        if !is_last {
            return self.insert(Key::inode(ino), place);
        }
        self.remove_inode(ino)?;
        self.add_dirt(place.lnum, aligned(place.len))?;
        self.orphans.remove(&ino);
        Ok(())
    }

    /// Write an inode if it is dirty. One without a name is not written before it is evicted, as in
    /// `ubifs_write_inode`: writing it would remove it although it is open.
    pub(super) fn write_dirty_inode(&mut self, ino: u32) -> Result<(), Fault> {
        if self.inode(ino)?.node.links == 0 {
            self.make_inode_clean(ino);
        }
        if self.inode(ino)?.dirt() == Dirt::None { Ok(()) } else { self.write_inode(ino) }
    }

    /// Write directory entries and the inodes that they concern as one group. An entry with inode 0
    /// says that its name is deleted.
    pub(super) fn write_entries(&mut self, dents: &[DentNode], inos: &[u32]) -> Result<(), Fault> {
        let len: usize = dents.iter().map(|dent| aligned_len(DENT_SIZE, dent.name.len() + 1)).sum();
        let nodes = inos.iter().map(|&ino| {
            self.inode(ino).map(|inode| aligned_len(INODE_SIZE, inode.node.inline.len()))
        });
        let len = len + nodes.sum::<Result<usize, Fault>>()?;
        self.reserve(Head::Base, u32::try_from(len).expect("a few nodes"))?;
        let mut bundle = Bundle::default();
        for dent in dents {
            let sequence = self.next_sequence();
            bundle.push(&dent.emit(sequence, Group::In));
        }
        for (place, &ino) in inos.iter().enumerate() {
            let group = if place + 1 == inos.len() { Group::Last } else { Group::In };
            let sequence = self.next_sequence();
            let inode = self.inode(ino)?;
            inode.synced_size = inode.node.size;
            let node = inode.node.emit(sequence, group);
            bundle.push(&node);
            self.make_inode_clean(ino);
        }
        let (lnum, offset) = self.append(Head::Base, &bundle.bytes, inos)?;
        let place = |&(at, len): &(u32, u32)| super::tnc::Place { lnum, offset: offset + at, len };
        for (dent, spot) in dents.iter().zip(&bundle.nodes) {
            self.book_dent(dent, place(spot))?;
        }
        for (&ino, spot) in inos.iter().zip(&bundle.nodes[dents.len()..]) {
            self.insert(Key::inode(ino), place(spot))?;
        }
        Ok(())
    }

    /// Enter a directory entry into the index, or take its name out if the entry deletes it.
    pub(super) fn book_dent(
        &mut self,
        dent: &DentNode,
        place: super::tnc::Place,
    ) -> Result<(), Fault> {
        if dent.ino != 0 {
            return self.insert_name(dent.key, &dent.name, place);
        }
        self.remove_name(dent.key, &dent.name)?;
        self.add_dirt(place.lnum, aligned(place.len))
    }

    /// Write that a file became shorter. The block that its new end lies in is written again.
    pub(super) fn write_truncation(&mut self, ino: u32, old_size: u64) -> Result<(), Fault> {
        let node: InodeNode = self.inode(ino)?.node.clone();
        let new_size = node.size;
        let tail = self.last_block(ino, new_size)?;
        let most = INODE_SIZE + TRUN_NODE_SIZE + aligned(DATA_NODE_SIZE_MAX);
        self.reserve(Head::Base, most + aligned_len32(node.inline.len()))?;
        let mut bundle = Bundle::default();
        let sequence = self.next_sequence();
        bundle.push(&node.emit(sequence, Group::Alone));
        let sequence = self.next_sequence();
        bundle.push(&TrunNode { ino, old_size, new_size }.emit(sequence));
        if let Some((key, data)) = &tail {
            let (compressor, stored) = pack(self.options.compressor, data, &self.cpu);
            let size = u32::try_from(data.len()).expect("a block");
            let compression = number(compressor);
            let sequence = self.next_sequence();
            bundle.push(&DataNode { key: *key, size, compression, stored: &stored }.emit(sequence));
        }
        debug_assert!(bundle.len() <= most + aligned_len32(node.inline.len()));
        let (lnum, offset) = self.append(Head::Base, &bundle.bytes, &[ino])?;
        let place = |(at, len)| super::tnc::Place { lnum, offset: offset + at, len };
        self.inode(ino)?.synced_size = new_size;
        self.make_inode_clean(ino);
        self.insert(Key::inode(ino), place(bundle.nodes[0]))?;
        self.add_dirt(lnum, TRUN_NODE_SIZE)?;
        if let Some((key, _)) = tail {
            self.insert(key, place(bundle.nodes[2]))?;
        }
        self.remove_blocks(ino, new_size)
    }

    /// Take the blocks of a file behind byte `size` out of the index.
    pub(super) fn remove_blocks(&mut self, ino: u32, size: u64) -> Result<(), Fault> {
        let first = u32::try_from(size.div_ceil(CACHE_PAGE_SIZE as u64)).unwrap_or(u32::MAX);
        self.remove_range(Key::data(ino, first), Key::data(ino, u32::MAX))
    }

    /// The part of a file's last block that stays. `None` if the block is not on flash.
    fn last_block(&mut self, ino: u32, size: u64) -> Result<Option<(Key, Vec<u8>)>, Fault> {
        let kept = byte_in_page(size);
        let block = u32::try_from(size / CACHE_PAGE_SIZE as u64).expect("files are limited");
        let key = Key::data(ino, block);
        if kept == 0 || self.find(key)?.is_none() {
            return Ok(None);
        }
        let mut page = [0; CACHE_PAGE_SIZE];
        self.read_block(ino, block, &mut page)?;
        Ok(Some((key, page[..kept].to_vec())))
    }
}

fn aligned_len(fixed: u32, more: usize) -> usize {
    (fixed as usize + more).next_multiple_of(8)
}

fn aligned_len32(len: usize) -> u32 {
    aligned(u32::try_from(len).expect("inline data is short"))
}
