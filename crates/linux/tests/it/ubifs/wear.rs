//! Wear stays level, data with corrected bit errors is moved, and failing blocks are replaced.

use flysch_chip::{FaultPlan, Prng};
use flysch_linux::cache::PageCache;
use flysch_linux::filesystem::{FileKind, FileSystem, FsError};
use flysch_linux::ubifs::Options;
use flysch_nand::PageAddr;

use super::content::read_all;
use super::device::Device;

/// The wear of free blocks may differ by twice the threshold, as in the kernel
/// (`WL_FREE_MAX_DIFF`).
#[test]
fn cold_data_moves_so_that_wear_stays_level() {
    levels(40, false);
    levels(80, true);
}

fn levels(blocks: u32, fastmap: bool) {
    let threshold = 20;
    let options = Options { wear_threshold: threshold, fastmap, ..Options::default() };
    let device = Device::new(blocks, options);
    device.format().unwrap();
    let mut fs = device.mount_fs().unwrap();
    let mut cache = PageCache::default();
    let root = fs.root();
    let cold = fs.create(root, b"cold", FileKind::Regular).unwrap();
    let hot = fs.create(root, b"hot", FileKind::Regular).unwrap();
    let mut bytes = vec![0; 1_200_000];
    Prng::new(1).fill(&mut bytes);
    fs.write(&mut cache, cold, 0, &bytes).unwrap();
    fs.sync(&mut cache).unwrap();
    for round in 0..700_u32 {
        bytes[..4].copy_from_slice(&round.to_le_bytes());
        fs.write(&mut cache, hot, 0, &bytes[..200_000]).unwrap();
        fs.sync(&mut cache).unwrap();
        fs.run_background(&mut cache).unwrap();
    }
    let (low, high) = fs.ubi().wear_spread();
    assert!(high > 2 * threshold, "{high} erases say little");
    assert!(high - low <= 2 * threshold + 3, "{low} to {high}");
}

#[test]
fn corrected_errors_are_scrubbed_and_others_told() {
    let device = Device::new(40, Options::default());
    device.format().unwrap();
    let mut vfs = device.mount().unwrap();
    let fd = vfs.open("file", true).unwrap();
    let mut content = vec![0; 50_000];
    Prng::new(5).fill(&mut content);
    vfs.write(fd, 0, &content).unwrap();
    vfs.sync().unwrap();
    vfs.drop_caches().unwrap();
    let pages = PageAddr(0)..PageAddr(40 * 64);
    let flawed = |bits| (pages.start.0..pages.end.0).map(move |page| (PageAddr(page), bits));
    let erases = device.chip.borrow().device().chip().erase_counts().iter().sum::<u32>();
    device.arm(FaultPlan { flawed_pages: flawed(1).collect(), ..FaultPlan::default() });
    assert!(read_all(&mut vfs, "file").unwrap() == content);
    device.arm(FaultPlan::default());
    vfs.sleep(1_000_000_000);
    let after = device.chip.borrow().device().chip().erase_counts().iter().sum::<u32>();
    assert!(after > erases, "the blocks read were moved");
    vfs.drop_caches().unwrap();
    assert!(read_all(&mut vfs, "file").unwrap() == content);
    vfs.drop_caches().unwrap();
    let warm = vfs.open("file", false).unwrap();
    vfs.read(warm, 0, &mut [0; 4096]).unwrap();
    device.arm(FaultPlan { flawed_pages: flawed(200).collect(), ..FaultPlan::default() });
    let outcome = vfs.read(warm, 8192, &mut [0; 4096]);
    assert!(matches!(outcome, Err(FsError::Damaged { offset: 8192, .. })), "{outcome:?}");
}

#[test]
fn failing_programs_and_erases_cost_blocks_and_no_data() {
    for (seed, fastmap) in [(0, false), (1, false), (2, false), (3, false), (4, true), (5, true)] {
        let options = Options { fastmap, ..Options::default() };
        let device = Device::new(if fastmap { 90 } else { 48 }, options);
        device.format().unwrap();
        let mut vfs = device.mount().unwrap();
        let plan = FaultPlan {
            seed,
            program_failures_ppm: 1500,
            erase_failures_ppm: 4000,
            ..FaultPlan::default()
        };
        device.arm(plan);
        let mut content = vec![0; 150_000];
        let fd = vfs.open("file", true).unwrap();
        for round in 0..30 {
            Prng::new(round).fill(&mut content);
            vfs.write(fd, 0, &content).unwrap();
            vfs.fsync(fd).unwrap();
        }
        vfs.unmount().unwrap();
        device.arm(FaultPlan::default());
        let mut vfs = device.mount().unwrap();
        assert!(read_all(&mut vfs, "file").unwrap() == content, "seed {seed}");
    }
}
