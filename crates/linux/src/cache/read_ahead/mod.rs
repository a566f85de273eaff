//! Read-ahead: which pages a read fetches beyond those it asks for, in five kernel eras.
//!
//! State is kept per open file and describes the window fetched last:
//!
//! ```text
//!   |<------------------ size ------------------>|
//!   |                        |<-- async_size --->|
//!   start                    mark                start + size: where a scan misses next
//! ```
//!
//! A read that misses the cache fetches at once ([`ReadAhead::on_miss`]). A read of the marked page
//! fetches the next window before a read misses it ([`ReadAhead::on_mark`]). The kernel calls the
//! second kind asynchronous, but on flash file systems the caller waits for both. This module only
//! decides which pages to fetch; the VFS reads them.

use std::ops::Range;

use super::page::{CACHE_PAGE_SIZE, Ino};
use crate::cache::PageCache;

mod profile;
#[cfg(test)]
mod tests;

pub use profile::{ReadAheadProfile, UnknownProfile};

/// Pages to fetch. Pages that are cached already and pages past the end of the file are skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fetch {
    pub start: u32,
    /// Number of pages from `start` on.
    pub len: u32,
    /// The page to mark once it is fetched.
    pub mark: Option<u32>,
}

impl Fetch {
    /// The part of this window that lies within a file of `file_pages` pages.
    pub fn pages(&self, file_pages: u32) -> Range<u32> {
        self.start..self.start.saturating_add(self.len).min(file_pages)
    }

    const fn unmarked(start: u32, len: u32) -> Self {
        Self { start, len, mark: None }
    }
}

/// The circumstances of a read that may need read-ahead.
#[derive(Clone, Copy, Debug)]
pub struct Demand<'a> {
    pub cache: &'a PageCache,
    pub ino: Ino,
    /// The page that was missed or found marked.
    pub index: u32,
    /// Pages from `index` to the end of the read, at least 1.
    pub requested: u32,
}

/// The read-ahead state of one open file.
#[derive(Clone, Debug)]
pub struct ReadAhead {
    profile: ReadAheadProfile,
    start: u32,
    size: u32,
    async_size: u32,
    /// Largest window, pages; 0 switches read-ahead off.
    pub ra_pages: u32,
    /// Whether the program asked for `POSIX_FADV_RANDOM`.
    pub is_random: bool,
    /// The page where the last read ended, or has come to. Before the first read it is minus one,
    /// as in the kernels, and comparisons with it wrap around.
    prev_page: u32,
}

impl ReadAhead {
    /// State of a file just opened, whose windows have at most `ra_pages` pages.
    pub const fn new(profile: ReadAheadProfile, ra_pages: u32) -> Self {
        Self {
            profile,
            start: 0,
            size: 0,
            async_size: 0,
            ra_pages,
            is_random: false,
            prev_page: u32::MAX,
        }
    }

    /// Note that a read call which ends at byte `end` has come to byte `at`. Most kernels note only
    /// where it ended.
    ///
    /// # Panics
    ///
    /// If `at` is 0 or lies beyond 2^32 pages.
    pub fn note_read(&mut self, at: u64, end: u64) {
        assert!(at > 0, "a read of nothing ends nowhere");
        if at < end && self.profile != ReadAheadProfile::E {
            return;
        }
        let page_size = CACHE_PAGE_SIZE as u64;
        // Old kernels keep the page of the last byte read, later ones the position after it.
        let page = match self.profile {
            ReadAheadProfile::A | ReadAheadProfile::B => (at - 1) / page_size,
            ReadAheadProfile::C | ReadAheadProfile::D | ReadAheadProfile::E => at / page_size,
        };
        self.prev_page = u32::try_from(page).expect("files are limited to 2^32 pages");
    }

    /// Decide what a read that missed page `demand.index` fetches.
    pub fn on_miss(&mut self, demand: Demand<'_>) -> Fetch {
        debug_assert!(demand.requested > 0);
        if self.ra_pages == 0 {
            return Fetch::unmarked(demand.index, 1);
        }
        if self.is_random {
            return Fetch::unmarked(demand.index, demand.requested);
        }
        let fetch = match self.profile {
            ReadAheadProfile::A => self.miss_a(demand),
            _ => self.miss_since_b(demand),
        };
        fetch.unwrap_or(Fetch::unmarked(demand.index, demand.requested))
    }

    /// Whether reads of this file look for marks and act on them.
    pub const fn heeds_marks(&self) -> bool {
        self.ra_pages > 0 && !self.is_random
    }

    /// Decide what a read of the marked page `demand.index` fetches.
    pub fn on_mark(&mut self, demand: Demand<'_>) -> Option<Fetch> {
        debug_assert!(demand.requested > 0);
        debug_assert!(self.heeds_marks(), "a file without read-ahead takes no marks");
        let starts_over = self.profile != ReadAheadProfile::A && demand.index == 0;
        if starts_over {
            return Some(self.begin(demand));
        }
        self.ramp_up(demand.index).or_else(|| self.resume(demand))
    }

