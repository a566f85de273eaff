//! Regular files: pages are read from nodes, writes become nodes, sizes change.
//!
//! JFFS2 is write-through: each write call becomes nodes at once, one for each page it touches, and
//! the page cache serves reads alone. A write that reaches the end of a page writes the whole page.
//! A page that is filled by many short writes thus ends as a single node.

use super::append::Writer;
use super::compress::{pack, unpack};
use super::format::{Compression, INODE_SIZE, InodeNode, crc32, parse_header};
use super::inode::Inode;
use super::load::is_length;
use super::nodes::{NodeId, NodeState};
use super::reserve::{Need, Purpose};
use super::{Jffs2, blocks};
use crate::cache::{PageCache, page_to_fill};
use crate::cpu::Unit;
use crate::filesystem::{CACHE_PAGE_SIZE, FsError, Ino, PAGE_SIZE, PageBytes};

/// A node is begun only where at least this many bytes of data fit into the block, bytes.
pub(super) const DATA_LEN_MIN: u32 = 128;

impl Jffs2 {
    /// Read a page of a file. Each fragment in the page costs two requests to MTD.
    pub(super) fn read_file_page(
        &mut self,
        ino: u32,
        index: u32,
        page: &mut PageBytes,
    ) -> Result<(), FsError> {
        let Some(start) = index.checked_mul(PAGE_SIZE) else {
            page.fill(0);
            return Ok(());
        };
        let end = start.saturating_add(PAGE_SIZE);
        let fragments: Vec<_> = self.inode(ino).fragments.overlapping(start, end).collect();
        let mut done = start;
        for (offset, fragment) in fragments {
            let Some(id) = fragment.node else { continue };
            let from = offset.max(start);
            let to = (offset + fragment.len).min(end);
            page[(done - start) as usize..(from - start) as usize].fill(0);
            let target = &mut page[(from - start) as usize..(to - start) as usize];
            if !self.read_node_data(ino, id, from, target)? {
                return Err(FsError::Damaged { ino: Ino(ino), offset: u64::from(from) });
            }
            done = to;
        }
        page[(done - start) as usize..].fill(0);
        Ok(())
    }

    /// Read bytes of the file from `from` on out of one node. Returns whether the node is good.
    fn read_node_data(
        &mut self,
        ino: u32,
        id: NodeId,
        from: u32,
        target: &mut [u8],
    ) -> Result<bool, FsError> {
        let at = self.nodes.node(id).offset;
        let mut header = [0; INODE_SIZE as usize];
        self.read_flash(at, &mut header)?;
        self.cpu.charge(Unit::Node, 1);
        let booked_len = self.nodes.node(id).len;
        let total_len = parse_header(&header).map_or(0, |header| header.total_len);
        if !is_length(total_len, booked_len) {
            return Ok(false);
        }
        let Some(node) = InodeNode::parse(&header, total_len).filter(|node| node.ino == ino) else {
            return Ok(false);
        };
        if node.compression == Compression::Zero {
            target.fill(0);
            return Ok(true);
        }
        let mut stored = vec![0; node.csize as usize];
        self.read_flash(at + INODE_SIZE, &mut stored)?;
        self.cpu.charge(Unit::ChecksumByte, stored.len() as u64);
        if node.dsize > blocks::NODE_DATA_MAX || crc32(&stored) != node.data_crc {
            return Ok(false);
        }
        let data = unpack(node.compression, &stored, node.dsize as usize, &self.cpu);
        let skip = from.wrapping_sub(node.offset) as usize;
        let part = data.as_ref().and_then(|data| data.get(skip..)?.get(..target.len()));
        if node.compression != Compression::None {
            // Data that is stored as it is goes straight into the page.
            self.cpu.copy(target.len());
        }
        part.map(|part| target.copy_from_slice(part)).map_or(Ok(false), |()| Ok(true))
    }

