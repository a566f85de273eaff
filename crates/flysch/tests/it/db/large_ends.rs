//! When a large transaction begins and ends: at each page of the log block, and in the middle of
//! the merges of its own runs.

use flysch::db::Durability;

use super::large::{CASES, Case, Device, check, fill};
use super::world::insert;

/// The part of the block table that lies ahead of a log block is programmed before the block is
/// begun. Where a transaction outgrows its log block then, that part is older than its blocks.
#[test]
fn a_large_transaction_begins_at_any_page_of_its_log_block() {
    let case = &CASES[1];
    let (mut device, mut kept) = Device::begun(case);
    for turn in 0..2 * case.pages_per_block {
        let story = format!("{case:?}, after {turn} commits more");
        let mut then = device.clone();
        then.with(case, |db| {
            let mut tx = db.begin().unwrap();
            fill(&mut tx, case, 1_000).unwrap();
            tx.commit(Durability::Durable).unwrap();
        });
        let mut all = kept.clone();
        all.extend(1_000..1_000 + case.rows);
        then.with(case, |db| check(db, case, &all, &story));
        let next = 100 + i64::from(turn);
        device.with(case, |db| insert(db, &[next], case.note_max, Durability::Durable).unwrap());
        kept.push(next);
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

/// A transaction is rolled back or committed in the middle of a merge of its runs. The committed
/// runs beside it stay as they are, and so do the entries of rows that were in the tail as it
/// began.
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
    for turn in 0..60 {
        let case = Case { rows: 400 + 37 * turn, ..MERGED };
        let is_committed = turn % 2 == 0;
        let story = format!("{} rows, committed: {is_committed}", case.rows);
        let mut then = device.clone();
        let mut all = kept.clone();
        then.with(&case, |db| {
            insert(db, &[600, 601], 0, Durability::Durable).unwrap();
            all.extend([600, 601]);
            let mut tx = db.begin().unwrap();
            fill(&mut tx, &case, 10_000).unwrap();
            if is_committed {
                tx.commit(Durability::Durable).unwrap();
                all.extend(10_000..10_000 + case.rows);
            } else {
                tx.roll_back().unwrap();
            }
            check(db, &case, &all, &story);
            let more: Vec<i64> = (100_000..100_100).collect();
            for few in more.chunks(5) {
                insert(db, few, 0, Durability::Durable).unwrap();
            }
            all.extend(more);
            check(db, &case, &all, &story);
        });
        then.with(&case, |db| check(db, &case, &all, &story));
    }
}
