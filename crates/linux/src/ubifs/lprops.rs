//! Space in the main area: its sums over all LEBs, and the choice of a LEB to write to.

use super::Ubifs;
use super::category::Category;
use super::collect::NO_LEB;
use super::fault::Fault;
use super::format::{MasterNode, aligned, index_size};
use super::geometry::Geometry;
use super::lpt::Lprops;
use crate::cpu::Unit;

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

/// LEBs that hold nothing valid, in the order in which they are taken.
const UNUSED: [Category; 2] = [Category::Empty, Category::Freeable];

impl Ubifs {
    pub(super) fn lprops(&mut self, lnum: u32) -> Result<Lprops, Fault> {
        let lprops = self.lpt.lprops(lnum, &mut self.ubi)?;
        for (lnum, lprops) in self.lpt.take_fresh() {
            self.categories.change(lnum, (None, self.category(&lprops)), lprops);
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
        self.categories.change(lnum, categories, new);
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
            Lprops { index: true, .. } if lprops.gain() >= aligned(index_size(1)) => {
                Category::DirtyIndex
            }
            Lprops { index: true, .. } => Category::None,
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
        let mut order = vec![Category::Empty, Category::Free, Category::Dirty];
        if squeeze {
            order.swap(0, 1);
        }
        if !self.may_take_empty() {
            order.retain(|&it| it != Category::Empty);
        }
        let lnum = self.find_leb(&order, |lprops| lprops.free >= len)?;
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
        let lnum = match self.find_leb(&UNUSED, |_| true) {
            Err(Fault::NoSpace) if self.gc_lnum != NO_LEB => {
                std::mem::replace(&mut self.gc_lnum, NO_LEB)
            }
            found => found?,
        };
        self.ubi.unmap(lnum);
        let free = self.geometry.leb_size;
        self.set_lprops(lnum, Lprops { free, dirty: 0, index: true, taken: true })?;
        Ok(lnum)
    }

    /// Whether there are `count` empty LEBs for index nodes.
    pub(super) fn has_index_lebs(&mut self, count: usize) -> Result<bool, Fault> {
        loop {
            let found = self.categories.count(UNUSED[0]) + self.categories.count(UNUSED[1]);
            if found as usize >= count {
                return Ok(true);
            }
            match self.look_at_more() {
                Ok(_) => {}
                Err(Fault::NoSpace) => return Ok(false),
                Err(fault) => return Err(fault),
            }
        }
    }

    /// Whether the journal may take an empty LEB: enough of them must be left for the index.
    fn may_take_empty(&self) -> bool {
        self.index_leaves_leb()
            && self.sums.empty_lebs > self.categories.count(Category::TakenEmpty)
    }

    /// Whether more LEBs are left for the index than it may come to need.
    pub(super) fn index_leaves_leb(&self) -> bool {
        let reserved = self.index_lebs_needed().saturating_sub(self.sums.index_lebs);
        reserved < self.lebs_for_index()
    }

    /// Number of LEBs that the index could take now, or after the next commit.
    pub(super) fn lebs_for_index(&self) -> u32 {
        let collected = u32::try_from(self.collected_index.len()).expect("below the LEB count");
        let lebs = self.sums.empty_lebs + self.categories.count(Category::Freeable) + collected;
        lebs.saturating_sub(self.categories.count(Category::TakenEmpty))
    }

    /// The LEBs of a category whose properties are in memory, in the order in which they are found.
    pub(super) fn known(&self, category: Category) -> impl Iterator<Item = (u32, Lprops)> + '_ {
        let lebs = self.categories.lebs(category);
        lebs.map(|lnum| (lnum, self.lpt.peek(lnum).expect("it was sorted in when it was read")))
    }

    /// The first LEB that holds nothing valid, an empty one if there is one.
    pub(super) fn first_unused(&self) -> Option<u32> {
        UNUSED.iter().find_map(|&category| self.categories.lebs(category).next())
    }

    /// A LEB of these categories that is fit: the first that is known, or the first one of those
    /// whose properties are read until one is found.
    fn find_leb(
        &mut self,
        order: &[Category],
        fit: impl Fn(&Lprops) -> bool,
    ) -> Result<u32, Fault> {
        let mut known = order.iter().flat_map(|&category| self.known(category));
        if let Some((lnum, _)) = known.find(|(_, it)| fit(it)) {
            return Ok(lnum);
        }
        drop(known);
        loop {
            let more = self.look_at_more()?;
            let mut more = more.into_iter().filter(|(_, it)| order.contains(&self.category(it)));
            if let Some((lnum, _)) = more.find(|(_, it)| fit(it)) {
                return Ok(lnum);
            }
        }
    }

    /// Read the properties of 4 more LEBs, which one node of the LPT holds.
    fn look_at_more(&mut self) -> Result<Vec<(u32, Lprops)>, Fault> {
        let next = self.lpt.first_unknown(self.scan_lnum).ok_or(Fault::NoSpace)?;
        self.scan_lnum = next;
        self.lprops(next)?;
        Ok(self.lpt.node_of(next).collect())
    }
}
