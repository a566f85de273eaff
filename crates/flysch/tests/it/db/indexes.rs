//! Schemas with more indexes than the store keeps apart, so that some share one, and with none.

use std::collections::BTreeMap;

use flysch::db::{Db, DbError, Direction, Durability, Options};
use flysch::query::Cursor;
use flysch::row::{Column, ColumnType, Index, IndexKind, Schema, SchemaError, Table, Value};
use flysch_chip::Prng;

use super::image::Image;

const RAM: usize = 12_000;
/// Hashes are as short as they can be, so that many keys meet.
const OPTIONS: Options = Options { partition: None, seed: 11, capacity: 2 };

const fn integer(name: &str) -> Column<'_> {
    Column::required(name, ColumnType::Integer)
}

const fn hash(columns: &[u8], is_unique: bool) -> Index<'_> {
    Index { columns, kind: IndexKind::Hash, is_unique }
}

const fn ordered(columns: &[u8]) -> Index<'_> {
    Index { columns, kind: IndexKind::Ordered, is_unique: false }
}

const CARD: Table<'static> = Table {
    name: "card",
    columns: &[integer("id"), integer("serial"), integer("place")],
    indexes: &[hash(&[0], true), hash(&[1], true), hash(&[2], true), hash(&[0, 1], false)],
    zone: None,
    keep: None,
};
const USE: Table<'static> = Table {
    name: "use",
    indexes: &[hash(&[0], true), hash(&[1], false), hash(&[2], true), hash(&[2, 1], false)],
    ..CARD
};
const TALLY: Table<'static> = Table { name: "tally", indexes: &[hash(&[1], true)], ..CARD };
/// A log that is only scanned. Its rows lie in the cells of the others.
const LOG: Table<'static> = Table { name: "log", indexes: &[], ..CARD };
const NINE: Schema<'static> = Schema { tables: &[CARD, USE, TALLY, LOG] };
const _: () = assert!(NINE.check().is_ok());

/// The rows of each table that has a primary key, by it.
type Model = [BTreeMap<i64, [i64; 3]>; 3];

fn primary(table: usize) -> usize {
    usize::from(NINE.tables[table].indexes[0].columns[0])
}

/// The first unique index in which another row has the key.
fn taken(rows: &BTreeMap<i64, [i64; 3]>, table: usize, row: [i64; 3], is_new: bool) -> Option<u8> {
    let unique = (0..).zip(NINE.tables[table].indexes).filter(|(_, index)| index.is_unique);
    let own = row[primary(table)];
    let mut others = unique.filter(|(number, index)| {
        let column = usize::from(index.columns[0]);
        let is_other = |key: i64| *number == 0 || key != own;
        (*number > 0 || is_new)
            && rows.iter().any(|(key, other)| is_other(*key) && other[column] == row[column])
    });
    others.next().map(|(number, _)| number)
}

/// Insert, update or delete a row in the database and in the model.
fn change(
    db: &mut Db<'_, '_, &mut Image>,
    model: &mut Model,
    prng: &mut Prng,
) -> Result<(), DbError> {
    let table = prng.below(3) as usize;
    let rows = &mut model[table];
    let row = [0; 3].map(|_| prng.below(60).cast_signed());
    let (number, values) = (table as u8, row.map(Value::Integer));
    let key = row[primary(table)];
    let is_new = !rows.contains_key(&key);
    let mut tx = db.begin()?;
    tx.insert(3, &values)?;
    let (done, wanted) = match prng.below(4) {
        0 => {
            let was_there = tx.delete(number, &[Value::Integer(key)])?;
            assert_eq!(was_there, rows.remove(&key).is_some(), "a delete of {key} in {number}");
            return tx.commit(Durability::Durable);
        }
        _ => (tx.upsert(number, &values).map(|_| ()), taken(rows, table, row, is_new)),
    };
    assert_eq!(done, wanted.map_or(Ok(()), |index| Err(DbError::Duplicate { index })), "{row:?}");
    if wanted.is_none() {
        rows.insert(key, row);
    }
    tx.commit(Durability::Durable)
}

