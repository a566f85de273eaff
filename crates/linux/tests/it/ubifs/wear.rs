//! Wear stays level, data with corrected bit errors is moved, and failing blocks are replaced.

use flysch_chip::{FaultPlan, Prng};
use flysch_linux::cache::PageCache;
use flysch_linux::filesystem::{FileKind, FileSystem, FsError};
use flysch_linux::ubifs::Options;
use flysch_nand::{Nand, PageAddr};

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

/// No two headers have the same sequence number, which UBI of Linux would refuse to attach, and
/// moved data has one of its own.
#[test]
fn no_sequence_number_is_given_twice() {
    let device = Device::new(40, Options::default());
    device.format().unwrap();
    let mut vfs = device.mount().unwrap();
    let pages = 40 * 64;
    for round in 0..20_u64 {
        let mut content = vec![0; 40_000];
        Prng::new(round).fill(&mut content);
        let fd = vfs.open("file", true).unwrap();
        vfs.write(fd, 0, &content).unwrap();
        vfs.sync().unwrap();
        vfs.close(fd).unwrap();
        vfs.drop_caches().unwrap();
        let flawed_pages = (0..pages).map(|page| (PageAddr(page), 1)).collect();
        device.arm(FaultPlan { flawed_pages, ..FaultPlan::default() });
        assert!(read_all(&mut vfs, "file").unwrap() == content);
        device.arm(FaultPlan::default());
        vfs.sleep(1_000_000_000);
        let mut found = Vec::new();
        for block in 0..40 {
            let mut header = [0; 64];
            device.chip.borrow_mut().read(PageAddr(block * 64), 512, &mut header).unwrap();
            if header[..4] == *b"UBI!" {
                found.push(header[40..48].to_vec());
            }
        }
        let count = found.len();
        found.sort();
        found.dedup();
        assert_eq!(found.len(), count, "round {round}");
    }
}

/// A block whose counter is lost is taken to be as worn as the others are.
#[test]
fn a_lost_erase_counter_is_the_mean_of_the_others() {
    let device = Device::new(40, Options::default());
    device.format().unwrap();
    let mut vfs = device.mount().unwrap();
    let mut content = vec![0; 1_000_000];
    for round in 0..40 {
        Prng::new(round).fill(&mut content);
        let fd = vfs.open("file", true).unwrap();
        vfs.write(fd, 0, &content).unwrap();
        vfs.sync().unwrap();
        vfs.close(fd).unwrap();
        vfs.sleep(1_000_000_000);
    }
    vfs.unmount().unwrap();
    let counts = device.chip.borrow().device().chip().erase_counts();
    let mean = counts.iter().sum::<u32>() / 40;
    assert!(mean > 4, "{mean}");
    let is_used = |block: &u32| {
        let mut header = [0; 4];
        device.chip.borrow_mut().read(PageAddr(block * 64), 512, &mut header).unwrap();
        header == *b"UBI!"
    };
    // Every other block with data. What they say of their wear is lost.
    let used: Vec<u32> = (0..40).filter(is_used).step_by(2).collect();
    for &block in &used {
        device.rewrite(block, |content| content[0] ^= 1);
    }
    let (low, _) = device.mount_fs().unwrap().ubi().wear_spread();
    let least = counts.iter().min().unwrap();
    assert!(low >= u64::from(*least), "{low} of {counts:?}");
}

/// A LEB that is changed again and again takes no more blocks than before: an open file without a
/// name is noted at each commit.
#[test]
fn changes_of_a_leb_use_no_blocks_up() {
    let device = Device::new(32, Options::default());
    device.format().unwrap();
    let mut vfs = device.mount().unwrap();
    let orphan = vfs.open("orphan", true).unwrap();
    vfs.write(orphan, 0, &[1; 5000]).unwrap();
    vfs.unlink("orphan").unwrap();
    for round in 0..100_u8 {
        let fd = vfs.open("file", true).unwrap();
        vfs.write(fd, 0, &[round; 4096]).unwrap();
        vfs.sync().unwrap();
        vfs.close(fd).unwrap();
        vfs.sleep(100_000_000);
    }
    assert!(read_all(&mut vfs, "file").unwrap() == [99; 4096]);
}

/// A block in which the first page of data cannot be programmed is found out by its test, whether
/// a LEB was written, changed or moved there, and marked.
#[test]
fn a_block_that_cannot_take_data_is_marked() {
    for seed in 0..4 {
        let device = Device::new(48, Options::default());
        device.format().unwrap();
        let failing_pages = (0..12).map(|at| PageAddr((3 + 3 * at + seed) * 64 + 1)).collect();
        let plan = FaultPlan { failing_pages, ..FaultPlan::default() };
        device.arm(plan);
        for round in 0..30 {
            let mut vfs = device.mount().unwrap();
            let fd = vfs.open("file", true).unwrap();
            vfs.write(fd, 0, &vec![round; 60_000]).unwrap();
            vfs.fsync(fd).unwrap();
            vfs.sleep(2_000_000_000);
        }
        device.mount().unwrap().sleep(2_000_000_000);
        let failures = device.chip.borrow().device().failures().clone();
        assert!(failures.len() >= 3, "{failures:?}");
        for (&block, &count) in &failures {
            assert_eq!(device.chip.borrow_mut().is_bad(block), Ok(true), "{block}");
            assert!(count <= 2, "{block}: {count} failures");
        }
    }
}
