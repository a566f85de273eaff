//! Appending: a finished node's bytes go to the place reserved for it.

use super::Jffs2;
use super::blocks::{List, Share};
use super::format::padded;
use super::nodes::{NodeId, NodeRef, NodeState};
use super::reserve::Need;
use crate::cpu::Work;
use crate::filesystem::FsError;

/// Tries at writing a node, each in another block, before the device is given up.
pub(super) const TRIES: u32 = 4;

/// Who writes a node, which decides whether the write buffer matters to an fsync.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Writer {
    /// A user of the file system.
    User,
    /// The collector: the old copy is still on flash.
    Collector,
}

impl Jffs2 {
    /// Write a node at the reserved place and book it to inode `ino`, if it belongs to one.
    pub(super) fn append(
        &mut self,
        bytes: &[u8],
        ino: Option<u32>,
        state: NodeState,
        writer: Writer,
    ) -> Result<NodeId, FsError> {
        self.cpu.charge(Work::Node);
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

    /// Book a node that is written.
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

    /// After a failed program: begin another block with room for `len` bytes.
    fn give_up_block(&mut self, offset: u32, len: u32) -> Result<(), FsError> {
        let block = self.blocks.of(offset);
        if self.blocks.next_block == Some(block) {
            self.retire_next_block(block);
        }
        self.reserve_for_gc(Need { len, entry: 0 }).map(|_| ())
    }

    /// The block being filled failed a program: it is emptied before all others, then marked bad.
    fn retire_next_block(&mut self, block: u32) {
        self.blocks.next_block = None;
        self.summary.begin(false);
        self.blocks.block_mut(block).failed = true;
        self.blocks.shift_all(block, Share::Free, Share::Dirty);
        self.blocks.shift_all(block, Share::Wasted, Share::Dirty);
        self.blocks.file(block, List::BadUsed);
    }

    /// A page of finished nodes could not be programmed: write those nodes elsewhere.
    ///
    /// A node that began on earlier pages is read back from them.
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
                    // A node that began before its block's summary was collected cannot be listed.
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

    /// Book a node to another place, under the same identity.
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
