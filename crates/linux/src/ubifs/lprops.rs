//! Space in the main area: its sums over all LEBs, and the choice of a LEB to write to.

use super::Ubifs;
use super::collect::NO_LEB;
use super::fault::Fault;
use super::format::MasterNode;
use super::geometry::Geometry;
use super::lpt::Lprops;
use crate::cpu::Unit;
use strum::EnumCount;

/// Sums over the main area, bytes or LEBs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sums {
    pub free: u64,
    pub dirty: u64,
    /// Bytes used in LEBs that hold no index nodes. `dead` and `dark` count only such LEBs, too.
    pub used: u64,
    pub dead: u64,
    pub dark: u64,
    pub empty_lebs: u32,
    pub index_lebs: u32,
}

impl Sums {
    pub(super) const fn of(master: &MasterNode) -> Self {
        Self {
            free: master.free,
            dirty: master.dirty,
            used: master.used,
            dead: master.dead,
            dark: master.dark,
            empty_lebs: master.empty_lebs,
            index_lebs: master.index_lebs,
        }
    }

    /// The sums after a file system of `leb_count` LEBs has grown to the size of its volume.
    pub(super) const fn grown(self, geometry: &Geometry, leb_count: u32) -> Self {
        let more = geometry.leb_count.saturating_sub(leb_count);
        Self {
            free: self.free.saturating_add(more as u64 * geometry.leb_size as u64),
            dark: self.dark.saturating_add(more as u64 * geometry.dark as u64),
            empty_lebs: self.empty_lebs.saturating_add(more),
            ..self
        }
    }

    pub(super) const fn describe(&self, master: &mut MasterNode) {
        master.free = self.free;
        master.dirty = self.dirty;
        master.used = self.used;
        master.dead = self.dead;
        master.dark = self.dark;
        master.empty_lebs = self.empty_lebs;
        master.index_lebs = self.index_lebs;
    }
}

/// What a LEB can be used for when space is sought.
#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumCount)]
pub(super) enum Category {
    Empty,
    /// Empty, and given to somebody who has not written to it yet.
    TakenEmpty,
    Freeable,
    FreeableIndex,
    DirtyIndex,
    Dirty,
    Free,
    None,
}

impl Ubifs {
    pub(super) fn lprops(&mut self, lnum: u32) -> Result<Lprops, Fault> {
        let lprops = self.lpt.lprops(lnum, &mut self.ubi)?;
        for (lnum, lprops) in self.lpt.take_fresh() {
            self.heaps.change(lnum, (None, self.category(&lprops)), lprops);
        }
        Ok(lprops)
    }

    /// Change the properties of a LEB, and the sums accordingly.
    pub(super) fn set_lprops(&mut self, lnum: u32, new: Lprops) -> Result<(), Fault> {
        self.cpu.charge(Unit::UbifsLprops, 1);
        let old = self.lprops(lnum)?;
        if u64::from(new.free) + u64::from(new.dirty) > u64::from(self.geometry.leb_size) {
            return Err(Fault::Damaged { lnum, offset: 0 });
        }
        self.book(&old, false);
        self.book(&new, true);
        let categories = (Some(self.category(&old)), self.category(&new));
        self.heaps.change(lnum, categories, new);
        self.lpt.set_lprops(lnum, new, &mut self.ubi)
    }

    /// Note that `bytes` more of a LEB are obsolete.
    pub(super) fn add_dirt(&mut self, lnum: u32, bytes: u32) -> Result<(), Fault> {
        let lprops = self.lprops(lnum)?;
        // The numbers of a damaged image may not add up: at most all bytes that are not free are
        // dirty.
        let dirty = lprops.dirty.saturating_add(bytes).min(self.geometry.leb_size - lprops.free);
        self.set_lprops(lnum, Lprops { dirty, ..lprops })
    }

    pub(super) fn book(&mut self, lprops: &Lprops, add: bool) {
        let geometry = &self.geometry;
        let space = lprops.gain();
        let sums = &mut self.sums;
        let book = |sum: &mut u64, amount: u32| {
            let amount = u64::from(amount);
            // The sums come from flash, and wrong ones must not overflow.
            *sum = if add { sum.saturating_add(amount) } else { sum.saturating_sub(amount) };
        };
        let count = |sum: &mut u32| {
            *sum = if add { sum.saturating_add(1) } else { sum.saturating_sub(1) };
        };
        book(&mut sums.free, lprops.free);
        book(&mut sums.dirty, lprops.dirty);
        if lprops.index {
            count(&mut sums.index_lebs);
        } else {
            book(&mut sums.used, geometry.leb_size - space);
            if space < geometry.dead {
                book(&mut sums.dead, space);
            } else {
                book(&mut sums.dark, geometry.dark_part(space));
            }
        }
        if lprops.free == geometry.leb_size {
            count(&mut sums.empty_lebs);
        }
    }

    pub(super) fn category(&self, lprops: &Lprops) -> Category {
        let leb_size = self.geometry.leb_size;
        match lprops {
            Lprops { taken: true, free, .. } if *free == leb_size => Category::TakenEmpty,
            Lprops { taken: true, .. } => Category::None,
            Lprops { free, .. } if *free == leb_size => Category::Empty,
            Lprops { index: true, .. } if lprops.gain() == leb_size => Category::FreeableIndex,
            _ if lprops.gain() == leb_size => Category::Freeable,
            Lprops { index: true, .. } => Category::DirtyIndex,
            Lprops { free, dirty, .. } if *dirty >= self.geometry.dead && dirty > free => {
                Category::Dirty
            }
            Lprops { free, .. } if *free > 0 => Category::Free,
            _ => Category::None,
        }
    }

