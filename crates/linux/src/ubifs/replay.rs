//! Replay: the nodes of the journal are entered into the index in memory, in the order in which
//! they were written.

use std::collections::BTreeMap;

use super::Ubifs;
use super::fault::Fault;
use super::format::{
    CsNode, DataNode, DentNode, FLAG_NO_ORPHANS, Group, InodeNode, NodeType, OrphanNode, RefNode,
    TrunNode, aligned,
};
use super::inode::Dirt;
use super::key::Key;
use super::lpt::Lprops;
use super::scan::Scan;
use super::tnc::Place;
use super::wbuf::Head;
use crate::filesystem::CACHE_PAGE_SIZE;

struct Entry {
    sequence: u64,
    place: Place,
    bytes: Vec<u8>,
}

/// A LEB of the journal that held other nodes before, since the same commit.
struct Reused {
    lnum: u32,
    end: u32,
}

impl Ubifs {
    /// Replay the journal that the log refers to.
    pub(super) fn replay(&mut self, was_mounted: bool) -> Result<(), Fault> {
        let _scope = self.recorder.scope("ubifs_replay");
        let references = self.read_log(was_mounted)?;
        let mut entries = Vec::new();
        let mut reused = Vec::new();
        for reference in &references {
            reused.extend(self.read_bud(*reference, was_mounted, &mut entries)?);
        }
        entries.sort_by_key(|entry| entry.sequence);
        self.is_replaying = true;
        let outcome = entries.iter().try_for_each(|entry| self.apply(entry));
        let outcome = outcome.and_then(|()| self.settle_reused(&reused, &entries));
        self.is_replaying = false;
        outcome?;
        self.fix_sizes(&entries)
    }

    /// Read the log: the references to the LEBs of the journal.
    fn read_log(&mut self, was_mounted: bool) -> Result<Vec<RefNode>, Fault> {
        let mut references: Vec<RefNode> = Vec::new();
        let mut lnum = self.log.tail;
        let mut started_at = None;
        loop {
            let scan = Scan::read(&mut self.ubi, lnum, 0)?;
            let first = scan.nodes.first().map(|(_, header)| header.sequence);
            let is_old = first.is_none_or(|first| started_at.is_some_and(|start| first < start));
            if is_old && started_at.is_some() {
                break;
            }
            if started_at.is_none() {
                started_at = Some(self.commit_start(&scan)?);
            }
            if !(scan.is_clean || was_mounted) {
                return Err(Fault::Damaged { lnum, offset: scan.end });
            }
            for &node in &scan.nodes {
                self.sequence = self.sequence.max(node.1.sequence);
                self.take_reference(&scan, node, &mut references)?;
            }
            self.log.head = lnum;
            self.log.offset = self.geometry.pages(scan.end);
            lnum = self.next_log(lnum);
            if lnum == self.log.tail {
                break;
            }
        }
        Ok(references)
    }

    /// The sequence number of the node that starts the last commit. The log's first LEB begins with
    /// it.
    fn commit_start(&self, scan: &Scan) -> Result<u64, Fault> {
        let node = scan.nodes.first().copied();
        let start = node.and_then(|node| CsNode::parse(scan.node(node)));
        match (node, start) {
            (Some((_, header)), Some(start)) if start.commit == self.commit_number => {
                Ok(header.sequence)
            }
            _ => Err(Fault::Damaged { lnum: scan.lnum, offset: 0 }),
        }
    }

    fn take_reference(
        &self,
        scan: &Scan,
        node: (u32, super::format::Header),
        references: &mut Vec<RefNode>,
    ) -> Result<(), Fault> {
        if node.1.node_type != NodeType::Reference {
            return Ok(());
        }
        let damaged = Fault::Damaged { lnum: scan.lnum, offset: node.0 };
        let reference = RefNode::parse(scan.node(node)).ok_or(damaged)?;
        let sane = self.geometry.is_main(reference.lnum)
            && reference.offset <= self.geometry.leb_size
            && reference.offset.is_multiple_of(8)
            && reference.head < 3;
        if !sane {
            return Err(damaged);
        }
        match references.iter_mut().find(|known| known.lnum == reference.lnum) {
            // The LEB was emptied since, and joined the journal anew.
            Some(known) if reference.offset == 0 => *known = reference,
            // A commit under way refers to the LEBs of the journal heads again.
            Some(_) => {}
            None => references.push(reference),
        }
        Ok(())
    }

    /// Read the nodes of a LEB of the journal. From here on the LEB has no free space, so that
    /// nothing is written behind what a power cut has torn.
    fn read_bud(
        &mut self,
        reference: RefNode,
        was_mounted: bool,
        entries: &mut Vec<Entry>,
    ) -> Result<Option<Reused>, Fault> {
        let RefNode { lnum, offset, head } = reference;
        let mut scan = Scan::read(&mut self.ubi, lnum, offset)?;
        let may_be_torn = was_mounted && scan.is_torn_end(self.geometry.page_size);
        if !scan.is_clean && !may_be_torn {
            return Err(Fault::Damaged { lnum, offset: scan.end });
        }
        if head == Head::Base as u32 {
            while scan.nodes.last().is_some_and(|(_, header)| header.group == Group::In) {
                scan.nodes.pop();
            }
        }
        if scan.is_weak {
            self.refresh(lnum, offset, &scan)?;
        }
        let mut used = 0;
        for &node in &scan.nodes {
            self.sequence = self.sequence.max(node.1.sequence);
            let place = scan.place(node);
            used += aligned(place.len);
            let (sequence, bytes) = (node.1.sequence, scan.node(node).to_vec());
            entries.push(Entry { sequence, place, bytes });
        }
        let old = self.lprops(lnum)?;
        let leb_size = self.geometry.leb_size;
        let is_reused = offset == 0 && old.free != leb_size;
        let dirty = if offset == 0 { 0 } else { old.dirty };
        let dirty = (dirty + leb_size - offset - used).min(leb_size);
        self.set_lprops(lnum, Lprops { free: 0, dirty, index: false, taken: false })?;
        Ok(is_reused.then_some(Reused { lnum, end: used }))
    }

