//! Lists of keys: the rows that lookups one by one give, for fewer reads; and lookups of keys that
//! were looked up shortly before.

use std::collections::BTreeMap;

use flysch::db::{Budget, Db, DbError, Direction, Durability, KeyList, ListedKey, Reader};
use flysch::row::{Column, ColumnType, Index, IndexKind, Schema, Table, Value};
use flysch_chip::Prng;

use super::image::Image;
use super::world::OPTIONS;

const RAM: usize = 10_000;

const fn unique(columns: &[u8], kind: IndexKind) -> Index<'_> {
    Index { columns, kind, is_unique: true }
}

const COLUMNS: [Column<'static>; 4] = [
    Column::required("order", ColumnType::Integer),
    Column::required("number", ColumnType::Integer),
    Column::required("label", ColumnType::Text),
    Column::required("count", ColumnType::Integer),
];

const fn lines<'s>(indexes: &'s [Index<'s>]) -> Table<'s> {
    Table { name: "line", columns: &COLUMNS, indexes, zone: None, keep: None }
}

const BY_NUMBER: Index<'static> = unique(&[0, 1], IndexKind::Ordered);

/// Lines of orders, by a key of two columns; each with a label that no other has. The labels of
/// two lines begin alike.
const LABELLED: Schema<'static> =
    Schema { tables: &[lines(&[BY_NUMBER, unique(&[2], IndexKind::Ordered)])] };

/// Lines of orders, and items.
const SCHEMA: Schema<'static> = Schema {
    tables: &[
        lines(&[BY_NUMBER]),
        Table {
            name: "item",
            columns: &[
                Column::required("id", ColumnType::Integer),
                Column::required("text", ColumnType::Blob),
            ],
            indexes: &[unique(&[0], IndexKind::Hash)],
            zone: None,
            keep: None,
        },
    ],
};

type Open<'d> = Db<'d, 'static, &'d mut Image>;
/// Lines by order and number: version of the label, and count.
type Lines = BTreeMap<(i64, i64), (i64, i64)>;

fn label((order, number): (i64, i64), version: i64) -> String {
    format!("{order:03} {:02} label {number} {version}", number / 2)
}

fn values((order, number): (i64, i64), label: &str, count: i64) -> [Value<'_>; 4] {
    [Value::Integer(order), Value::Integer(number), Value::Text(label), Value::Integer(count)]
}

/// Change some lines, in a transaction that is rolled back now and then.
fn change(db: &mut Open<'_>, lines: &mut Lines, prng: &mut Prng) -> Result<(), DbError> {
    let (mut after, mut tx) = (lines.clone(), db.begin()?);
    for _ in 0..=prng.below(6) {
        let key = (prng.below(60).cast_signed(), prng.below(5).cast_signed());
        let (version, count) = (prng.below(3).cast_signed(), prng.below(1_000).cast_signed());
        if prng.below(4) == 0 {
            let was_there = tx.delete(0, &[Value::Integer(key.0), Value::Integer(key.1)])?;
            assert_eq!(was_there, after.remove(&key).is_some(), "line {key:?}");
        } else {
            let was_there = tx.upsert(0, &values(key, &label(key, version), count))?;
            assert_eq!(was_there, after.insert(key, (version, count)).is_some(), "line {key:?}");
        }
    }
    if prng.below(8) == 0 {
        return tx.roll_back();
    }
    *lines = after;
    tx.commit(if prng.below(2) == 0 { Durability::Lazy } else { Durability::Durable })
}

/// The lines of a list, each with the number of its key. It is pulled to its end.
fn pull<'ram, N: flysch_nand::Nand>(
    list: &mut KeyList<'_>,
    reader: &mut impl Reader<'ram, 'static, N>,
) -> Result<BTreeMap<u16, i64>, DbError> {
    let (mut out, mut all) = ([0; 128], BTreeMap::new());
    while let Some((number, row)) = list.next(reader, &mut out)? {
        let Value::Integer(count) = row.column(3)? else { panic!("a count is an integer") };
        assert!(all.insert(number, count).is_none(), "key {number} has one row");
    }
    Ok(all)
}

/// Ask for drawn keys by either index, as a reader sees them.
fn ask<'ram, N: flysch_nand::Nand>(
    reader: &mut impl Reader<'ram, 'static, N>,
    lines: &Lines,
    prng: &mut Prng,
) -> Result<(), DbError> {
    let by_label = prng.below(2) == 0;
    let mut slots = [ListedKey::default(); 40];
    let mut list = reader.reading()?.list(0, u8::from(by_label), &mut slots)?;
    let mut wanted = BTreeMap::new();
    for number in 0..prng.below(41) as u16 {
        let key = (prng.below(64).cast_signed(), prng.below(5).cast_signed());
        let version = prng.below(3).cast_signed();
        let label = label(key, version);
        let db = reader.reading()?;
        let is_put = if by_label {
            list.put(db, &[Value::Text(&label)])?
        } else {
            list.put(db, &[Value::Integer(key.0), Value::Integer(key.1)])?
        };
        assert!(is_put, "there is a place for each");
        let row = lines.get(&key).filter(|(now, _)| !by_label || *now == version);
        wanted.extend(row.map(|&(_, count)| (number, count)));
    }
    assert_eq!(pull(&mut list, reader)?, wanted, "by label: {by_label}");
    Ok(())
}

