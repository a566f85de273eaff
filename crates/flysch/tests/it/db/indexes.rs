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
/// A unique key is a part of the primary one, so that tombstones have its column.
const USE: Table<'static> = Table {
    name: "use",
    indexes: &[hash(&[1, 0], true), hash(&[0], true), hash(&[2], true), hash(&[2, 1], false)],
    ..CARD
};
const TALLY: Table<'static> = Table { name: "tally", indexes: &[hash(&[1], true)], ..CARD };
/// A log that is only scanned. Its rows lie in the cells of the others.
const LOG: Table<'static> = Table { name: "log", indexes: &[], ..CARD };
const NINE: Schema<'static> = Schema { tables: &[LOG, CARD, USE, TALLY] };
const _: () = assert!(NINE.check().is_ok());

/// Indexes that share none, so that their hashes are the shortest.
const FOUR: Schema<'static> = Schema { tables: &[LOG, USE] };

/// More indexes of one table than the store has.
const WIDE: Table<'static> = Table {
    name: "wide",
    indexes: &[
        hash(&[0], true),
        hash(&[1], true),
        hash(&[2], false),
        hash(&[0, 1], false),
        hash(&[1, 2], false),
        hash(&[2, 0], false),
        hash(&[2, 1], false),
        hash(&[0, 2], false),
        hash(&[1, 0], true),
        ordered(&[2]),
        ordered(&[2, 1]),
        hash(&[2, 1, 0], true),
    ],
    ..CARD
};
const TWELVE: Schema<'static> = Schema { tables: &[LOG, WIDE] };
const _: () = assert!(TWELVE.check().is_ok());

type Row = [i64; 3];
/// The rows of a table by their primary keys.
type Rows = BTreeMap<Vec<i64>, Row>;

fn key_of(row: Row, index: &Index<'_>) -> Vec<i64> {
    index.columns.iter().map(|column| row[usize::from(*column)]).collect()
}

fn values(key: &[i64]) -> Vec<Value<'static>> {
    key.iter().copied().map(Value::Integer).collect()
}

/// The first unique index in which another row has the key.
fn taken(rows: &Rows, table: &Table<'_>, row: Row) -> Option<u8> {
    let own = key_of(row, &table.indexes[0]);
    let others = || rows.iter().filter(|(key, _)| **key != own);
    let mut unique = (0..).zip(table.indexes).filter(|(_, index)| index.is_unique);
    unique
        .find(|(_, index)| others().any(|(_, other)| key_of(*other, index) == key_of(row, index)))
        .map(|(number, _)| number)
}

/// What a database of a schema ought to hold.
struct World {
    schema: &'static Schema<'static>,
    tables: Vec<Rows>,
    /// Whether each change is logged in the first table. Then no rows are moved, for that table has
    /// no key.
    has_log: bool,
    logged: u64,
}

impl World {
    /// Put a row, or delete it.
    fn change(&mut self, db: &mut Db<'_, '_, &mut Image>, prng: &mut Prng) -> Result<(), DbError> {
        let number = 1 + prng.below(self.schema.tables.len() as u64 - 1) as usize;
        let (table, rows) = (&self.schema.tables[number], &mut self.tables[number]);
        let row = [0; 3].map(|_| prng.below(60).cast_signed());
        let key = key_of(row, &table.indexes[0]);
        let mut tx = db.begin()?;
        if self.has_log {
            tx.insert(0, &values(&row))?;
            self.logged += 1;
        }
        if prng.below(3) == 0 {
            let was_there = tx.delete(number as u8, &values(&key))?;
            assert_eq!(was_there, rows.remove(&key).is_some(), "a delete of {key:?} in {number}");
        } else {
            let taken = taken(rows, table, row);
            let wanted = taken.map_or(Ok(()), |index| Err(DbError::Duplicate { index }));
            let done = tx.upsert(number as u8, &values(&row)).map(|_| ());
            assert_eq!(done, wanted, "{row:?} in {number}");
            if wanted.is_ok() {
                rows.insert(key, row);
            }
        }
        tx.commit(Durability::Durable)
    }

    /// Each row is found by each of its keys, and a scan gives each once.
    fn ask(&self, db: &mut Db<'_, '_, &mut Image>) -> Result<(), DbError> {
        let mut out = [0; 64];
        let logged = db.scan(0, Direction::Forward)?.count(db, &mut out)?;
        assert_eq!(logged, self.logged, "each change was logged");
        for (number, rows) in (0..).zip(&self.tables).skip(1) {
            let scanned = db.scan(number, Direction::Forward)?.count(db, &mut out)?;
            assert_eq!(scanned, rows.len() as u64, "rows of table {number}");
            let indexes = self.schema.tables[usize::from(number)].indexes;
            for (index, declared) in (0..).zip(indexes) {
                for row in rows.values() {
                    let key = values(&key_of(*row, declared));
                    let mut find = db.find(number, index, &key)?;
                    let is_found = has_row(&mut find, db, *row)?;
                    assert!(is_found, "{row:?} of table {number} by index {index}");
                }
            }
        }
        Ok(())
    }
}

/// Whether a row is among those of a cursor.
fn has_row(
    cursor: &mut impl Cursor,
    db: &mut Db<'_, '_, &mut Image>,
    row: Row,
) -> Result<bool, DbError> {
    let mut out = [0; 64];
    while let Some(found) = cursor.next(db, &mut out)? {
        if found.values().map(Result::unwrap).eq(values(&row)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Two unique indexes of one table shared one of the store. A row whose key in one of them had the
/// code of another row's key in the other put that row's entry out: the row was lost, or a deleted
/// one came back. A tombstone that compaction moved ended the unique key that is a part of its
/// primary key. And a row of a table with more than eight indexes was not inserted but for a panic.
#[test]
fn keys_of_indexes_that_share_one_are_keys_of_their_own() {
    let mut moved = 0;
    for (number, schema) in (0..12).zip([&NINE, &TWELVE, &FOUR].into_iter().cycle()) {
        let (has_log, blocks) = if number < 3 { (true, 72) } else { (false, 32) };
        let mut image = Image::blank(512, blocks);
        let mut prng = Prng::new(number);
        let tables = vec![Rows::new(); schema.tables.len()];
        let mut world = World { schema, tables, has_log, logged: 0 };
        let mut ram = vec![0; RAM];
        Db::create(&mut image, schema, OPTIONS, &mut ram).map(drop).unwrap();
        for _ in 0..8 {
            let mut db = Db::open(&mut image, schema, OPTIONS, &mut ram).unwrap();
            for _ in 0..if has_log { 150 } else { 900 } {
                world.change(&mut db, &mut prng).unwrap();
            }
            world.ask(&mut db).unwrap();
            moved += db.moved_pages();
        }
        assert!(world.tables[1..].iter().all(|rows| rows.len() > 10), "each table has rows");
    }
    assert!(moved > 50, "rows were moved, {moved} pages of them");
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
            tx.insert(0, &values(&[number, life, number % 7])).unwrap();
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
