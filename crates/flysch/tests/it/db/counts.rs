//! What a database says of its flash is what the chip saw.

use std::cell::Cell;

use flysch::db::{Clock, Db, DbError, Direction, Durability, Reader, Stats, Transaction};
use flysch::media::{Cause, Verify};
use flysch::query::Cursor;
use flysch::row::Value;

use super::image::Image;
use super::world::{OPTIONS, SCHEMA, created, expected, insert, rows};

const RAM: usize = 9_000;

/// Programs by cause, erases and reads are those that the chip counted.
#[test]
fn stats_are_what_the_chip_counted() {
    let mut image = created(96, RAM);
    image.bad[40] = true;
    let mut ram = vec![0; RAM];
    for life in 0..4 {
        (image.reads, image.changes) = (0, [0; 2]);
        let mut db = Db::open(&mut image, &SCHEMA, OPTIONS, &mut ram).unwrap();
        assert_eq!(u64::from(db.report().reads), db.nand().reads, "reads of the open");
        let before = db.stats();
        for id in life * 200..life * 200 + 200 {
            insert(&mut db, &[id], 40, Durability::Durable).unwrap();
        }
        let Stats { counts, .. } = db.stats();
        let [programs, erases] = db.nand().changes;
        assert_eq!(u64::from(counts.programs_in_all()), programs);
        assert_eq!((u64::from(counts.erases), u64::from(counts.reads)), (erases, db.nand().reads));
        for cause in Cause::ALL {
            let is_there = counts.programs_for(cause) > 0;
            assert_eq!(
                is_there,
                !matches!(cause, Cause::Scrub | Cause::Sort),
                "{cause:?}: {counts:?}"
            );
        }
        let after = db.stats();
        assert_eq!(after.programs - before.programs, programs);
        assert_eq!(after.commits - before.commits, 200);
        let Stats { free_blocks, row_blocks, run_blocks, log_blocks, bad_blocks, .. } = after;
        assert_eq!(free_blocks + row_blocks + run_blocks + log_blocks + bad_blocks, after.blocks);
        assert!(row_blocks > 0 && run_blocks > 0 && log_blocks >= 4);
        // Every other life ends without a close.
        if life % 2 == 0 {
            db.close().map(drop).unwrap();
        }
    }
}

/// A driver that does not tell which programs failed loses rows, unless pages are read back.
#[test]
fn pages_that_went_wrong_are_found_by_reading_back() {
    for every in [9, 23, 50] {
        let mut image = created(300, RAM);
        let wanted: Vec<i64> = (0..150).collect();
        let mut ram = vec![0; RAM];
        let mut db = Db::open(&mut image, &SCHEMA, OPTIONS, &mut ram).unwrap();
        db.set_verify(Verify::All);
        db.nand_mut().wrong_every = Some(every);
        for &id in &wanted {
            insert(&mut db, &[id], 40, Durability::Durable).unwrap();
        }
        let Stats { counts, .. } = db.stats();
        assert!(counts.misprogrammed >= counts.programs_in_all() / u32::try_from(every).unwrap());
        image.wrong_every = None;
        assert_eq!(all(&mut image), Ok(wanted), "one page in {every} is wrong");
    }
}

/// Read back are only the pages that were asked for.
#[test]
fn reading_back_commits_costs_their_reads() {
    let reads_with = |verify| {
        let mut image = created(96, RAM);
        let mut ram = vec![0; RAM];
        let mut db = Db::open(&mut image, &SCHEMA, OPTIONS, &mut ram).unwrap();
        db.set_verify(verify);
        (0..100).for_each(|id| insert(&mut db, &[id], 0, Durability::Durable).unwrap());
        db.stats().counts
    };
    let never = reads_with(Verify::Never);
    let commits = reads_with(Verify::Commits);
    let all = reads_with(Verify::All);
    let of_commits = never.programs_for(Cause::Log) + never.programs_for(Cause::Root);
    assert_eq!(commits.reads - never.reads, of_commits, "a page of 512 bytes is one read");
    assert_eq!(all.reads - never.reads, never.programs_in_all());
}

