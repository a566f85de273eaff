//! Keys of an ordered index that have one code and are not equal: text that begins with the same
//! eight bytes, and null beside the least integer.

use std::collections::BTreeMap;

use flysch::db::{Budget, Db, DbError, Direction, Durability, Options};
use flysch::row::{Column, ColumnType, Index, IndexKind, Schema, Table, Value};
use flysch_chip::Prng;

use super::image::Image;
use super::world::OPTIONS;

const RAM: usize = 10_000;

const SCHEMA: Schema<'static> = Schema {
    tables: &[Table {
        name: "address",
        columns: &[
            Column::required("host", ColumnType::Text),
            Column::required("count", ColumnType::Integer),
            Column::nullable("alias", ColumnType::Text),
        ],
        indexes: &[
            Index { columns: &[0], kind: IndexKind::Ordered, is_unique: true },
            Index { columns: &[2], kind: IndexKind::Ordered, is_unique: false },
        ],
        zone: None,
        keep: None,
    }],
};
const _: () = assert!(SCHEMA.check().is_ok());

type Model = BTreeMap<String, i64>;

fn host(number: u64) -> String {
    // Groups of some keys that begin alike, one of them the beginning of all others.
    let (group, place) = (number / 12, number % 12);
    let rest = ["", "a", "b", "\u{1}", "zzzzzzzzzzzzzzzzzzzz"][place as usize % 5]
        .repeat(place as usize / 5 + 1);
    format!("www.{group:03}.{rest}")
}

fn alias(count: i64) -> String {
    format!("sensor at {}", count % 7)
}

fn values<'v>(host: &'v str, count: i64, alias: &'v str) -> [Value<'v>; 3] {
    let alias = if count % 5 == 0 { Value::Null } else { Value::Text(alias) };
    [Value::Text(host), Value::Integer(count), alias]
}

fn check(db: &mut Db<'_, '_, &mut Image>, model: &Model, story: &str) -> Result<(), DbError> {
    let mut out = [0; 512];
    for number in 0..HOSTS {
        let host = host(number);
        let row = db.get(0, 0, &[Value::Text(&host)], &mut out)?;
        let found = row.map(|row| row.column(1)).transpose()?;
        let wanted = model.get(&host).map(|count| Value::Integer(*count));
        assert_eq!(found, wanted, "{host}: {story}");
    }
    for direction in [Direction::Forward, Direction::Backward] {
        let found = texts(db, (0, 0), direction)?;
        let mut wanted: Vec<&String> = model.keys().collect();
        if direction == Direction::Backward {
            wanted.reverse();
        }
        assert_eq!(found.iter().collect::<Vec<_>>(), wanted, "{direction:?}: {story}");
    }
    for kind in 0..7 {
        let alias = alias(kind);
        let mut find = db.find(0, 1, &[Value::Text(&alias)])?;
        let mut count = 0;
        while find.next(db, &mut out)?.is_some() {
            count += 1;
        }
        let has = |count: &&i64| **count % 7 == kind && **count % 5 != 0;
        assert_eq!(count, model.values().filter(has).count(), "{alias}: {story}");
    }
    Ok(())
}

/// The texts of an index over one column, in the order in which a range gives them.
fn texts(
    db: &mut Db<'_, '_, &mut Image>,
    (index, column): (u8, u8),
    direction: Direction,
) -> Result<Vec<String>, DbError> {
    let (mut found, mut out) = (Vec::new(), [0; 512]);
    let (least, greatest) = (Value::Text(""), Value::Text("x"));
    let mut range = db.range(0, index, (&least, &greatest), direction)?;
    while let Some(row) = range.next(db, &mut out)? {
        let Value::Text(text) = row.column(column)? else { panic!("the column is text") };
        found.push(text.to_owned());
    }
    Ok(found)
}

const HOSTS: u64 = 96;

fn change(
    db: &mut Db<'_, '_, &mut Image>,
    model: &mut Model,
    prng: &mut Prng,
) -> Result<(), DbError> {
    let mut tx = db.begin()?;
    let mut after = model.clone();
    for _ in 0..=prng.below(6) {
        let host = host(prng.below(HOSTS));
        let count = prng.below(10_000).cast_signed();
        let alias = alias(count);
        let values = values(&host, count, &alias);
        match prng.below(5) {
            0 => {
                let was_there = tx.delete(0, &[Value::Text(&host)])?;
                assert_eq!(was_there, after.remove(&host).is_some(), "deleting {host}");
            }
            1 => {
                let was_there = tx.update(0, &values)?;
                assert_eq!(was_there, after.contains_key(&host), "updating {host}");
                after.entry(host.clone()).and_modify(|old| *old = count);
            }
            _ => match tx.insert(0, &values) {
                Err(DbError::Duplicate { index: 0 }) => {
                    assert!(after.contains_key(&host), "{host}");
                }
                outcome => {
                    outcome?;
                    assert_eq!(after.insert(host.clone(), count), None, "{host} was taken");
                }
            },
        }
    }
    if prng.below(8) == 0 {
        return tx.roll_back();
    }
    tx.commit(Durability::Durable)?;
    *model = after;
    Ok(())
}