    fn miss_a(&mut self, demand: Demand<'_>) -> Option<Fetch> {
        if let Some(fetch) = self.ramp_up(demand.index) {
            return Some(fetch);
        }
        let begins = self.is_sequential(demand.index) || demand.requested > self.ra_pages;
        begins.then(|| self.begin(demand))
    }

    fn miss_since_b(&mut self, demand: Demand<'_>) -> Option<Fetch> {
        if demand.index == 0 {
            return Some(self.begin(demand));
        }
        if let Some(fetch) = self.ramp_up(demand.index) {
            return Some(fetch);
        }
        if demand.requested > self.ra_pages || self.is_sequential(demand.index) {
            return Some(self.begin(demand));
        }
        self.continue_context(demand)
    }

    /// Whether a miss of `index` continues the last read, in its page or the next.
    const fn is_sequential(&self, index: u32) -> bool {
        index.wrapping_sub(self.prev_page) <= 1
    }

    /// Open the first window of a scan.
    fn begin(&mut self, demand: Demand<'_>) -> Fetch {
        let size = initial_size(demand.requested, self.ra_pages);
        let async_size = if size > demand.requested { size - demand.requested } else { size };
        self.submit(demand.index, Window { start: demand.index, size, async_size })
    }

    /// Open the next window of a scan that is where the last window expected it.
    fn ramp_up(&mut self, index: u32) -> Option<Fetch> {
        let end = self.start.saturating_add(self.size);
        let is_expected = index == end - self.async_size || index == end;
        if index == 0 || !is_expected {
            return None;
        }
        let size = next_size(self.size, self.ra_pages);
        Some(self.submit(index, Window { start: end, size, async_size: size }))
    }

    /// Open a window behind a mark that another scan of the same file has set.
    fn resume(&mut self, demand: Demand<'_>) -> Option<Fetch> {
        let from = demand.index.saturating_add(1);
        let hole = demand.cache.next_hole(demand.ino, from, self.ra_pages);
        let start = match self.profile {
            ReadAheadProfile::D | ReadAheadProfile::E => {
                hole.unwrap_or(from.saturating_add(self.ra_pages - 1))
            }
            _ => hole?,
        };
        let passed = match self.profile {
            ReadAheadProfile::A => start - demand.index,
            _ => start - demand.index + demand.requested,
        };
        let size = next_size(passed, self.ra_pages);
        Some(self.submit(demand.index, Window { start, size, async_size: size }))
    }

    /// Open a window if the pages cached before the missed one look like the trail of a scan.
    fn continue_context(&mut self, demand: Demand<'_>) -> Option<Fetch> {
        let Demand { cache, ino, index, requested } = demand;
        let run = cache.cached_run_before(ino, index, self.ra_pages);
        let run_min = if self.profile == ReadAheadProfile::B { 1 } else { requested + 1 };
        if run < run_min {
            return None;
        }
        // A run that reaches back to the start of the file counts double.
        let run = if run >= index { run * 2 } else { run };
        let window = if self.profile == ReadAheadProfile::B {
            let size = initial_size(run + requested, self.ra_pages);
            Window { start: index, size, async_size: size }
        } else {
            let size = (run + requested).min(self.ra_pages);
            Window { start: index, size, async_size: 1 }
        };
        Some(self.submit(index, window))
    }

    /// Make `window` the current one. Returns what a read at `index` fetches for it.
    fn submit(&mut self, index: u32, mut window: Window) -> Fetch {
        // This read would hit the mark that it sets, so the next window is merged into this one.
        if index == window.start && window.size == window.async_size {
            window = self.merge_next(window);
        }
        self.start = window.start;
        self.size = window.size;
        self.async_size = window.async_size;
        debug_assert!(self.async_size <= self.size && self.size > 0);
        Fetch {
            start: self.start,
            len: self.size,
            mark: self.start.checked_add(self.size - self.async_size),
        }
    }

    fn merge_next(&self, window: Window) -> Window {
        let next = next_size(window.size, self.ra_pages);
        match self.profile {
            ReadAheadProfile::A => window,
            ReadAheadProfile::B => Window { size: window.size + next, async_size: next, ..window },
            _ if window.size + next <= self.ra_pages => {
                Window { size: window.size + next, async_size: next, ..window }
            }
            _ => Window { size: self.ra_pages, async_size: self.ra_pages / 2, ..window },
        }
    }
}

#[derive(Clone, Copy)]
struct Window {
    start: u32,
    size: u32,
    async_size: u32,
}

/// Size of the first window of a scan, pages, if the first read wants `requested` pages.
const fn initial_size(requested: u32, max: u32) -> u32 {
    if requested > max {
        return max;
    }
    let size = requested.next_power_of_two();
    if size <= max / 32 {
        size * 4
    } else if size <= max / 4 {
        size * 2
    } else {
        max
    }
}

/// Size of the window that follows one of `size` pages.
fn next_size(size: u32, max: u32) -> u32 {
    let factor = if size < max / 16 { 4 } else { 2 };
    size.saturating_mul(factor).min(max)
}
