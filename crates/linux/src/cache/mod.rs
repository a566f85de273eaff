//! The page cache: file pages in RAM, shared by the VFS and the file systems.
//!
//! A file system that writes back marks a page dirty when it changes, and clean once the page is on
//! the medium. Pages of a file system that writes through are always clean. A page may carry the
//! mark of [`read_ahead`]: the first read of a marked page fetches the next window.
//!
//! Invariants:
//! 1. The cache holds whole pages with the content of the file. Bytes past the end of the file are
//!    zero.
//! 2. Where a limit is set, the page that was used longest ago leaves first. Dirty pages and the
//!    [`CAPACITY_MIN`] pages used last never leave.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

mod page;
pub mod read_ahead;

use page::Kept;
pub use page::{CACHE_PAGE_SIZE, Ino, PageBytes};
pub(crate) use page::{PAGE_SIZE, byte_in_page, page_parts, page_to_fill};
pub use read_ahead::{Fetch, ReadAhead, ReadAheadProfile};

/// Smallest limit that may be set, pages. A file system may rely on the pages that it has just
/// inserted while it works on them.
pub const CAPACITY_MIN: usize = 64;

/// Pages of files in RAM, by inode and index within the file.
#[derive(Clone, Debug, Default)]
pub struct PageCache {
    pages: BTreeMap<(Ino, u32), CachedPage>,
    /// The pages in order of their last use.
    ages: BTreeMap<u64, (Ino, u32)>,
    dirty: BTreeSet<(Ino, u32)>,
    uses: u64,
    capacity: Option<usize>,
}

#[derive(Clone, Debug)]
struct CachedPage {
    bytes: Kept,
    is_marked: bool,
    used_at: u64,
}

impl PageCache {
    /// Keep at most `pages` pages. Without this call there is no limit.
    ///
    /// # Panics
    ///
    /// If `pages` is below [`CAPACITY_MIN`].
    pub fn limit(&mut self, pages: usize) {
        assert!(pages >= CAPACITY_MIN, "a cache of {pages} pages cannot hold one read's window");
        self.capacity = Some(pages);
        self.shrink();
    }

    pub fn get(&self, ino: Ino, index: u32) -> Option<&PageBytes> {
        self.pages.get(&(ino, index)).map(|page| page.bytes.bytes())
    }

    /// A page to change; this counts as a use.
    pub fn get_mut(&mut self, ino: Ino, index: u32) -> Option<&mut PageBytes> {
        self.touch(ino, index);
        self.pages.get_mut(&(ino, index)).map(|page| page.bytes.bytes_mut())
    }

    /// Put a page in, without a mark, in place of the page that was there.
    pub fn insert(&mut self, ino: Ino, index: u32, bytes: Box<PageBytes>) {
        self.remove(ino, index);
        let used_at = self.next_use(ino, index);
        let page = CachedPage { bytes: Kept::new(bytes), is_marked: false, used_at };
        self.pages.insert((ino, index), page);
        self.shrink();
        debug_assert!(self.contains(ino, index), "the newest page stays");
    }

    pub fn contains(&self, ino: Ino, index: u32) -> bool {
        self.pages.contains_key(&(ino, index))
    }

    /// Note that a page was used, so that it leaves the cache later.
    pub fn touch(&mut self, ino: Ino, index: u32) {
        let newest = self.ages.last_key_value().map(|(_, &page)| page);
        if newest == Some((ino, index)) || !self.contains(ino, index) {
            return;
        }
        let used_at = self.next_use(ino, index);
        if let Some(page) = self.pages.get_mut(&(ino, index)) {
            self.ages.remove(&page.used_at);
            page.used_at = used_at;
        }
    }

    pub fn remove(&mut self, ino: Ino, index: u32) {
        if let Some(page) = self.pages.remove(&(ino, index)) {
            self.ages.remove(&page.used_at);
            self.dirty.remove(&(ino, index));
        }
    }

    /// Mark a page dirty: the medium does not hold its content yet.
    ///
    /// # Panics
    ///
    /// If the page is not here.
    pub fn set_dirty(&mut self, ino: Ino, index: u32) {
        assert!(self.contains(ino, index), "only a page in the cache can be dirty");
        self.dirty.insert((ino, index));
    }

