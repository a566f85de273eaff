//! The format on flash, and the exact number of chip operations that each call costs.

use std::sync::Arc;

use flysch_chip::{Chip, Clock, Event, EventKind, Part, Prng};
use flysch_linux::jffs2::{Compressor, MountError, Options};
use flysch_linux::mtd::EccMode;
use flysch_linux::vfs::Vfs;
use flysch_nand::{Geometry, Nand, PageAddr};

use super::images::Image;
use super::{Bench, scars, small_part};

/// Numbers of operations at the chip: reads, programs, OOB programs, erases.
type Counts = [u64; 4];

const PAGE: u64 = 2048;
const HEAD: u64 = 68;

fn nandsim(compressors: Vec<Compressor>) -> Bench {
    let mut bench = Bench::new(Arc::new(Part::builtin("nandsim").unwrap()));
    bench.options = Options { compressors, ..bench.options };
    bench.format().unwrap();
    bench
}

fn counts(bench: &Bench) -> Counts {
    let kinds = [EventKind::Read, EventKind::Program, EventKind::ProgramOob, EventKind::Erase];
    kinds.map(|kind| bench.recorder.count(kind))
}

fn random(len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    Prng::new(len as u64).fill(&mut bytes);
    bytes
}

/// Check that `act`, called with each number below `times`, writes `bytes` bytes of nodes each
/// time. Whole pages of them are programmed at once, and the rest at the next flush.
fn check_written(times: u64, bytes: u64, mut act: impl FnMut(&mut Vfs, u64)) {
    let bench = nandsim(Vec::new());
    let mut vfs = bench.mount().unwrap();
    let fd = vfs.open("file", true).unwrap();
    vfs.write(fd, 0, &random(16_384)).unwrap();
    vfs.close(fd).unwrap();
    vfs.sync().unwrap();
    bench.recorder.reset();
    for number in 0..times {
        act(&mut vfs, number);
    }
    assert_eq!(counts(&bench)[1], times * bytes / PAGE, "{times} times {bytes} bytes");
    vfs.sync().unwrap();
    assert_eq!(counts(&bench)[1], (times * bytes).div_ceil(PAGE), "{times} times {bytes} bytes");
}

fn write(vfs: &mut Vfs, at: u64, len: usize) {
    let fd = vfs.open("file", false).unwrap();
    vfs.write(fd, at, &random(len)).unwrap();
    vfs.close(fd).unwrap();
}

#[test]
fn writes_cost_the_nodes_they_become() {
    let append = 3 * (HEAD + 1024) + HEAD + 4096;
    assert_eq!(append, 7440);
    check_written(12, append, |vfs, number| {
        for quarter in 0..4 {
            write(vfs, 16_384 + number * 4096 + quarter * 1024, 1024);
        }
    });
    check_written(40, HEAD + 1024, |vfs, _| write(vfs, 4096, 1024));
    check_written(20, HEAD + 4096, |vfs, _| write(vfs, 4096 + 3072, 1024));
    check_written(20, HEAD + 4096, |vfs, _| write(vfs, 8192, 4096));
    check_written(40, HEAD + 104, |vfs, _| write(vfs, 4097, 103));
    let dirent = 40 + 5 + 3;
    check_written(20, HEAD + dirent, |vfs, number| {
        let fd = vfs.open(&format!("new{number:02}"), true).unwrap();
        vfs.close(fd).unwrap();
    });
    check_written(20, 4 * dirent, |vfs, _| {
        vfs.rename("file", "older").unwrap();
        vfs.rename("older", "file").unwrap();
    });
}

#[test]
fn a_cold_page_costs_two_reads_with_the_page_buffer_and_four_without() {
    for (ecc, wanted) in [(EccMode::Hardware, 131), (EccMode::Software { step_size: 256 }, 260)] {
        let mut bench = nandsim(Vec::new());
        bench.ecc = ecc;
        let mut vfs = bench.mount().unwrap();
        let fd = vfs.open("file", true).unwrap();
        for index in 0..64 {
            vfs.write(fd, index * 4096, &random(4096)).unwrap();
        }
        vfs.sync().unwrap();
        vfs.drop_caches().unwrap();
        bench.recorder.reset();
        for index in 0..64 {
            assert_eq!(vfs.read(fd, index * 4096, &mut [0; 4096]), Ok(4096));
        }
        assert_eq!(counts(&bench), [wanted, 0, 0, 0], "{ecc:?}, 64 pages");
    }
}

