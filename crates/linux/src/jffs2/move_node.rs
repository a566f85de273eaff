//! Moving one valid node out of a block: it is copied, merged with its page, or dropped.

use super::append::Writer;
use super::blocks::is_dirty;
use super::format::{Dirent, INODE_SIZE, InodeNode, NodeType, crc32, parse_header};
use super::fragments::Fragment;
use super::nodes::{NodeId, NodeState};
use super::reserve::Need;
use super::{Jffs2, ROOT};
use crate::cache::PageCache;
use crate::filesystem::{FsError, Ino, PAGE_SIZE};

impl Jffs2 {
    /// Move a node to another block, so that its own block can become dead. An inode that had to be
    /// loaded for it stays in memory, as one that nobody uses does until caches are dropped
    /// (`jffs2_gc_release_inode`).
    pub(super) fn move_node(&mut self, cache: &mut PageCache, id: NodeId) -> Result<(), FsError> {
        let node = *self.nodes.node(id);
        let Some(ino) = node.ino else {
            // A node without an inode is a summary. The block to which nodes are moved gets a
            // summary of its own.
            self.mark_obsolete(id);
            return Ok(());
        };
        let in_memory = self.inodes[&ino].loaded.is_some();
        if !in_memory && node.state == NodeState::Pristine && self.copy_whole(ino, id)?.is_some() {
            return Ok(());
        }
        if !in_memory && ino != ROOT {
            self.loaded_to_collect.insert(ino);
        }
        let moved = self.load_inode(ino).and_then(|()| match self.nodes.node(id).state {
            NodeState::Obsolete => Ok(()),
            _ => self.move_loaded(cache, ino, id),
        });
        if let Err(error) = moved {
            self.move_damaged(ino, id, error)?;
        }
        Ok(())
    }

    fn move_loaded(&mut self, cache: &mut PageCache, ino: u32, id: NodeId) -> Result<(), FsError> {
        self.restore_holes(ino)?;
        if self.inode(ino).metadata == Some(id) {
            return self.move_metadata(ino);
        }
        if let Some((start, end)) = self.inode(ino).fragments.extent(id) {
            return self.move_data(cache, ino, id, (start, end));
        }
        self.move_dirent(ino, id)
    }

    /// Copy a node although its inode or its data cannot be read. Its block can then be erased, and
    /// a reader of the file still gets the error.
    fn move_damaged(&mut self, ino: u32, id: NodeId, error: FsError) -> Result<(), FsError> {
        let FsError::Damaged { .. } = error else { return Err(error) };
        let node = *self.nodes.node(id);
        if node.state == NodeState::Obsolete {
            return Ok(());
        }
        let _scope = self.recorder.scope("copy_damaged");
        self.reserve_for_gc(Need { len: node.len, ..Need::DATA })?;
        let mut bytes = vec![0; node.len as usize];
        self.read_flash(node.offset, &mut bytes)?;
        self.append_copy(ino, id, &bytes).map(|_| ())
    }

    /// Copy a node byte by byte. `None` if it does not fit in the block being filled, or is
    /// damaged.
    fn copy_whole(&mut self, ino: u32, id: NodeId) -> Result<Option<NodeId>, FsError> {
        let _scope = self.recorder.scope("copy_node");
        let node = *self.nodes.node(id);
        // Ask for little room. Asking for more could give up the end of a block in which part of a
        // node would fit.
        let least = Need { len: node.len.min(Need::DATA.len), ..Need::DATA };
        let room = self.reserve_for_gc(least)?;
        if room < node.len {
            return Ok(None);
        }
        let mut bytes = vec![0; node.len as usize];
        self.read_flash(node.offset, &mut bytes)?;
        match sound_len(&bytes) {
            Some(len) => bytes.truncate(len),
            None => return Ok(None),
        }
        self.append_copy(ino, id, &bytes).map(Some)
    }

    /// Write the bytes of a node again, and let the copy replace it.
    fn append_copy(&mut self, ino: u32, id: NodeId, bytes: &[u8]) -> Result<NodeId, FsError> {
        let state = self.nodes.node(id).state;
        let copy = self.append(bytes, Some(ino), state, Writer::Collector)?;
        if let Some(inode) = self.cache_of(ino).loaded.as_deref_mut() {
            inode.fragments.replace(id, copy);
            inode.metadata = inode.metadata.map(|old| if old == id { copy } else { old });
            for entry in inode.entries.values_mut().filter(|entry| entry.node == id) {
                entry.node = copy;
            }
        }
        self.mark_obsolete(id);
        Ok(copy)
    }

    fn move_metadata(&mut self, ino: u32) -> Result<(), FsError> {
        self.reserve_for_gc(Need::METADATA)?;
        let size = self.inode(ino).size;
        let node = self.new_node(ino, size);
        let bytes = node.emit(&[]);
        let copy = self.append(&bytes, Some(ino), NodeState::Pristine, Writer::Collector)?;
        let superseded = self.inode_mut(ino).metadata.replace(copy);
        self.mark_all_obsolete(superseded);
        Ok(())
    }

