//! Read-ahead compared with published numbers: page reads with and without it.

use flysch_chip::Prng;
use flysch_linux::cache::ReadAheadProfile::{self, A, B, C};
use flysch_linux::vfs::{Fd, Vfs};

use crate::counting;

const PAGE: u64 = 4096;

/// Size of the file in the read-ahead studies, 5 MiB.
const FILE_PAGES: u64 = 1280;

fn open(profile: ReadAheadProfile, ra_pages: u32) -> (Vfs, Fd, impl Fn() -> usize) {
    let (mut vfs, log) = counting::mount(FILE_PAGES * PAGE, profile);
    vfs.set_read_ahead(ra_pages);
    let fd = vfs.open("file", false).unwrap();
    (vfs, fd, move || log.borrow().page_reads.len())
}

/// Number of cache pages that `requests` sequential reads of `size` bytes fetch.
fn sequential(profile: ReadAheadProfile, ra_pages: u32, requests: u64, size: u64) -> usize {
    let (mut vfs, fd, page_reads) = open(profile, ra_pages);
    let mut bytes = vec![0; usize::try_from(size).unwrap()];
    for request in 0..requests {
        vfs.read(fd, request * size, &mut bytes).unwrap();
    }
    page_reads()
}

/// Number of cache pages that `requests` random reads of 4 KiB fetch, as a mean over seeds.
fn random(profile: ReadAheadProfile, ra_pages: u32, requests: u64) -> f64 {
    let seeds = 40;
    let mut total = 0;
    for seed in 0..seeds {
        let (mut vfs, fd, page_reads) = open(profile, ra_pages);
        let mut prng = Prng::new(seed);
        let mut bytes = vec![0; 4096];
        for _request in 0..requests {
            vfs.read(fd, prng.below(FILE_PAGES) * PAGE, &mut bytes).unwrap();
        }
        total += page_reads();
    }
    f64::from(u32::try_from(total).unwrap()) / f64::from(u32::try_from(seeds).unwrap())
}

/// How many percent of the page reads are saved by switching read-ahead off.
fn saved_percent(on: f64, off: f64) -> f64 {
    100.0 * (on - off) / on
}

fn float(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap())
}

#[test]
fn sequential_savings_are_those_of_the_papers() {
    for profile in [A, B, C] {
        for (requests, percent) in [(8, 71.0), (32, 65.0), (64, 48.0), (256, 19.0), (1024, 6.0)] {
            let on = sequential(profile, 32, requests, PAGE);
            let off = sequential(profile, 0, requests, PAGE);
            let saved = saved_percent(float(on), float(off));
            assert!((saved - percent).abs() < 0.6, "{profile:?}, {requests}: {saved}");
        }
    }
}

/// YAFFS2 on Linux 6.1 reads exactly two flash pages for each cache page. The counts are half of
/// those measured (`docs/reference/kernel-6.1-readahead.csv`).
#[test]
fn sequential_counts_are_those_of_a_real_kernel() {
    for (requests, on, off) in [(8, 28, 8), (64, 124, 64), (512, 572, 512)] {
        assert_eq!(sequential(C, 32, requests, PAGE), on);
        assert_eq!(sequential(C, 0, requests, PAGE), off);
    }
}

/// JFFS2 on Linux 6.1, with requests of several sizes. Because of its layout, it reads 2.047 flash
/// pages for each cache page, and 3 more in all. The counts are from the same file as above.
#[test]
fn request_sizes_move_the_counts_as_on_a_real_kernel() {
    for (size, requests, flash_on, flash_off) in [
        (2048, 8, 28, 12),
        (2048, 64, 191, 69),
        (4096, 8, 60, 20),
        (4096, 64, 257, 134),
        (4096, 512, 1174, 1051),
        (8192, 8, 126, 36),
        (8192, 64, 388, 265),
        (16384, 8, 183, 69),
        (16384, 64, 641, 527),
        (32768, 8, 232, 134),
        (32768, 64, 1149, 1051),
    ] {
        for (ra_pages, flash) in [(32, flash_on), (0, flash_off)] {
            let pages = sequential(C, ra_pages, requests, size);
            let predicted = 3.0 + 2.047 * float(pages);
            let is_close = (predicted - f64::from(flash)).abs() <= 1.0;
            assert!(is_close, "{requests} of {size}, {ra_pages}: {predicted}, not {flash}");
        }
    }
}

#[test]
fn random_savings_depend_on_the_era() {
    for (requests, percent_b) in
        [(32, 15.0), (64, 22.0), (128, 36.0), (256, 50.0), (512, 56.0), (1024, 43.0)]
    {
        let off = random(A, 0, requests);
        let [a, b, c] = [A, B, C].map(|profile| saved_percent(random(profile, 32, requests), off));
        assert!(a < 2.0, "{requests} under the first rules: {a}");
        assert!((b - percent_b).abs() < 4.0, "{requests} under the second rules: {b}");
        let most = if requests <= 256 { 4.0 } else { 20.0 };
        assert!(c > a && c < most, "{requests} under today's rules: {c}");
    }
}
