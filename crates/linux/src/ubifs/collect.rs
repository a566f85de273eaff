//! Garbage collection: the valid nodes of a LEB are moved, so that the LEB becomes free.

use super::Ubifs;
use super::fault::Fault;
use super::format::{IndexNode, aligned};
use super::lprops::Category;
use super::lpt::Lprops;
use super::scan::Scan;
use super::tnc::Place;
use super::wbuf::Head;

/// Number that stands for no LEB.
pub(super) const NO_LEB: u32 = u32::MAX;

/// What became of a LEB that was collected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// It is free for use.
    Freed,
    /// It is free, and kept for the collector.
    Kept,
    /// The journal has no room for another LEB of moved nodes, and the rest stays where it is.
    JournalFull,
}

/// Number of LEBs whose nodes one collection moves at most.
const LEBS_MAX: u32 = 32;

impl Ubifs {
    /// Free at least one LEB. Data nodes are moved; index nodes are moved by a commit.
    ///
    /// A LEB with little to gain is collected, too. One that only filled the LEB that the nodes go
    /// to, so that no more room is left there than before, makes the next ones have more to gain.
    pub(super) fn collect(&mut self) -> Result<(), Fault> {
        let _scope = self.recorder.scope("ubifs_gc");
        self.know_all()?;
        let mut gain_min = self.geometry.dead;
        for _ in 0..LEBS_MAX {
            if let Some(&lnum) = self.list(Category::Freeable).first() {
                self.sync_heads()?;
                return self.free_leb(lnum).map(drop);
            }
            let (lnum, lprops) = self.victim(gain_min).ok_or(Fault::NoSpace)?;
            if lprops.index {
                self.collect_index(lnum)?;
                return self.commit();
            }
            let before = self.room_of_collector();
            match self.collect_leb(lnum, lprops)? {
                Outcome::Freed => return Ok(()),
                Outcome::Kept => {}
                // After the commit it is read once more.
                Outcome::JournalFull => {
                    self.commit()?;
                    continue;
                }
            }
            gain_min = if self.room_of_collector() > before { gain_min / 2 } else { gain_min * 2 };
            gain_min = gain_min.clamp(self.geometry.dead, self.geometry.dark);
        }
        Err(Fault::NoSpace)
    }

    /// Bytes that are left in the LEB that collected nodes go to.
    fn room_of_collector(&self) -> u32 {
        let wbuf = self.head(Head::Gc);
        wbuf.lnum.map_or(0, |_| self.geometry.leb_size - wbuf.end())
    }

    /// The LEB whose collection gains the most, if any gains `gain_min` bytes: the dirtiest one, or
    /// one of the index that is half dead. If there is neither, any with enough dirt
    /// (`ubifs_find_dirty_leb`).
    fn victim(&self, gain_min: u32) -> Option<(u32, Lprops)> {
        let half = self.geometry.leb_size / 2;
        let gain = |lprops: &Lprops| lprops.free + lprops.dirty;
        let of = |wanted: Category| {
            let all = self.lpt.known().filter(move |(_, it)| self.category(it) == wanted);
            all.filter(move |(_, it)| gain(it) >= gain_min)
        };
        let dirty = of(Category::Dirty).max_by_key(|(_, it)| it.dirty);
        let index = of(Category::DirtyIndex)
            .filter(|(lnum, it)| *lnum != self.index_head.0 && gain(it) >= half)
            .max_by_key(|(_, it)| gain(it));
        let best = match (index, dirty) {
            (Some(index), Some(dirty)) if gain(&index.1) < gain(&dirty.1) => Some(dirty),
            (index, dirty) => index.or(dirty),
        };
        best.or_else(|| of(Category::Free).find(|(_, it)| it.dirty >= self.geometry.dead))
    }

    /// Read the properties of all LEBs, to be able to compare them.
    fn know_all(&mut self) -> Result<(), Fault> {
        while let Some(lnum) = self.lpt.first_unknown(self.geometry.main_first) {
            self.lprops(lnum)?;
        }
        Ok(())
    }

    /// Move the valid nodes of a LEB.
    fn collect_leb(&mut self, lnum: u32, lprops: Lprops) -> Result<Outcome, Fault> {
        let scan = Scan::read(&mut self.ubi, lnum, 0)?;
        self.set_lprops(lnum, Lprops { taken: true, ..lprops })?;
        let moved = self.move_nodes(&scan);
        if moved != Ok(true) {
            let lprops = self.lprops(lnum)?;
            self.set_lprops(lnum, Lprops { taken: false, ..lprops })?;
            return moved.map(|_| Outcome::JournalFull);
        }
        self.sync_heads()?;
        Ok(if self.free_leb(lnum)? { Outcome::Freed } else { Outcome::Kept })
    }

    /// Returns false if the journal has no room for all of them.
    fn move_nodes(&mut self, scan: &Scan) -> Result<bool, Fault> {
        for (key, place) in scan.leaves() {
            if self.find_place(key, place)?.is_none() {
                continue;
            }
            let bytes = scan.bytes_at(place);
            if !self.reserve_for_gc(aligned(place.len))? {
                return Ok(false);
            }
            let spot = self.append(Head::Gc, bytes, &[])?;
            self.move_leaf(key, place, Self::place_at(spot, bytes.len()))?;
        }
        Ok(true)
    }

    /// Make room for `len` bytes at the collector's head, if need be in the LEB that is kept for
    /// it. Returns false if the journal has no room for that LEB.
    fn reserve_for_gc(&mut self, len: u32) -> Result<bool, Fault> {
        let wbuf = self.head(Head::Gc);
        if wbuf.lnum.is_some() && self.geometry.leb_size - wbuf.end() >= len {
            return Ok(true);
        }
        let lnum = self.gc_lnum;
        if lnum == NO_LEB {
            return Err(Fault::NoSpace);
        }
        if self.move_head(Head::Gc, lnum, 0)? {
            self.gc_lnum = NO_LEB;
            return Ok(true);
        }
        let lprops = self.lprops(lnum)?;
        self.set_lprops(lnum, Lprops { taken: true, ..lprops })?;
        Ok(false)
    }

    /// Unmap a LEB that holds no valid nodes. If the collector has no LEB in reserve, it keeps this
    /// one. Returns whether the LEB is free for use.
    fn free_leb(&mut self, lnum: u32) -> Result<bool, Fault> {
        self.ubi.unmap(lnum);
        let keep = self.gc_lnum == NO_LEB;
        if keep {
            self.gc_lnum = lnum;
        }
        let free = self.geometry.leb_size;
        self.set_lprops(lnum, Lprops { free, dirty: 0, index: false, taken: keep })?;
        Ok(!keep)
    }

    /// Make the valid index nodes of a LEB dirty, so that the next commit writes them to another
    /// LEB.
    fn collect_index(&mut self, lnum: u32) -> Result<(), Fault> {
        let scan = Scan::read(&mut self.ubi, lnum, 0)?;
        for &node in &scan.nodes {
            let index = IndexNode::parse(scan.node(node));
            if let Some((level, first)) =
                index.and_then(|index| Some((index.level, index.branches.first()?.0)))
            {
                let place: Place = scan.place(node);
                self.dirty_index_node((first, level), place)?;
            }
        }
        // The space behind the last node is lost until the LEB is empty.
        let lprops = self.lprops(lnum)?;
        let dirty = lprops.dirty;
        self.set_lprops(lnum, Lprops { dirty, ..lprops })
    }
}
