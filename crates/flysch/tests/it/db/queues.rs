//! Rows that leave their secondary keys: readers take back the entries that such rows leave behind.

use flysch::db::{Criterion, Db, DbError, Direction, Durability, Options};
use flysch::row::{Column, ColumnType, IndexKind, Schema, Table, Value};
use flysch_chip::Prng;

use super::image::Image;
use super::ledger::{self, Bounds, Ledger, bounds};
use super::world::{OPTIONS, index};

/// Jobs with their state, and the time at which they are due.
const JOBS: Schema<'static> = Schema {
    tables: &[Table {
        name: "job",
        columns: &[
            Column::required("id", ColumnType::Integer),
            Column::required("state", ColumnType::Integer),
            Column::nullable("due", ColumnType::Integer),
        ],
        indexes: &[
            index(&[0], IndexKind::Hash, true),
            index(&[1], IndexKind::Hash, false),
            index(&[2], IndexKind::Ordered, false),
        ],
        zone: None,
        keep: None,
    }],
};

const PENDING: i64 = 1;
const DONE: i64 = 2;

/// The jobs that are pending, by their state and by their time: only the newest one is. Returns the
/// reads of both lookups.
fn look(db: &mut Db<'_, '_, &mut Image>, newest: Option<i64>) -> u32 {
    let (before, mut row) = (db.stats().counts.reads, [0; 64]);
    let found = db.get(0, 1, &[PENDING.into()], &mut row).unwrap();
    let found = found.map(|row| row.column(0).unwrap());
    assert_eq!(found, newest.map(Value::Integer), "by state");
    let ends = (&Value::Integer(0), &Value::Integer(i64::MAX));
    let mut range = db.range(0, 2, ends, Direction::Forward).unwrap();
    let found = range.next(db, &mut row).unwrap().map(|row| row.column(0).unwrap());
    assert_eq!(found, newest.map(Value::Integer), "by time");
    db.stats().counts.reads - before
}

/// Jobs are looked for, done, and looked for again. Jobs that were done lay before those that were
/// not: after 5,000 of them a lookup took 948 reads.
#[test]
fn a_queue_reads_as_much_after_many_jobs_as_after_few() {
    // Jobs that are done between two looks, and most reads of a look.
    for (count, most_allowed) in [(1, 15), (20, 30), (100, 45)] {
        for deletes in [false, true] {
            let (mut image, mut ram) = (Image::of(2048, 32, 96), vec![0; 20_000]);
            let mut db = Db::create(&mut image, &JOBS, OPTIONS, &mut ram).unwrap();
            let mut most = 0;
            for id in 0..3_000 {
                let mut tx = db.begin().unwrap();
                tx.insert(0, &[id.into(), PENDING.into(), (id * 10).into()]).unwrap();
                tx.commit(Durability::Durable).unwrap();
                let is_seen = (id + 1) % count == 0;
                if is_seen {
                    most = most.max(look(&mut db, Some(id))).max(look(&mut db, Some(id)));
                }
                let mut tx = db.begin().unwrap();
                let was_there = if deletes {
                    tx.delete(0, &[id.into()])
                } else {
                    tx.update(0, &[id.into(), DONE.into(), Value::Null])
                };
                assert_eq!(was_there, Ok(true));
                tx.commit(Durability::Durable).unwrap();
                if is_seen {
                    most = most.max(look(&mut db, None));
                }
                assert!(
                    most <= most_allowed,
                    "{count} at a time, job {id}, {deletes}: {most} reads"
                );
            }
            println!("{count} jobs at a time, deletes: {deletes}: {most} reads at most");
        }
    }
}

/// The same jobs with a kind in place of a time: the next one is sought by its state and its kind.
const TYPED: Schema<'static> = Schema {
    tables: &[Table {
        indexes: &[
            index(&[0], IndexKind::Hash, true),
            index(&[1], IndexKind::Hash, false),
            index(&[2], IndexKind::Hash, false),
        ],
        ..JOBS.tables[0]
    }],
};

/// Jobs of which every twentieth is looked for. What is left are the reads of the index over kinds,
/// of which each has a third of all rows. With entries of jobs that were done it were 149 reads.
#[test]
fn jobs_that_were_done_are_met_once_by_criteria() {
    let (mut image, mut ram) = (Image::of(2048, 32, 96), vec![0; 20_000]);
    let mut db = Db::create(&mut image, &TYPED, OPTIONS, &mut ram).unwrap();
    let (mut row, mut most) = ([0; 64], 0);
    for id in 0..3_000 {
        let mut tx = db.begin().unwrap();
        tx.insert(0, &[id.into(), PENDING.into(), (id % 3).into()]).unwrap();
        tx.commit(Durability::Durable).unwrap();
        // The first look takes entries back, and the second one does not meet them.
        for look in 0..if id % 20 == 19 { 2 } else { 0 } {
            let before = db.stats().counts.reads;
            let (state, kind) = ([PENDING.into()], [(id % 3).into()]);
            let criteria = [Criterion::is(1, &state), Criterion::is(2, &kind)];
            let mut matches = db.matching(0, criteria).unwrap();
            let found = matches.next(&mut db, &mut row).unwrap().map(|row| row.column(0).unwrap());
            assert_eq!(found, Some(Value::Integer(id)));
            assert!(matches.next(&mut db, &mut row).unwrap().is_none(), "one is pending");
            let reads = db.stats().counts.reads - before;
            most = if look == 1 { most.max(reads) } else { most };
            assert!(most <= 30, "{reads} reads after {id} jobs");
        }
        let mut tx = db.begin().unwrap();
        assert_eq!(tx.update(0, &[id.into(), DONE.into(), (id % 3).into()]), Ok(true));
        tx.commit(Durability::Durable).unwrap();
    }
    println!("most reads of a second look: {most}");
}

