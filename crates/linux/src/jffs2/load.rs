//! Bringing an inode into memory: its nodes are read, checked, and put over one another by version.
//!
//! Each node costs one page read, or two if its fixed part crosses a page boundary. The newest is
//! read once more at the end. After a mount the data of each node is read, too, because its
//! checksum has not been verified yet. For nodes that no other node overlaps the kernel does this
//! later; here it is done at once, so that a bad node is never used.

use std::collections::BTreeSet;

use super::blocks::Share;
use super::format::{DIRENT_SIZE, Dirent, INODE_SIZE, InodeNode, NodeType, crc32, parse_header};
use super::inode::{Entry, Inode, MODE_DIRECTORY};
use super::nodes::{NodeId, NodeState};
use super::{Jffs2, ROOT};
use crate::cpu::Unit;
use crate::filesystem::{FsError, Ino};
use crate::mtd::ReadQuality;

/// Longest metadata of any node, bytes: the fixed part of a dirent and the longest name.
const METADATA_SIZE_MAX: u32 = DIRENT_SIZE + 255;

/// The valid nodes of an inode on flash.
#[derive(Default)]
struct Found {
    inodes: Vec<(InodeNode, NodeId)>,
    dirents: Vec<(Dirent, NodeId)>,
}

impl Jffs2 {
    pub(super) fn load_inode(&mut self, ino: u32) -> Result<(), FsError> {
        let cache = self.inodes.get(&ino).ok_or(FsError::NotFound)?;
        if cache.loaded.is_some() {
            return Ok(());
        }
        let _scope = self.recorder.scope("jffs2_read_inode");
        let found = self.read_nodes(ino)?;
        let inode = self.assemble(ino, found)?;
        let cache = self.cache_of(ino);
        cache.loaded = Some(Box::new(inode));
        cache.checked = true;
        Ok(())
    }

    /// Read and check the metadata of all nodes of an inode, newest first as the kernel lists them.
    fn read_nodes(&mut self, ino: u32) -> Result<Found, FsError> {
        let mut found = Found::default();
        let ids = self.inodes[&ino].nodes.clone();
        for id in ids.into_iter().rev() {
            let node = *self.nodes.node(id);
            if node.state == NodeState::Obsolete {
                continue;
            }
            self.cpu.charge(Unit::Node, 1);
            let bytes = self.read_metadata(node.offset, node.len)?;
            if self.sort_in(ino, id, &bytes, &mut found)? {
                continue;
            }
            if node.state != NodeState::Unchecked && self.inodes[&ino].checked {
                // The node was good before, so this is data loss. It is neither a node that was
                // never completed, nor one that the summary of a half-erased block still lists.
                return Err(FsError::Damaged { ino: Ino(ino), offset: 0 });
            }
            self.mark_obsolete(id);
        }
        Ok(found)
    }

    /// Read a node's metadata. The first read goes to the end of a page, so that the rest of a node
    /// that crosses into another page comes with that whole page, which MTD does not buffer
    /// (`jffs2_get_inode_nodes`). The end of a long name is read alone.
    fn read_metadata(&self, offset: u32, len: u32) -> Result<Vec<u8>, FsError> {
        let wanted = len.min(METADATA_SIZE_MAX) as usize;
        let page_size = self.mtd.geometry().page_size;
        let block_end = self.blocks.start(self.blocks.of(offset)) + self.blocks.block_size;
        let end = (offset + DIRENT_SIZE).next_multiple_of(page_size).min(block_end);
        let mut bytes = vec![0; (end - offset) as usize];
        self.read_flash(offset, &mut bytes)?;
        let missing = wanted.saturating_sub(bytes.len());
        let is_dirent = parse_header(&bytes).is_some_and(|it| it.node_type == NodeType::Dirent);
        let is_short = bytes.len() < INODE_SIZE as usize;
        let more = match is_dirent {
            true => missing,
            false if is_short && missing > 0 => page_size as usize,
            false => 0,
        };
        if more > 0 {
            let mut rest = vec![0; more];
            self.read_flash(end, &mut rest)?;
            bytes.extend(rest);
        }
        bytes.truncate(wanted);
        Ok(bytes)
    }

