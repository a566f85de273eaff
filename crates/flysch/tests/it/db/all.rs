//! All rows of a table by its primary key, beside many that are dead or of other tables.

use std::collections::BTreeMap;

use flysch::db::{Db, DbError, Direction, Durability, KeyRange, Options, Reader};
use flysch::query::Cursor;
use flysch::row::{Column, ColumnType, IndexKind, Schema, Table, Value};
use flysch_chip::Prng;

use super::image::Image;
use super::world::{OPTIONS, id_of, index};

/// Settings with a hash of their numbers, readings in their order, and notes without a key.
const SCHEMA: Schema<'static> = Schema {
    tables: &[
        Table {
            name: "setting",
            columns: &[
                Column::required("id", ColumnType::Integer),
                Column::required("value", ColumnType::Integer),
                Column::nullable("text", ColumnType::Text),
            ],
            indexes: &[index(&[0], IndexKind::Hash, true)],
            zone: None,
            keep: None,
        },
        Table {
            name: "reading",
            columns: &[
                Column::required("at", ColumnType::Integer),
                Column::required("text", ColumnType::Text),
            ],
            indexes: &[index(&[0], IndexKind::Ordered, true)],
            zone: None,
            keep: None,
        },
        Table {
            name: "note",
            columns: &[Column::required("text", ColumnType::Text)],
            indexes: &[],
            zone: None,
            keep: None,
        },
    ],
};

/// Rows that are long enough to lie on many pages.
const TEXT: Value<'static> =
    Value::Text("it is kept until the lamp that it belongs to is taken down, and not any longer");

type Store<'a> = Db<'a, 'static, &'a mut Image>;

fn set(db: &mut Store<'_>, id: i64, value: i64) {
    let mut tx = db.begin().unwrap();
    tx.upsert(0, &[id.into(), value.into(), TEXT]).unwrap();
    tx.commit(Durability::Durable).unwrap();
}

/// Numbers of the rows that are left, and the reads for them.
fn pull<'d>(
    reader: &mut impl Reader<'d, 'static, &'d mut Image>,
    mut cursor: impl Cursor,
) -> (Vec<i64>, u32) {
    let (before, mut out, mut found) = (reads(reader), [0; 128], Vec::new());
    while let Some(row) = cursor.next(reader, &mut out).unwrap() {
        found.push(id_of(&row));
    }
    (found, reads(reader) - before)
}

fn reads<'d>(reader: &mut impl Reader<'d, 'static, &'d mut Image>) -> u32 {
    reader.reading().unwrap().stats().counts.reads
}

/// Readings come and go, and settings are set among them. A scan of the 20 settings reads all pages
/// that were written since blocks were last freed: 846 reads after 5,000 readings, and more and
/// more; by the key it were 27 at most.
#[test]
fn all_rows_of_a_table_cost_as_much_among_many_dead_ones_as_among_few() {
    let (mut image, mut ram) = (Image::of(2048, 64, 128), vec![0; 20_000]);
    let mut db = Db::create(&mut image, &SCHEMA, OPTIONS, &mut ram).unwrap();
    (0..20).for_each(|id| set(&mut db, id, 0));
    let mut most = [0; 2];
    for at in 0..5_000 {
        let mut tx = db.begin().unwrap();
        tx.insert(1, &[at.into(), Value::Text("some twenty centimetres below the ground")])
            .unwrap();
        assert_eq!(tx.delete(1, &[(at - 100).into()]), Ok(at >= 100));
        tx.commit(Durability::Durable).unwrap();
        if at % 20 == 19 {
            set(&mut db, at % 400 / 20, at);
        }
        if at % 200 == 199 {
            let all = db.all(0).unwrap();
            let (mut settings, reads) = pull(&mut db, all);
            settings.sort_unstable();
            assert!(settings.into_iter().eq(0..20), "each setting once");
            let snapshot = db.snapshot().unwrap();
            let mut past = db.at(&snapshot).unwrap();
            let all = past.all(0).unwrap();
            let (_, past_reads) = pull(&mut past, all);
            drop(past);
            db.release(snapshot);
            assert!(past_reads <= reads, "{past_reads} at a snapshot, and {reads} of the present");
            let all = db.all(1).unwrap();
            let (readings, more_reads) = pull(&mut db, all);
            assert!(readings.into_iter().eq(at - 99..=at), "readings in their order");
            most = [most[0].max(reads), most[1].max(more_reads)];
        }
    }
    let scan = db.scan(0, Direction::Forward).unwrap();
    let (_, scanned) = pull(&mut db, scan);
    println!("most reads of 20 settings and of 100 readings: {most:?}; of a scan: {scanned}");
    assert!(most[0] <= 60 && most[1] <= 100, "{most:?} reads");
    assert!(matches!(db.all(2), Err(DbError::Keyless)), "notes have no key");
}

/// Rows of which half are set again and again: enough to have others moved.
const ROWS: i64 = 1_000;

