//! Write buffers: each journal head gathers nodes until they fill a page.

use std::collections::BTreeSet;

use super::Ubifs;
use super::fault::Fault;
use super::format::{DataNode, NodeType, aligned, pad_bytes, parse_header};
use super::lpt::Lprops;
use super::tnc::Place;
use crate::cpu::Unit;
use crate::filesystem::CACHE_PAGE_SIZE;
use crate::ubi::LebRead;

/// Time from the last write to a buffer until it is flushed (`dirty_writeback_interval`),
/// nanoseconds.
const FLUSH_DELAY_NS: u64 = 5_000_000_000;

/// A journal head. The kinds of nodes are kept in different LEBs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Head {
    /// Nodes that the collector moves.
    Gc = 0,
    Base = 1,
    Data = 2,
}

impl Head {
    pub(super) const ALL: [Self; 3] = [Self::Gc, Self::Base, Self::Data];

    const fn label(self) -> &'static str {
        match self {
            Self::Gc => "head_gc",
            Self::Base => "head_base",
            Self::Data => "head_data",
        }
    }
}

/// Where a head writes, and the nodes that are not on flash yet.
#[derive(Clone, Debug, Default)]
pub(super) struct WriteBuffer {
    pub lnum: Option<u32>,
    /// Where in the LEB the buffer begins, bytes.
    pub offset: u32,
    pub buffer: Vec<u8>,
    /// Inodes that have nodes in the buffer.
    pub inodes: BTreeSet<u32>,
    pub due_ns: Option<u64>,
}

impl WriteBuffer {
    /// Where in the LEB the next node goes, bytes.
    pub(super) fn end(&self) -> u32 {
        self.offset + u32::try_from(self.buffer.len()).expect("within a page")
    }
}

impl Ubifs {
    pub(super) fn head(&self, head: Head) -> &WriteBuffer {
        &self.heads[head as usize]
    }

    pub(super) fn head_mut(&mut self, head: Head) -> &mut WriteBuffer {
        &mut self.heads[head as usize]
    }

    /// Append nodes, for which space must be reserved. Returns where the first one is. An fsync of
    /// one of `inos` must flush the buffer.
    pub(super) fn append(
        &mut self,
        head: Head,
        nodes: &[u8],
        inos: &[u32],
    ) -> Result<(u32, u32), Fault> {
        let _scope = self.recorder.scope(head.label());
        self.cpu.charge(Unit::UbifsWrite, 1);
        // A node that the collector moves keeps its checksum.
        if head != Head::Gc {
            self.cpu.charge(Unit::ChecksumByte, nodes.len() as u64);
        }
        let page_size = self.geometry.page_size as usize;
        let wbuf = self.head(head);
        let lnum = wbuf.lnum.expect("space was reserved");
        let at = wbuf.end();
        self.note_content(lnum, at, nodes);
        let wbuf = self.head_mut(head);
        let mut bytes = std::mem::take(&mut wbuf.buffer);
        let crosses = bytes.len() + nodes.len().next_multiple_of(8) >= page_size;
        bytes.extend(nodes);
        let gap = u32::try_from(nodes.len().next_multiple_of(8) - nodes.len()).expect("below 8");
        bytes.extend(pad_bytes(gap, 0));
        let rest = bytes.split_off(bytes.len() / page_size * page_size);
        wbuf.buffer = rest;
        if crosses {
            wbuf.inodes.clear();
        }
        let offset = wbuf.offset;
        wbuf.offset += u32::try_from(bytes.len()).expect("within a LEB");
        if !wbuf.buffer.is_empty() {
            wbuf.inodes.extend(inos);
        }
        // The kernel makes two requests: one for the page that is full, one for the whole pages
        // behind it.
        let (filled, whole) = bytes.split_at(bytes.len().min(page_size));
        self.write_pages(lnum, offset, filled)?;
        self.write_pages(lnum, offset + self.geometry.page_size, whole)?;
        self.book_head(head, 0)?;
        self.arm(head);
        Ok((lnum, at))
    }

    /// Note which part of which file a node holds. Nodes that are appended together hold none.
    fn note_content(&self, lnum: u32, at: u32, nodes: &[u8]) {
        let place = (self.ubi.address(lnum, at), nodes.len() as u64);
        let is_data = parse_header(nodes).is_some_and(|it| it.node_type == NodeType::Data);
        match DataNode::parse(nodes).filter(|_| is_data) {
            Some(DataNode { key, size, .. }) => {
                let part = (u64::from(key.rest()) * CACHE_PAGE_SIZE as u64, size.into());
                self.recorder.store("ubifs", key.ino(), part, place);
            }
            None => self.recorder.store_own(place),
        }
    }

    fn write_pages(&mut self, lnum: u32, offset: u32, bytes: &[u8]) -> Result<(), Fault> {
        if bytes.is_empty() { Ok(()) } else { Ok(self.ubi.write(lnum, offset, bytes)?) }
    }

