//! What flash holds besides the newest nodes: copies that the collector made, bytes that a summary
//! does not list, truncations whose holes were lost, nodes that the session took for dead.

use flysch_chip::{Change, Changes, Prng};
use flysch_linux::filesystem::FsError;
use flysch_linux::jffs2::Options;
use flysch_linux::vfs::Vfs;

use super::images::Image;
use super::state::{difference, read_all, read_named};
use super::{Bench, small_part};

const BLOCKS: usize = 24;

fn random(len: usize, seed: u64) -> Vec<u8> {
    let mut bytes = vec![0; len];
    Prng::new(seed).fill(&mut bytes);
    bytes
}

pub(super) fn write(vfs: &mut Vfs, name: &str, at: u64, bytes: &[u8]) -> Result<(), FsError> {
    let fd = vfs.open(name, true)?;
    vfs.write(fd, at, bytes)?;
    vfs.fsync(fd)?;
    vfs.close(fd)
}

pub(super) fn bench(summaries: bool) -> Bench {
    let mut bench = Bench::new(small_part(8, 24));
    bench.options = Options { summaries, compressors: Vec::new(), ..bench.options };
    bench.format().unwrap();
    bench
}

/// A collection that was cut leaves a block beside its copy, and both are older than what was
/// written since. Whichever of them lies first on flash, the files are the newest ones.
#[test]
fn a_block_and_its_copy_hide_nothing_that_is_newer() {
    for summaries in [false, true] {
        let bench = bench(summaries);
        let mut vfs = bench.mount().unwrap();
        for round in 0..6 {
            for name in ["a", "b", "c"] {
                write(&mut vfs, name, 0, &random(2500, round)).unwrap();
                write(&mut vfs, "new", 0, &random(1500, round)).unwrap();
                vfs.rename("new", name).unwrap();
            }
            vfs.unlink("c").unwrap();
            write(&mut vfs, &format!("kept{round}"), 0, &random(6000, round)).unwrap();
        }
        vfs.sync().unwrap();
        let wanted = read_all(&mut vfs).unwrap();
        drop(vfs);
        let origin = Image::of(&bench);
        let is_used = |block: &usize| origin.block(*block).0.iter().any(|&byte| byte != 0xFF);
        let used: Vec<usize> = (0..BLOCKS).filter(is_used).collect();
        assert!((4..BLOCKS / 2).contains(&used.len()), "{used:?}");
        // The blocks lie apart, so that a copy may come to lie before or behind any of them.
        let mut apart = origin.clone();
        let blank = (0..BLOCKS).find(|block| !is_used(block)).unwrap();
        (0..BLOCKS).for_each(|to| apart.copy_block(&origin, blank, to));
        for (place, &block) in used.iter().enumerate() {
            apart.copy_block(&origin, block, 2 * place + 1);
        }
        for from in 0..used.len() {
            for to in 0..=used.len() {
                let mut image = apart.clone();
                image.copy_block(&apart, 2 * from + 1, 2 * to);
                let mut bench = image.bench();
                bench.options = Options { summaries, compressors: Vec::new(), ..bench.options };
                let found = read_all(&mut bench.mount().unwrap()).unwrap();
                let why = difference(&found, &wanted);
                assert_eq!(why, None, "block {from} once more before {to}, {summaries}");
            }
        }
    }
}

/// The free bytes that a session counts are those that a mount counts, once all is loaded.
#[test]
fn a_session_counts_as_a_mount_does() {
    let bench = bench(false);
    let mut vfs = bench.mount().unwrap();
    for number in 0..60_u64 {
        let name = format!("file{}", number % 40);
        write(&mut vfs, &name, 0, &random(700, number)).unwrap();
        let fd = vfs.open(&name, false).unwrap();
        vfs.set_owner(fd).unwrap();
        vfs.write(fd, 300, &random(400, number)).unwrap();
        if number % 3 == 0 {
            vfs.truncate(fd, 500).unwrap();
            vfs.write(fd, 100, &[1; 20]).unwrap();
        }
        vfs.close(fd).unwrap();
    }
    vfs.sync().unwrap();
    let counted = vfs.filesystem().free_bytes().unwrap();
    drop(vfs);
    let mut vfs = bench.mount().unwrap();
    read_all(&mut vfs).unwrap();
    assert_eq!(vfs.filesystem().free_bytes().unwrap(), counted);
}

