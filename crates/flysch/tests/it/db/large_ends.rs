//! When a large transaction begins and ends: at each page of the log block, and in the middle of
//! the merges of its own runs.

use flysch::db::{DbError, Direction, Durability, Reader, Transaction};
use flysch::media::Cause;
use flysch::row::Value;

use super::image::Image;
use super::large::{CASES, Case, Device, check, fill};
use super::world::{insert, row, rows};

/// The part of the block table that lies ahead of a log block is programmed before the block is
/// begun. Where a transaction outgrows its log block then, that part is older than its blocks.
#[test]
fn a_large_transaction_begins_at_any_page_of_its_log_block() {
    let case = &CASES[1];
    let (device, kept) = Device::begun(case);
    for commits in 0..2 * i64::from(case.pages_per_block) {
        let story = format!("{case:?}, after {commits} commits");
        let (mut then, mut all) = (device.clone(), kept.clone());
        then.with(case, |db| {
            for number in 100..100 + commits {
                insert(db, &[number], case.note_max, Durability::Durable).unwrap();
            }
            let mut tx = db.begin().unwrap();
            fill(&mut tx, case, 1_000).unwrap();
            tx.commit(Durability::Durable).unwrap();
        });
        all.extend((100..100 + commits).chain(1_000..1_000 + case.rows));
        then.with(case, |db| check(db, case, &all, &story));
    }
}

/// Few blocks and little memory: the transaction has many runs, and they are merged early.
const MERGED: Case = Case {
    page_size: 512,
    pages_per_block: 32,
    blocks: 64,
    ram: 8_000,
    rows: 0,
    note_max: 0,
    nvram: 0,
};

/// Insert rows until so many pages of runs were programmed. Returns the number of rows.
fn insert_until(
    tx: &mut Transaction<'_, '_, 'static, &mut Image>,
    from: i64,
    pages: u32,
) -> Result<i64, DbError> {
    let mut count = 0;
    let programs = |tx: &mut Transaction<'_, '_, 'static, &mut Image>| {
        let counts = tx.reading()?.stats().counts;
        Ok::<_, DbError>(counts.programs_for(Cause::Run) + counts.programs_for(Cause::Merge))
    };
    let end = programs(tx)? + pages;
    while programs(tx)? < end {
        row(from + count, 0).insert(tx)?;
        count += 1;
    }
    Ok(count)
}

/// A transaction is rolled back or committed behind each page of its runs and of their merges. The
/// committed runs beside them stay as they are, and so do the entries of rows that were in the tail
/// as it began.
#[test]
fn a_large_transaction_ends_in_the_middle_of_its_merges() {
    let (mut device, mut kept) = Device::begun(&MERGED);
    device.with(&MERGED, |db| {
        for batch in 0..3 {
            let ids: Vec<i64> = (100 + 100 * batch..200 + 100 * batch).collect();
            insert(db, &ids, 0, Durability::Durable).unwrap();
            kept.extend(ids);
        }
    });
    for (pages, is_committed) in (30..110).flat_map(|pages| [(pages, false), (pages, true)]) {
        let story = format!("{pages} pages of runs, committed: {is_committed}");
        let mut then = device.clone();
        let mut all = kept.clone();
        then.with(&MERGED, |db| {
            insert(db, &[600, 601], 0, Durability::Durable).unwrap();
            all.extend([600, 601]);
            let mut tx = db.begin().unwrap();
            let count = insert_until(&mut tx, 10_000, pages).unwrap();
            if is_committed {
                tx.commit(Durability::Durable).unwrap();
                all.extend(10_000..10_000 + count);
            } else {
                tx.roll_back().unwrap();
            }
            let more: Vec<i64> = (100_000..100_100).collect();
            for few in more.chunks(5) {
                insert(db, few, 0, Durability::Durable).unwrap();
            }
            all.extend(more);
            check(db, &MERGED, &all, &story);
        });
        then.with(&MERGED, |db| check(db, &MERGED, &all, &story));
    }
}