    /// Find a LEB with `len` free bytes for the journal. Returns the LEB and where its free space
    /// begins. With `squeeze`, a LEB that is partly filled is preferred.
    pub(super) fn find_free_space(&mut self, len: u32, squeeze: bool) -> Result<(u32, u32), Fault> {
        let _scope = self.recorder.scope("ubifs_find_space");
        let pick_empty = self.may_take_empty();
        let order = if squeeze {
            [Category::Free, Category::Empty]
        } else {
            [Category::Empty, Category::Free]
        };
        let order =
            order.map(|category| (category != Category::Empty || pick_empty).then_some(category));
        let lnum = loop {
            let mut order = order.iter().flatten().chain(&[Category::Dirty]);
            if let Some(lnum) = order.find_map(|&category| self.first_with(category, len)) {
                break lnum;
            }
            self.look_at_more()?;
        };
        let lprops = self.lprops(lnum)?;
        self.set_lprops(lnum, Lprops { taken: true, ..lprops })?;
        let offset = self.geometry.leb_size - lprops.free;
        if offset == 0 {
            self.ubi.unmap(lnum);
        }
        Ok((lnum, offset))
    }

    /// Find an empty LEB for index nodes, and unmap it. If there is no other, and the gaps in the
    /// LEBs of the index were too small, it is the one kept for the collector, which gets another
    /// when LEBs of the index become free.
    pub(super) fn find_index_leb(&mut self) -> Result<u32, Fault> {
        let leb_size = self.geometry.leb_size;
        let lnum = loop {
            if let Some(lnum) = self.first_unused() {
                break lnum;
            }
            match self.look_at_more() {
                Err(Fault::NoSpace) if self.gc_lnum != NO_LEB => {
                    break std::mem::replace(&mut self.gc_lnum, NO_LEB);
                }
                looked => looked?,
            }
        };
        self.ubi.unmap(lnum);
        let lprops = Lprops { free: leb_size, dirty: 0, index: true, taken: true };
        self.set_lprops(lnum, lprops)?;
        Ok(lnum)
    }

    /// Whether there are `count` empty LEBs for index nodes.
    pub(super) fn has_index_lebs(&mut self, count: usize) -> Result<bool, Fault> {
        loop {
            let found = self.count(Category::Empty) + self.count(Category::Freeable);
            if found as usize >= count {
                return Ok(true);
            }
            match self.look_at_more() {
                Ok(()) => {}
                Err(Fault::NoSpace) => return Ok(false),
                Err(fault) => return Err(fault),
            }
        }
    }

    /// Whether the journal may take an empty LEB: enough of them must be left for the index.
    fn may_take_empty(&self) -> bool {
        self.index_leaves_leb() && self.sums.empty_lebs > self.count(Category::TakenEmpty)
    }

    /// Whether more LEBs are left for the index than it may come to need.
    pub(super) fn index_leaves_leb(&self) -> bool {
        let reserved = self.index_lebs_needed().saturating_sub(self.sums.index_lebs);
        reserved < self.lebs_for_index()
    }

    /// Number of LEBs that the index could take now, or after the next commit.
    pub(super) fn lebs_for_index(&self) -> u32 {
        let collected = u32::try_from(self.collected_index.len()).expect("below the LEB count");
        let lebs = self.sums.empty_lebs + self.count(Category::Freeable) + collected;
        lebs.saturating_sub(self.count(Category::TakenEmpty))
    }

    /// Number of LEBs of a category, among those whose properties are in memory.
    fn count(&self, wanted: Category) -> u32 {
        let fresh = self.lpt.fresh().filter(|(_, lprops)| self.category(lprops) == wanted);
        self.heaps.count(wanted) + u32::try_from(fresh.count()).expect("below the LEB count")
    }

    /// The first LEB of a category, among those whose properties are in memory.
    pub(super) fn first_known(&self, wanted: Category) -> Option<u32> {
        let mut all = self.lpt.known();
        all.find(|(_, lprops)| self.category(lprops) == wanted).map(|(lnum, _)| lnum)
    }

    /// The first LEB that holds nothing valid, an empty one if there is one.
    pub(super) fn first_unused(&self) -> Option<u32> {
        self.first_known(Category::Empty).or_else(|| self.first_known(Category::Freeable))
    }

    /// The LEBs of a category that has a heap, as they lie in it.
    pub(super) fn heap(&self, category: Category) -> impl Iterator<Item = (u32, Lprops)> + '_ {
        let lebs = self.heaps.lebs(category);
        lebs.map(|lnum| (lnum, self.lpt.peek(lnum).expect("it was sorted in when it was read")))
    }

    /// The first LEB with `len` free bytes: an empty one, or one of a category that has a heap.
    fn first_with(&self, category: Category, len: u32) -> Option<u32> {
        if category == Category::Empty {
            return self.first_known(category);
        }
        self.heap(category).find(|(_, it)| it.free >= len).map(|(lnum, _)| lnum)
    }

    /// Read the properties of 4 more LEBs, which one node of the LPT holds.
    fn look_at_more(&mut self) -> Result<(), Fault> {
        let next = self.lpt.first_unknown(self.scan_lnum).ok_or(Fault::NoSpace)?;
        self.scan_lnum = next;
        self.lprops(next).map(drop)
    }
}