/// Whatever happened to rows, and whoever reads: a list gives what an ordered map has.
#[test]
fn lists_give_the_rows_of_their_keys() {
    for (seed, page_size) in [(1, 512), (2, 2048), (3, 512), (4, 4096)] {
        let mut image = Image::blank(page_size, 64);
        let (mut ram, mut prng) = (vec![0; RAM + page_size as usize * 4], Prng::new(seed));
        let mut db = Db::create(&mut image, &LABELLED, OPTIONS, &mut ram).unwrap();
        let (mut lines, mut past) = (Lines::new(), None);
        for step in 0..600 {
            change(&mut db, &mut lines, &mut prng).unwrap();
            ask(&mut db, &lines, &mut prng).unwrap();
            if step % 50 == 20 {
                past = Some((db.snapshot().unwrap(), lines.clone()));
            } else if let Some((snapshot, kept)) = &past {
                let mut at = db.at(snapshot).unwrap();
                ask(&mut at, kept, &mut prng).unwrap();
                drop(at);
                if step % 50 == 40 {
                    past.take().into_iter().for_each(|(snapshot, _)| db.release(snapshot));
                }
            }
            if step % 9 == 0 {
                db.maintain(Budget { operations: 60 }).unwrap();
            }
        }
        let mut tx = db.begin().unwrap();
        tx.upsert(0, &values((1, 1), "its own", 77)).unwrap();
        lines.insert((1, 1), (9, 77));
        (0..20).for_each(|_| ask(&mut tx, &lines, &mut prng).unwrap());
    }
}

/// A list goes on while rows change, and gives a row that did not fit with more memory. Its places
/// are as many as the caller gave.
#[test]
fn a_list_goes_on_while_rows_change() {
    let mut image = Image::blank(512, 64);
    let mut ram = vec![0; RAM];
    let mut db = Db::create(&mut image, &SCHEMA, OPTIONS, &mut ram).unwrap();
    let put = |db: &mut Open<'_>, key, count| {
        let mut tx = db.begin().unwrap();
        tx.upsert(0, &values(key, &label(key, 0), count)).unwrap();
        tx.commit(Durability::Durable).unwrap();
    };
    (0..40).for_each(|order| put(&mut db, (order, 0), order));
    let mut slots = [ListedKey::default(); 40];
    let mut list = db.list(0, 0, &mut slots).unwrap();
    for order in 0..40 {
        assert_eq!(list.put(&db, &[Value::Integer(order), Value::Integer(0)]), Ok(true));
    }
    assert_eq!(list.put(&db, &[Value::Integer(50), Value::Integer(0)]), Ok(false), "it is full");
    let (mut out, mut numbers, mut prng) = ([0; 128], Vec::new(), Prng::new(7));
    let mut counts: Vec<i64> = (0..40).collect();
    loop {
        let short = list.next(&mut db, &mut [0; 1]).map(|found| found.map(|(number, _)| number));
        assert!(matches!(short, Err(DbError::RowTooLong { .. }) | Ok(None)), "{short:?}");
        let Some((number, row)) = list.next(&mut db, &mut out).unwrap() else { break };
        let count = counts[usize::from(number)];
        assert_eq!(row.column(3), Ok(Value::Integer(count)), "key {number} has its newest row");
        numbers.push(number);
        for _ in 0..30 {
            let order = prng.below(40) as usize;
            counts[order] += 100;
            put(&mut db, (i64::try_from(order).unwrap(), 0), counts[order]);
        }
    }
    numbers.sort_unstable();
    assert!(numbers.into_iter().eq(0..40), "each key has its turn once");
    assert_eq!(db.list(1, 1, &mut slots).map(drop), Err(DbError::Unknown));
    let mut list = db.list(1, 0, &mut slots).unwrap();
    assert!(list.put(&db, &[Value::Text("no id")]).is_err(), "a key has the types of its index");
    assert!(list.next(&mut db, &mut out).unwrap().is_none());
}