    /// Write to a file, one page after the other.
    pub(super) fn write_file(
        &mut self,
        cache: &mut PageCache,
        ino: u32,
        offset: u64,
        bytes: &[u8],
    ) -> Result<(), FsError> {
        let end = offset + bytes.len() as u64;
        let end = u32::try_from(end).map_err(|_| FsError::TooLong)?;
        let mut at = end - u32::try_from(bytes.len()).expect("no longer than its end");
        self.restore_holes(ino)?;
        if at > self.inode(ino).size {
            self.write_hole(cache, ino, at)?;
        }
        let mut rest = bytes;
        while !rest.is_empty() {
            let room = PAGE_SIZE - at % PAGE_SIZE;
            let (part, tail) = rest.split_at(rest.len().min(room as usize));
            self.write_in_page(cache, ino, at, part)?;
            self.wake_collector();
            // A call that writes many pages takes longer than a slice of the scheduler.
            self.run_due_tasks(cache)?;
            at += u32::try_from(part.len()).expect("within a page");
            rest = tail;
        }
        Ok(())
    }

    /// Write within one page. The page is brought into the cache and changed. Then its changed part
    /// becomes nodes, or all of it if the write reaches its end.
    fn write_in_page(
        &mut self,
        cache: &mut PageCache,
        ino: u32,
        offset: u32,
        bytes: &[u8],
    ) -> Result<(), FsError> {
        let index = offset / PAGE_SIZE;
        self.cpu.charge(Unit::Page, 1);
        let page = self.cached_page(cache, ino, index)?;
        let start = (offset % PAGE_SIZE) as usize;
        let end = start + bytes.len();
        page[start..end].copy_from_slice(bytes);
        let from = if end == CACHE_PAGE_SIZE { 0 } else { start & !3 };
        let data = page[from..end].to_vec();
        let first = index * PAGE_SIZE + u32::try_from(from).expect("within a page");
        let since_ns = self.recorder.clock().now_ns();
        let written = self.write_data(cache, ino, first, &data);
        self.note_lock_held(since_ns);
        if written.is_err() {
            // The cached page holds bytes that the file does not.
            cache.remove(Ino(ino), index);
        }
        written
    }

