//! What a call that is refused leaves behind, and the first records of a database: a rollback that
//! meets a read which fails, and block tables that are large for their blocks.

use flysch::db::{Db, DbError, Direction, Durability, Options, Transaction};

use super::image::Image;
use super::world::{OPTIONS, SCHEMA, ask_indexes, expected, insert, row, rows};

const RAM: usize = 9_000;

/// A rollback has to read the page that the transaction programmed first, as committed rows are on
/// it. Where that read fails, the transaction is still there, and the next call takes it back.
#[test]
fn a_rollback_that_failed_is_done_by_the_next_call() {
    let mut image = Image::blank(512, 160);
    let mut ram = vec![0; RAM];
    let mut db = Db::create(&mut image, &SCHEMA, OPTIONS, &mut ram).unwrap();
    insert(&mut db, &[1], 0, Durability::Durable).unwrap();
    let mut tx = db.begin().unwrap();
    for number in 100..140 {
        row(number, 0).insert(&mut tx).unwrap();
    }
    let reads = db.nand().reads;
    db.nand_mut().noise_at = Some(reads + 1);
    let refused = insert(&mut db, &[2], 0, Durability::Durable);
    assert!(matches!(refused, Err(DbError::Media(_))), "{refused:?}");
    insert(&mut db, &[3], 0, Durability::Durable).unwrap();
    let found = rows(&mut db, Direction::Forward).unwrap();
    assert_eq!(found, expected(&[1, 3], 0));
    ask_indexes(&mut db, &found, "a rollback was done again").unwrap();
    db.close().unwrap();
    let mut ram = vec![0; RAM];
    let mut db = Db::open(&mut image, &SCHEMA, OPTIONS, &mut ram).unwrap();
    assert_eq!(rows(&mut db, Direction::Forward).unwrap(), found);
}

/// A rollback to a savepoint that met such a read is done again by the same call. Until then the
/// transaction, of which a part was taken back, takes no rows and is not committed.
#[test]
fn a_transaction_that_was_taken_back_in_part_is_not_committed() {
    let mut refusals = 0;
    for case in 0..24 {
        let (nth, is_tried_again) = (1 + case / 2, case % 2 == 1);
        let mut image = Image::blank(512, 160);
        let mut ram = vec![0; RAM];
        let mut db = Db::create(&mut image, &SCHEMA, OPTIONS, &mut ram).unwrap();
        insert(&mut db, &[1], 0, Durability::Durable).unwrap();
        let reads = db.nand().reads;
        db.nand_mut().noise_at = Some(reads + nth);
        let mut tx = db.begin().unwrap();
        let insert_all = |tx: &mut Transaction<'_, '_, '_, _>, numbers: core::ops::Range<i64>| {
            numbers.into_iter().try_for_each(|number| row(number, 0).insert(tx))
        };
        insert_all(&mut tx, 100..140).unwrap();
        let savepoint = tx.savepoint().unwrap();
        insert_all(&mut tx, 200..240).unwrap();
        let mut done = tx.roll_back_to(savepoint);
        if done.is_err() {
            refusals += 1;
            assert_eq!(row(300, 0).insert(&mut tx), Err(DbError::Savepoint), "read {nth}");
            if is_tried_again {
                done = tx.roll_back_to(savepoint);
                assert_eq!(done, Ok(()), "read {nth}");
            }
        }
        let wanted = if done.is_ok() {
            insert_all(&mut tx, 300..310).unwrap();
            assert_eq!(tx.commit(Durability::Durable), Ok(()), "read {nth}");
            [vec![1], (100..140).collect(), (300..310).collect()].concat()
        } else {
            assert_eq!(tx.commit(Durability::Durable), Err(DbError::Savepoint), "read {nth}");
            vec![1]
        };
        db.nand_mut().noise_at = None;
        let found = rows(&mut db, Direction::Forward).unwrap();
        assert_eq!(found, expected(&wanted, 0), "read {nth}");
        ask_indexes(&mut db, &found, "a part was taken back").unwrap();
    }
    assert!(refusals >= 4, "{refusals} rollbacks met the failure");
}

/// The first records of a new database are found, also where pages of the block table lie ahead of
/// those of later log blocks.
#[test]
fn the_first_commits_of_a_large_database_are_found() {
    for (blocks, commits) in [(160, 1), (200, 1), (1500, 1), (1500, 4), (1500, 9)] {
        let mut image = Image::of(512, 64, blocks);
        let mut ram = vec![0; 40_000];
        let mut db = Db::create(&mut image, &SCHEMA, OPTIONS, &mut ram).unwrap();
        for number in 0..commits {
            insert(&mut db, &[number], 0, Durability::Durable).unwrap();
        }
        let mut ram = vec![0; 40_000];
        let mut db = Db::open(&mut image, &SCHEMA, OPTIONS, &mut ram).unwrap();
        let wanted: Vec<i64> = (0..commits).collect();
        let found = rows(&mut db, Direction::Forward).unwrap();
        assert_eq!(found, expected(&wanted, 0), "{commits} commits, {blocks} blocks");
    }
}

/// A root lies in one block. Where its block table does not fit there, that is said before anything
/// is erased. Blocks of as many pages as are said to be needed take a database and its first
/// commit.
#[test]
fn a_block_that_is_too_small_for_a_root_is_refused() {
    for (page_size, blocks) in
        [(512, 700), (512, 1200), (512, 2600), (512, 8192), (1024, 8192), (2048, 8192)]
    {
        let options = Options { capacity: 1000, ..OPTIONS };
        let mut ram = vec![0; 100_000];
        let story = format!("{blocks} blocks, pages of {page_size} bytes");
        let mut image = Image::of(page_size, 8, blocks);
        for opens in [false, true] {
            let made = if opens { Db::open } else { Db::create };
            let refused = made(&mut image, &SCHEMA, options, &mut ram).map(drop);
            let Err(DbError::BlockTooSmall { needed }) = refused else {
                assert!(matches!((refused, blocks), (_, 700)), "{refused:?}: {story}");
                continue;
            };
            assert_eq!(image.changes, [0, 0], "nothing was erased: {story}");
            for (pages, is_enough) in [(needed, true), (needed - 1, false)] {
                let mut image = Image::of(page_size, pages, blocks);
                let created = Db::create(&mut image, &SCHEMA, options, &mut ram);
                let inserted =
                    created.and_then(|mut db| insert(&mut db, &[1], 0, Durability::Durable));
                let wanted =
                    if is_enough { Ok(()) } else { Err(DbError::BlockTooSmall { needed }) };
                assert_eq!(inserted, wanted, "blocks of {pages} pages: {story}");
            }
        }
    }
}
