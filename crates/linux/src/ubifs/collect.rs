//! Garbage collection: the valid nodes of a LEB are moved, so that the LEB becomes free.

use super::Ubifs;
use super::category::Category;
use super::fault::Fault;
use super::format::{IndexNode, aligned};
use super::key::{Key, KeyType};
use super::lpt::Lprops;
use super::scan::Scan;
use super::tnc::Place;
use super::wbuf::Head;
use crate::cpu::Unit;

/// Number that stands for no LEB.
pub(super) const NO_LEB: u32 = u32::MAX;

/// What a collection is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// A LEB for a journal head: one that is free already will do.
    Leb,
    /// More space than there is.
    Space,
}

/// What a collection came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Collected {
    /// This LEB is free and unmapped. It is taken until it is used or given back.
    Leb(u32),
    /// Nothing before the next commit: the journal is full, or only LEBs of the index were
    /// collected.
    CommitFirst,
    /// No LEB has enough to gain.
    Nothing,
}

/// What became of a LEB that was collected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// It is free for use.
    Freed,
    /// It is free, and kept for the collector.
    Kept,
    /// It belonged to the index, and is free after the next commit.
    FreedIndex,
    /// The journal has no room for another LEB of moved nodes, and the rest stays where it is.
    JournalFull,
}

/// Number of LEBs after which a collection asks for a commit, if LEBs of the index are among them.
const LEBS_SOFT: u32 = 4;
/// Number of LEBs after which it gives up.
const LEBS_HARD: u32 = 32;

impl Ubifs {
    /// Free a LEB. Data nodes are moved; index nodes are moved by a commit
    /// (`ubifs_garbage_collect`).
    pub(super) fn collect(&mut self, purpose: Purpose) -> Result<Collected, Fault> {
        let _scope = self.recorder.scope("ubifs_gc");
        self.know_all()?;
        let mut collected = self.collect_lebs(purpose)?;
        if collected == Collected::Nothing && !self.collected_index.is_empty() {
            collected = Collected::CommitFirst;
        }
        self.sync_head(Head::Gc)?;
        if self.gc_lnum != NO_LEB {
            self.ubi.unmap(self.gc_lnum);
        }
        Ok(collected)
    }

    /// If the thread is to commit, the collection leaves the commit to its caller
    /// (`ubifs_gc_should_commit`).
    ///
    /// A LEB with little to gain is collected, too. One that only filled the LEB that the nodes go
    /// to, so that no more room is left there than before, makes the next ones have more to gain.
    fn collect_lebs(&mut self, purpose: Purpose) -> Result<Collected, Fault> {
        let mut gain_min = self.geometry.dead;
        for number in 0..=LEBS_HARD {
            if self.tasks.commit_wanted || number > LEBS_SOFT && !self.collected_index.is_empty() {
                return Ok(Collected::CommitFirst);
            }
            if purpose == Purpose::Leb
                && let Some(lnum) = self.free_leb()
            {
                self.sync_other_heads()?;
                self.empty(lnum)?;
                self.ubi.unmap(lnum);
                return Ok(Collected::Leb(lnum));
            }
            let Some((lnum, lprops)) = self.victim(gain_min) else {
                return Ok(Collected::Nothing);
            };
            let before = self.room_of(Head::Gc);
            match self.collect_leb(lnum, lprops)? {
                Outcome::Freed => return Ok(Collected::Leb(lnum)),
                Outcome::JournalFull => return Ok(Collected::CommitFirst),
                Outcome::Kept if self.room_of(Head::Gc) > before => gain_min /= 2,
                Outcome::Kept if number >= LEBS_SOFT => gain_min *= 2,
                Outcome::Kept | Outcome::FreedIndex => {}
            }
            gain_min = gain_min.clamp(self.geometry.dead, self.geometry.dark);
        }
        Ok(Collected::Nothing)
    }

    /// A LEB that holds nothing valid, if the index leaves one.
    fn free_leb(&self) -> Option<u32> {
        self.first_unused().filter(|_| self.index_leaves_leb())
    }

    /// The LEB whose collection gains the most, if any gains `gain_min` bytes: the dirtiest one, or
    /// one of the index that is half dead, unless the index needs all of its LEBs. If there is
    /// neither, any with enough dirt (`ubifs_find_dirty_leb`).
    fn victim(&self, gain_min: u32) -> Option<(u32, Lprops)> {
        let half = self.geometry.leb_size / 2;
        let has_spare = self.sums.index_lebs > self.index_lebs_needed();
        let dirty = self.known(Category::Dirty).next().filter(|(_, it)| it.gain() >= gain_min);
        let index = self.known(Category::DirtyIndex).next();
        let index = index.filter(|(_, it)| has_spare && it.gain() >= gain_min.max(half));
        let best = match (index, dirty) {
            (Some(index), Some(dirty)) if index.1.gain() < dirty.1.gain() => Some(dirty),
            (index, dirty) => index.or(dirty),
        };
        let dead = self.geometry.dead;
        let mut others = self.known(Category::Free);
        best.or_else(|| others.find(|(_, it)| it.gain() >= gain_min && it.dirty >= dead))
    }

    /// Read the properties of all LEBs, to be able to compare them.
    fn know_all(&mut self) -> Result<(), Fault> {
        while let Some(lnum) = self.lpt.first_unknown(self.geometry.main_first) {
            self.lprops(lnum)?;
        }
        Ok(())
    }