/// Each row is found by each of its keys, and a scan gives each once.
fn ask(db: &mut Db<'_, '_, &mut Image>, model: &Model) -> Result<(), DbError> {
    let mut out = [0; 64];
    for (number, rows) in (0..).zip(model) {
        let table = &NINE.tables[usize::from(number)];
        assert_eq!(db.scan(number, Direction::Forward)?.count(db, &mut out)?, rows.len() as u64);
        for (index, row) in
            (0..table.indexes.len()).flat_map(|it| rows.values().map(move |r| (it, r)))
        {
            let columns = table.indexes[index].columns.iter();
            let key: Vec<Value<'_>> =
                columns.map(|column| Value::Integer(row[usize::from(*column)])).collect();
            let mut find = db.find(number, index as u8, &key)?;
            let mut is_found = false;
            while let Some(found) = find.next(db, &mut out)? {
                is_found |= (0..3).all(|column| {
                    found.column(column) == Ok(Value::Integer(row[usize::from(column)]))
                });
            }
            assert!(is_found, "{row:?} of table {number} by index {index}");
        }
    }
    Ok(())
}

/// Two unique indexes of one table shared one of the store. A row whose key in one of them had the
/// code of another row's key in the other put that row's entry out: the row was lost, or a deleted
/// one came back.
#[test]
fn keys_of_indexes_that_share_one_are_keys_of_their_own() {
    let mut image = Image::blank(1024, 96);
    let (mut model, mut prng) = (Model::default(), Prng::new(8));
    let mut ram = vec![0; RAM];
    Db::create(&mut image, &NINE, OPTIONS, &mut ram).map(drop).unwrap();
    for life in 1..9 {
        let mut db = Db::open(&mut image, &NINE, OPTIONS, &mut ram).unwrap();
        for _ in 0..150 {
            change(&mut db, &mut model, &mut prng).unwrap();
        }
        ask(&mut db, &model).unwrap();
        let logged = db.scan(3, Direction::Forward).unwrap().count(&mut db, &mut [0; 64]);
        assert_eq!(logged, Ok(life * 150), "each change was logged");
    }
    assert!(model.iter().all(|rows| rows.len() > 10), "there are rows in each table");
}

/// A table needs no index: a log that is only scanned has none.
#[test]
fn a_database_may_have_no_index() {
    const ONE: Schema<'static> = Schema { tables: &[LOG] };
    let mut image = Image::blank(512, 48);
    let mut ram = vec![0; RAM];
    Db::create(&mut image, &ONE, OPTIONS, &mut ram).map(drop).unwrap();
    let mut count = 0;
    for life in 0..6 {
        let mut db = Db::open(&mut image, &ONE, OPTIONS, &mut ram).unwrap();
        for number in 0..40 {
            let mut tx = db.begin().unwrap();
            tx.insert(0, &[number, life, number % 7].map(Value::Integer)).unwrap();
            tx.commit(Durability::Durable).unwrap();
            count += 1;
        }
        let found = db.scan(0, Direction::Backward).unwrap().count(&mut db, &mut [0; 64]);
        assert_eq!(found, Ok(count), "each row is there after {life} lives");
    }
}

/// Ordered indexes over one column share none, so with nine indexes they are too many at eight.
#[test]
fn too_many_ordered_indexes_are_refused_by_name() {
    let most = [ordered(&[0]), ordered(&[1]), ordered(&[2])].repeat(3);
    let too_many = [&most[..8], &[hash(&[0], false)]].concat();
    for (indexes, wanted) in [
        (&most[..8], None),
        (&too_many[..], Some(SchemaError::TooManyOrdered { given: 8, most: 7 })),
    ] {
        let tables = [Table { indexes, ..CARD }];
        let mut image = Image::blank(512, 48);
        let mut ram = vec![0; RAM];
        let schema = Schema { tables: &tables };
        let made = Db::create(&mut image, &schema, OPTIONS, &mut ram);
        assert_eq!(made.map(drop), wanted.map_or(Ok(()), |error| Err(DbError::Schema(error))));
    }
}