/// Rows that stay as they are come once, while others are set and moved; or the cursor says that it
/// has lost its place, which it does only where keys share a hash.
#[test]
fn rows_that_stay_come_once_while_others_change() {
    for (capacity, may_lose) in [(100_000, false), (2, true)] {
        let (mut image, mut ram) = (Image::of(1024, 8, 48), vec![0; 12_000]);
        let options = Options { capacity, ..OPTIONS };
        let mut db = Db::create(&mut image, &SCHEMA, options, &mut ram).unwrap();
        let (mut prng, mut out, mut lost, mut moved) = (Prng::new(7), [0; 128], 0, 0);
        (0..ROWS).for_each(|id| set(&mut db, id, 0));
        for turn in 0..12 {
            let mut all: KeyRange = db.all(0).unwrap();
            let mut came = BTreeMap::<i64, u32>::new();
            let before = db.moved_pages();
            let stale = loop {
                match all.next(&mut db, &mut out) {
                    Ok(Some(row)) => *came.entry(id_of(&row)).or_default() += 1,
                    Ok(None) => break false,
                    Err(why) => {
                        assert_eq!(why, DbError::Stale);
                        break true;
                    }
                }
                // Those of even numbers stay.
                for _ in 0..3 {
                    set(&mut db, prng.below(ROWS.cast_unsigned() / 2).cast_signed() * 2 + 1, turn);
                }
            };
            lost += u32::from(stale);
            moved += u32::from(db.moved_pages() > before);
            let is_once = |id| came.get(&id) == Some(&1);
            assert!(stale || (0..ROWS).step_by(2).all(is_once), "{came:?}, turn {turn}");
        }
        println!("capacity {capacity}: {moved} of 12 among moves, {lost} lost their place");
        assert!(moved >= 6, "compaction moves rows");
        assert!(may_lose || lost == 0, "each hash has one row");
    }
}

/// A transaction sees its own rows, and a snapshot those of its time.
#[test]
fn each_reader_sees_its_rows() {
    for capacity in [100_000, 2] {
        let (mut image, mut ram) = (Image::of(1024, 8, 48), vec![0; 12_000]);
        let options = Options { capacity, ..OPTIONS };
        let mut db = Db::create(&mut image, &SCHEMA, options, &mut ram).unwrap();
        (0..60).for_each(|id| set(&mut db, id, 0));
        let snapshot = db.snapshot().unwrap();
        let mut tx = db.begin().unwrap();
        for id in 0..40 {
            tx.upsert(0, &[(id * 2).into(), 1.into(), TEXT]).unwrap();
        }
        for id in (0..80).step_by(3) {
            assert_eq!(tx.delete(0, &[id.into()]), Ok(id < 60 || id % 2 == 0), "{id}");
        }
        let now = values(&mut tx);
        let wanted = (0..60).map(|id| (id, i64::from(id % 2 == 0)));
        let wanted = wanted.chain((60..80).step_by(2).map(|id| (id, 1)));
        let wanted: BTreeMap<i64, i64> = wanted.filter(|(id, _)| id % 3 != 0).collect();
        assert_eq!(now, wanted, "capacity {capacity}");
        tx.commit(Durability::Durable).unwrap();
        assert_eq!(values(&mut db), wanted, "capacity {capacity}");
        let then = values(&mut db.at(&snapshot).unwrap());
        assert!(then.into_iter().eq((0..60).map(|id| (id, 0))), "capacity {capacity}");
        db.release(snapshot);
    }
}

/// The row that was given last is set, and hides none that has the same hash.
#[test]
fn a_row_that_was_given_may_be_set() {
    let (mut image, mut ram) = (Image::of(1024, 8, 48), vec![0; 12_000]);
    let options = Options { capacity: 2, ..OPTIONS };
    let mut db = Db::create(&mut image, &SCHEMA, options, &mut ram).unwrap();
    (0..60).for_each(|id| set(&mut db, id, 0));
    for place in 0..60 {
        let (mut all, mut out, mut last) = (db.all(0).unwrap(), [0; 128], None);
        for _ in 0..=place {
            last = all.next(&mut db, &mut out).unwrap().map(|row| id_of(&row));
        }
        set(&mut db, last.unwrap(), 1);
        assert!(values(&mut db).into_keys().eq(0..60), "after place {place}");
    }
}

/// Settings of one hash lie in one cell, and some of them were set since. A walk that noted this
/// cell as that of the hash would have a lookup find the row that was replaced.
#[test]
fn a_walk_hides_no_newer_row_of_the_same_hash() {
    let (mut image, mut ram) = (Image::of(2048, 8, 48), vec![0; 12_000]);
    let options = Options { capacity: 2, ..OPTIONS };
    let mut db = Db::create(&mut image, &SCHEMA, options, &mut ram).unwrap();
    let mut tx = db.begin().unwrap();
    (0..600).for_each(|id| tx.insert(0, &[id.into(), 0.into(), Value::Null]).unwrap());
    tx.commit(Durability::Durable).unwrap();
    (0..600).step_by(3).for_each(|id| set(&mut db, id, 1));
    let (mut all, mut out) = (db.all(0).unwrap(), [0; 128]);
    while let Some(row) = all.next(&mut db, &mut out).unwrap() {
        let id = id_of(&row);
        for other in (id - 20).max(0)..(id + 20).min(600) {
            let found = db.get(0, 0, &[other.into()], &mut out).unwrap().unwrap();
            let wanted = i64::from(other % 3 == 0);
            assert_eq!(found.column(1), Ok(wanted.into()), "setting {other} beside {id}");
        }
    }
}

/// All settings and their values, as a reader sees them; each must come once.
fn values<'d>(reader: &mut impl Reader<'d, 'static, &'d mut Image>) -> BTreeMap<i64, i64> {
    let (mut out, mut found) = ([0; 128], BTreeMap::new());
    let mut all = reader.reading().unwrap().all(0).unwrap();
    while let Some(row) = all.next(reader, &mut out).unwrap() {
        let Value::Integer(value) = row.column(1).unwrap() else { panic!("values are numbers") };
        let id = id_of(&row);
        assert!(found.insert(id, value).is_none(), "setting {id} came twice");
    }
    found
}
