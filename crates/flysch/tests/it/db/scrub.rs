//! Blocks that are copied as they are: corrected bits do not add up, and wear evens out.

use std::collections::BTreeMap;

use flysch::db::{Budget, Db, Direction, Durability};
use flysch::media::Cause;
use flysch::row::Value;
use flysch_chip::{FaultPlan, Prng};
use flysch_nand::{Nand, PageAddr};

use super::world::{OPTIONS, SCHEMA, ask_indexes, chip, expected, insert, rows};

/// Pages in which a bit is corrected, of a chip of 64 blocks of eight pages.
fn flawed(pages: impl Iterator<Item = u32>) -> FaultPlan {
    let flawed_pages: BTreeMap<PageAddr, u16> = pages.map(|page| (PageAddr(page), 1)).collect();
    FaultPlan { flawed_pages, ..FaultPlan::default() }
}

#[test]
fn a_block_in_which_a_bit_was_corrected_is_copied() {
    let numbers: Vec<i64> = (0..900).collect();
    let mut copied = 0;
    for block in 4..40 {
        let mut nand = chip(1024, 64);
        let mut ram = vec![0; 10_000];
        let mut db = Db::create(&mut nand, &SCHEMA, OPTIONS, &mut ram).unwrap();
        for some in numbers.chunks(5) {
            insert(&mut db, some, 60, Durability::Durable).unwrap();
        }
        db.nand_mut().arm(flawed(block * 8..block * 8 + 8));
        let wanted = expected(&numbers, 60);
        assert_eq!(rows(&mut db, Direction::Forward).unwrap(), wanted);
        if db.stats().worn_block.is_none() {
            continue;
        }
        assert_eq!(db.stats().worn_block, Some(block));
        while db.maintain(Budget { operations: 50 }).unwrap() {}
        let pages = db.stats().counts.programs_for(Cause::Scrub);
        assert!(pages <= 8, "block {block} is copied once: {pages} pages");
        // The block of a head is copied when it is full.
        if pages == 0 {
            continue;
        }
        copied += 1;
        assert_eq!(db.stats().worn_block, None, "block {block} is not in use any more");
        assert_eq!(rows(&mut db, Direction::Forward).unwrap(), wanted);
        assert_eq!(db.stats().worn_block, None, "no row is read from block {block}");
        ask_indexes(&mut db, &wanted, "after the copy").unwrap();
        let mut ram = vec![0; 10_000];
        let mut db = Db::open(&mut nand, &SCHEMA, OPTIONS, &mut ram).unwrap();
        assert_eq!(rows(&mut db, Direction::Forward).unwrap(), wanted, "the copy is on flash");
        assert_eq!(db.stats().worn_block, None, "and a record names it");
    }
    assert!(copied > 1, "{copied} blocks were copied");
}

#[test]
fn few_corrected_bits_are_none_where_the_part_corrects_more() {
    let mut nand = chip(1024, 64);
    let mut ram = vec![0; 10_000];
    let mut db = Db::create(&mut nand, &SCHEMA, OPTIONS, &mut ram).unwrap();
    insert(&mut db, &(0..200).collect::<Vec<_>>(), 60, Durability::Durable).unwrap();
    db.set_scrub(2);
    db.nand_mut().arm(flawed(0..64 * 8));
    rows(&mut db, Direction::Forward).unwrap();
    assert_eq!(db.stats().worn_block, None);
    db.set_scrub(1);
    rows(&mut db, Direction::Forward).unwrap();
    assert!(db.stats().worn_block.is_some());
}

/// Rows that never change, and many commits: the blocks under them take their turn.
#[test]
fn blocks_that_rest_are_copied_to_worn_ones() {
    let mut nand = chip(512, 64);
    let mut ram = vec![0; 8000];
    let mut db = Db::create(&mut nand, &SCHEMA, OPTIONS, &mut ram).unwrap();
    let numbers: Vec<i64> = (0..400).collect();
    insert(&mut db, &numbers[..1], 0, Durability::Durable).unwrap();
    for some in numbers[1..].chunks(9) {
        insert(&mut db, some, 0, Durability::Durable).unwrap();
    }
    while db.stats().erases < 64 * 60 {
        // One row changes, and wears the log.
        let mut tx = db.begin().unwrap();
        let same = [Value::Integer(1), Value::Integer(1), Value::Null, Value::Text("again")];
        assert!(tx.update(0, &same).unwrap());
        tx.commit(Durability::Durable).unwrap();
    }
    assert!(db.stats().counts.programs_for(Cause::Scrub) > 100);
    let geometry = db.nand().geometry();
    assert_eq!(rows(&mut db, Direction::Forward).unwrap().len(), numbers.len());
    let mut counts = nand.chip().erase_counts();
    counts.sort_unstable();
    let mean = counts.iter().sum::<u32>() / geometry.block_count;
    // Four root blocks are worn otherwise.
    let (least, most) = (counts[4], counts[counts.len() - 5]);
    assert!(least * 3 > mean * 2 && most * 3 < mean * 4, "{least} to {most} about {mean}");
}

/// Rows of which a part was replaced once, and others that are replaced all the time. The blocks of
/// the first are worn less. Their rows are moved before the blocks are copied with what is dead in
/// them, so that few pages are copied.
#[test]
fn rows_that_rest_among_dead_ones_are_moved_rather_than_copied() {
    let (mut copied, mut commits) = (0, 0);
    for (count, share) in [(900, 4), (1500, 4), (900, 3)] {
        let (mut nand, mut ram) = (chip(512, 64), vec![0; 10_000]);
        let mut db = Db::create(&mut nand, &SCHEMA, OPTIONS, &mut ram).unwrap();
        let numbers: Vec<i64> = (0..count).collect();
        for some in numbers.chunks(9) {
            insert(&mut db, some, 60, Durability::Durable).unwrap();
        }
        let text = "again ".repeat(10);
        let update = |db: &mut Db<'_, '_, _>, id: i64| {
            let mut tx = db.begin().unwrap();
            let row = [Value::Integer(id), Value::Integer(1), Value::Null, Value::Text(&text)];
            tx.upsert(0, &row).unwrap();
            tx.commit(Durability::Durable).unwrap();
        };
        numbers.iter().filter(|id| *id % share == 0).for_each(|id| update(&mut db, *id));
        let mut prng = Prng::new(4);
        let before = db.stats().commits;
        while db.stats().erases < 64 * 40 {
            update(&mut db, count - 1 - prng.below(count.cast_unsigned() / 5).cast_signed());
        }
        copied += db.stats().counts.programs_for(Cause::Scrub);
        commits += db.stats().commits - before;
    }
    println!("{copied} pages were copied for {commits} commits");
    assert!(copied * 15 < commits, "{copied} pages were copied for {commits} commits");
}