    /// Parse a node of inode `ino` and add it to `found`. Returns whether it is valid.
    fn sort_in(
        &mut self,
        ino: u32,
        id: NodeId,
        bytes: &[u8],
        found: &mut Found,
    ) -> Result<bool, FsError> {
        let len = self.nodes.node(id).len;
        let header = parse_header(bytes).filter(|header| is_length(header.total_len, len));
        let Some(header) = header else { return Ok(false) };
        match header.node_type {
            NodeType::Dirent => {
                let dirent = Dirent::parse(bytes, header.total_len);
                let dirent = dirent.filter(|dirent| dirent.parent == ino);
                let valid = dirent.is_some();
                found.dirents.extend(dirent.map(|dirent| (dirent, id)));
                Ok(valid)
            }
            NodeType::Inode => {
                let inode = InodeNode::parse(bytes, header.total_len);
                let Some(inode) = inode.filter(|inode| inode.ino == ino) else {
                    return Ok(false);
                };
                let valid = self.verify_data(id, &inode)?;
                found.inodes.extend(valid.then_some((inode, id)));
                Ok(valid)
            }
            NodeType::Cleanmarker
            | NodeType::Padding
            | NodeType::Summary
            | NodeType::Other { .. } => Ok(false),
        }
    }

    /// Verify the data of a node that the mount scan found. Returns whether it is valid.
    fn verify_data(&mut self, id: NodeId, inode: &InodeNode) -> Result<bool, FsError> {
        let node = *self.nodes.node(id);
        if node.state != NodeState::Unchecked {
            return Ok(true);
        }
        let mut data = vec![0; inode.csize as usize];
        self.read_flash(node.offset + INODE_SIZE, &mut data)?;
        self.cpu.charge(Unit::ChecksumByte, data.len() as u64);
        if crc32(&data) != inode.data_crc {
            return Ok(false);
        }
        let state =
            if inode.is_best_moved_whole() { NodeState::Pristine } else { NodeState::Normal };
        self.nodes.node_mut(id).state = state;
        self.blocks.shift(self.blocks.of(node.offset), Share::Unchecked, Share::Used, node.len);
        Ok(true)
    }

    fn assemble(&mut self, ino: u32, mut found: Found) -> Result<Inode, FsError> {
        let version = self.inodes[&ino].version_seen;
        let mut inode = Inode { version, ..Inode::empty(MODE_DIRECTORY) };
        self.lay_entries(&mut inode, found.dirents);
        // A copy that the collector made has the version of its original. The newer of the two
        // stands behind the older in the list, a stable sort keeps it there, and so it wins.
        found.inodes.reverse();
        found.inodes.sort_by_key(|(node, _)| node.version);
        let Some(&(latest, latest_id)) = found.inodes.last() else {
            // The root directory may have no node of its own.
            let known = ino == ROOT || !inode.entries.is_empty();
            return if known {
                Ok(inode)
            } else {
                Err(FsError::Damaged { ino: Ino(ino), offset: 0 })
            };
        };
        self.lay_data(&mut inode, &found.inodes);
        self.read_again(latest_id)?;
        inode.metadata = (latest.dsize == 0).then_some(latest_id);
        inode.mode = latest.mode;
        inode.owner = latest.owner;
        inode.size = latest.size;
        inode.version = inode.version.max(latest.version);
        Ok(inode)
    }

    /// Read the fixed part of the newest node once more. The kernel takes mode, size and times from
    /// there, after it has laid out the data (`jffs2_do_read_inode_internal`).
    fn read_again(&self, latest: NodeId) -> Result<(), FsError> {
        self.read_flash(self.nodes.node(latest).offset, &mut [0; INODE_SIZE as usize])
    }

