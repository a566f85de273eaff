//! Appending nodes: a finished node is written at the place that was reserved for it.

use super::Jffs2;
use super::blocks::{List, Share};
use super::format::padded;
use super::nodes::{NodeId, NodeRef, NodeState};
use super::reserve::Need;
use crate::cpu::Unit;
use crate::filesystem::FsError;

/// How often a node is written, each time in another block, before the call fails.
pub(super) const TRIES: u32 = 4;

/// Who writes a node. It decides whether an fsync of the inode must flush the write buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Writer {
    /// A program that uses the file system.
    User,
    /// The collector, which moves a node. The old copy is still on flash, so no fsync waits for the
    /// new one.
    Collector,
}

impl Jffs2 {
    /// Write a node at the reserved place and list it under inode `ino`, if it belongs to one.
    pub(super) fn append(
        &mut self,
        bytes: &[u8],
        ino: Option<u32>,
        state: NodeState,
        writer: Writer,
    ) -> Result<NodeId, FsError> {
        self.cpu.charge(Unit::NodeWrite, 1);
        let len = padded(u32::try_from(bytes.len()).expect("a node is shorter than a block"));
        let mut aligned = bytes.to_vec();
        aligned.resize(len as usize, 0xFF);
        let by = ino.filter(|_| writer == Writer::User);
        for _ in 0..TRIES {
            let offset = self.blocks.write_offset().expect("space was reserved");
            match self.write_flash(offset, &aligned, by) {
                Ok(()) => {
                    self.summary.list(bytes, offset % self.blocks.block_size);
                    return Ok(self.link(NodeRef { offset, len, state, ino }));
                }
                Err(FsError::Io) => self.give_up_block(offset, len)?,
                Err(error) => return Err(error),
            }
        }
        Err(FsError::Io)
    }

    /// Account for a node that has been written.
    fn link(&mut self, node: NodeRef) -> NodeId {
        let block = self.blocks.of(node.offset);
        let id = self.nodes.insert(node);
        self.blocks.block_mut(block).nodes.push(id);
        self.blocks.shift(block, Share::Free, Share::Used, node.len);
        if let Some(ino) = node.ino {
            self.cache_of(ino).nodes.push(id);
        }
        let filled = self.blocks.block(block);
        if filled.share(Share::Free) == 0 && filled.dead() == 0 {
            self.close_next_block();
        }
        id
    }

    /// Begin another block with room for `len` bytes after a failed program.
    fn give_up_block(&mut self, offset: u32, len: u32) -> Result<(), FsError> {
        let block = self.blocks.of(offset);
        if self.blocks.next_block == Some(block) {
            self.retire_next_block(block);
        }
        self.reserve_for_gc(Need { len, entry: 0 }).map(|_| ())
    }

    /// Stop filling the block in which a program failed. The collector moves its nodes before those
    /// of any other block, and then it is marked bad.
    fn retire_next_block(&mut self, block: u32) {
        self.blocks.next_block = None;
        self.summary.begin(false);
        self.blocks.block_mut(block).failed = true;
        self.blocks.shift_all(block, Share::Free, Share::Dirty);
        self.blocks.shift_all(block, Share::Wasted, Share::Dirty);
        self.blocks.file(block, List::BadUsed);
    }

    /// Write the finished nodes of a page that could not be programmed to another block.
    ///
    /// A node may have begun on earlier pages, which were programmed; that part is read back.
    pub(super) fn rescue_page(&mut self, offset: u32, page: &[u8]) -> Result<(), FsError> {
        let block = self.blocks.of(offset);
        if self.blocks.next_block == Some(block) {
            self.retire_next_block(block);
        }
        let in_page = |id: &NodeId| {
            let node = self.nodes.node(*id);
            node.offset + node.len > offset && node.state != NodeState::Obsolete
        };
        let nodes = self.blocks.block(block).nodes.iter().copied();
        let nodes: Vec<NodeId> = nodes.filter(in_page).collect();
        self.wbuf.pages_in_limbo += 1;
        let outcome = nodes.into_iter().try_for_each(|id| self.rescue_node(id, offset, page));
        self.wbuf.pages_in_limbo -= 1;
        outcome
    }

    fn rescue_node(&mut self, id: NodeId, offset: u32, page: &[u8]) -> Result<(), FsError> {
        let node = *self.nodes.node(id);
        let mut bytes = vec![0; node.len as usize];
        let programmed = offset.saturating_sub(node.offset) as usize;
        self.mtd.read(node.offset, &mut bytes[..programmed]).map_err(FsError::from)?;
        let skipped = node.offset.saturating_sub(offset) as usize;
        let rest = bytes.len() - programmed;
        bytes[programmed..].copy_from_slice(&page[skipped..skipped + rest]);
        for _ in 0..TRIES {
            self.reserve_for_gc(Need { len: node.len, entry: 0 })?;
            let to = self.blocks.write_offset().expect("space was reserved");
            match self.write_flash(to, &bytes, node.ino) {
                Ok(()) => {
                    // A node that began before its block's summary was started cannot be listed in
                    // it.
                    self.summary.begin(false);
                    self.relocate(id, to);
                    return Ok(());
                }
                Err(FsError::Io) => self.give_up_block(to, node.len)?,
                Err(error) => return Err(error),
            }
        }
        Err(FsError::Io)
    }

    /// Note that a node has moved. It keeps its identity.
    fn relocate(&mut self, id: NodeId, to: u32) {
        let node = *self.nodes.node(id);
        let old = self.blocks.of(node.offset);
        let share = match node.state {
            NodeState::Unchecked => Share::Unchecked,
            NodeState::Pristine | NodeState::Normal | NodeState::Obsolete => Share::Used,
        };
        self.blocks.shift(old, share, Share::Dirty, node.len);
        self.blocks.block_mut(old).nodes.retain(|&other| other != id);
        let new = self.blocks.of(to);
        self.nodes.node_mut(id).offset = to;
        self.blocks.shift(new, Share::Free, share, node.len);
        self.blocks.block_mut(new).nodes.push(id);
    }
}
