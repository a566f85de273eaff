//! Devices that are full, wear out evenly, or hold keys that look alike.

use flysch::db::{Budget, Db, DbError, Direction, Durability, Options};
use flysch::media::Cause;
use flysch::row::{Column, ColumnType, Index, IndexKind, Schema, Table, Value};
use flysch_chip::Prng;

use super::image::Image;
use crate::told;

const SCHEMA: Schema<'static> = Schema {
    tables: &[
        Table {
            name: "setting",
            columns: &[
                Column::required("name", ColumnType::Text),
                Column::required("value", ColumnType::Blob),
            ],
            indexes: &[Index { columns: &[0], kind: IndexKind::Ordered, is_unique: true }],
            zone: None,
            keep: None,
        },
        Table {
            name: "note",
            columns: &[
                Column::required("id", ColumnType::Integer),
                Column::required("text", ColumnType::Blob),
            ],
            indexes: &[Index { columns: &[0], kind: IndexKind::Hash, is_unique: true }],
            zone: None,
            keep: None,
        },
    ],
};
const OPTIONS: Options = Options { partition: None, seed: 3, capacity: 1000 };
const RAM: usize = 9000;

/// Insert notes until there is no room; give how many there are.
fn fill(db: &mut Db<'_, 'static, &mut Image>, from: i64) -> i64 {
    fill_by(db, from, &[7; 150], Durability::Durable)
}

fn fill_by(
    db: &mut Db<'_, 'static, &mut Image>,
    from: i64,
    text: &[u8],
    durability: Durability,
) -> i64 {
    let mut id = from;
    while add(db, id, text, durability) {
        id += 1;
    }
    id - from
}

/// Insert a note in a transaction of its own; false where there is no room.
fn add(db: &mut Db<'_, 'static, &mut Image>, id: i64, text: &[u8], durability: Durability) -> bool {
    let mut tx = db.begin().unwrap();
    match tx.insert(1, &[Value::Integer(id), Value::Blob(text)]) {
        Ok(()) => tx.commit(durability).unwrap(),
        Err(DbError::Full) => return false,
        Err(error) => panic!("{error:?}"),
    }
    true
}

/// Count the notes by a scan.
fn count(db: &mut Db<'_, 'static, &mut Image>) -> i64 {
    let (mut out, mut count) = ([0; 1024], 0);
    let mut scan = db.scan(1, Direction::Forward).unwrap();
    while scan.next(db, &mut out).unwrap().is_some() {
        count += 1;
    }
    count
}

/// Old runs are free only behind a record. Where a program commits lazily and never syncs, records
/// are written for that alone, and the device takes as many rows.
#[test]
fn lazy_commits_fill_a_device_no_sooner() {
    let taken = [Durability::Durable, Durability::Lazy].map(|durability| {
        let (mut image, mut ram) = (Image::blank(512, 128), vec![0; RAM]);
        let mut db = Db::create(&mut image, &SCHEMA, OPTIONS, &mut ram).unwrap();
        let taken = fill_by(&mut db, 0, &[7; 5], durability);
        assert_eq!(count(&mut db), taken, "{durability:?}");
        taken
    });
    println!("durable commits fill it with {} rows, lazy ones with {}", taken[0], taken[1]);
    assert!(taken[1] >= taken[0], "{taken:?}");
}

/// Where space is short, a lazy commit after which blocks can go is durable at once.
#[test]
fn lazy_commits_are_durable_where_blocks_go() {
    let (mut image, mut ram) = (Image::blank(512, 64), vec![0; RAM]);
    let mut db = Db::create(&mut image, &SCHEMA, OPTIONS, &mut ram).unwrap();
    let mut durable = 0;
    for id in 0.. {
        let before = db.stats().counts.programs_for(Cause::Log);
        if !add(&mut db, id, &[7; 5], Durability::Lazy) {
            break;
        }
        if db.stats().counts.programs_for(Cause::Log) == before {
            continue;
        }
        // The record may also be one of before the commit.
        let (mut copy, mut ram) = (Image::clone(db.nand()), vec![0; RAM]);
        let mut copy = Db::open(&mut copy, &SCHEMA, OPTIONS, &mut ram).unwrap();
        let mut out = [0; 64];
        durable += u32::from(copy.get(1, 0, &[Value::Integer(id)], &mut out).unwrap().is_some());
    }
    assert!(durable > 0, "no lazy commit had to be durable");
}

