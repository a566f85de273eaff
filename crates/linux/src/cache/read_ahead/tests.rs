//! The read-ahead state machine alone: which windows it opens, given what is cached.

use super::*;

const INO: Ino = Ino(1);

const ERAS: [ReadAheadProfile; 5] = [
    ReadAheadProfile::A,
    ReadAheadProfile::B,
    ReadAheadProfile::C,
    ReadAheadProfile::D,
    ReadAheadProfile::E,
];

/// One reader of a file, with the cache that its fetches fill.
struct Scan {
    cache: PageCache,
    read_ahead: ReadAhead,
    file_pages: u32,
    fetches: Vec<(u32, u32)>,
}

impl Scan {
    fn new(profile: ReadAheadProfile, file_pages: u32) -> Self {
        Self {
            cache: PageCache::default(),
            read_ahead: ReadAhead::new(profile, 32),
            file_pages,
            fetches: Vec::new(),
        }
    }

    /// Put pages into the cache, as another reader would have done.
    fn hold(&mut self, pages: impl IntoIterator<Item = u32>) {
        for index in pages {
            self.cache.insert(INO, index, Box::new([0; CACHE_PAGE_SIZE]));
        }
    }

    fn read(&mut self, offset: u64, size: u64) {
        let page = |at: u64| u32::try_from(at / CACHE_PAGE_SIZE as u64).unwrap();
        let end = page(offset + size - 1) + 1;
        for index in page(offset)..end {
            let requested = end - index;
            if !self.cache.contains(INO, index) {
                let demand = Demand { cache: &self.cache, ino: INO, index, requested };
                let fetch = self.read_ahead.on_miss(demand);
                self.apply(fetch);
            }
            assert!(self.cache.contains(INO, index), "a miss fetches the page missed");
            if self.read_ahead.heeds_marks() && self.cache.take_mark(INO, index) {
                let demand = Demand { cache: &self.cache, ino: INO, index, requested };
                if let Some(fetch) = self.read_ahead.on_mark(demand) {
                    self.apply(fetch);
                }
            }
            let next = u64::from(index + 1) * CACHE_PAGE_SIZE as u64;
            self.read_ahead.note_read(next.min(offset + size), offset + size);
        }
    }

    fn read_page(&mut self, index: u32) {
        self.read(u64::from(index) * CACHE_PAGE_SIZE as u64, CACHE_PAGE_SIZE as u64);
    }

    fn apply(&mut self, fetch: Fetch) {
        let missing = fetch.pages(self.file_pages).filter(|&at| !self.cache.contains(INO, at));
        let missing: Vec<u32> = missing.collect();
        if let Some(&first) = missing.first() {
            self.fetches.push((first, u32::try_from(missing.len()).unwrap()));
        }
        for index in missing {
            self.hold([index]);
            if fetch.mark == Some(index) {
                self.cache.set_mark(INO, index);
            }
        }
    }
}

#[test]
fn a_scan_ramps_up_to_the_largest_window() {
    for profile in ERAS {
        let mut scan = Scan::new(profile, 1280);
        let mut triggers = Vec::new();
        for offset in (0..400 * 1024_u64).step_by(1024) {
            let before = scan.fetches.len();
            scan.read(offset, 1024);
            if scan.fetches.len() > before {
                triggers.push(offset / 1024);
            }
        }
        let windows = [(0, 4), (4, 8), (12, 16), (28, 32), (60, 32), (92, 32), (124, 32)];
        assert_eq!(scan.fetches, windows, "{profile:?}");
        // These requests of 1 KiB fall on pages 1, 4, 12, 28, 60 and 92 of the cache.
        assert_eq!(triggers, [0, 4, 16, 48, 112, 240, 368], "{profile:?}");
    }
}

#[test]
fn a_large_first_read_opens_a_larger_window() {
    let mut scan = Scan::new(ReadAheadProfile::C, 1280);
    for call in 0..8 {
        scan.read(call * 16384, 16384);
    }
    assert_eq!(scan.fetches, [(0, 8), (8, 16), (24, 32), (56, 32)]);
}

#[test]
fn reads_of_a_whole_window_run_half_a_window_ahead() {
    let mut later = Scan::new(ReadAheadProfile::C, 1280);
    later.read(0, 128 * 1024);
    assert_eq!(later.fetches, [(0, 32), (32, 32)]);
    let mut middle = Scan::new(ReadAheadProfile::B, 1280);
    middle.read(0, 128 * 1024);
    assert_eq!(middle.fetches, [(0, 64)]);
}

#[test]
fn the_end_of_the_file_cuts_the_window() {
    let mut scan = Scan::new(ReadAheadProfile::C, 6);
    for index in 0..6 {
        scan.read_page(index);
    }
    assert_eq!(scan.fetches, [(0, 4), (4, 2)]);
}

