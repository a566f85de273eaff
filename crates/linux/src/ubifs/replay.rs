//! Replay: the nodes of the journal are entered into the index in memory, in the order in which
//! they were written.

use std::collections::BTreeMap;

use super::Ubifs;
use super::fault::Fault;
use super::format::{
    CsNode, DataNode, DentNode, FLAG_NO_ORPHANS, Group, InodeNode, NodeType, OrphanNode, RefNode,
    TrunNode, aligned, pad_bytes,
};
use super::key::Key;
use super::lpt::Lprops;
use super::reserve::Bud;
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

/// What is known of a LEB of the journal before it is read.
struct Known {
    reference: RefNode,
    /// Whether its head has joined no other LEB to the journal since.
    is_last: bool,
    /// Whether a power cut may have torn its end.
    was_mounted: bool,
}

impl Ubifs {
    /// Replay the journal that the log refers to.
    pub(super) fn replay(&mut self, was_mounted: bool) -> Result<(), Fault> {
        let _scope = self.recorder.scope("ubifs_replay");
        let references = self.read_log(was_mounted)?;
        let mut entries = Vec::new();
        let mut reused = Vec::new();
        for (place, &reference) in references.iter().enumerate() {
            let is_last = references[place + 1..].iter().all(|it| it.head != reference.head);
            let known = Known { reference, is_last, was_mounted };
            reused.extend(self.read_bud(&known, &mut entries)?);
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

    /// Note a reference to a LEB of the journal. A commit under way refers to the LEBs of the
    /// journal heads again. Any other second reference is refused, as in `validate_ref`: two heads
    /// would write to the LEB. The LEB of the index head is refused because the next commit writes
    /// there.
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
            && reference.lnum != self.index_head.0
            && reference.offset <= self.geometry.leb_size
            && reference.offset.is_multiple_of(self.geometry.page_size)
            && (reference.head as usize) < Head::ALL.len();
        if !sane {
            return Err(damaged);
        }
        match references.iter().find(|known| known.lnum == reference.lnum) {
            None => references.push(reference),
            Some(known) if known.head == reference.head && known.offset <= reference.offset => {}
            Some(_) => return Err(damaged),
        }
        Ok(())
    }

    /// Read the nodes of a LEB of the journal. If it is the last of its head, the head goes on
    /// behind them.
    fn read_bud(
        &mut self,
        known: &Known,
        entries: &mut Vec<Entry>,
    ) -> Result<Option<Reused>, Fault> {
        let RefNode { lnum, offset, head } = known.reference;
        let mut scan = Scan::read(&mut self.ubi, lnum, offset)?;
        let may_be_torn = known.was_mounted && scan.is_torn_end(self.geometry.page_size);
        if !scan.is_clean && !may_be_torn {
            return Err(Fault::Damaged { lnum, offset: scan.end });
        }
        if known.was_mounted {
            self.drop_torn(&mut scan, head);
        }
        if scan.is_weak || known.was_mounted && (known.is_last || !scan.is_clean) {
            self.refresh(&scan)?;
        }
        let mut used = 0;
        for &node in &scan.nodes {
            if !node.1.node_type.may_be_in_journal() {
                return Err(Fault::Damaged { lnum, offset: node.0 });
            }
            self.sequence = self.sequence.max(node.1.sequence);
            let place = scan.place(node);
            used += aligned(place.len);
            let (sequence, bytes) = (node.1.sequence, scan.node(node).to_vec());
            entries.push(Entry { sequence, place, bytes });
        }
        let end = self.geometry.pages(scan.end);
        let old = self.lprops(lnum)?;
        let is_reused = offset == 0 && old.free != self.geometry.leb_size;
        let dirty = if offset == 0 { 0 } else { old.dirty };
        let dirty = (dirty + end - offset - used).min(end);
        let free = self.geometry.leb_size - end;
        self.set_lprops(lnum, Lprops { free, dirty, index: false, taken: true })?;
        self.join_journal(known, end);
        Ok(is_reused.then_some(Reused { lnum, end }))
    }

    /// Forget the nodes at the end of a LEB that are not whole without what a power cut took: those
    /// of a group that has no end, and of the collector all in the page that is torn. What the
    /// collector moved is also where it was before.
    fn drop_torn(&self, scan: &mut Scan, head: u32) {
        let page_start = scan.end / self.geometry.page_size * self.geometry.page_size;
        while let Some(&(offset, header)) = scan.nodes.last() {
            let is_torn_group = head == Head::Base as u32 && header.group == Group::In;
            let is_in_torn_page = head == Head::Gc as u32 && scan.end > page_start;
            if !(is_torn_group || is_in_torn_page) {
                break;
            }
            scan.nodes.pop();
            scan.end = offset;
        }
    }

    /// Let a LEB be part of the journal until the next commit.
    fn join_journal(&mut self, known: &Known, end: u32) {
        let RefNode { lnum, offset, head } = known.reference;
        self.buds.insert(lnum, Bud { start: offset });
        self.bud_bytes += u64::from(self.geometry.leb_size - offset);
        if known.is_last {
            let head = self.head_mut(Head::ALL[head as usize]);
            (head.lnum, head.offset) = (Some(lnum), end);
        }
    }

    /// Write a LEB again up to the end of its nodes. What a power cut left behind them is gone
    /// then, and what ECC can hardly correct is fresh.
    fn refresh(&mut self, scan: &Scan) -> Result<(), Fault> {
        let mut bytes = vec![0; scan.start as usize];
        if scan.start > 0 {
            self.ubi.read(scan.lnum, 0, &mut bytes)?;
        }
        bytes.extend(scan.good_bytes());
        if bytes.is_empty() {
            self.ubi.unmap(scan.lnum);
            return Ok(());
        }
        let used = bytes.len();
        bytes.resize(self.geometry.pages(scan.end) as usize, 0);
        let gap = u32::try_from(bytes.len() - used).expect("below a page");
        bytes[used..].copy_from_slice(&pad_bytes(gap, 0));
        Ok(self.ubi.change(scan.lnum, &bytes)?)
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
            let lprops = self.lprops(bud.lnum)?;
            let dirty = bud.end - alive;
            self.set_lprops(bud.lnum, Lprops { dirty, ..lprops })?;
        }
        Ok(())
    }