/// One transaction takes all the blocks that there are for rows, and is told so. What it did until
/// then can be taken back, and committed.
#[test]
fn a_transaction_that_fills_the_device_can_be_committed() {
    for blocks in [128, 256] {
        let (mut image, mut ram) = (Image::blank(512, blocks), vec![0; 20_000]);
        let text = [7; 900];
        let mut db = Db::create(&mut image, &SCHEMA, OPTIONS, &mut ram).unwrap();
        let mut there = 0;
        for turn in 0..3 {
            let mut tx = db.begin().unwrap();
            let refused = (0..).find_map(|id| {
                let row = [Value::Integer(id), Value::Blob(&text)];
                tx.insert(1, &row).err().map(|error| (id, error))
            });
            let Some((id, DbError::Full)) = refused else { panic!("{refused:?}") };
            assert!(id > i64::from(blocks) * 2, "two pages a row: {id} on {blocks} blocks");
            if turn < 2 {
                tx.roll_back().unwrap();
            } else {
                tx.commit(Durability::Durable).unwrap();
                there = id;
            }
            assert_eq!(count(&mut db), there, "turn {turn} on {blocks} blocks");
        }
        let mut db = Db::open(&mut image, &SCHEMA, OPTIONS, &mut ram).unwrap();
        assert_eq!(count(&mut db), there, "what was committed");
    }
}

/// Commits move rows as fast as one row after another needs space. A transaction of some blocks may
/// be refused then, where most of the device is dead rows; the next one finds space.
#[test]
fn a_transaction_that_was_refused_finds_space_the_next_time() {
    let (mut image, mut ram) = (Image::blank(512, 96), vec![0; RAM]);
    let mut db = Db::create(&mut image, &SCHEMA, OPTIONS, &mut ram).unwrap();
    let all = fill(&mut db, 0);
    for id in all / 3..all {
        let mut tx = db.begin().unwrap();
        assert_eq!(tx.delete(1, &[Value::Integer(id)]), Ok(true));
        tx.commit(Durability::Durable).unwrap();
    }
    let (mut prng, mut most) = (Prng::new(1), 0);
    for turn in 0..120 {
        for _ in 0..prng.below(40) {
            let id = prng.below(all.cast_unsigned() / 3).cast_signed();
            let mut tx = db.begin().unwrap();
            assert_eq!(tx.update(1, &[Value::Integer(id), Value::Blob(&[8; 150])]), Ok(true));
            tx.commit(Durability::Durable).unwrap();
        }
        // Two pages of the eight of a block.
        let long: Vec<i64> = (0..4 + turn % 24).map(|at| 1_000_000 + at).collect();
        let attempt = |db: &mut Db<'_, 'static, &mut Image>| {
            let mut tx = db.begin()?;
            for id in &long {
                tx.insert(1, &[Value::Integer(*id), Value::Blob(&[9; 900])])?;
            }
            tx.commit(Durability::Durable)
        };
        let attempts = (1..=6).find(|_| attempt(&mut db).is_ok());
        most = most.max(attempts.unwrap_or_else(|| panic!("{} rows, turn {turn}", long.len())));
        let mut tx = db.begin().unwrap();
        for id in &long {
            assert_eq!(tx.delete(1, &[Value::Integer(*id)]), Ok(true));
        }
        tx.commit(Durability::Durable).unwrap();
    }
    println!("{most} attempts at most");
    assert!(most > 1, "some were refused");
}