#[test]
fn one_neighbour_is_a_scan_only_to_the_middle_era() {
    for (profile, fetch) in [
        (ReadAheadProfile::A, (101, 1)),
        (ReadAheadProfile::B, (101, 12)),
        (ReadAheadProfile::C, (101, 1)),
    ] {
        let mut scan = Scan::new(profile, 1280);
        scan.hold([100]);
        scan.read_page(101);
        assert_eq!(scan.fetches, [fetch], "{profile:?}");
    }
}

#[test]
fn two_neighbours_open_a_short_window_today() {
    let mut scan = Scan::new(ReadAheadProfile::C, 1280);
    scan.hold([99, 100]);
    scan.read_page(101);
    assert_eq!(scan.fetches, [(101, 3)]);
    scan.read_page(103);
    assert_eq!(scan.fetches[1..], [(104, 6)], "the last page of the window was marked");
}

#[test]
fn a_neighbourhood_from_the_start_of_the_file_counts_double() {
    let mut scan = Scan::new(ReadAheadProfile::C, 1280);
    scan.hold(0..4);
    scan.read_page(4);
    assert_eq!(scan.fetches, [(4, 9)]);
}

#[test]
fn a_miss_next_to_the_last_read_is_sequential() {
    for profile in ERAS {
        let mut scan = Scan::new(profile, 1280);
        scan.read_page(500);
        scan.read_page(501);
        assert_eq!(scan.fetches, [(500, 1), (501, 4)], "{profile:?}");
    }
}

#[test]
fn a_foreign_mark_resumes_behind_the_cached_run() {
    for (profile, fetch) in [
        (ReadAheadProfile::A, (105, 10)),
        (ReadAheadProfile::B, (105, 12)),
        (ReadAheadProfile::C, (105, 12)),
    ] {
        let mut scan = Scan::new(profile, 1280);
        scan.hold(100..105);
        scan.cache.set_mark(INO, 100);
        scan.read_page(100);
        assert_eq!(scan.fetches, [fetch], "{profile:?}");
    }
    let mut full = Scan::new(ReadAheadProfile::B, 1280);
    full.hold(100..140);
    full.cache.set_mark(INO, 100);
    full.read_page(100);
    assert_eq!(full.fetches, [], "no hole within a window");
}

/// Selects of rows of 8 KB on Linux 6.1: the second scan of a file meets marks of the first, and
/// reads 16 pages more although 32 behind the first are cached.
#[test]
fn today_the_last_of_many_cached_pages_counts_as_a_hole() {
    for (profile, fetches) in
        [(ReadAheadProfile::C, &[(60, 32)][..]), (ReadAheadProfile::D, &[(60, 16), (76, 16)])]
    {
        let mut scan = Scan::new(profile, 1280);
        scan.hold(0..60);
        for mark in [12, 28] {
            scan.cache.set_mark(INO, mark);
            scan.read_page(mark);
        }
        assert_eq!(scan.fetches, fetches, "{profile:?}");
    }
}

/// Of a read of four pages the first one is cached. Linux 6.1 reads eight pages from the second one
/// on, because the read has just come to it; kernels before 5.11 and since 6.6 read three.
#[test]
fn a_read_that_goes_on_from_a_cached_page_looks_like_a_scan_to_some_kernels() {
    for (profile, fetch) in [
        (ReadAheadProfile::C, (101, 3)),
        (ReadAheadProfile::D, (101, 3)),
        (ReadAheadProfile::E, (101, 8)),
    ] {
        let mut scan = Scan::new(profile, 1280);
        scan.hold([100]);
        scan.read(100 * CACHE_PAGE_SIZE as u64, 4 * CACHE_PAGE_SIZE as u64);
        assert_eq!(scan.fetches, [fetch], "{profile:?}");
    }
}

#[test]
fn without_read_ahead_a_miss_fetches_what_is_asked_for() {
    let mut off = Scan::new(ReadAheadProfile::C, 1280);
    off.read_ahead.ra_pages = 0;
    off.read(0, 8192);
    assert_eq!(off.fetches, [(0, 1), (1, 1)]);
    let mut random = Scan::new(ReadAheadProfile::C, 1280);
    random.read_ahead.is_random = true;
    random.read(0, 8192);
    assert_eq!(random.fetches, [(0, 2)]);
}

#[test]
fn windows_of_any_limit_make_progress() {
    for profile in ERAS {
        for ra_pages in [1, 2, 3, 5, 31, 64, 1000] {
            let mut scan = Scan::new(profile, 3000);
            scan.read_ahead.ra_pages = ra_pages;
            for index in 0..3000 {
                scan.read_page(index);
            }
            let fetched: u32 = scan.fetches.iter().map(|&(_, len)| len).sum();
            assert_eq!(fetched, 3000, "{profile:?} with windows of {ra_pages}");
        }
    }
}