    /// Put the nodes of a file over one another, oldest first.
    ///
    /// A node cuts the file off at its size. Data that was cut off must not return, even if the
    /// hole that extended the file again was lost with a torn page. Until that hole is written
    /// again, the nodes that record the truncation are kept, although they may hold no data.
    fn lay_data(&mut self, inode: &mut Inode, nodes: &[(InodeNode, NodeId)]) {
        let mut dead = BTreeSet::new();
        for &(node, id) in nodes {
            if node.dsize > 0 {
                dead.extend(inode.fragments.insert(id, node.offset, node.dsize));
                self.mark_page_mates(inode, id, node.offset, node.offset + node.dsize);
            } else if Some(id) != nodes.last().map(|(_, latest)| *latest) {
                dead.insert(id);
            }
            dead.extend(inode.fragments.truncate(node.size));
        }
        let gaps_end = inode.fragments.gaps().last().map_or(0, |(_, end)| end);
        inode.lost_holes = gaps_end > 0;
        let kept = nodes.iter().filter(|(node, _)| node.size < gaps_end).map(|(_, id)| *id);
        for id in kept {
            dead.remove(&id);
        }
        self.mark_as_laid_backwards(nodes, &dead);
        self.mark_all_obsolete(dead);
    }

    /// Mark the nodes that the kernel regards as worth merging after it has loaded a file: all data
    /// nodes but the first and the last of the file. The kernel puts in the end of the file first,
    /// with a hole before it. Each further node is put into that hole, does not begin where the
    /// hole begins, and therefore counts as worth merging (`jffs2_build_inode_fragtree`, since
    /// 2.6.22).
    fn mark_as_laid_backwards(&mut self, nodes: &[(InodeNode, NodeId)], dead: &BTreeSet<NodeId>) {
        let living = nodes.iter().filter(|(node, id)| node.dsize > 0 && !dead.contains(id));
        let last = living.clone().max_by_key(|(node, _)| node.offset).map(|(_, id)| *id);
        for &(node, id) in living {
            if node.offset > 0 && Some(id) != last {
                self.nodes.mark_normal(id);
            }
        }
    }

    fn lay_entries(&mut self, inode: &mut Inode, mut dirents: Vec<(Dirent, NodeId)>) {
        dirents.reverse();
        dirents.sort_by_key(|(dirent, _)| dirent.version);
        for (dirent, node) in dirents {
            inode.version = inode.version.max(dirent.version);
            // The inode of this name may have been lost, or never written. The name then stands for
            // nothing, but it is kept so that older dirents of the name do not return.
            let ino = Some(dirent.ino).filter(|ino| self.inodes.contains_key(ino));
            let entry = Entry { node, version: dirent.version, ino, kind: dirent.kind };
            if let Some(older) = inode.entries.insert(dirent.name, entry) {
                self.mark_obsolete(older.node);
            }
        }
    }

    /// Mark nodes that share a page: they are worth merging when they are moved.
    pub(super) fn mark_page_mates(&mut self, inode: &Inode, id: NodeId, start: u32, end: u32) {
        let (before, after) = inode.fragments.page_mates(start, end);
        if !start.is_multiple_of(4096) || after.is_some() {
            self.nodes.mark_normal(id);
        }
        let mates = [before, after].into_iter().flatten().filter_map(|fragment| fragment.node);
        for mate in mates {
            self.nodes.mark_normal(mate);
        }
    }

    /// Read flash and put the content of the write buffer over it. Pages that ECC cannot correct
    /// are read once more; if that fails, too, the bytes are returned as they are, since the
    /// checksums of the nodes tell which are good.
    pub(super) fn read_flash(&self, offset: u32, bytes: &mut [u8]) -> Result<(), FsError> {
        if let ReadQuality::Damaged(_) = self.mtd.read(offset, bytes).map_err(FsError::from)? {
            self.mtd.read(offset, bytes).map_err(FsError::from)?;
        }
        self.wbuf.overlay(offset, bytes);
        Ok(())
    }
}

/// Whether a node of `total_len` bytes takes the `len` bytes that were counted for it. If not, a
/// summary was wrong, or the flash has changed meanwhile.
pub(super) const fn is_length(total_len: u32, len: u32) -> bool {
    match total_len.checked_next_multiple_of(4) {
        Some(padded) => padded == len,
        None => false,
    }
}

impl InodeNode {
    /// Whether nothing can be merged with the node: it is a whole page, a hole, or all that the
    /// file has of its last page.
    pub(super) const fn is_best_moved_whole(&self) -> bool {
        self.dsize >= 4096
            || (self.offset.is_multiple_of(4096) && self.offset + self.dsize == self.size)
    }
}
