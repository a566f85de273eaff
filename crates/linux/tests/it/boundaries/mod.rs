//! What only shows at the edge of a layer: marks on bad blocks, erase counters, durability by time,
//! wear of data that stays, files that are replaced, blocks whose erase was cut, pages that read
//! badly once.

mod cut_off;
mod emptied;
mod erases;
mod failures;
mod flaky;
mod renames;

use flysch_chip::{Chip, Clock, FaultPlan, Prng};
use flysch_linux::filesystem::FsError;
use flysch_linux::mtd::ReadQuality;
use flysch_linux::vfs::Vfs;
use flysch_nand::{BlockAddr, Nand, PageAddr};

use crate::ftl::{LOG_BLOCK, PAGE_MAP};
use crate::jffs2::state::read_named;
use crate::machine::{FASTMAP, Kind, LZO, Machine};

const STACKS: [Kind; 6] =
    [Kind::Jffs2, Kind::Yaffs2, LZO, FASTMAP, Kind::Ftl(PAGE_MAP), Kind::Ftl(LOG_BLOCK)];

fn machine(kind: Kind) -> Machine {
    let chip = Chip::new(kind.part().into(), Clock::new(), 1);
    let machine = Machine::new(kind, &chip);
    machine.format();
    machine
}

/// Write a file of random bytes and sync it.
fn write(vfs: &mut Vfs, name: &str, len: usize, seed: u64) -> Result<(), FsError> {
    let mut bytes = vec![0; len];
    Prng::new(seed).fill(&mut bytes);
    let fd = vfs.open(name, true)?;
    vfs.write(fd, 0, &bytes)?;
    vfs.fsync(fd)?;
    vfs.close(fd)
}

/// Write until all blocks were used more than once. Files come and go.
fn churn(vfs: &mut Vfs, rounds: u64) {
    for round in 0..rounds {
        write(vfs, &format!("churn{}", round % 3), 20_000, round).unwrap();
        vfs.sleep(100_000_000);
        if round % 10 == 9 {
            vfs.unlink("churn0").unwrap();
            vfs.sync().unwrap();
        }
    }
    vfs.sleep(5_000_000_000);
}

/// Blocks whose programs and erases fail from some time on are marked, and then left alone.
#[test]
fn blocks_that_fail_are_marked_and_left_alone() {
    for kind in STACKS {
        let machine = machine(kind);
        let mut vfs = machine.mount().unwrap();
        write(&mut vfs, "cold", 30_000, 77).unwrap();
        let blocks = [5, 11, 17, 30].map(BlockAddr);
        let grown = || blocks.map(|block| (block, 0)).into();
        let plan = FaultPlan { grown_bad_blocks: grown(), ..FaultPlan::default() };
        machine.device.borrow_mut().arm(plan);
        churn(&mut vfs, 150);
        vfs.unmount().unwrap();
        let failed = machine.device.borrow().failures().clone();
        assert!(!failed.is_empty(), "{kind:?}: none of them was tried");
        for &block in failed.keys() {
            assert_eq!(machine.device.clone().is_bad(block), Ok(true), "{kind:?}, {block}");
        }
        // A torture is a second failure. None comes after the mark, and none after a mount.
        let most = failed.values().copied().max().unwrap();
        assert!(most <= 3, "{kind:?}: {failed:?}");
        let mut vfs = machine.mount().unwrap();
        churn(&mut vfs, 40);
        let later = machine.device.borrow().failures().clone();
        assert!(failed.iter().all(|(block, count)| later[block] == *count), "{kind:?}");
        let mut cold = vec![0; 30_000];
        Prng::new(77).fill(&mut cold);
        assert!(read_named(&mut vfs, "cold").unwrap() == cold, "{kind:?}");
    }
}

/// A page that failed once belongs to a block that is tested before it is used again.
#[test]
fn ubi_tests_a_block_in_which_a_program_failed() {
    for kind in [LZO, FASTMAP] {
        let machine = machine(kind);
        let mut vfs = machine.mount().unwrap();
        for seed in 0..6 {
            let plan = FaultPlan { program_failures_ppm: 30_000, seed, ..FaultPlan::default() };
            let counts = || machine.device.borrow().chip().erase_counts();
            let before = counts();
            machine.device.borrow_mut().arm(plan);
            for round in 0..8 {
                write(&mut vfs, "file", 9000, round).unwrap();
                if machine.device.borrow().failures().len() > usize::try_from(seed).unwrap() {
                    break;
                }
            }
            machine.device.borrow_mut().arm(FaultPlan::default());
            let failed = machine.device.borrow().failures().clone();
            vfs.sleep(2_000_000_000);
            let after = counts();
            let tested = |block: &BlockAddr| after[block.0 as usize] > before[block.0 as usize] + 3;
            let good: Vec<_> = failed
                .keys()
                .filter(|block| !machine.device.clone().is_bad(**block).unwrap())
                .collect();
            let tested = good.iter().filter(|block| tested(block)).count();
            if failed.len() > usize::try_from(seed).unwrap() {
                assert!(tested > 0 || good.len() < failed.len(), "{kind:?}, {seed}: {failed:?}");
            }
        }
    }
}