/// Two keys that agree in their first eight bytes were one key: the second was refused, and in
/// merges the newer entry took the older one's place.
#[test]
fn keys_that_begin_alike_are_keys_of_their_own() {
    let mut image = Image::blank(512, 64);
    let (mut model, mut prng) = (Model::new(), Prng::new(5));
    let mut ram = vec![0; RAM];
    Db::create(&mut image, &SCHEMA, OPTIONS, &mut ram).map(drop).unwrap();
    for turn in 0..12 {
        let mut db = Db::open(&mut image, &SCHEMA, OPTIONS, &mut ram).unwrap();
        for _ in 0..60 {
            change(&mut db, &mut model, &mut prng).unwrap();
        }
        if turn % 3 == 0 {
            while db.maintain(Budget { operations: 300 }).unwrap() {}
        }
        check(&mut db, &model, &format!("turn {turn}")).unwrap();
        if turn % 4 == 0 {
            db.close().unwrap();
        }
    }
}

/// A range over keys that agree in their first eight bytes reads the pages of their rows once for
/// every 16 rows: not all rows for each row.
#[test]
fn a_range_over_keys_that_begin_alike_reads_pages_and_not_rows() {
    const CUSTOMERS: Schema<'static> = Schema {
        tables: &[Table {
            name: "customer",
            columns: &[
                Column::required("id", ColumnType::Integer),
                Column::required("name", ColumnType::Text),
            ],
            indexes: &[
                Index { columns: &[0], kind: IndexKind::Hash, is_unique: true },
                Index { columns: &[1], kind: IndexKind::Ordered, is_unique: false },
            ],
            zone: None,
            keep: None,
        }],
    };
    for (count, order) in [(100, 1), (800, 1), (800, 37)] {
        let mut image = Image::blank(2048, 64);
        let mut ram = vec![0; RAM];
        let mut db = Db::create(&mut image, &CUSTOMERS, OPTIONS, &mut ram).unwrap();
        let name = |number: i64| format!("customer {:04}", number * order % count);
        for id in 0..count {
            let mut tx = db.begin().unwrap();
            tx.insert(0, &[Value::Integer(id), Value::Text(&name(id))]).unwrap();
            tx.commit(Durability::Durable).unwrap();
        }
        // Half of the rows are replaced, so that whether a row is current has to be looked up.
        for id in 0..count / 2 {
            let mut tx = db.begin().unwrap();
            let name = name(id);
            assert_eq!(tx.update(0, &[Value::Integer(id), Value::Text(&name)]), Ok(true));
            tx.commit(Durability::Durable).unwrap();
        }
        let pages = u64::from(db.stats().row_blocks) * 8;
        let mut wanted: Vec<String> = (0..count).map(name).collect();
        wanted.sort_unstable();
        for direction in [Direction::Forward, Direction::Backward] {
            let before = db.nand().reads;
            let found = texts(&mut db, (1, 1), direction).unwrap();
            assert!(found == wanted, "{count} in the order of {order}, {direction:?}");
            let (reads, rows) = (db.nand().reads - before, count.cast_unsigned());
            assert!(reads < rows * 4 + rows / 16 * pages * 3, "{reads} for {rows}, {pages} pages");
            wanted.reverse();
        }
    }
}

/// A lookup among keys of one code goes through the rows of all of them. It reads some of a page,
/// then all of it, and not each of its cells.
#[test]
fn lookups_among_keys_that_begin_alike_read_pages_and_not_rows() {
    const COUNT: u64 = 600;
    let mut image = Image::blank(2048, 64);
    let mut ram = vec![0; RAM];
    let mut db = Db::create(&mut image, &SCHEMA, OPTIONS, &mut ram).unwrap();
    let host = |number: u64| format!("www.same.{number:03}");
    for number in 0..COUNT {
        let mut tx = db.begin().unwrap();
        tx.insert(0, &values(&host(number), 7, "some")).unwrap();
        tx.commit(Durability::Durable).unwrap();
    }
    let mut out = [0; 512];
    let before = db.nand().reads;
    for number in 0..COUNT {
        let row = db.get(0, 0, &[Value::Text(&host(number))], &mut out).unwrap().unwrap();
        assert_eq!(row.column(0), Ok(Value::Text(&host(number))));
    }
    let reads = (db.nand().reads - before) / COUNT;
    // A cell of 512 bytes has some twenty rows.
    assert!(reads < COUNT / 20, "{reads} reads a lookup");
}