    /// Correct files whose data was written but whose inode was still in a write buffer. Such a
    /// file is as long as its data reaches. If it has no inode at all, its data is removed. Sizes
    /// are right before the next commit, after which nothing tells how far such data reached.
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
                self.write_size(ino, end)?;
            }
        }
        self.inodes.clear();
        Ok(())
    }

    /// Write another size into an inode where it is, without the journal, as `fix_size_in_place`
    /// does. The LEB is replaced up to its free space. What a lost part of the journal left there
    /// is not copied, because a journal head may go on there.
    fn write_size(&mut self, ino: u32, size: u64) -> Result<(), Fault> {
        let missing = Fault::Damaged { lnum: self.geometry.main_first, offset: 0 };
        let Place { lnum, offset, len } = self.find(Key::inode(ino))?.ok_or(missing)?;
        let mut leb = vec![0; self.geometry.leb_size as usize];
        self.ubi.read(lnum, 0, &mut leb)?;
        let damaged = Fault::Damaged { lnum, offset };
        leb.truncate((self.geometry.leb_size - self.lprops(lnum)?.free) as usize);
        let node = leb.get_mut(offset as usize..).and_then(|it| it.get_mut(..len as usize));
        InodeNode::resize(node.ok_or(damaged)?, size).ok_or(damaged)?;
        let used = leb.iter().rposition(|&byte| byte != 0xFF).map_or(0, |last| last + 1);
        Ok(self.ubi.change(lnum, &leb[..used])?)
    }

    /// Delete the inodes that had no name when power was cut.
    pub(super) fn delete_orphans(&mut self) -> Result<(), Fault> {
        let _scope = self.recorder.scope("ubifs_delete_orphans");
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
                    self.inodes.remove(ino);
                    self.remove_inode(ino)?;
                }
            }
        }
        self.inodes.clear();
        Ok(())
    }
}