/// A transaction that is refused a row, as it has as many as it may, is committed with all others.
#[test]
fn a_transaction_that_is_too_long_is_committed_without_its_last_row() {
    let case = Case { page_size: 2048, pages_per_block: 64, blocks: 256, ram: 16_384, ..MERGED };
    let (mut device, kept) = Device::begun(&case);
    let mut count = 0;
    device.with(&case, |db| {
        let mut tx = db.begin().unwrap();
        let refused = loop {
            match row(10_000 + count, 0).insert(&mut tx) {
                Ok(()) => count += 1,
                Err(refused) => break refused,
            }
        };
        assert_eq!(refused, DbError::TransactionTooLong, "at row {count}");
        tx.commit(Durability::Durable).unwrap();
    });
    assert!(count > 100_000, "{count} rows");
    device.with(&case, |db| {
        let found = rows(db, Direction::Forward).unwrap();
        assert_eq!(found.len(), kept.len() + usize::try_from(count).unwrap());
        let mut out = [0; 256];
        for number in (0..count).step_by(997) {
            let key = [Value::Integer(10_000 + number)];
            assert!(db.get(0, 0, &key, &mut out).unwrap().is_some(), "row {number} of {count}");
        }
    });
}

/// A savepoint freed the blocks behind it. The rollback passed over their numbers again and wanted
/// a void span for each, more than the state holds: no transaction was begun any more.
#[test]
fn a_transaction_that_went_back_over_many_blocks_is_rolled_back() {
    let case = &CASES[1];
    let (mut device, mut kept) = Device::begun(case);
    device.with(case, |db| {
        for turn in 0..3 {
            let mut tx = db.begin().unwrap();
            (500..550 + turn).for_each(|id| row(id, case.note_max).insert(&mut tx).unwrap());
            let savepoint = tx.savepoint().unwrap();
            (1_000..1_000 + case.rows)
                .for_each(|id| row(id, case.note_max).insert(&mut tx).unwrap());
            tx.roll_back_to(savepoint).unwrap();
            (5_000..5_040).for_each(|id| row(id, case.note_max).insert(&mut tx).unwrap());
            if turn == 1 {
                tx.roll_back().unwrap();
            }
        }
        check(db, case, &kept, "all of it was rolled back");
        insert(db, &[900], case.note_max, Durability::Durable).unwrap();
    });
    kept.push(900);
    device.with(case, |db| check(db, case, &kept, "in the next session"));
}

/// Each way back leaves void pages, and the state names few stretches of them. A transaction with
/// too many is refused rows, and all that was before it stays; one with fewer is committed.
#[test]
fn a_transaction_goes_back_some_times() {
    let case = &CASES[1];
    for most in [40, 6, 8] {
        let story = format!("at most {most} ways back");
        let (mut device, mut kept) = Device::begun(case);
        device.with(case, |db| {
            let mut tx = db.begin().unwrap();
            let mut ways = 0;
            let end = loop {
                if ways == most {
                    break tx.commit(Durability::Durable);
                }
                if let Err(error) = go_and_go_back(&mut tx, case, 1_000 + ways * ROWS) {
                    break Err(error);
                }
                ways += 1;
            };
            match end {
                Ok(()) => kept.extend(1_000..1_000 + ways * ROWS),
                Err(error) => assert_eq!((error, ways > 8), (DbError::Full, true), "{story}"),
            }
            check(db, case, &kept, &story);
        });
        assert_eq!(kept.len() == 20, most == 40, "{story}");
        for number in 0..6 {
            device.with(case, |db| {
                check(db, case, &kept, &format!("{story}, life {number}"));
                insert(db, &[5_000 + number], case.note_max, Durability::Durable).unwrap();
            });
            kept.push(5_000 + number);
        }
    }
}

/// Rows that a transaction keeps, and as many that it takes back.
const ROWS: i64 = 16;

/// Insert some rows, and some more that are taken back.
fn go_and_go_back(
    tx: &mut Transaction<'_, '_, '_, &mut Image>,
    case: &Case,
    from: i64,
) -> Result<(), DbError> {
    (from..from + ROWS).try_for_each(|id| row(id, case.note_max).insert(tx))?;
    let savepoint = tx.savepoint()?;
    (from + ROWS..from + 2 * ROWS).try_for_each(|id| row(id, case.note_max).insert(tx))?;
    tx.roll_back_to(savepoint)?;
    tx.release(savepoint);
    Ok(())
}