    /// Write the valid part of a LEB again, because ECC could not correct all of its pages.
    fn refresh(&mut self, lnum: u32, offset: u32, scan: &Scan) -> Result<(), Fault> {
        let mut bytes = vec![0; offset as usize];
        if offset > 0 {
            self.ubi.read(lnum, 0, &mut bytes)?;
        }
        bytes.extend(scan.good_bytes());
        Ok(self.ubi.change(lnum, &bytes)?)
    }

    fn apply(&mut self, entry: &Entry) -> Result<(), Fault> {
        let (bytes, place) = (&entry.bytes, entry.place);
        if let Some(node) = InodeNode::parse(bytes) {
            self.ino_max = self.ino_max.max(node.key.ino());
            if node.links > 0 {
                return self.insert(node.key, place);
            }
            self.remove_inode(node.key.ino())?;
        } else if let Some(node) = DataNode::parse(bytes) {
            return self.insert(node.key, place);
        } else if let Some(node) = DentNode::parse(bytes) {
            self.ino_max = self.ino_max.max(node.ino);
            return self.book_dent(&node, place);
        } else if let Some(node) = TrunNode::parse(bytes) {
            self.remove_blocks(node.ino, node.new_size)?;
        }
        self.add_dirt(place.lnum, aligned(place.len))
    }

    /// Correct the dirty space of LEBs that were emptied and used again since the last commit.
    /// Nodes from before they were emptied do not count.
    fn settle_reused(&mut self, reused: &[Reused], entries: &[Entry]) -> Result<(), Fault> {
        for bud in reused {
            let mut alive = 0;
            for entry in entries.iter().filter(|entry| entry.place.lnum == bud.lnum) {
                let key = Key::parse(&entry.bytes[24..]);
                if self.find_place(key, entry.place)?.is_some() {
                    alive += aligned(entry.place.len);
                }
            }
            debug_assert!(alive <= bud.end);
            let dirty = self.geometry.leb_size - alive;
            let lprops = self.lprops(bud.lnum)?;
            self.set_lprops(bud.lnum, Lprops { dirty, ..lprops })?;
        }
        Ok(())
    }

    /// Correct files whose data was written but whose inode was still in a write buffer. Such a
    /// file is as long as its data reaches. If it has no inode at all, its data is removed.
    fn fix_sizes(&mut self, entries: &[Entry]) -> Result<(), Fault> {
        let mut ends: BTreeMap<u32, u64> = BTreeMap::new();
        for entry in entries {
            if let Some(node) = DataNode::parse(&entry.bytes) {
                let from = u64::from(node.key.rest()) * CACHE_PAGE_SIZE as u64;
                let is_here = self.find(node.key)?.is_some();
                let end = ends.entry(node.key.ino()).or_default();
                if is_here {
                    *end = (*end).max(from + u64::from(node.size));
                }
            } else if let Some(node) = TrunNode::parse(&entry.bytes) {
                // Data from before it says nothing about what lies behind the new end.
                ends.entry(node.ino).and_modify(|end| *end = (*end).min(node.new_size));
            }
        }
        for (ino, end) in ends {
            if self.find(Key::inode(ino))?.is_none() {
                self.remove_inode(ino)?;
            } else if self.inode(ino)?.node.size < end {
                let inode = self.inode(ino)?;
                inode.node.size = end;
                inode.dirt = Dirt::Size;
            }
        }
        Ok(())
    }

    /// Delete the inodes that had no name when power was cut, and write the sizes that were
    /// corrected.
    pub(super) fn delete_orphans(&mut self) -> Result<(), Fault> {
        let _scope = self.recorder.scope("ubifs_delete_orphans");
        let dirty = self.inodes.iter().filter(|(_, inode)| inode.dirt != Dirt::None);
        let dirty: Vec<u32> = dirty.map(|(&ino, _)| ino).collect();
        if !dirty.is_empty() {
            // These inodes need a reference in the log, but the power cut may have torn the log's
            // next page.
            self.recover_head((self.log.head, self.log.offset))?;
        }
        for ino in dirty {
            self.write_dirty_inode(ino)?;
        }
        self.inodes.clear();
        if self.master.flags & FLAG_NO_ORPHANS != 0 {
            return Ok(());
        }
        for lnum in
            self.geometry.orphan_first..self.geometry.orphan_first + self.geometry.orphan_lebs
        {
            let scan = Scan::read(&mut self.ubi, lnum, 0)?;
            let nodes = scan.nodes.iter().filter_map(|&node| OrphanNode::parse(scan.node(node)));
            for ino in nodes.flat_map(|node| node.inodes) {
                if self.find(Key::inode(ino))?.is_some() && self.inode(ino)?.node.links == 0 {
                    self.inodes.remove(&ino);
                    self.remove_inode(ino)?;
                }
            }
        }
        self.inodes.clear();
        Ok(())
    }
}