/// Rows that are replaced while a range is under way are given, once, with what they hold then.
#[test]
fn a_range_goes_on_over_rows_that_are_replaced() {
    let mut image = Image::blank(512, 64);
    let mut ram = vec![0; RAM];
    let mut db = Db::create(&mut image, &SCHEMA, OPTIONS, &mut ram).unwrap();
    let name = |number: usize| format!("www.010.{number:03}");
    for number in 0..40 {
        let mut tx = db.begin().unwrap();
        tx.insert(0, &values(&name(number), 1, "first")).unwrap();
        tx.commit(Durability::Durable).unwrap();
    }
    let (least, greatest) = (Value::Text(""), Value::Text("x"));
    let mut range = db.range(0, 0, (&least, &greatest), Direction::Forward).unwrap();
    let (mut found, mut out) = (Vec::new(), [0; 512]);
    while let Some(row) = range.next(&mut db, &mut out).unwrap() {
        found.push((
            row.column(0).unwrap() == Value::Text(&name(found.len())),
            row.column(1) == Ok(Value::Integer(2)),
        ));
        // Three places further on.
        let next = name(found.len() + 2);
        let mut tx = db.begin().unwrap();
        tx.update(0, &values(&next, 2, "second")).unwrap();
        tx.commit(Durability::Durable).unwrap();
    }
    let wanted: Vec<_> = (0..40).map(|number| (true, number > 2)).collect();
    assert_eq!(found, wanted);
}

/// Null has the code of the least integer, and is another key.
#[test]
fn null_is_not_the_least_integer() {
    const ONE: Schema<'static> = Schema {
        tables: &[Table {
            name: "level",
            columns: &[
                Column::required("id", ColumnType::Integer),
                Column::nullable("height", ColumnType::Integer),
            ],
            indexes: &[
                Index { columns: &[0], kind: IndexKind::Hash, is_unique: true },
                Index { columns: &[1], kind: IndexKind::Ordered, is_unique: true },
            ],
            zone: None,
            keep: None,
        }],
    };
    let mut image = Image::blank(1024, 48);
    let mut ram = vec![0; RAM];
    let mut db = Db::create(&mut image, &ONE, OPTIONS, &mut ram).unwrap();
    let mut tx = db.begin().unwrap();
    tx.insert(0, &[Value::Integer(1), Value::Null]).unwrap();
    tx.insert(0, &[Value::Integer(2), Value::Integer(i64::MIN)]).unwrap();
    tx.commit(Durability::Durable).unwrap();
    let mut out = [0; 64];
    for (id, height) in [(1, Value::Null), (2, Value::Integer(i64::MIN))] {
        let row = db.get(0, 1, &[height], &mut out).unwrap().unwrap();
        assert_eq!(row.column(0), Ok(Value::Integer(id)));
    }
}

/// A row is marked as shared where any of its unique keys shares a hash with another row's. Then so
/// is its entry in the ordered index of the primary key, where its older version may not be.
#[test]
fn a_key_of_several_columns_is_found_once_where_hashes_of_another_index_meet() {
    const LAMP: Schema<'static> = Schema {
        tables: &[Table {
            name: "lamp",
            columns: &[
                Column::required("room", ColumnType::Integer),
                Column::required("place", ColumnType::Integer),
                Column::required("serial", ColumnType::Integer),
            ],
            indexes: &[
                Index { columns: &[0, 1], kind: IndexKind::Ordered, is_unique: true },
                Index { columns: &[2], kind: IndexKind::Hash, is_unique: true },
            ],
            zone: None,
            keep: None,
        }],
    };
    let (mut image, mut ram) = (Image::of(1024, 32, 96), vec![0; RAM]);
    // Few rows are declared, so hashes are short.
    let options = Options { capacity: 20, ..OPTIONS };
    let mut db = Db::create(&mut image, &LAMP, options, &mut ram).unwrap();
    let (mut prng, mut model) = (Prng::new(3), BTreeMap::new());
    let mut shared = 0;
    for serial in 0..600 {
        let (room, place) = (prng.below(3).cast_signed(), prng.below(40).cast_signed());
        let mut tx = db.begin().unwrap();
        if prng.below(4) == 0 {
            let was_there = tx.delete(0, &[room.into(), place.into()]).unwrap();
            assert_eq!(was_there, model.remove(&(room, place)).is_some());
        } else {
            let was_there = tx.upsert(0, &[room.into(), place.into(), serial.into()]).unwrap();
            assert_eq!(was_there, model.insert((room, place), serial).is_some());
        }
        tx.commit(Durability::Durable).unwrap();
        for (room, direction) in [(room, Direction::Forward), (room, Direction::Backward)] {
            let mut range = db.prefix(0, 0, &[room.into()], direction).unwrap();
            let (mut found, mut out) = (Vec::new(), [0; 64]);
            while let Some(row) = range.next(&mut db, &mut out).unwrap() {
                let [Value::Integer(place), Value::Integer(serial)] =
                    [1, 2].map(|column| row.column(column).unwrap())
                else {
                    panic!("numbers were inserted")
                };
                shared += u32::from(row.head.is_shared);
                found.push((place, serial));
            }
            if direction == Direction::Backward {
                found.reverse();
            }
            let of_room = model.range((room, 0)..(room + 1, 0));
            let wanted: Vec<_> = of_room.map(|((_, place), serial)| (*place, *serial)).collect();
            assert_eq!(found, wanted, "room {room}, {direction:?}, serial {serial}");
        }
    }
    assert!(shared > 50, "{shared} rows share a hash with others");
}