    /// A page of the cache, which is read from flash if it is missing.
    pub(super) fn cached_page<'a>(
        &mut self,
        cache: &'a mut PageCache,
        ino: u32,
        index: u32,
    ) -> Result<&'a mut PageBytes, FsError> {
        if !cache.contains(Ino(ino), index) {
            let mut page = page_to_fill();
            self.read_file_page(ino, index, &mut page)?;
            cache.insert(Ino(ino), index, page);
        }
        Ok(cache.get_mut(Ino(ino), index).expect("it is there now"))
    }

    fn write_data(
        &mut self,
        cache: &mut PageCache,
        ino: u32,
        offset: u32,
        data: &[u8],
    ) -> Result<(), FsError> {
        let mut at = offset;
        let mut rest = data;
        while !rest.is_empty() {
            let room = self.reserve(cache, Need::DATA, Purpose::Write)?;
            let written = self.write_node(ino, at, rest, room, Writer::User)?;
            at += u32::try_from(written).expect("within a page");
            rest = &rest[written..];
        }
        Ok(())
    }

    /// Write one node with as much of `data` as fits in `room` bytes. Returns how many bytes that
    /// is.
    pub(super) fn write_node(
        &mut self,
        ino: u32,
        offset: u32,
        data: &[u8],
        room: u32,
        writer: Writer,
    ) -> Result<usize, FsError> {
        // The room ends at the end of the block, a multiple of 4 as the length of a node must be.
        let room = (room - INODE_SIZE) as usize;
        let packed = pack(&self.options.compressors, data, room, &self.cpu);
        let dsize = u32::try_from(packed.data_len).expect("within a page");
        self.cpu.charge(Unit::ChecksumByte, packed.stored.len() as u64);
        let node = InodeNode {
            offset,
            csize: u32::try_from(packed.stored.len()).expect("within a page"),
            dsize,
            compression: packed.compression,
            data_crc: crc32(&packed.stored),
            ..self.new_node(ino, (offset + dsize).max(self.inode(ino).size))
        };
        self.append_data(node, &packed.stored, writer)?;
        Ok(packed.data_len)
    }

    /// A node without data that holds the next version of an inode.
    pub(super) fn new_node(&mut self, ino: u32, size: u32) -> InodeNode {
        let mtime = self.now_s();
        let inode = self.inode_mut(ino);
        InodeNode {
            ino,
            version: inode.next_version(),
            mode: inode.mode,
            owner: inode.owner,
            size,
            mtime,
            offset: 0,
            csize: 0,
            dsize: 0,
            compression: Compression::None,
            data_crc: 0,
        }
    }

    /// Append a data node. It covers the older nodes of the same bytes.
    fn append_data(
        &mut self,
        node: InodeNode,
        stored: &[u8],
        writer: Writer,
    ) -> Result<(), FsError> {
        let whole = node.is_best_moved_whole() || node.compression == Compression::Zero;
        let state = if whole { NodeState::Pristine } else { NodeState::Normal };
        let id = self.append(&node.emit(stored), Some(node.ino), state, writer)?;
        let end = node.offset + node.dsize;
        let inode = self.inode_mut(node.ino);
        inode.size = node.size;
        let dead = inode.fragments.insert(id, node.offset, node.dsize);
        let superseded = inode.metadata.take();
        self.mark_all_obsolete(dead.into_iter().chain(superseded));
        self.with_inode(node.ino, |fs, inode| fs.mark_page_mates(inode, id, node.offset, end));
        Ok(())
    }

    /// Call `act`, which needs an inode and the rest of the file system at the same time.
    fn with_inode(&mut self, ino: u32, act: impl FnOnce(&mut Self, &Inode)) {
        let inode = self.cache_of(ino).loaded.take().expect("the inode is in memory");
        act(self, &inode);
        self.cache_of(ino).loaded = Some(inode);
    }

    /// Extend a file to `size` by writing a hole.
    fn write_hole(&mut self, cache: &mut PageCache, ino: u32, size: u32) -> Result<(), FsError> {
        self.reserve(cache, Need::METADATA, Purpose::Write)?;
        self.append_hole(ino, (self.inode(ino).size, size), Writer::User)
    }

    fn append_hole(
        &mut self,
        ino: u32,
        (start, end): (u32, u32),
        writer: Writer,
    ) -> Result<(), FsError> {
        let size = self.inode(ino).size.max(end);
        let node = InodeNode {
            offset: start,
            dsize: end - start,
            compression: Compression::Zero,
            ..self.new_node(ino, size)
        };
        self.append_data(node, &[], writer)
    }

    /// Write the holes again that were lost with a torn page. Without them, data that a truncation
    /// had cut off would return as soon as the nodes that record the truncation are superseded.
    pub(super) fn restore_holes(&mut self, ino: u32) -> Result<(), FsError> {
        if !self.inode(ino).lost_holes {
            return Ok(());
        }
        let gaps: Vec<_> = self.inode(ino).fragments.gaps().collect();
        for gap in gaps {
            self.reserve_for_gc(Need::METADATA)?;
            self.append_hole(ino, gap, Writer::Collector)?;
        }
        self.inode_mut(ino).lost_holes = false;
        Ok(())
    }

    pub(super) fn truncate_file(
        &mut self,
        cache: &mut PageCache,
        ino: u32,
        size: u64,
    ) -> Result<(), FsError> {
        let size = u32::try_from(size).map_err(|_| FsError::TooLong)?;
        self.restore_holes(ino)?;
        let old_size = self.inode(ino).size;
        if size > old_size {
            self.write_hole(cache, ino, size)?;
        } else {
            self.write_metadata(cache, ino, size, Purpose::Deletion)?;
            let dead = self.inode_mut(ino).fragments.truncate(size);
            self.mark_all_obsolete(dead);
        }
        self.wake_collector();
        Ok(())
    }

    /// Write the owner of a file, as a node without data.
    pub(super) fn write_owner(&mut self, cache: &mut PageCache, ino: u32) -> Result<(), FsError> {
        let size = self.inode(ino).size;
        self.write_metadata(cache, ino, size, Purpose::Write)
    }

    /// Write a node without data, which carries the inode's metadata.
    pub(super) fn write_metadata(
        &mut self,
        cache: &mut PageCache,
        ino: u32,
        size: u32,
        purpose: Purpose,
    ) -> Result<(), FsError> {
        self.reserve(cache, Need::METADATA, purpose)?;
        let node = self.new_node(ino, size);
        let id = self.append(&node.emit(&[]), Some(ino), NodeState::Pristine, Writer::User)?;
        let inode = self.inode_mut(ino);
        inode.size = size;
        let superseded = inode.metadata.replace(id);
        self.mark_all_obsolete(superseded);
        Ok(())
    }
}