    /// Mark a page clean: the medium holds its content. Returns whether it was dirty before.
    pub fn set_clean(&mut self, ino: Ino, index: u32) -> bool {
        self.dirty.remove(&(ino, index))
    }

    pub fn is_dirty(&self, ino: Ino, index: u32) -> bool {
        self.dirty.contains(&(ino, index))
    }

    /// The dirty pages of a file from `first` on, in order.
    pub fn dirty_from(&self, ino: Ino, first: u32) -> impl Iterator<Item = u32> {
        self.dirty.range((ino, first)..=(ino, u32::MAX)).map(|&(_, index)| index)
    }

    pub fn dirty_inodes(&self) -> BTreeSet<Ino> {
        self.dirty.iter().map(|&(ino, _)| ino).collect()
    }

    pub fn dirty_count(&self) -> usize {
        self.dirty.len()
    }

    /// Whether writers must wait until pages are written: more than a fifth of the cache is dirty
    /// (`dirty_ratio`).
    pub fn is_crowded(&self) -> bool {
        self.capacity.is_some_and(|capacity| self.dirty.len() * 5 > capacity)
    }

    /// Whether so much of the cache is dirty that it is written in the background: more than a
    /// tenth (`dirty_background_ratio`).
    pub fn is_filling(&self) -> bool {
        self.capacity.is_some_and(|capacity| self.dirty.len() * 10 > capacity)
    }

    /// Drop the pages of a file from `first` on, because the file was truncated.
    pub fn remove_from(&mut self, ino: Ino, first: u32) {
        self.remove_range(ino, first, u32::MAX);
    }

    /// Drop the pages `first..=last` of a file.
    pub fn remove_range(&mut self, ino: Ino, first: u32, last: u32) {
        if first > last {
            return;
        }
        let gone: Vec<u32> =
            self.pages.range((ino, first)..=(ino, last)).map(|(&(_, index), _)| index).collect();
        for index in gone {
            self.remove(ino, index);
        }
    }

    /// Drop the clean pages in a range of a file's pages.
    pub fn remove_clean(&mut self, ino: Ino, range: Range<u32>) {
        let pages = self.pages.range((ino, range.start)..(ino, range.end));
        let clean = pages.map(|(&key, _)| key).filter(|key| !self.dirty.contains(key));
        for (ino, index) in clean.collect::<Vec<_>>() {
            self.remove(ino, index);
        }
    }

    pub fn remove_inode(&mut self, ino: Ino) {
        self.remove_from(ino, 0);
    }

    /// Drop all clean pages, as writing to `/proc/sys/vm/drop_caches` does.
    pub fn drop_clean(&mut self) {
        let dirty = &self.dirty;
        self.pages.retain(|key, _| dirty.contains(key));
        self.ages.retain(|_, key| dirty.contains(key));
    }

    pub fn len(&self) -> usize {
        self.pages.len()
    }

    pub fn is_empty(&self) -> bool {
        self.pages.is_empty()
    }

    /// Mark a page for read-ahead. Nothing happens if the page is not in the cache.
    pub fn set_mark(&mut self, ino: Ino, index: u32) {
        if let Some(page) = self.pages.get_mut(&(ino, index)) {
            page.is_marked = true;
        }
    }

    /// Take the mark off a page. Returns whether the page had one.
    pub fn take_mark(&mut self, ino: Ino, index: u32) -> bool {
        let page = self.pages.get_mut(&(ino, index));
        page.is_some_and(|page| std::mem::take(&mut page.is_marked))
    }

    /// Find the first page that is not in the cache, among the `max` pages from `index` on.
    pub fn next_hole(&self, ino: Ino, index: u32, max: u32) -> Option<u32> {
        (index..index.saturating_add(max)).find(|&at| !self.contains(ino, at))
    }

    /// Count the cached pages that end right before `index` without a hole, up to `max`.
    pub fn cached_run_before(&self, ino: Ino, index: u32, max: u32) -> u32 {
        let first = index.saturating_sub(max);
        let hole = (first..index).rev().find(|&at| !self.contains(ino, at));
        hole.map_or(index - first, |hole| index - hole - 1)
    }