/// A full device deletes, and then takes as many rows as before, again and again.
#[test]
fn a_full_device_deletes_and_gets_its_space_back() {
    let mut image = Image::blank(1024, 48);
    let mut ram = vec![0; RAM];
    let mut db = Db::create(&mut image, &SCHEMA, OPTIONS, &mut ram).unwrap();
    let mut from = 0;
    let first = fill(&mut db, from);
    assert!(first > 500, "{first} notes fit");
    for turn in 0..8 {
        let there = count(&mut db);
        let mut gone = 0;
        let mut scan = db.scan(1, Direction::Forward).unwrap();
        let (mut out, mut ids) = ([0; 512], Vec::new());
        while let Some(row) = scan.next(&mut db, &mut out).unwrap() {
            let Value::Integer(id) = row.column(0).unwrap() else { panic!("an id is an integer") };
            ids.push(id);
        }
        for id in ids.into_iter().step_by(2) {
            let mut tx = db.begin().unwrap();
            assert!(tx.delete(1, &[Value::Integer(id)]).unwrap(), "note {id} is there");
            tx.commit(Durability::Durable).unwrap();
            gone += 1;
        }
        assert_eq!(count(&mut db), there - gone, "turn {turn}");
        while db.maintain(Budget { operations: 500 }).unwrap() {}
        from += 100_000;
        let more = fill(&mut db, from);
        assert!(more * 10 >= gone * 7, "turn {turn}: {gone} deleted, {more} inserted");
        assert_eq!(count(&mut db), there - gone + more, "turn {turn}");
    }
}

/// Keys of an ordered index that begin with the same eight bytes have one code. Such a row is
/// neither replaced nor deleted in the place of another.
#[test]
fn a_row_whose_key_looks_alike_is_left_alone() {
    let mut image = Image::blank(1024, 48);
    let mut ram = vec![0; RAM];
    let mut db = Db::create(&mut image, &SCHEMA, OPTIONS, &mut ram).unwrap();
    let mut tx = db.begin().unwrap();
    tx.insert(0, &[Value::Text("interval of days"), Value::Blob(b"7")]).unwrap();
    assert_eq!(tx.update(0, &[Value::Text("interval of hours"), Value::Blob(b"1")]), Ok(false));
    assert_eq!(tx.delete(0, &[Value::Text("interval of hours")]), Ok(false));
    assert_eq!(tx.update(0, &[Value::Text("interval of days"), Value::Blob(b"8")]), Ok(true));
    tx.commit(Durability::Durable).unwrap();
    let mut out = [0; 512];
    let mut has = |name| db.get(0, 0, &[Value::Text(name)], &mut out).unwrap().is_some();
    assert!(has("interval of days"));
    assert!(!has("interval of hours"), "the row of another key is not given for this one");
}

/// Null and the keys that have its code in an ordered index are told apart.
#[test]
fn null_is_found_as_null() {
    let columns =
        [Column::required("id", ColumnType::Integer), Column::nullable("x", ColumnType::Blob)];
    let indexes = [
        Index { columns: &[0], kind: IndexKind::Hash, is_unique: true },
        Index { columns: &[1], kind: IndexKind::Ordered, is_unique: false },
    ];
    let tables =
        [Table { name: "t", columns: &columns, indexes: &indexes, zone: None, keep: None }];
    let schema = Schema { tables: &tables };
    let (mut image, mut ram) = (Image::blank(1024, 48), vec![0; RAM]);
    let mut db = Db::create(&mut image, &schema, OPTIONS, &mut ram).unwrap();
    let mut tx = db.begin().unwrap();
    for (id, x) in [(1, Value::Null), (2, Value::Blob(&[0; 8])), (3, Value::Blob(&[0; 9]))] {
        tx.insert(0, &[Value::Integer(id), x]).unwrap();
    }
    tx.commit(Durability::Durable).unwrap();
    for (id, x) in [(1, Value::Null), (2, Value::Blob(&[0; 8])), (3, Value::Blob(&[0; 9]))] {
        let (mut out, mut found) = ([0; 64], Vec::new());
        let mut find = db.find(0, 1, &[x]).unwrap();
        while let Some(row) = find.next(&mut db, &mut out).unwrap() {
            found.push(row.column(0).unwrap() == Value::Integer(id));
        }
        assert_eq!(found, [true], "{x:?}");
    }
}

