//! Summaries of blocks, field by field as the real YAFFS2 lays them out, and what they save a
//! mount.

use std::sync::Arc;

use flysch_chip::{EventKind, Part};
use flysch_linux::yaffs2::{Options, Profile};
use flysch_nand::{Nand, PageAddr};

use super::{ALL_OPTIONS, Bench, read_users};

const PAGES: u32 = 64;
const PAGE_SIZE: usize = 2048;

/// A chip on which some blocks were filled, and then the power went.
fn filled() -> Bench {
    let bench = Bench::new(Arc::new(Part::builtin("nandsim").unwrap()), ALL_OPTIONS[0]);
    bench.format().unwrap();
    let mut vfs = bench.mount().unwrap();
    for number in 0..9_u8 {
        let fd = vfs.open(&format!("file{number}"), true).unwrap();
        vfs.write(fd, 0, &vec![number; 100_000]).unwrap();
        vfs.close(fd).unwrap();
    }
    bench
}

fn words<const COUNT: usize>(bytes: &[u8]) -> [u32; COUNT] {
    std::array::from_fn(|at| u32::from_le_bytes(bytes[4 * at..4 * at + 4].try_into().unwrap()))
}

/// The data of a page, and the four words of its tags.
fn page(bench: &Bench, page: u32) -> (Vec<u8>, [u32; 4]) {
    let mut bytes = vec![0; PAGE_SIZE + 64];
    bench.device.clone().read(PageAddr(page), 0, &mut bytes).unwrap();
    let tags = words(&bytes[PAGE_SIZE + 2..]);
    bytes.truncate(PAGE_SIZE);
    (bytes, tags)
}

/// `struct yaffs_summary_header` is version, block, sequence and sum, and each record the packed
/// object, chunk and byte count. The block is the internal number, which is one more where the
/// device begins with block 0, and the tag counts the bytes of header and records.
#[test]
fn a_summary_is_that_of_the_real_code() {
    let bench = filled();
    let mut seen = 0;
    for block in 0..20 {
        let (summary, tags) = page(&bench, block * PAGES + PAGES - 1);
        let sequence = page(&bench, block * PAGES).1[0];
        if sequence == u32::MAX || tags[0] == u32::MAX {
            continue;
        }
        assert_eq!(tags, [sequence, 0x10, 1, 16 + 12 * 63], "block {block}");
        let mut records = Vec::new();
        for chunk in 0..PAGES - 1 {
            let (_, tags) = page(&bench, block * PAGES + chunk);
            assert_eq!(tags[0], sequence);
            tags[1..].iter().for_each(|word| records.extend(word.to_le_bytes()));
        }
        let sum: u32 = records.iter().map(|&byte| u32::from(byte)).sum();
        assert_eq!(words(&summary), [1, block + 1, sequence, sum], "block {block}");
        assert_eq!(summary[16..16 + records.len()], records, "block {block}");
        seen += 1;
    }
    assert!(seen >= 5, "{seen} blocks are full");
}

/// A scan reads the tags of the first chunk of each block, and the summary of those that are full;
/// without summaries it reads the tags of all chunks of these.
#[test]
fn a_mount_with_summaries_reads_little() {
    let reads = |options: Options| {
        let bench = Bench { options, ..filled().fork() };
        let mut vfs = bench.mount().unwrap();
        let kinds = [EventKind::Read, EventKind::ReadOob];
        let counts = kinds.map(|kind| bench.recorder.count(kind));
        let found = read_users(&mut vfs).unwrap();
        assert_eq!(found.len(), 9);
        counts
    };
    let with = reads(ALL_OPTIONS[0]);
    let without = reads(Options { profile: Profile::Y2009, ..ALL_OPTIONS[0] });
    println!("with {with:?}, without {without:?}");
    let full = 7;
    let open = 63;
    assert_eq!(with[1] + full * open, without[1], "{with:?} {without:?}");
}