    /// Flush a head's buffer, padded to a page.
    pub(super) fn sync_head(&mut self, head: Head) -> Result<(), Fault> {
        let page_size = self.geometry.page_size;
        let wbuf = self.head_mut(head);
        wbuf.due_ns = None;
        wbuf.inodes.clear();
        let Some(lnum) = wbuf.lnum.filter(|_| !wbuf.buffer.is_empty()) else { return Ok(()) };
        let mut bytes = std::mem::take(&mut wbuf.buffer);
        let offset = wbuf.offset;
        wbuf.offset += page_size;
        let gap = page_size - u32::try_from(bytes.len()).expect("within a page");
        let sequence = self.next_sequence();
        bytes.extend(pad_bytes(gap, sequence));
        let _scope = self.recorder.scope(head.label());
        self.ubi.write(lnum, offset, &bytes)?;
        self.book_head(head, gap)
    }

    /// Flush the buffers that hold nodes of an inode.
    pub(super) fn sync_heads_of(&mut self, ino: u32) -> Result<(), Fault> {
        for head in [Head::Base, Head::Data] {
            if self.head(head).inodes.contains(&ino) {
                self.sync_head(head)?;
            }
        }
        Ok(())
    }

    pub(super) fn sync_heads(&mut self) -> Result<(), Fault> {
        Head::ALL.into_iter().try_for_each(|head| self.sync_head(head))
    }

    /// Update the properties of a head's LEB.
    fn book_head(&mut self, head: Head, padding: u32) -> Result<(), Fault> {
        let wbuf = self.head(head);
        let (lnum, end) = (wbuf.lnum.expect("a head in use"), wbuf.end());
        let lprops = self.lprops(lnum)?;
        let free = self.geometry.leb_size - end;
        self.set_lprops(lnum, Lprops { free, dirty: lprops.dirty + padding, ..lprops })
    }

    fn arm(&mut self, head: Head) {
        let due = self.recorder.clock().now_ns() + FLUSH_DELAY_NS;
        let wbuf = self.head_mut(head);
        wbuf.due_ns = (head != Head::Gc && !wbuf.buffer.is_empty()).then_some(due);
    }

    /// Whether an index entry can refer to a node at this place.
    pub(super) const fn is_sane(&self, place: Place) -> bool {
        self.geometry.is_main(place.lnum)
            && place.offset.is_multiple_of(8)
            && place.len >= super::format::HEADER_SIZE
            && place.len <= self.geometry.leb_size
            && place.offset <= self.geometry.leb_size - place.len
    }

    /// Read a node from flash and the write buffers, and check it.
    pub(super) fn read_node(&mut self, place: Place) -> Result<Vec<u8>, Fault> {
        if !self.is_sane(place) {
            return Err(Fault::Damaged { lnum: place.lnum, offset: place.offset });
        }
        let bytes = self.read_bytes(place)?;
        self.check_node(place, &bytes)?;
        Ok(bytes)
    }

    /// Check that `bytes`, which were read from `place`, are one whole node with a right checksum.
    pub(super) fn check_node(&self, place: Place, bytes: &[u8]) -> Result<(), Fault> {
        self.cpu.charge(Unit::UbifsRead, 1);
        let header = parse_header(bytes).filter(|header| header.len == place.len);
        let is_data = header.as_ref().is_some_and(|header| header.node_type == NodeType::Data);
        if self.options.checks_data || !is_data {
            self.cpu.charge(Unit::ChecksumByte, bytes.len() as u64);
        }
        let damaged = Fault::Damaged { lnum: place.lnum, offset: place.offset };
        header.map(drop).ok_or(damaged)
    }

    /// Read the bytes at `place` from flash and the write buffers.
    pub(super) fn read_bytes(&mut self, place: Place) -> Result<Vec<u8>, Fault> {
        let damaged = Fault::Damaged { lnum: place.lnum, offset: place.offset };
        let mut bytes = vec![0; place.len as usize];
        let wbuf = self.heads.iter().find(|wbuf| wbuf.lnum == Some(place.lnum));
        let buffered_from = wbuf.map_or(u32::MAX, |wbuf| wbuf.offset);
        let on_flash = buffered_from.saturating_sub(place.offset).min(place.len) as usize;
        if let Some(wbuf) = wbuf.filter(|_| on_flash < bytes.len()) {
            let skipped = place.offset.saturating_sub(wbuf.offset) as usize;
            let wanted = bytes.len() - on_flash;
            let buffered = wbuf.buffer.get(skipped..skipped + wanted).ok_or(damaged)?;
            bytes[on_flash..].copy_from_slice(buffered);
        }
        if on_flash > 0 {
            let flash = &mut bytes[..on_flash];
            let _quality: LebRead = self.ubi.read(place.lnum, place.offset, flash)?;
        }
        Ok(bytes)
    }

    pub(super) fn place_at((lnum, offset): (u32, u32), len: usize) -> Place {
        let len = u32::try_from(len).expect("within a LEB");
        debug_assert_eq!(offset, aligned(offset));
        Place { lnum, offset, len }
    }
}