    fn next_use(&mut self, ino: Ino, index: u32) -> u64 {
        self.uses += 1;
        self.ages.insert(self.uses, (ino, index));
        self.uses
    }

    fn shrink(&mut self) {
        while self.capacity.is_some_and(|capacity| self.pages.len() > capacity) {
            let clean = self.ages.iter().find(|(_, page)| !self.dirty.contains(page));
            let Some((&age, &oldest)) = clean else { break };
            self.ages.remove(&age);
            self.pages.remove(&oldest);
        }
        debug_assert_eq!(self.pages.len(), self.ages.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INO: Ino = Ino(7);

    fn cache_of(indices: impl IntoIterator<Item = u32>) -> PageCache {
        let mut cache = PageCache::default();
        for index in indices {
            cache.insert(INO, index, Box::new([0; CACHE_PAGE_SIZE]));
        }
        cache
    }

    #[test]
    fn runs_and_holes_are_found() {
        let cache = cache_of([0, 1, 2, 5, 6]);
        assert_eq!(cache.next_hole(INO, 0, 8), Some(3));
        assert_eq!(cache.next_hole(INO, 0, 3), None);
        assert_eq!(cache.next_hole(Ino(8), 0, 3), Some(0));
        assert_eq!(cache.cached_run_before(INO, 7, 8), 2);
        assert_eq!(cache.cached_run_before(INO, 3, 8), 3);
        assert_eq!(cache.cached_run_before(INO, 3, 2), 2);
        assert_eq!(cache.cached_run_before(INO, 4, 8), 0);
    }

    #[test]
    fn a_mark_is_taken_once_and_lost_with_its_page() {
        let mut cache = cache_of([3]);
        cache.set_mark(INO, 3);
        cache.set_mark(INO, 4);
        assert!(cache.take_mark(INO, 3));
        assert!(!cache.take_mark(INO, 3));
        assert!(!cache.take_mark(INO, 4));
        cache.set_mark(INO, 3);
        cache.insert(INO, 3, Box::new([1; CACHE_PAGE_SIZE]));
        assert!(!cache.take_mark(INO, 3));
    }

    #[test]
    fn truncation_drops_the_tail_of_one_file() {
        let mut cache = cache_of(0..10);
        cache.insert(Ino(8), 9, Box::new([0; CACHE_PAGE_SIZE]));
        cache.remove_from(INO, 4);
        assert_eq!(cache.len(), 5);
        assert!(cache.contains(INO, 3) && cache.contains(Ino(8), 9));
        cache.remove_inode(INO);
        assert_eq!(cache.len(), 1);
    }

    #[test]
    fn a_full_cache_lets_the_page_go_that_was_used_longest_ago() {
        let mut cache = cache_of(0..64);
        cache.limit(CAPACITY_MIN);
        cache.touch(INO, 0);
        cache.insert(INO, 64, Box::new([0; CACHE_PAGE_SIZE]));
        assert_eq!(cache.len(), 64);
        assert!(cache.contains(INO, 0) && !cache.contains(INO, 1));
    }
    #[test]
    fn dirty_pages_stay_and_make_writers_wait() {
        let mut cache = cache_of(0..64);
        cache.limit(CAPACITY_MIN);
        for index in 0..7 {
            cache.set_dirty(INO, index);
        }
        assert!(cache.is_filling() && !cache.is_crowded());
        for index in 7..13 {
            cache.set_dirty(INO, index);
        }
        assert!(cache.is_crowded(), "13 of 64 are more than a fifth");
        for index in 64..100 {
            cache.insert(INO, index, Box::new([1; CACHE_PAGE_SIZE]));
        }
        assert!((0..13).all(|index| cache.contains(INO, index)), "dirty pages never leave");
        assert!((13..49).all(|index| !cache.contains(INO, index)));
        cache.drop_clean();
        assert_eq!(cache.dirty_from(INO, 0).collect::<Vec<_>>(), (0..13).collect::<Vec<_>>());
    }
}
