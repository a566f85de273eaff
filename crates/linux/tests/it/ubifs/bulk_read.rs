//! Bulk-read returns the same bytes with fewer reads of the chip, but only for reads in order.

use flysch_chip::{EventKind, FaultPlan, Prng};
use flysch_linux::filesystem::FsError;
use flysch_linux::ubifs::{Compressor, Options};
use flysch_linux::vfs::{Fd, Vfs};
use flysch_nand::PageAddr;

use super::device::Device;

const PAGE: u64 = 4096;
/// Number of pages in the file. The last one is short.
const PAGES: u64 = 100;
const SIZE: usize = 100 * 4096 - 1000;
/// Number of blocks of the chip.
const BLOCKS: u32 = 60;

/// A file on a device, and its expected content.
struct File {
    device: Device,
    vfs: Vfs,
    fd: Fd,
    content: Vec<u8>,
}

impl File {
    /// Make a file of random bytes. The pages of each group are written and then synced together.
    fn new(bulk_read: bool, groups: &[&[u64]]) -> Self {
        let options = Options { compressor: Compressor::Lzo, bulk_read, ..Options::default() };
        let device = Device::new(BLOCKS, options);
        device.format().unwrap();
        let mut vfs = device.mount().unwrap();
        let fd = vfs.open("file", true).unwrap();
        let mut file = Self { device, vfs, fd, content: vec![0; SIZE] };
        let mut prng = Prng::new(1);
        for group in groups {
            for &page in *group {
                let (at, end) = place(page);
                prng.fill(&mut file.content[at..end]);
                file.vfs.write(fd, page * PAGE, &file.content[at..end]).unwrap();
            }
            file.vfs.fsync(fd).unwrap();
        }
        file.vfs.sync().unwrap();
        file
    }

    /// Read these pages from flash and check them. Returns the number of chip reads after the first
    /// page, with which the index is read.
    fn read(&mut self, pages: &[u64]) -> u64 {
        self.vfs.drop_caches().unwrap();
        let mut page = [0; 4096];
        let geometry = self.device.chip.borrow().device().chip().part().geometry;
        for &index in pages {
            let len = self.vfs.read(self.fd, index * PAGE, &mut page).unwrap();
            let (at, end) = place(index);
            assert!(page[..len] == self.content[at..end], "page {index}");
            if index == pages[0] {
                drop(self.device.recorder.take(geometry));
            }
        }
        self.device.recorder.take(geometry).count(EventKind::Read)
    }
}

fn place(page: u64) -> (usize, usize) {
    let at = usize::try_from(page * PAGE).unwrap();
    (at, SIZE.min(at + 4096))
}

/// The nodes of 4144 bytes fill 203 flash pages. A page shared by two nodes is read twice if a node
/// of the index was read in between, because that one then is in MTD's one-page buffer.
#[test]
fn a_file_read_in_order_takes_fewer_reads() {
    let all: Vec<u64> = (0..PAGES).collect();
    let [plain, bulk] = [false, true].map(|bulk_read| File::new(bulk_read, &[&all]).read(&all));
    assert_eq!((plain, bulk), (225, 207));
}

/// Blocks that are scattered, or read out of order, are read one by one.
#[test]
fn what_is_scattered_or_read_at_random_is_read_as_without() {
    let forwards: Vec<u64> = (0..PAGES).collect();
    let backwards: Vec<u64> = (0..PAGES).rev().collect();
    let pairs: Vec<u64> = (0..PAGES).filter(|page| page % 4 < 2).collect();
    let scattered: Vec<&[u64]> = backwards.chunks(1).collect();
    let together = [forwards.as_slice()];
    let cases = [(&scattered[..], &forwards), (&together, &backwards), (&together, &pairs)];
    for (written, pages) in cases {
        let [plain, bulk] = [false, true].map(|bulk| File::new(bulk, written).read(pages));
        assert_eq!(plain, bulk);
    }
}

/// A hole within a run reads as zeros. A page in the cache that is newer than flash is kept.
#[test]
fn holes_and_newer_pages_stay_what_they_are() {
    let written: Vec<u64> = (0..PAGES).filter(|page| page % 5 != 3).collect();
    let mut file = File::new(true, &[&written]);
    file.vfs.write(file.fd, 20 * PAGE, b"newer").unwrap();
    file.content[20 * 4096..][..5].copy_from_slice(b"newer");
    let all: Vec<u64> = (0..PAGES).collect();
    let reads = file.read(&all);
    assert!(reads > 0, "they come from flash");
}

/// If a node in a run is damaged, the pages before it are read, and the error names the damaged
/// one.
#[test]
fn damage_within_a_run_is_told_by_its_own_page() {
    let all: Vec<u64> = (0..PAGES).collect();
    let mut file = File::new(true, &[&all]);
    let flawed = (0..BLOCKS * 64).map(|page| (PageAddr(page), 200)).collect();
    file.vfs.drop_caches().unwrap();
    file.read(&all[..2]);
    file.device.arm(FaultPlan { flawed_pages: flawed, ..FaultPlan::default() });
    let outcome = file.vfs.read(file.fd, 2 * PAGE, &mut [0; 4096]);
    assert!(matches!(outcome, Err(FsError::Damaged { offset: 8192, .. })), "{outcome:?}");
}