    fn collect_leb(&mut self, lnum: u32, lprops: Lprops) -> Result<Outcome, Fault> {
        let scan = Scan::read(&mut self.ubi, lnum, 0)?;
        let checked: u64 = scan.nodes.iter().map(|(_, header)| u64::from(header.len)).sum();
        self.cpu.charge(Unit::ChecksumByte, checked);
        self.set_lprops(lnum, Lprops { taken: true, ..lprops })?;
        if lprops.index {
            self.collect_index(&scan)?;
            self.empty(lnum)?;
            self.collected_index.push(lnum);
            return Ok(Outcome::FreedIndex);
        }
        let moved = self.move_nodes(&scan);
        if moved != Ok(true) {
            self.give_back(lnum)?;
            return moved.map(|_| Outcome::JournalFull);
        }
        // What the moved nodes were replaced by may still be in the buffers of the other heads.
        self.sync_other_heads()?;
        self.empty(lnum)?;
        if self.gc_lnum == NO_LEB {
            self.gc_lnum = lnum;
            return Ok(Outcome::Kept);
        }
        self.sync_head(Head::Gc)?;
        self.ubi.unmap(lnum);
        Ok(Outcome::Freed)
    }

    fn sync_other_heads(&mut self) -> Result<(), Fault> {
        [Head::Base, Head::Data].into_iter().try_for_each(|head| self.sync_head(head))
    }

    /// Move the valid nodes of a LEB: data nodes in the order of their blocks, and others where the
    /// next data node has no room. Returns false if the journal has no room for all of them.
    fn move_nodes(&mut self, scan: &Scan) -> Result<bool, Fault> {
        if self.head(Head::Gc).lnum.is_none() && !self.switch_collector()? {
            return Ok(false);
        }
        let (mut data, mut others) = self.sorted_nodes(scan)?;
        loop {
            self.move_fitting(scan, &mut data)?;
            self.move_fitting(scan, &mut others)?;
            if data.is_empty() && others.is_empty() {
                return Ok(true);
            }
            if !self.switch_collector()? {
                return Ok(false);
            }
        }
    }

    /// The valid nodes of a LEB: data nodes, and others. Both are in reverse, as they are taken
    /// from the end.
    fn sorted_nodes(&mut self, scan: &Scan) -> Result<(Vec<Leaf>, Vec<Leaf>), Fault> {
        let mut nodes = Vec::new();
        for (key, place) in scan.leaves() {
            if self.find_place(key, place)?.is_some() {
                nodes.push((key, place));
            }
        }
        let is_data = |&(key, _): &Leaf| key.kind() == KeyType::Data;
        let (mut data, mut others): (Vec<Leaf>, Vec<Leaf>) = nodes.into_iter().partition(is_data);
        data.sort_by_key(|&(key, _)| (key.ino(), key.rest()));
        // Inodes come before entries, and the longest before the others.
        others.sort_by_key(|&(key, place)| match key.kind() {
            KeyType::Inode => (0, u32::MAX - place.len, 0),
            _ => (1, key.ino(), key.rest()),
        });
        data.reverse();
        others.reverse();
        Ok((data, others))
    }

    /// Move the last nodes of a list, as long as they fit into the LEB of the collector.
    fn move_fitting(&mut self, scan: &Scan, nodes: &mut Vec<Leaf>) -> Result<(), Fault> {
        let room = self.room_of(Head::Gc);
        while let Some((key, place)) =
            nodes.pop_if(|(_, place)| aligned(place.len) <= self.room_of(Head::Gc))
        {
            let bytes = scan.bytes_at(place);
            let spot = self.append(Head::Gc, bytes, &[])?;
            self.move_leaf(key, place, Self::place_at(spot, bytes.len()))?;
        }
        debug_assert!(self.room_of(Head::Gc) <= room, "nodes take room");
        Ok(())
    }

    /// Let the collector go on in the LEB that is kept for it. Returns false if the journal has no
    /// room for that LEB.
    fn switch_collector(&mut self) -> Result<bool, Fault> {
        let lnum = self.gc_lnum;
        if lnum == NO_LEB {
            return Err(Fault::NoSpace);
        }
        self.sync_head(Head::Gc)?;
        self.ubi.unmap(lnum);
        let goes_on = self.move_head(Head::Gc, lnum, 0)?;
        if goes_on {
            self.gc_lnum = NO_LEB;
        }
        Ok(goes_on)
    }

    /// Note that a LEB holds no valid nodes. It is taken until it is used or given back.
    pub(super) fn empty(&mut self, lnum: u32) -> Result<(), Fault> {
        let free = self.geometry.leb_size;
        self.set_lprops(lnum, Lprops { free, dirty: 0, index: false, taken: true })
    }

    /// Let a LEB be chosen again.
    pub(super) fn give_back(&mut self, lnum: u32) -> Result<(), Fault> {
        let lprops = self.lprops(lnum)?;
        self.set_lprops(lnum, Lprops { taken: false, ..lprops })
    }

    /// Make the valid index nodes of a LEB dirty, so that the next commit writes them to another
    /// LEB.
    fn collect_index(&mut self, scan: &Scan) -> Result<(), Fault> {
        for &node in &scan.nodes {
            let index = IndexNode::parse(scan.node(node));
            if let Some((level, first)) =
                index.and_then(|index| Some((index.level, index.branches.first()?.0)))
            {
                let place: Place = scan.place(node);
                self.dirty_index_node((first, level), place)?;
            }
        }
        Ok(())
    }
}

/// A node that the index refers to: its key and its place.
type Leaf = (Key, Place);