fn all(image: &mut Image) -> Result<Vec<i64>, DbError> {
    let mut ram = vec![0; RAM];
    let mut db = Db::open(image, &SCHEMA, OPTIONS, &mut ram)?;
    let found = rows(&mut db, Direction::Forward)?;
    let ids: Vec<i64> = (0..).take(found.len()).collect();
    assert!(found == expected(&ids, 40), "{} rows", found.len());
    Ok(ids)
}

#[derive(Debug)]
struct Ticks(Cell<u64>);

impl Clock for Ticks {
    fn now(&self) -> u64 {
        self.0.set(self.0.get() + 1);
        self.0.get()
    }
}

/// A commit carries the time of its moment, and a mount finds that of the last one.
#[test]
fn commits_carry_the_time_of_the_clock() {
    let mut image = created(96, RAM);
    let ticks = Ticks(Cell::new(1_000));
    let mut ram = vec![0; RAM];
    {
        let mut db = Db::open(&mut image, &SCHEMA, OPTIONS, &mut ram).unwrap();
        db.set_clock(&ticks);
        (0..7).for_each(|id| insert(&mut db, &[id], 0, Durability::Durable).unwrap());
        assert_eq!(db.time(), 1_007);
    }
    let db = Db::open(&mut image, &SCHEMA, OPTIONS, &mut ram).unwrap();
    assert_eq!(db.time(), 1_007);
}

/// So many of the first commits were done by a time, as pages tell: those behind the last page that
/// holds a time may be missing. Rows of which most are longer than a page, and long transactions.
#[test]
fn commits_of_a_time_are_told_up_to_a_page() {
    let note = |id: i64, len: usize| [Value::Integer(id), Value::Blob(&[7; 3000][..len])];
    for (rows, short_every, missing_most) in [(1, 20, 20), (1, 1, 21), (300, 1, 0)] {
        let (mut image, mut ram) = (Image::of(2048, 16, 256), vec![0; 20_000]);
        let mut db = Db::create(&mut image, &SCHEMA, OPTIONS, &mut ram).unwrap();
        let commits = if rows == 1 { 200 } else { 8 };
        for commit in 0..commits {
            db.set_time(1000 * u64::from(commit));
            let mut tx = db.begin().unwrap();
            for row in 0..rows {
                let len = if commit % short_every == short_every - 1 { 90 } else { 3000 };
                tx.insert(1, &note(i64::from(commit * rows + row), len)).unwrap();
            }
            tx.commit(Durability::Durable).unwrap();
        }
        // The first pages tell of no commit before them.
        let told = |commit: u32| db.commits_at(1, 1000 * u64::from(commit) + 500).unwrap();
        let all: Vec<Option<u32>> = (0..commits).map(told).collect();
        let untold = all.iter().take_while(|told| told.is_none()).count();
        assert!(untold <= 70, "{rows} rows: {untold} commits are untold");
        for (commit, told) in (0..commits).zip(&all).skip(untold) {
            let missing = commit + 1 - told.unwrap_or(0);
            assert!(missing <= missing_most, "{rows} rows, commit {commit}: {told:?}");
        }
    }
}

/// A transaction that goes back to a savepoint reads its pages again, each once.
#[test]
fn going_back_to_a_savepoint_reads_each_page_once() {
    let (mut image, mut ram) = (Image::of(2048, 64, 256), vec![0; 40_000]);
    let mut db = Db::create(&mut image, &SCHEMA, OPTIONS, &mut ram).unwrap();
    let mut tx = db.begin().unwrap();
    let put = |tx: &mut Transaction<'_, '_, '_, _>, ids: core::ops::Range<i64>| {
        for id in ids {
            tx.insert(1, &[Value::Integer(id), Value::Blob(&[7; 100])]).unwrap();
        }
    };
    put(&mut tx, 0..600);
    let here = tx.savepoint().unwrap();
    put(&mut tx, 600..700);
    let before = tx.reading().unwrap().stats().counts;
    tx.roll_back_to(here).unwrap();
    let after = tx.reading().unwrap().stats().counts;
    let pages = before.programs_for(Cause::Rows);
    assert!(pages > 20, "{pages} pages of rows");
    assert!(after.reads - before.reads <= pages + 2, "{} reads", after.reads - before.reads);
    tx.commit(Durability::Durable).unwrap();
    let count = db.scan(1, Direction::Forward).unwrap().count(&mut db, &mut [0; 200]);
    assert_eq!(count, Ok(600));
}
