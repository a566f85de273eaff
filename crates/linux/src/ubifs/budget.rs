//! Budgeting: before a page or an inode may become dirty, it must be certain that flash has space
//! for it. What was promised so far is counted with the sizes that nodes may have at most.
//!
//! The conditions are those of `do_budget_space` in Linux 6.1. They foretell each of the 2406
//! answers that its `ubifs_budget_space` gave while a nearly full device was aged and written to.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::Ubifs;
use super::collect::{Collected, Purpose};
use super::format::{DATA_NODE_SIZE_MAX, DENT_SIZE, INODE_SIZE, aligned, index_size};
use super::inode::Dirt;
use crate::cache::PageCache;
use crate::filesystem::FsError;

/// Index nodes get this many times the space that they need, since old and new ones are on flash at
/// once.
const INDEX_SHARE: u64 = 3;
const INDEX_LEBS_MIN: u32 = 2;
/// LEBs kept apart from those of the index: one for the collector, one for deletions, and one for
/// each of the three journal heads.
const KEPT_LEBS: u32 = 5;
/// How often space is made before a call fails (`MAX_MKSPC_RETRIES`, and the first time).
const TRIES: u32 = 4;
/// Bytes of a directory entry with the longest name.
const DENT_SIZE_MAX: u32 = DENT_SIZE + 256;

/// What was promised, and what was written since the last commit.
#[derive(Clone, Debug, Default)]
pub(super) struct Budget {
    /// The dirty pages, by inode and index, and whether each will be the first node of its block.
    pages: BTreeMap<(u32, u32), bool>,
    /// Number of those that will be. It is asked for each page, so it is not counted each time.
    new_pages: u64,
    /// Nodes whose entries are new in the index since the last commit. Each of them may have added
    /// a node to the index.
    uncommitted: u64,
}

impl Budget {
    fn promise(&mut self, page: (u32, u32), is_new: bool) {
        if let Entry::Vacant(place) = self.pages.entry(page) {
            place.insert(is_new);
            self.new_pages += u64::from(is_new);
        }
    }

    fn release(&mut self, page: (u32, u32)) {
        if self.pages.remove(&page) == Some(true) {
            self.new_pages -= 1;
            self.uncommitted += 1;
        }
    }
}

/// How a write changes a page.
#[derive(Clone, Copy, Debug)]
pub(super) struct Change {
    /// Whether flash holds nothing of the page.
    pub is_new: bool,
    /// Whether the file becomes longer.
    pub grows: bool,
}

/// What a call may write before it or its pages are on flash.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Request {
    /// Nodes that the index does not know yet.
    new_nodes: u64,
    bytes: u64,
}

impl Request {
    /// A new name with its inode, and the directory.
    pub(super) const CREATION: Self = Self::new(2, 2 * INODE_SIZE + DENT_SIZE_MAX);
    /// Two entries, and the inodes of both directories and of what is replaced.
    pub(super) const MOVE: Self = Self::new(1, 4 * INODE_SIZE + 2 * DENT_SIZE_MAX);
    /// The entry that deletes a name, the directory and the inode.
    pub(super) const REMOVAL: Self = Self::new(0, 2 * INODE_SIZE + DENT_SIZE_MAX);
    const INODE: Self = Self::new(0, INODE_SIZE);
    const NONE: Self = Self::new(0, 0);

    const fn new(new_nodes: u64, bytes: u32) -> Self {
        Self { new_nodes, bytes: bytes as u64 }
    }

    const fn page(is_new: bool) -> Self {
        Self::new(is_new as u64, aligned(DATA_NODE_SIZE_MAX))
    }

    const fn and(self, other: Self) -> Self {
        Self { new_nodes: self.new_nodes + other.new_nodes, bytes: self.bytes + other.bytes }
    }

    const fn times(self, count: u64) -> Self {
        Self { new_nodes: self.new_nodes * count, bytes: self.bytes * count }
    }
}

impl Ubifs {
    /// Bytes of an index node of the largest size.
    fn index_node_size(&self) -> u64 {
        u64::from(aligned(index_size(self.geometry.fanout)))
    }

    /// What dirty pages and inodes will take when they are written.
    fn promised(&self) -> Request {
        let (pages, new) = (self.budget.pages.len() as u64, self.budget.new_pages);
        let inodes = self.inodes.dirty().len() as u64;
        let pages = Request::page(true).times(new).and(Request::page(false).times(pages - new));
        pages.and(Request::INODE.times(inodes))
    }

    /// Number of LEBs that the index may come to need (`ubifs_calc_min_idx_lebs`).
    pub(super) fn index_lebs_needed(&self) -> u32 {
        self.index_lebs_with(self.promised().new_nodes)
    }