/// How many pages are programmed for a file of 150,000 bytes.
fn programs_of_a_file(bench: &Bench) -> usize {
    let changes = Changes::default();
    bench.device.borrow_mut().keep_changes(changes.clone());
    let mut vfs = bench.mount().unwrap();
    for at in (0..150_000).step_by(4000) {
        write(&mut vfs, "new", at, &random(4000, at)).unwrap();
    }
    let is_data =
        |change: &Change| matches!(change, Change::Program { data, .. } if !data.is_empty());
    changes.take().into_iter().filter(is_data).count()
}

/// Every second summary ends before its block does: what it does not list is lost. Those blocks are
/// collected first, and little has to be copied to use their space again.
#[test]
fn what_no_summary_lists_is_used_again_first() {
    let origin = bench(true);
    let least = programs_of_a_file(&origin.fork());
    let mut vfs = origin.mount().unwrap();
    write(&mut vfs, "old", 0, &random(200_000, 1)).unwrap();
    vfs.unmount().unwrap();
    let mut image = Image::of(&origin);
    let cut = image.shorten_summaries(2);
    assert!(cut >= 5, "{cut} summaries");
    let mut bench = image.bench();
    bench.options = Options { summaries: true, compressors: Vec::new(), ..bench.options };
    let programs = programs_of_a_file(&bench);
    assert!(programs <= least + 4 * cut, "{programs} programs, {least} on an empty device");
}

/// A hole was lost with its page, and the truncation before it lies among garbage: collected or
/// not, what was cut off stays away.
#[test]
fn a_truncation_without_its_hole_outlives_its_block() {
    let bench = bench(false);
    let mut vfs = bench.mount().unwrap();
    write(&mut vfs, "cold", 0, &random(20_000, 1)).unwrap();
    write(&mut vfs, "file", 0, &random(12_000, 2)).unwrap();
    write(&mut vfs, "cold", 20_000, &random(60_000, 3)).unwrap();
    write(&mut vfs, "garbage", 0, &random(8000, 4)).unwrap();
    let fd = vfs.open("file", false).unwrap();
    vfs.truncate(fd, 5000).unwrap();
    // From now on this node is the one that says how long the file was.
    vfs.write(fd, 4500, &[7; 100]).unwrap();
    vfs.fsync(fd).unwrap();
    write(&mut vfs, "garbage", 8000, &random(16_000, 5)).unwrap();
    vfs.write(fd, 8700, &[9; 300]).unwrap();
    vfs.fsync(fd).unwrap();
    vfs.close(fd).unwrap();
    vfs.unlink("garbage").unwrap();
    vfs.sync().unwrap();
    drop(vfs);
    let mut image = Image::of(&bench);
    let is_hole = |len: u32, from: u32| (len, from) == (3700, 5000);
    assert_eq!(image.spoil_inodes(is_hole), 1, "the hole of the file");
    let bench = image.bench();
    let mut wanted = random(12_000, 2)[..5000].to_vec();
    wanted[4500..4600].fill(7);
    wanted.resize(8700, 0);
    wanted.resize(9000, 9);
    for _ in 0..3 {
        let mut vfs = bench.mount().unwrap();
        assert!(read_named(&mut vfs, "file").unwrap() == wanted, "it is back");
        let fd = vfs.open("file", false).unwrap();
        vfs.set_owner(fd).unwrap();
        for round in 0..60 {
            write(&mut vfs, "churn", 0, &random(12_000, round)).unwrap();
            vfs.sleep(50_000_000);
        }
        vfs.close(fd).unwrap();
        vfs.unmount().unwrap();
    }
}