struct Case {
    page_size: u32,
    block_count: u32,
    ram: usize,
    capacity: u32,
    bounds: Bounds,
    turns: u32,
}

const fn case(
    (page_size, block_count): (u32, u32),
    (ram, capacity): (usize, u32),
    bounds: Bounds,
    turns: u32,
) -> Case {
    Case { page_size, block_count, ram, capacity, bounds, turns }
}

/// A few keys whose codes meet, rows whose pages take numbers anew soon, and ordinary ones.
const CASES: [Case; 3] = [
    case((512, 64), (7500, 2), bounds(40, 40, 60), 200),
    case((1024, 24), (9000, 40), bounds(12, 60, 5000), 600),
    case((2048, 32), (12_000, 1000), bounds(100, 60, 90), 200),
];

/// All rows of each owner, by a cursor of an open transaction or of a snapshot. Criteria give the
/// same.
macro_rules! owners {
    ($reader:expr) => {{
        let (mut found, mut matched, mut out) = (Vec::new(), Vec::new(), vec![0; 1 << 14]);
        for owner in 0..ledger::GROUPS {
            let key = [Value::Integer(owner)];
            let mut matches = $reader.matching(0, [Criterion::is(1, &key)])?;
            while let Some(row) = matches.next(&mut $reader, &mut out)? {
                matched.push((owner, format!("{:?}", row.column(0)?)));
            }
            let mut find = $reader.find(0, 1, &key)?;
            while let Some(row) = find.next(&mut $reader, &mut out)? {
                found.push((owner, format!("{:?}", row.column(0)?)));
            }
        }
        (found.sort_unstable(), matched.sort_unstable());
        assert_eq!(found, matched, "lookups and criteria");
        found
    }};
}

/// Some changes in a transaction, which looks at all owners before and after them; whether it was
/// committed.
fn change(
    db: &mut Db<'_, 'static, &mut Image>,
    kept: &mut Ledger,
    prng: &mut Prng,
    bounds: Bounds,
) -> Result<bool, DbError> {
    let mut tx = db.begin()?;
    let _ = owners!(tx);
    for _ in 0..=prng.below(3) {
        kept.change(&mut tx, prng, bounds)?;
    }
    let _ = owners!(tx);
    if prng.below(3) == 0 {
        return tx.roll_back().map(|()| false);
    }
    tx.commit(Durability::Durable).map(|()| true)
}

/// Live through changes: some are rolled back after they were looked at, some are made beside a
/// snapshot, and the database is opened anew. Lookups give what is there, at each moment.
fn live(case: &Case, seed: u64) -> Result<(), DbError> {
    let (mut image, mut ram) = (Image::blank(case.page_size, case.block_count), vec![0; case.ram]);
    let options = Options { partition: None, seed, capacity: case.capacity };
    let mut db = Db::create(&mut image, &ledger::SCHEMA, options, &mut ram).unwrap();
    let (mut kept, mut prng) = (Ledger::default(), Prng::new(seed));
    for turn in 0..case.turns {
        let story = format!("seed {seed}, turn {turn}");
        let snapshot = if prng.below(8) == 0 { Some(db.snapshot()?) } else { None };
        let before = owners!(db);
        for _ in 0..=prng.below(3) {
            let mut after = kept.clone();
            match change(&mut db, &mut after, &mut prng, case.bounds) {
                Ok(true) => kept = after,
                Ok(false) | Err(DbError::Full) => {}
                Err(why) => return Err(why),
            }
        }
        kept.ask_groups(&mut db, &story)?;
        if let Some(snapshot) = snapshot {
            match db.at(&snapshot) {
                Ok(mut at) => assert_eq!(owners!(at), before, "{story}"),
                Err(why) => assert_eq!(why, DbError::Stale, "{story}"),
            }
            db.release(snapshot);
        }
        if prng.below(40) == 0 {
            db = Db::open(&mut image, &ledger::SCHEMA, options, &mut ram).unwrap();
            kept.ask_groups(&mut db, &story)?;
        }
    }
    kept.ask(&mut db, case.bounds, "in the end")
}

#[test]
fn lookups_give_what_is_there_while_entries_are_taken_back() {
    for (number, case) in CASES.iter().enumerate() {
        for seed in 0..3 {
            live(case, seed).unwrap_or_else(|why| panic!("case {number}, seed {seed}: {why}"));
        }
    }
}