    fn index_lebs_with(&self, new_nodes: u64) -> u32 {
        let node = self.index_node_size();
        let size = self.tnc.size_committed + (self.budget.uncommitted + new_nodes) * node;
        let lebs = (size * INDEX_SHARE).div_ceil(u64::from(self.geometry.leb_size) - node) + 1;
        u32::try_from(lebs).unwrap_or(u32::MAX).max(INDEX_LEBS_MIN)
    }

    /// Bytes that data may take if the index has `index` LEBs (`ubifs_calc_available`).
    fn available(&self, index: u32) -> u64 {
        let leb_size = u64::from(self.geometry.leb_size);
        let mut taken = self.sums.used + self.sums.dead + self.sums.dark;
        taken += u64::from(index + KEPT_LEBS) * leb_size;
        let spare = self.sums.index_lebs.saturating_sub(index);
        taken += u64::from(spare) * u64::from(self.geometry.dark);
        (u64::from(self.geometry.main_lebs) * leb_size).saturating_sub(taken)
    }

    /// Whether flash has space for a request beside all that was promised.
    fn fits(&self, request: Request) -> bool {
        let all = self.promised().and(request);
        let index = self.index_lebs_with(all.new_nodes);
        let reserved = index.saturating_sub(self.sums.index_lebs);
        reserved <= self.lebs_for_index() && all.bytes <= self.available(index)
    }

    /// Make sure that a page may become dirty, and note that it will.
    pub(super) fn afford_page(
        &mut self,
        cache: &mut PageCache,
        page: (u32, u32),
        Change { is_new, grows }: Change,
    ) -> Result<(), FsError> {
        let inode = self.inode(page.0)?;
        let adds_inode = grows && inode.dirt() == Dirt::None;
        let is_dirty = self.budget.pages.contains_key(&page);
        let node = if is_dirty { Request::NONE } else { Request::page(is_new) };
        let inode = if adds_inode { Request::INODE } else { Request::NONE };
        let is_free = is_dirty && !adds_inode;
        if !is_free && !self.fits(node.and(inode)) {
            // Space is made for a new page, before it is known whether the page is one.
            let inode = if grows { Request::INODE } else { Request::NONE };
            self.afford(Some(cache), Request::page(true).and(inode))?;
        }
        self.budget.promise(page, is_new);
        Ok(())
    }

    /// Make sure that an inode may become dirty.
    pub(super) fn afford_inode(&mut self, cache: &mut PageCache) -> Result<(), FsError> {
        self.afford(Some(cache), Request::INODE)
    }

    /// Make sure that an operation on names finds space.
    pub(super) fn afford_names(&mut self, request: Request) -> Result<(), FsError> {
        self.afford(None, request)
    }

    fn afford(
        &mut self,
        mut cache: Option<&mut PageCache>,
        request: Request,
    ) -> Result<(), FsError> {
        let mut failed = false;
        loop {
            if self.fits(request) {
                return Ok(());
            }
            if !self.make_space(cache.as_deref_mut())? {
                if failed {
                    return Err(FsError::NoSpace);
                }
                failed = true;
            }
        }
    }

    /// Write dirty pages, as they mostly take less than was promised. If that does not help,
    /// collect garbage, and commit if that does not help either (`make_free_space`). Returns
    /// whether there may be more space. Operations on names have no page cache at hand.
    fn make_space(&mut self, mut cache: Option<&mut PageCache>) -> Result<bool, FsError> {
        let _scope = self.recorder.scope("ubifs_make_space");
        for _ in 0..TRIES {
            if let Some(cache) = cache.as_deref_mut() {
                let before = self.promised();
                self.write_back_all(cache)?;
                if self.promised().bytes < before.bytes {
                    return Ok(true);
                }
            }
            if let Collected::Leb(lnum) = self.collect(Purpose::Space)? {
                self.give_back(lnum)?;
                return Ok(true);
            }
            self.commit()?;
        }
        Ok(false)
    }

    /// Note that a page was written, or is gone.
    pub(super) fn release_page(&mut self, ino: u32, index: u32) {
        self.budget.release((ino, index));
    }

    /// Note that the pages of a file from `first` on are gone.
    pub(super) fn release_pages_from(&mut self, ino: u32, first: u32) {
        let pages = self.budget.pages.range((ino, first)..=(ino, u32::MAX));
        for index in pages.map(|(&(_, index), _)| index).collect::<Vec<_>>() {
            self.release_page(ino, index);
        }
    }

    /// Note that an operation on names was carried out.
    pub(super) const fn release_names(&mut self, request: Request) {
        self.budget.uncommitted += request.new_nodes;
    }

    /// Note that a commit writes the index. Its size is known then.
    pub(super) const fn begin_index(&mut self) {
        self.budget.uncommitted = 0;
    }

    /// After a replay: each node of the index that is not on flash may be a new one.
    pub(super) const fn count_replayed(&mut self) {
        self.budget.uncommitted = self.tnc.dirty_count;
    }
}