#[test]
fn freeing_a_block_costs_an_erase_64_reads_and_a_cleanmarker() {
    let bench = nandsim(Vec::new());
    let mut vfs = bench.mount().unwrap();
    let fd = vfs.open("file", true).unwrap();
    vfs.write(fd, 0, &random(1_000_000)).unwrap();
    vfs.close(fd).unwrap();
    vfs.unlink("file").unwrap();
    vfs.sync().unwrap();
    bench.recorder.reset();
    vfs.sleep(10_000_000_000);
    let geometry = bench.device.borrow().geometry();
    let trace = bench.recorder.take(geometry);
    let verifying = |kind: EventKind| {
        let events = trace.events.iter().filter(|event| event.kind == kind);
        events.filter(|event| trace.causes.path(event.cause).contains("verify_erased")).count()
    };
    let erases = trace.count(EventKind::Erase);
    assert!(erases >= 6, "{erases} of about 8 blocks");
    assert_eq!(trace.count(EventKind::ProgramOob), erases);
    assert_eq!(verifying(EventKind::Read) as u64, 64 * erases);
    assert_eq!(trace.count(EventKind::Read), 64 * erases);
    assert_eq!(trace.count(EventKind::Program), 0);
}

#[test]
fn nodes_are_as_long_as_those_of_mkfs() {
    let bench = nandsim(vec![Compressor::Zlib]);
    let mut vfs = bench.mount().unwrap();
    let fd = vfs.open("abcde", true).unwrap();
    vfs.write(fd, 0, &random(20_000)).unwrap();
    vfs.unmount().unwrap();
    let image = Image::of(&bench);
    let lengths = |kind| image.nodes().filter(move |node| node.kind == kind).map(|node| node.len);
    let inodes: Vec<usize> = lengths(0xE002).collect();
    assert_eq!(inodes, [68, 0x1044, 0x1044, 0x1044, 0x1044, 68 + 20_000 - 4 * 4096]);
    assert_eq!(lengths(0xE001).collect::<Vec<_>>(), [45]);
}

#[test]
fn chips_and_partitions_that_jffs2_cannot_live_on_are_refused() {
    let small = small_part(8, 4);
    let part = |geometry| Arc::new(Part { geometry, ..(*small).clone() });
    let cases = [
        (Arc::new(Part::builtin("mlc").unwrap()), MountError::NoCleanmarker),
        (part(Geometry { oob_size: 8, ..small.geometry }), MountError::NoCleanmarker),
        (
            part(Geometry { pages_per_block: 64, block_count: 32_768, ..small.geometry }),
            MountError::TooLarge { bytes: 1 << 32 },
        ),
        (Arc::clone(&small), MountError::TooSmall { blocks: 4 }),
    ];
    for (part, error) in cases {
        let bench = Bench::new(part);
        let formatted = bench.format();
        assert!(formatted == Err(error) || error == MountError::TooSmall { blocks: 4 });
        assert_eq!(bench.mount().err(), Some(error));
    }
}

#[test]
fn an_erased_partition_is_empty_and_a_foreign_one_is_left_alone() {
    let part = small_part(8, 24);
    let mut vfs = Bench::new(Arc::clone(&part)).mount().unwrap();
    assert_eq!(vfs.list("/"), Ok(vec![]));
    vfs.open("file", true).unwrap();
    vfs.unmount().unwrap();
    let mut prng = Prng::new(1);
    for page in [0, 1, 7, 8, 100, 191] {
        let mut chip = Chip::new(Arc::clone(&part), Clock::new(), 1);
        let mut bytes = vec![0; 2048];
        prng.fill(&mut bytes);
        chip.program(PageAddr(page), 0, &bytes, &[]).unwrap();
        let bench = Bench::of_chip(&chip);
        assert_eq!(bench.mount().err(), Some(MountError::NoFileSystem), "page {page}");
    }
}

/// The collector needs the inode of a file whose pages have several nodes. It loads the inode once.
/// From then on the inode stays in memory, until caches are dropped.
#[test]
fn an_inode_is_loaded_once_for_the_collector() {
    const NODES: u64 = 120;
    let bench = scars::bench(false);
    let mut vfs = bench.mount().unwrap();
    let append = |vfs: &mut Vfs, name: &str, node: u64| {
        scars::write(vfs, name, node * 1000, &random(1000)).unwrap();
    };
    for node in 0..NODES {
        append(&mut vfs, "old", node);
    }
    let mut loads = || {
        vfs.drop_caches().unwrap();
        bench.recorder.reset();
        for round in 0..600 {
            append(&mut vfs, "new", round % 20);
        }
        let trace = bench.recorder.take(bench.device.geometry());
        let is_load = |event: &&Event| {
            event.kind == EventKind::Read && trace.causes.path(event.cause).contains("read_inode")
        };
        trace.events.iter().filter(is_load).count() as u64
    };
    for _ in 0..2 {
        let reads = loads();
        assert!((1..2 * NODES).contains(&reads), "{reads} reads for {NODES} nodes");
    }
}