    /// Move those bytes of a node that the file still uses.
    fn move_data(
        &mut self,
        cache: &mut PageCache,
        ino: u32,
        id: NodeId,
        (start, end): (u32, u32),
    ) -> Result<(), FsError> {
        // Data that spans pages is a hole, or comes from a system with larger pages. It would only
        // grow if it were split.
        let spans_pages = start / PAGE_SIZE != (end - 1) / PAGE_SIZE;
        let pristine = self.nodes.node(id).state == NodeState::Pristine;
        if (pristine || spans_pages) && self.copy_whole(ino, id)?.is_some() {
            return Ok(());
        }
        let (mut at, end) = if spans_pages { (start, end) } else { self.grown(ino, start, end) };
        while at < end {
            let stop = end.min((at / PAGE_SIZE + 1) * PAGE_SIZE);
            at = self.rewrite_in_page(cache, ino, at, stop)?;
        }
        Ok(())
    }

    /// Write bytes of one page again, as many as fit in one node. Returns where the node ends.
    fn rewrite_in_page(
        &mut self,
        cache: &mut PageCache,
        ino: u32,
        at: u32,
        stop: u32,
    ) -> Result<u32, FsError> {
        let _scope = self.recorder.scope("merge_page");
        let room = self.reserve_for_gc(Need::DATA)?;
        let first = (at % PAGE_SIZE) as usize;
        let len = (stop - at) as usize;
        let page = self.cached_page(cache, ino, at / PAGE_SIZE)?;
        let data = page[first..first + len].to_vec();
        let written = self.write_node(ino, at, &data, room, Writer::Collector)?;
        Ok(at + u32::try_from(written).expect("within a page"))
    }

    /// Extend a range within its page over neighbours that are worth merging. Fragments inside the
    /// page are always merged; one at the page's edge only if its block is dirty anyway.
    fn grown(&self, ino: u32, start: u32, end: u32) -> (u32, u32) {
        if self.blocks.free_count + self.blocks.erasing_count <= self.limits.gc_merge {
            return (start, end);
        }
        let fragments = &self.inode(ino).fragments;
        let page = start - start % PAGE_SIZE;
        let (mut from, mut to) = (start, end);
        while let Some((offset, fragment)) = fragments.before(from).filter(|(at, _)| *at >= page) {
            let at_edge = offset == page;
            if at_edge && !self.may_merge(fragment) {
                break;
            }
            from = offset;
        }
        while let Some(fragment) = fragments.starting_at(to) {
            let next = to + fragment.len;
            if next > page + PAGE_SIZE || (next == page + PAGE_SIZE && !self.may_merge(fragment)) {
                break;
            }
            to = next;
        }
        (from, to)
    }

    /// Whether the block of a fragment is being collected, or is dirty, so that it loses nothing by
    /// the merge.
    fn may_merge(&self, fragment: Fragment) -> bool {
        let Some(id) = fragment.node else { return false };
        let block = self.blocks.of(self.nodes.node(id).offset);
        self.blocks.gc_block == Some(block) || is_dirty(self.blocks.block(block).dead())
    }

    /// Move a dirent. A deletion dirent is dropped instead if no older dirent of its name is on
    /// flash.
    fn move_dirent(&mut self, dir: u32, id: NodeId) -> Result<(), FsError> {
        let entries = &self.inode(dir).entries;
        let found = entries.iter().find(|(_, entry)| entry.node == id);
        let Some((name, entry)) = found.map(|(name, entry)| (name.clone(), *entry)) else {
            return Err(FsError::Damaged { ino: Ino(dir), offset: 0 });
        };
        if entry.ino.is_none() && !self.is_deletion_needed(dir, id, &name)? {
            self.inode_mut(dir).entries.remove(&name);
            self.mark_obsolete(id);
            return Ok(());
        }
        let mctime = self.now_s();
        let version = self.inode_mut(dir).next_version();
        let ino = entry.ino.unwrap_or(0);
        let dirent = Dirent { parent: dir, version, ino, mctime, kind: entry.kind, name };
        self.reserve_for_gc(Need::dirent(&dirent))?;
        self.append_dirent(dirent, Writer::Collector)
    }

    /// Whether an older dirent of the name is still on flash. Without the deletion dirent the next
    /// mount would take it for valid. (The kernel does not look into the block that holds the
    /// deletion dirent, as that block is erased next. The model does: an interrupted erase may
    /// leave the older dirent alone.)
    fn is_deletion_needed(&self, dir: u32, id: NodeId, name: &[u8]) -> Result<bool, FsError> {
        let _scope = self.recorder.scope("search_older_dirent");
        let own_len = self.nodes.node(id).len;
        for &other in &self.inodes[&dir].nodes {
            let node = *self.nodes.node(other);
            if node.state != NodeState::Obsolete || node.len != own_len {
                continue;
            }
            let mut bytes = vec![0; node.len as usize];
            self.read_flash(node.offset, &mut bytes)?;
            let header = parse_header(&bytes).filter(|it| it.node_type == NodeType::Dirent);
            let dirent = header.and_then(|header| Dirent::parse(&bytes, header.total_len));
            if dirent.is_some_and(|older| older.ino != 0 && older.name == name) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Length of the node that `bytes` begins with. `None` if one of its checksums is wrong.
pub(super) fn sound_len(bytes: &[u8]) -> Option<usize> {
    let header = parse_header(bytes)?;
    let node = bytes.get(..header.total_len as usize)?;
    let sound = match header.node_type {
        NodeType::Dirent => Dirent::parse(node, header.total_len).is_some(),
        NodeType::Inode => InodeNode::parse(node, header.total_len)
            .is_some_and(|inode| crc32(&node[INODE_SIZE as usize..]) == inode.data_crc),
        NodeType::Cleanmarker | NodeType::Padding | NodeType::Summary | NodeType::Other { .. } => {
            false
        }
    };
    sound.then_some(node.len())
}
