//! The memory that the caller gives, by the formula of `docs/size.md`.

use flysch::db::{Db, DbError, DbRam, Direction, Durability, MountError, Options, ram_needed};
use flysch::media::Partition;
use flysch_nand::Geometry;

use super::image::Image;
use super::world::{OPTIONS, SCHEMA, expected, insert, rows};

/// Windows of merges, a fence, and the least memory table.
const STORE: usize = 15 * 40 + 258 + 512;
/// A run at its longest: its front, four pieces, counts, pointers.
const RUN: usize = 8 + 4 * 2 * 3 + 3 * 4 + 2 * 3;

/// The table of runs: the levels of three indexes, one of them with bounds, and five recent runs.
fn table(levels: usize) -> usize {
    3 * levels * (RUN + 4) + levels * 19 + 5 * (RUN + 3 * 5 + 19)
}

/// The state of a record: of the rows, of a full table, in which a run takes three bytes less, and
/// of a merge with its run.
fn state(levels: usize) -> usize {
    let merge = RUN + 3 * 5 + 19 + 9 + 6 * 5 + 2 * 10 + 19;
    58 + 2 + table(levels) - 3 * (3 * levels + 5) + merge + 3
}

#[test]
fn the_least_memory_is_what_the_document_says() {
    for (page_size, blocks, wanted) in [(2048, 128, 7_915), (2048, 1024, 10_603)] {
        let payload = page_size / 512 * 506 - 20;
        let needed = 3 * blocks + payload + page_size + state(3) + STORE + table(3);
        assert_eq!(needed, wanted, "{blocks} blocks");
        let mut image = Image::blank(page_size as u32, blocks as u32 * 8);
        (image.geometry.pages_per_block, image.geometry.block_count) = (64, blocks as u32);
        let mut open = |size: usize| {
            let mut ram = vec![0; size];
            Db::create(&mut image, &SCHEMA, OPTIONS, &mut ram).map(drop)
        };
        assert_eq!(open(needed - 1), Err(DbError::RamTooSmall { needed }));
        assert_eq!(open(needed), Ok(()));
        assert_eq!(ram_needed(&SCHEMA, &image.geometry, &OPTIONS), needed, "as at the open");
    }
}

/// A chip that is known when the firmware is compiled.
const CHIP: Geometry = Geometry {
    page_size: 2048,
    oob_size: 64,
    sectors_per_page: 4,
    partial_programs: 4,
    pages_per_block: 64,
    block_count: 128,
    in_order: true,
};
/// The least memory for it, as the compiler finds it.
const LEAST: usize = ram_needed(&SCHEMA, &CHIP, &OPTIONS);

#[test]
fn memory_of_the_right_size_is_made_by_the_compiler() {
    const RAM: DbRam<LEAST> = DbRam::new(&SCHEMA, &CHIP, &OPTIONS);
    let (mut image, mut ram) = (Image::of(2048, 64, 128), RAM);
    assert_eq!(ram.bytes().len(), 7_915);
    Db::format(&mut image, None, &SCHEMA, OPTIONS, ram.bytes()).unwrap();
    let half = Options { partition: Some(Partition { first: 64, count: 64 }), ..OPTIONS };
    assert!(ram_needed(&SCHEMA, &CHIP, &half) < LEAST - 64 * 3, "fewer blocks, shorter numbers");
}

/// Entries that a session kept in RAM do not fit a session with less of it: it is refused by name,
/// and one with as much goes on.
#[test]
fn a_session_with_less_memory_is_refused() {
    for closes in [false, true] {
        let mut image = Image::blank(2048, 96);
        let (mut ram, mut less) = (vec![0; 40_000], vec![0; 9_000]);
        let mut db = Db::create(&mut image, &SCHEMA, OPTIONS, &mut ram).unwrap();
        for number in 0..300 {
            insert(&mut db, &[number], 0, Durability::Durable).unwrap();
        }
        if closes {
            db.close().unwrap();
        }
        let refused = Db::open(&mut image, &SCHEMA, OPTIONS, &mut less).map(drop);
        assert_eq!(refused, Err(DbError::Mount(MountError::LessRam)), "closed: {closes}");
        let mut db = Db::open(&mut image, &SCHEMA, OPTIONS, &mut ram).unwrap();
        let numbers: Vec<i64> = (0..300).collect();
        assert_eq!(rows(&mut db, Direction::Forward), Ok(expected(&numbers, 0)));
    }
}