/// What was written longer ago than the timers allow is there after the power goes, although
/// nobody asked for it.
#[test]
fn what_is_old_enough_is_on_flash() {
    for (kind, seconds) in
        [(Kind::Jffs2, 6), (Kind::Yaffs2, 1), (LZO, 42), (Kind::Ftl(PAGE_MAP), 11)]
    {
        for len in [300, 5000, 12_000] {
            let machine = machine(kind);
            let mut vfs = machine.mount().unwrap();
            write(&mut vfs, "first", 100, 1).unwrap();
            vfs.sync().unwrap();
            let mut bytes = vec![0; len];
            Prng::new(9).fill(&mut bytes);
            let fd = vfs.open("file", true).unwrap();
            vfs.write(fd, 0, &bytes).unwrap();
            vfs.close(fd).unwrap();
            vfs.sleep(seconds * 1_000_000_000);
            drop(vfs);
            let mut vfs = machine.mount().unwrap();
            let found = read_named(&mut vfs, "file");
            assert!(found.as_ref() == Ok(&bytes), "{kind:?}, {len} bytes: {found:?}");
        }
    }
}

/// A sync of data brings the size with it, where the file has grown.
#[test]
fn what_was_appended_and_synced_is_within_the_file() {
    for kind in STACKS {
        let machine = machine(kind);
        let mut vfs = machine.mount().unwrap();
        write(&mut vfs, "file", 1000, 1).unwrap();
        let fd = vfs.open("file", false).unwrap();
        for part in 0..20_u8 {
            let at = 1000 + 700 * u64::from(part);
            vfs.write(fd, at, &[part; 700]).unwrap();
            vfs.fdatasync(fd).unwrap();
            let mut vfs = machine.fork().mount().unwrap();
            let found = read_named(&mut vfs, "file").unwrap();
            assert_eq!(found.len() as u64, at + 700, "{kind:?}, part {part}");
            assert!(found.ends_with(&[part; 700]), "{kind:?}, part {part}");
        }
    }
}

/// Calls let the tasks run that are due, even if the program never sleeps.
#[test]
fn tasks_run_while_a_program_is_busy() {
    let machine = machine(LZO);
    let mut vfs = machine.mount().unwrap();
    let fd = vfs.open("file", true).unwrap();
    vfs.write(fd, 0, &[7; 5000]).unwrap();
    let other = vfs.open("other", true).unwrap();
    vfs.write(other, 0, &[8; 4096]).unwrap();
    for _ in 0..60 {
        // The program computes for a second, and looks at a file.
        machine.wait_ns(1_000_000_000);
        assert_eq!(vfs.size(other), Ok(4096));
    }
    drop(vfs);
    let found = read_named(&mut machine.mount().unwrap(), "file");
    assert_eq!(found, Ok(vec![7; 5000]));
}

/// Write one file over and over. The number of blocks that were never erased meanwhile.
fn rested(machine: &Machine, vfs: &mut Vfs, rounds: u64) -> usize {
    let before = machine.device.borrow().chip().erase_counts();
    for round in 0..rounds {
        write(vfs, "hot", 12_000, round).unwrap();
        vfs.sleep(60_000_000);
    }
    let after = machine.device.borrow().chip().erase_counts();
    before.iter().zip(&after).filter(|(before, after)| before == after).count()
}

/// JFFS2 levels wear by collecting a clean block once in a while. So no block keeps its data for
/// ever.
#[test]
fn jffs2_moves_data_that_stays() {
    let machine = machine(Kind::Jffs2);
    let mut vfs = machine.mount().unwrap();
    write(&mut vfs, "cold", 150_000, 5).unwrap();
    vfs.sync().unwrap();
    let rested = rested(&machine, &mut vfs, 1500);
    assert!(rested <= 2, "{rested} blocks were never erased");
}