/// A scan that began before rows were moved says so. A lookup by key goes on.
#[test]
fn a_scan_says_that_rows_were_moved() {
    let mut image = Image::blank(1024, 48);
    let mut ram = vec![0; RAM];
    let mut db = Db::create(&mut image, &SCHEMA, OPTIONS, &mut ram).unwrap();
    let notes = fill(&mut db, 0);
    let mut prng = Prng::new(1);
    let mut scan = db.scan(1, Direction::Forward).unwrap();
    let (mut out, before) = ([0; 512], db.moved_pages());
    assert!(scan.next(&mut db, &mut out).unwrap().is_some());
    while db.moved_pages() == before {
        let id = Value::Integer(prng.below(notes.cast_unsigned()).cast_signed());
        let mut tx = db.begin().unwrap();
        tx.delete(1, &[id]).unwrap();
        tx.commit(Durability::Durable).unwrap();
        db.maintain(Budget { operations: 300 }).unwrap();
    }
    assert_eq!(scan.next(&mut db, &mut out).map(|row| row.is_some()), Err(DbError::Stale));
    assert!(count(&mut db) < notes);
}

/// Notes by number that a transaction inserts at a time, some blocks full.
const MANY: core::ops::Range<i64> = 1000..1100;

/// Transactions that fill blocks and are rolled back. Nothing of them stays, yet the head of new
/// rows goes on by their blocks, and came round to the oldest one. Between commits there may be
/// many of them: a row was refused then on a device half empty.
#[test]
fn what_is_rolled_back_takes_no_numbers_for_good() {
    let (mut image, mut ram) = (Image::of(512, 8, 40), vec![0; RAM]);
    let mut db = Db::create(&mut image, &SCHEMA, OPTIONS, &mut ram).unwrap();
    let mut taken = 0;
    for _ in 0..20 {
        taken += fill_some(&mut db, taken, 1);
        for _ in 0..24 {
            let mut tx = db.begin().unwrap();
            for id in MANY.take(30) {
                tx.insert(1, &[Value::Integer(id), Value::Blob(&[7; 150])]).unwrap();
            }
            tx.roll_back().unwrap();
        }
    }
    let mut db = Db::open(&mut image, &SCHEMA, OPTIONS, &mut ram).unwrap();
    assert_eq!(count(&mut db), taken);
}

/// The same within one transaction, by a savepoint. Nothing can be moved in it, so rows are refused
/// at some time, as a record can name only so many blocks. Then it can still be committed.
#[test]
fn a_transaction_is_refused_rows_before_numbers_run_out() {
    let (mut image, mut ram) = (Image::of(512, 8, 40), vec![0; RAM]);
    let mut db = Db::create(&mut image, &SCHEMA, OPTIONS, &mut ram).unwrap();
    let taken = fill_some(&mut db, 0, 30);
    let mut tx = db.begin().unwrap();
    tx.insert(1, &[Value::Integer(500), Value::Blob(&[7; 150])]).unwrap();
    let mut refused = None;
    let savepoint = tx.savepoint().unwrap();
    for round in 0..100 {
        let mut inserted =
            MANY.map(|id| tx.insert(1, &[Value::Integer(id), Value::Blob(&[7; 150])]));
        refused = inserted.find_map(Result::err).map(|error| (round, error));
        tx.roll_back_to(savepoint).unwrap();
        if refused.is_some() {
            break;
        }
    }
    tx.commit(Durability::Durable).unwrap();
    let mut db = Db::open(&mut image, &SCHEMA, OPTIONS, &mut ram).unwrap();
    assert_eq!(count(&mut db), taken + 1);
    let is_by_name = |error| matches!(error, DbError::Full | DbError::TransactionTooLong);
    assert!(refused.is_some_and(|(round, error)| round > 0 && is_by_name(error)), "{refused:?}");
}