/// A database of 3,000 items of 60 bytes and 300 orders of 8 lines, and the reads of a call on it.
fn filled<T>(measured: impl FnOnce(&mut Open<'_>) -> T) -> (T, u64) {
    let mut image = Image::blank(2048, 128);
    let mut ram = vec![0; 14_000];
    let mut db = Db::create(&mut image, &SCHEMA, OPTIONS, &mut ram).unwrap();
    for from in (0..3_000).step_by(50) {
        let mut tx = db.begin().unwrap();
        for id in from..from + 50 {
            tx.insert(1, &[Value::Integer(id), Value::Blob(&[7; 60])]).unwrap();
        }
        tx.commit(Durability::Durable).unwrap();
    }
    for order in 0..300 {
        let mut tx = db.begin().unwrap();
        for number in 0..8 {
            let key = (order, number);
            tx.insert(0, &values(key, &label(key, 0), 1)).unwrap();
        }
        tx.commit(Durability::Durable).unwrap();
    }
    let before = db.nand().reads;
    let done = measured(&mut db);
    (done, db.nand().reads - before)
}

/// Keys that are looked up together read each cell of the index and each page of rows once.
#[test]
fn a_list_reads_less_than_lookups_one_by_one() {
    let ids = || (0..400).map(|number| number * 1_237 % 3_000);
    let mut out = [0; 128];
    let ((), singly) = filled(|db| {
        ids().for_each(|id| assert!(db.get(1, 0, &[Value::Integer(id)], &mut out).is_ok()));
    });
    let (found, together) = filled(|db| {
        let mut slots = [ListedKey::default(); 400];
        let mut list = db.list(1, 0, &mut slots).unwrap();
        ids().for_each(|id| assert_eq!(list.put(db, &[Value::Integer(id)]), Ok(true)));
        let mut found = 0;
        while list.next(db, &mut out).unwrap().is_some() {
            found += 1;
        }
        found
    });
    assert_eq!(found, 400);
    assert!(singly >= 400 * 2, "a row and its entry: {singly}");
    assert!(together * 3 < singly, "{together} reads for 400 keys, {singly} one by one");
}

/// Rows that a range gave are replaced and deleted without another lookup. Keys that were deleted
/// cost later ranges no read of a row.
#[test]
fn rows_of_a_range_are_changed_without_a_lookup() {
    let prefix = |db: &mut Open<'_>, order: i64, out: &mut [u8]| {
        let mut range = db.prefix(0, 0, &[Value::Integer(order)], Direction::Forward).unwrap();
        let mut found = 0;
        while range.next(db, out).unwrap().is_some() {
            found += 1;
        }
        found
    };
    let mut out = [0; 128];
    let (rows, ranges) =
        filled(|db| (0..100).map(|order| prefix(db, order, &mut out)).sum::<u32>());
    assert_eq!(rows, 800);
    let ((), changed) = filled(|db| {
        for order in 0..100 {
            assert_eq!(prefix(db, order, &mut out), 8);
            let mut tx = db.begin().unwrap();
            for number in 0..8 {
                let key = (order, number);
                if number < 6 {
                    assert_eq!(tx.update(0, &values(key, &label(key, 0), 2)), Ok(true));
                } else {
                    let key = [Value::Integer(order), Value::Integer(number)];
                    assert_eq!(tx.delete(0, &key), Ok(true));
                }
            }
            tx.commit(Durability::Durable).unwrap();
        }
    });
    assert!(changed < ranges + 800, "{changed} reads, {ranges} of them of the ranges");
    let ((), deleted) = filled(|db| {
        for order in 0..100 {
            let mut tx = db.begin().unwrap();
            for number in 0..8 {
                let key = [Value::Integer(order), Value::Integer(number)];
                assert_eq!(tx.delete(0, &key), Ok(true));
            }
            tx.commit(Durability::Durable).unwrap();
        }
        let before = db.nand().reads;
        assert_eq!(prefix(db, 100, &mut out), 8);
        let one = db.nand().reads - before;
        let all = [Value::Integer(0)];
        let ends = (&all[..], &[Value::Integer(100)][..]);
        let mut range = db.range_of(0, 0, ends, Direction::Forward).unwrap();
        let row = range.next(db, &mut out).unwrap().unwrap();
        assert_eq!(row.column(0), Ok(Value::Integer(100)), "the first that is left");
        let passed = db.nand().reads - before - one;
        assert!(passed < 65, "{passed} reads to pass 800 keys that are gone");
    });
    assert!(deleted > 0);
}

/// A range that stands on a cell to which its row came again says nothing of later versions.
#[test]
fn a_range_that_is_overtaken_leads_no_lookup_astray() {
    let mut image = Image::blank(2048, 64);
    let mut ram = vec![0; 14_000];
    let mut db = Db::create(&mut image, &SCHEMA, OPTIONS, &mut ram).unwrap();
    let put = |db: &mut Open<'_>, key, count, label: &str| {
        let mut tx = db.begin().unwrap();
        tx.upsert(0, &values(key, label, count)).unwrap();
        tx.commit(Durability::Lazy).unwrap();
    };
    put(&mut db, (1, 1), 1, "first");
    let mut range = db.prefix(0, 0, &[Value::Integer(1)], Direction::Forward).unwrap();
    let mut out = [0; 800];
    assert!(range.next(&mut db, &mut out).unwrap().is_some());
    put(&mut db, (1, 1), 2, "in the same cell");
    put(&mut db, (2, 1), 1, &"it fills the cell ".repeat(35));
    put(&mut db, (1, 1), 3, "in another cell");
    range.next(&mut db, &mut out).unwrap();
    let key = [Value::Integer(1), Value::Integer(1)];
    let row = db.get(0, 0, &key, &mut out).unwrap().unwrap();
    assert_eq!(row.column(3), Ok(Value::Integer(3)), "the newest version");
}