/// UBI's counters are those of the chip, whatever became of the blocks.
#[test]
fn ubi_counts_every_erase() {
    for kind in [LZO, FASTMAP] {
        let machine = machine(kind);
        let mut vfs = machine.mount().unwrap();
        churn(&mut vfs, 60);
        vfs.unmount().unwrap();
        let counts = machine.device.borrow().chip().erase_counts();
        let fs = machine.mount_ubifs().unwrap();
        let (low, high) = fs.ubi().wear_spread();
        let least = u64::from(counts.iter().copied().min().unwrap());
        let most = u64::from(counts.iter().copied().max().unwrap());
        assert_eq!((low, high), (least, most), "{kind:?}");
    }
}

/// Old data is renewed by YAFFS2's collector from time to time, before its cells lose their charge.
#[test]
fn yaffs2_renews_its_oldest_block() {
    let machine = machine(Kind::Yaffs2);
    let mut vfs = machine.mount().unwrap();
    write(&mut vfs, "cold", 150_000, 5).unwrap();
    let rested = rested(&machine, &mut vfs, 5000);
    assert!(rested < 10, "{rested} blocks were never erased");
}

/// Space that files took comes back when they are gone, in all of a device's life.
#[test]
fn space_comes_back_when_files_go() {
    for kind in STACKS {
        let machine = machine(kind);
        let mut vfs = machine.mount().unwrap();
        let mut frees = Vec::new();
        for round in 0..12 {
            // Files of the plain file system that are so long have blocks of pointers.
            let len = if matches!(kind, Kind::Ftl(_)) { 60_000 } else { 15_000 };
            for number in 0..4 {
                write(&mut vfs, &format!("file{number}"), len, number + round).unwrap();
            }
            for number in 0..4 {
                vfs.unlink(&format!("file{number}")).unwrap();
            }
            vfs.sync().unwrap();
            vfs.sleep(40_000_000_000);
            vfs.sync().unwrap();
            if round % 3 == 2 {
                vfs.unmount().unwrap();
                vfs = machine.mount().unwrap();
            }
            frees.push(vfs.filesystem().free_bytes().unwrap());
        }
        let (first, least) = (frees[2], frees[3..].iter().min().unwrap());
        let slack = if matches!(kind, Kind::Ftl(_)) { 9000 } else { 30_000 };
        assert!(least + slack > first, "{kind:?}: {frees:?}");
    }
}

/// A file that lost its name while it was open is gone when the power goes: a mount gives its space
/// back, whether the whole file system was synced before or not.
#[test]
fn files_without_a_name_leave_no_trace() {
    for kind in STACKS {
        for is_synced in [false, true] {
            let machine = machine(kind);
            let mut vfs = machine.mount().unwrap();
            write(&mut vfs, "other", 20_000, 1).unwrap();
            vfs.sync().unwrap();
            let before = vfs.filesystem().free_bytes().unwrap();
            write(&mut vfs, "open", 150_000, 2).unwrap();
            let fd = vfs.open("open", false).unwrap();
            vfs.unlink("open").unwrap();
            let other = vfs.open("other", false).unwrap();
            vfs.write(other, 0, &[1; 5000]).unwrap();
            if is_synced {
                vfs.sync().unwrap();
            } else {
                vfs.fsync(other).unwrap();
                vfs.sync_directory("/").unwrap();
            }
            assert_eq!(vfs.size(fd), Ok(150_000));
            drop(vfs);
            let mut vfs = machine.mount().unwrap();
            vfs.sleep(60_000_000_000);
            vfs.sync().unwrap();
            let after = vfs.filesystem().free_bytes().unwrap();
            assert!(after + 60_000 > before, "{kind:?}, {is_synced}: {before}, then {after}");
        }
    }
}

/// A mark counts at once. A page that ECC could not correct is read again, for it may read well.
#[test]
fn mtd_believes_marks_at_once_and_bad_pages_never() {
    let machine = machine(Kind::Jffs2);
    let mtd = machine.partition().unwrap();
    mtd.mark_bad(9).unwrap();
    assert!(mtd.is_bad(9) && !mtd.is_bad(8));
    mtd.write(0_u32, &[0x5A; 2048]).unwrap();
    let flawed_pages = [(PageAddr(0), 50)].into();
    machine.device.borrow_mut().arm(FaultPlan { flawed_pages, ..FaultPlan::default() });
    let mut bytes = [0; 100];
    assert!(matches!(mtd.read(0_u32, &mut bytes), Ok(ReadQuality::Damaged(_))));
    machine.device.borrow_mut().arm(FaultPlan::default());
    assert_eq!(mtd.read(0_u32, &mut bytes), Ok(ReadQuality::Clean));
    assert_eq!(bytes, [0x5A; 100]);
}