/// Insert so many notes, each by a commit of its own.
fn fill_some(db: &mut Db<'_, 'static, &mut Image>, from: i64, count: i64) -> i64 {
    for id in from..from + count {
        let mut tx = db.begin().unwrap();
        tx.insert(1, &[Value::Integer(id), Value::Blob(&[7; 150])]).unwrap();
        tx.commit(Durability::Durable).unwrap();
    }
    count
}

/// Transactions of many rows replace rows of a device of which more than half is in use, at any
/// place. None is refused a row: what is dead is freed in time. Nor are rows moved once enough
/// blocks are free: fewer pages of them are than the transactions fill.
#[test]
fn rows_are_replaced_by_large_transactions_for_ever() {
    for (batch, turns) in [(64, 250), (100, 150)] {
        replace_rows(batch, turns);
    }
}

fn replace_rows(batch: usize, turns: u32) {
    let (mut image, mut ram) = (Image::of(2048, 16, 96), vec![0; 16_384]);
    let options = Options { capacity: 14_400, ..OPTIONS };
    let mut db = Db::create(&mut image, &SCHEMA, options, &mut ram).unwrap();
    let note = |id: i64| [Value::Integer(id), Value::Blob(&[7; 90])];
    let ids: Vec<i64> = (0..options.capacity.into()).collect();
    for some in ids.chunks(64) {
        let mut tx = db.begin().unwrap();
        for id in some {
            tx.insert(1, &note(*id)).unwrap();
        }
        tx.commit(Durability::Durable).unwrap();
    }
    let in_use = db.stats().blocks - db.stats().free_blocks;
    assert!(in_use > db.stats().blocks / 2, "{in_use} blocks are in use");
    let mut prng = Prng::new(5);
    let pages = |db: &Db<'_, '_, &mut Image>| db.stats().counts.programs_for(Cause::Rows);
    let (filled, moved) = (pages(&db), db.moved_pages());
    for turn in 0..turns {
        let mut tx = db.begin().unwrap();
        for _ in 0..batch {
            let id = prng.below(options.capacity.into());
            assert_eq!(tx.update(1, &note(id.cast_signed())), Ok(true), "transaction {turn}");
        }
        tx.commit(Durability::Durable).unwrap();
    }
    let moved = db.moved_pages() - moved;
    let filled = pages(&db) - filled - moved;
    assert!(moved < filled, "{moved} pages were moved for {filled} of {turns} transactions");
    assert!(db.stats().erases > 2 * db.stats().blocks, "{:?}", db.stats());
    assert_eq!(count(&mut db), i64::from(options.capacity));
}

/// Transactions of a few rows replace rows that fill a fifth of a small device. Every eighth row is
/// short. None is refused: a transaction begins with blocks for all its rows, of whatever length.
#[test]
fn rows_of_all_lengths_are_replaced_by_small_transactions() {
    let first = told("FLYSCH_SEED").unwrap_or(0);
    for seed in first..first + told("FLYSCH_HISTORIES").unwrap_or(12) {
        let (mut image, mut ram) = (Image::of(512, 8, 30), [0; 6000]);
        let mut db = Db::create(&mut image, &SCHEMA, OPTIONS, &mut ram).unwrap();
        let mut prng = Prng::new(seed);
        for turn in 0..2500 {
            let mut tx = db.begin().unwrap();
            for _ in 0..=prng.below(5) {
                let len = if prng.below(8) == 0 { 9 } else { 40 };
                let id = Value::Integer(prng.below(500).cast_signed());
                let done = tx.upsert(1, &[id, Value::Blob(&[7; 40][..len])]);
                assert!(done.is_ok(), "transaction {turn} of seed {seed}: {done:?}");
            }
            tx.commit(Durability::Lazy).unwrap();
        }
    }
}
